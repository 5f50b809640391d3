//! The global options and the root of the command tree.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, Parser, value_parser};

use crate::commands::{NOT_BUILT, NOT_BUILT_BELOW, Verb};

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 failure, 2 wrong usage or not built yet, 75 rate limited,
78 configuration that a restart cannot fix, 124 timed out, 130 interrupted,
143 ended by SIGTERM.";

const CONTINUE_RULE: &str = "\
`-c` has two meanings. Followed by KEY=VALUE it sets a config key for this run, on
any verb: `hermes -c terminal.backend=docker chat`. Followed by anything else it
continues a session by name, words up to the next option: `hermes -c my old project`.
`--config` and `--continue=NAME` are the forms that cannot be confused.";

#[derive(Parser, Debug)]
#[command(
    name = "hermes",
    about = "An AI agent that lives in your terminal",
    long_about = "An AI agent that lives in your terminal. Without a verb, `hermes` starts a chat.",
    after_help = CONTINUE_RULE,
    disable_version_flag = true,
    disable_help_subcommand = true,
    infer_long_args = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs"
)]
pub struct Cli {
    #[command(flatten)]
    pub everywhere: Everywhere,

    #[command(flatten)]
    pub run: RunOptions,

    /// Answer one prompt, print the answer, and exit
    #[arg(short = 'z', long, value_name = "PROMPT")]
    pub oneshot: Option<String>,

    /// Print the version and exit
    #[arg(short = 'V', long)]
    pub version: bool,

    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

/// Options that every verb accepts, before it or after it.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Everywhere {
    /// Work in this profile
    // Values of a global option and of a verb's argument with the same id would be one.
    #[arg(
        id = "everywhere-profile",
        short = 'p',
        long = "profile",
        value_name = "PROFILE",
        global = true,
        help_heading = "Options on every verb"
    )]
    pub profile: Option<String>,

    /// Set a config key for this run, repeatable; also `-c KEY=VALUE`
    #[arg(
        id = "everywhere-config",
        long = "config",
        value_name = "KEY=VALUE",
        global = true,
        help_heading = "Options on every verb"
    )]
    pub config: Vec<String>,
}

/// How a chat runs. Taken before the verb and after `chat`; see [`RunOptions::over`].
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Model for this run [env: HERMES_INFERENCE_MODEL]
    #[arg(short = 'm', long)]
    pub model: Option<String>,

    /// Provider for this run [env: HERMES_INFERENCE_PROVIDER]
    #[arg(long)]
    pub provider: Option<String>,

    /// Toolsets for this run, separated by commas
    #[arg(short = 't', long, value_name = "A,B")]
    pub toolsets: Option<String>,

    /// Resume the session with this id or title
    #[arg(short = 'r', long, value_name = "ID|TITLE")]
    pub resume: Option<String>,

    /// Continue the newest session, or the one with this name
    #[arg(short = 'c', long = "continue", value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub continue_session: Option<String>,

    /// Work in a git worktree of its own
    #[arg(short = 'w', long)]
    pub worktree: bool,

    /// Load these skills at the start, separated by commas, repeatable
    #[arg(short = 's', long, value_name = "A,B")]
    pub skills: Vec<String>,

    /// Run everything without asking for approval
    #[arg(long)]
    pub yolo: bool,

    /// Accepted, because dispatchers pass it; shell hooks are not built yet
    #[arg(long)]
    pub accept_hooks: bool,

    /// Tell the model the id of its session
    #[arg(long)]
    pub pass_session_id: bool,

    /// Behave as if config.yaml were absent
    #[arg(long)]
    pub ignore_user_config: bool,

    /// Leave out AGENTS.md, SOUL.md, .cursorrules, memory and preloaded skills
    #[arg(long)]
    pub ignore_rules: bool,

    /// Full-screen interface
    #[arg(long)]
    pub tui: bool,

    /// Classic prompt, even when the config asks for the full-screen interface
    #[arg(long)]
    pub cli: bool,

    /// Full-screen interface from its sources
    #[arg(long, hide = true)]
    pub dev: bool,
}

impl RunOptions {
    /// What was given after the verb, completed by what was given before it. The
    /// reference loses the latter.
    #[must_use]
    pub fn over(self, before: &Self) -> Self {
        let before = before.clone();
        let mut skills = before.skills;
        skills.extend(self.skills);
        Self {
            model: self.model.or(before.model),
            provider: self.provider.or(before.provider),
            toolsets: self.toolsets.or(before.toolsets),
            resume: self.resume.or(before.resume),
            continue_session: self.continue_session.or(before.continue_session),
            worktree: self.worktree || before.worktree,
            skills,
            yolo: self.yolo || before.yolo,
            accept_hooks: self.accept_hooks || before.accept_hooks,
            pass_session_id: self.pass_session_id || before.pass_session_id,
            ignore_user_config: self.ignore_user_config || before.ignore_user_config,
            ignore_rules: self.ignore_rules || before.ignore_rules,
            tui: self.tui || before.tui,
            cli: self.cli || before.cli,
            dev: self.dev || before.dev,
        }
    }
}

/// The whole tree: what is built, and the verbs of the reference that are known by
/// name only and take any arguments.
pub fn command() -> Command {
    let not_built = format!("Known, but not built yet: {}.", NOT_BUILT.join(", "));
    let more = format!("{CONTINUE_RULE}\n\n{not_built}\n\n{EXIT_CODES}");
    let mut tree = Cli::command()
        .after_long_help(more)
        .subcommands(NOT_BUILT.iter().copied().map(known_by_name));
    // In place: `mut_subcommand` would put each of them last.
    for verb in tree.get_subcommands_mut() {
        let name = verb.get_name().to_owned();
        if let Some((_, below)) = NOT_BUILT_BELOW.iter().find(|(known, _)| *known == name) {
            let whole = std::mem::take(verb);
            *verb = whole.subcommands(below.iter().copied().map(known_by_name));
        }
    }
    tree
}

/// Takes any arguments.
fn known_by_name(name: &'static str) -> Command {
    Command::new(name).hide(true).disable_help_flag(true).arg(
        Arg::new("words")
            .action(ArgAction::Append)
            .num_args(0..)
            .allow_hyphen_values(true)
            .trailing_var_arg(true)
            .value_parser(value_parser!(OsString)),
    )
}

/// The verb that was called, if only its name is known.
pub fn not_built(matches: &ArgMatches) -> Option<String> {
    let (verb, below) = matches.subcommand()?;
    if NOT_BUILT.contains(&verb) {
        return Some(verb.to_owned());
    }
    let name = below.subcommand_name()?;
    let (_, names) = NOT_BUILT_BELOW.iter().find(|(known, _)| *known == verb)?;
    names.contains(&name).then(|| format!("{verb} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A verb's argument with the id of a global option would take its value.
    #[test]
    fn no_argument_of_a_verb_is_mistaken_for_a_global_option() {
        let mut tree = command();
        let global: Vec<String> = tree
            .get_arguments()
            .filter(|argument| argument.is_global_set())
            .map(|argument| argument.get_id().to_string())
            .collect();
        assert!(global.len() >= 2, "{global:?}");
        // Unbuilt, a verb has only its own arguments.
        let mut open: Vec<&mut Command> = tree.get_subcommands_mut().collect();
        while let Some(verb) = open.pop() {
            for argument in verb.get_arguments() {
                let id = argument.get_id().to_string();
                assert!(!global.contains(&id), "{} {id}", verb.get_name());
            }
            open.extend(verb.get_subcommands_mut());
        }
    }
}

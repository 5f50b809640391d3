//! The catalogue of slash commands: one table for help, completion and dispatch.

/// Who carries the command out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The front end itself: it is about its own screen or queue.
    FrontEnd,
    /// The program around it: sessions, models, settings.
    Program,
    /// The verb of the same name, with the same arguments and output.
    Verb,
}

/// Whether it may run while a turn does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Always,
    /// After the running turn.
    Idle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Arguments, as help shows them.
    pub usage: &'static str,
    pub summary: &'static str,
    pub by: By,
    pub when: When,
    /// Whether it throws something away and is asked about first.
    pub confirmed: bool,
}

impl SlashCommand {
    const fn confirmed(mut self) -> Self {
        self.confirmed = true;
        self
    }
}

const fn command(
    name: &'static str,
    aliases: &'static [&'static str],
    usage: &'static str,
    summary: &'static str,
    by: By,
    when: When,
) -> SlashCommand {
    SlashCommand {
        name,
        aliases,
        usage,
        summary,
        by,
        when,
        confirmed: false,
    }
}

pub const CATALOGUE: &[SlashCommand] = &[
    command(
        "help",
        &["commands"],
        "",
        "What can be typed here",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "new",
        &["reset"],
        "[TITLE] [--yes]",
        "Begin a new session",
        By::Program,
        When::Idle,
    )
    .confirmed(),
    command(
        "resume",
        &[],
        "[ID|TITLE]",
        "Go on with an earlier session",
        By::Program,
        When::Idle,
    ),
    command(
        "title",
        &[],
        "[TEXT]",
        "Name this session, or show its name",
        By::Program,
        When::Idle,
    ),
    command(
        "history",
        &[],
        "",
        "What was said so far",
        By::Program,
        When::Always,
    ),
    command(
        "save",
        &[],
        "",
        "Write the conversation to a file",
        By::Program,
        When::Always,
    ),
    command(
        "branch",
        &["fork"],
        "[TITLE]",
        "Go on in a copy of this session",
        By::Program,
        When::Idle,
    ),
    command(
        "background",
        &["bg", "btw"],
        "TEXT",
        "Answer this beside the conversation",
        By::Program,
        When::Always,
    ),
    command(
        "retry",
        &[],
        "",
        "Send the last message again",
        By::Program,
        When::Idle,
    ),
    command(
        "undo",
        &[],
        "[N] [--yes]",
        "Take back the last N of your messages",
        By::Program,
        When::Idle,
    )
    .confirmed(),
    command(
        "rollback",
        &[],
        "[N [FILE] | diff N] [--clean]",
        "Go back to files as they were",
        By::Program,
        When::Idle,
    ),
    command(
        "compress",
        &[],
        "[TOPIC]",
        "Condense the conversation now",
        By::Program,
        When::Idle,
    ),
    command(
        "model",
        &[],
        "[NAME] [--provider P] [--global]",
        "Choose another model",
        By::Program,
        When::Idle,
    ),
    command(
        "reasoning",
        &[],
        "[LEVEL|show|hide]",
        "How much the model thinks, and whether you see it",
        By::Program,
        When::Idle,
    ),
    command(
        "yolo",
        &[],
        "",
        "Stop or resume asking before dangerous commands",
        By::Program,
        When::Always,
    ),
    command(
        "status",
        &[],
        "",
        "Model, session, sandbox and spending",
        By::Program,
        When::Always,
    ),
    command(
        "usage",
        &[],
        "",
        "Tokens and cost of this session",
        By::Program,
        When::Always,
    ),
    command(
        "stop",
        &[],
        "",
        "End background processes of this session",
        By::Program,
        When::Always,
    ),
    command(
        "agents",
        &["tasks"],
        "",
        "List background processes of this session",
        By::Program,
        When::Always,
    ),
    command(
        "queue",
        &["q"],
        "TEXT",
        "Send this after the running turn",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "steer",
        &[],
        "TEXT",
        "Give guidance to the running turn",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "busy",
        &[],
        "[interrupt|queue|steer]",
        "What Enter does while Hermes works",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "verbose",
        &[],
        "",
        "Show more, fewer or no tool lines",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "statusbar",
        &["sb"],
        "",
        "Hide or show the status line",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "image",
        &[],
        "PATH",
        "Attach a picture to the next message",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "paste",
        &[],
        "",
        "Attach the picture on the clipboard",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "copy",
        &[],
        "",
        "Copy the last answer to the clipboard",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "clear",
        &[],
        "[--yes]",
        "Begin a new session on an empty screen",
        By::Program,
        When::Idle,
    )
    .confirmed(),
    command(
        "redraw",
        &[],
        "",
        "Draw the screen again",
        By::FrontEnd,
        When::Always,
    ),
    command(
        "sessions",
        &[],
        "…",
        "Choose a session; with words, the verb",
        By::Verb,
        When::Idle,
    ),
    command(
        "sandbox",
        &[],
        "…",
        "Choose where commands run; with words, the verb",
        By::Verb,
        When::Idle,
    ),
    command(
        "kanban",
        &[],
        "…",
        "The verb `hermes kanban`",
        By::Verb,
        When::Idle,
    ),
    command(
        "config",
        &[],
        "…",
        "The verb `hermes config`",
        By::Verb,
        When::Idle,
    ),
    command(
        "profile",
        &[],
        "…",
        "The verb `hermes profile`",
        By::Verb,
        When::Idle,
    ),
    command(
        "tools",
        &["toolsets"],
        "…",
        "The verb `hermes tools`",
        By::Verb,
        When::Idle,
    ),
    command(
        "skills",
        &[],
        "…",
        "The verb `hermes skills`",
        By::Verb,
        When::Idle,
    ),
    command(
        "memory",
        &[],
        "…",
        "The verb `hermes memory`",
        By::Verb,
        When::Idle,
    ),
    command(
        "insights",
        &[],
        "…",
        "The verb `hermes insights`",
        By::Verb,
        When::Idle,
    ),
    command(
        "goal",
        &[],
        "[TEXT|pause|resume|clear|status]",
        "Work towards a goal, turn by turn, until it is reached",
        By::Program,
        When::Idle,
    ),
    command(
        "subgoal",
        &[],
        "[TEXT|remove N|clear]",
        "Add to the goal, or take away from it",
        By::Program,
        When::Idle,
    ),
    command(
        "quit",
        &["exit"],
        "[--delete]",
        "Leave; with --delete the session is removed",
        By::Program,
        When::Always,
    ),
];

/// Stands for a command that only the program knows: one of the configuration, or
/// a skill. Its name and arguments are the arguments.
pub const OWN: &str = "own";

/// Commands of Python Hermes that are known by name only.
pub const NOT_BUILT: &[&str] = &[
    "browser",
    "bundles",
    "codex-runtime",
    "cron",
    "curator",
    "debug",
    "fast",
    "footer",
    "gateway",
    "gquota",
    "handoff",
    "indicator",
    "personality",
    "platforms",
    "plugins",
    "reload",
    "reload-mcp",
    "reload-skills",
    "skin",
    "snapshot",
    "update",
    "voice",
    "whoami",
];

/// Splits `/name arguments`. A path is no command: its first word has more slashes.
pub fn split(input: &str) -> Option<(&str, &str)> {
    let rest = input.strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (!name.is_empty() && !name.contains('/')).then(|| (name, arguments.trim()))
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error("there is no command /{0}; /help lists them")]
    Unknown(String),
    #[error("/{0} is not built yet; /help lists what is")]
    NotBuilt(String),
    #[error("/{name} may mean {}", candidates.iter().map(|c| format!("/{c}")).collect::<Vec<_>>().join(", "))]
    Ambiguous {
        name: String,
        candidates: Vec<&'static str>,
    },
}

impl SlashCommand {
    /// Whether this is its name or an alias, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        let mut names = self.aliases.iter().chain([&self.name]);
        names.any(|own| own.eq_ignore_ascii_case(name))
    }
}

/// By name or alias in any case, else by a beginning that only one has.
pub fn find(name: &str) -> Result<&'static SlashCommand, LookupError> {
    let name = name.to_lowercase();
    let exact =
        |command: &&SlashCommand| command.name == name || command.aliases.contains(&name.as_str());
    if let Some(command) = CATALOGUE.iter().find(exact) {
        return Ok(command);
    }
    let candidates: Vec<&SlashCommand> = CATALOGUE
        .iter()
        .filter(|command| command.name.starts_with(&name))
        .collect();
    match candidates.as_slice() {
        _ if NOT_BUILT.contains(&name.as_str()) => Err(LookupError::NotBuilt(name)),
        [] => Err(LookupError::Unknown(name)),
        [only] => Ok(only),
        several => Err(LookupError::Ambiguous {
            name,
            candidates: several.iter().map(|command| command.name).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_and_aliases_are_unique() {
        let mut seen = HashSet::new();
        for command in CATALOGUE {
            for name in command.aliases.iter().chain([&command.name]) {
                assert!(seen.insert(*name), "/{name} twice");
            }
        }
        for name in NOT_BUILT {
            assert!(seen.insert(*name), "/{name} is built");
            assert_eq!(find(name), Err(LookupError::NotBuilt((*name).into())));
        }
    }

    #[test]
    fn a_unique_beginning_is_enough() {
        assert_eq!(find("HELP").unwrap().name, "help");
        assert_eq!(find("exit").unwrap().name, "quit");
        assert_eq!(find("comp").unwrap().name, "compress");
        assert!(matches!(find("s"), Err(LookupError::Ambiguous { .. })));
        assert_eq!(find("nope"), Err(LookupError::Unknown("nope".into())));
    }

    #[test]
    fn paths_are_no_commands() {
        assert_eq!(split("/usr/bin/ls -l"), None);
        assert_eq!(split("/title  a b "), Some(("title", "a b")));
        assert_eq!(split("/"), None);
    }
}

//! `hermes setup`: the few things that must be decided before the first chat.
//!
//! Every question has the present value as its default, and every answer has a
//! flag. A section is stored when its last question is answered, never in parts:
//! Escape leaves a section as it was, Ctrl+C leaves the rest as well and says what
//! was stored before.

mod agent;
mod flags;
mod terminal;
mod tools;

use std::io::{self, IsTerminal, Write};

use hermes_home::{FileMode, write_atomic};

use super::ask::tell;
use super::confirm::{confirm, refused};
use super::model::{choose_model, is_set_up};
use crate::{CommandError, Context, ErrorKind, Exit, Out};

#[derive(clap::Args, Debug, Default)]
pub(crate) struct Args {
    /// Only this section
    #[arg(value_name = "SECTION", value_parser = SECTIONS.map(|section| section.name))]
    section: Option<String>,

    /// Ask nothing: store what the flags say
    #[arg(long)]
    non_interactive: bool,

    /// Ask only for what is missing
    #[arg(long)]
    quick: bool,

    /// Ask everything again, which is what happens anyway
    #[arg(long, hide = true, conflicts_with = "quick")]
    reconfigure: bool,

    /// Begin with a fresh config.yaml; the old one is kept beside it
    #[arg(long)]
    reset: bool,

    /// Do not ask whether --reset is meant
    #[arg(short = 'y', long, requires = "reset")]
    yes: bool,

    #[arg(long, hide = true)]
    portal: bool,

    #[command(flatten)]
    answers: flags::Answers,
}

/// A part of the set-up, in the order in which they are asked.
struct Section {
    name: &'static str,
    ask: Ask,
}

#[derive(Clone, Copy)]
enum Ask {
    /// Returns whether something was stored.
    With(fn(&Context, &mut Out) -> Result<bool, CommandError>),
    /// A sentence about what there is nothing of yet.
    NotBuilt(&'static str),
}

const SECTIONS: [Section; 6] = [
    Section {
        name: "model",
        ask: Ask::With(|context, out| choose_model(context, false, out)),
    },
    Section {
        name: "tts",
        ask: Ask::NotBuilt("speech is not built yet"),
    },
    Section {
        name: "terminal",
        ask: Ask::With(terminal::section),
    },
    Section {
        name: "gateway",
        ask: Ask::NotBuilt("chat platforms are not built yet"),
    },
    Section {
        name: "tools",
        ask: Ask::With(tools::section),
    },
    Section {
        name: "agent",
        ask: Ask::With(agent::section),
    },
];

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if args.portal {
        return Err(super::not_built("setup --portal"));
    }
    let section = args.section.as_deref();
    if let Some(only) = SECTIONS.iter().find(|known| Some(known.name) == section)
        && let Ask::NotBuilt(what) = only.ask
    {
        return Err(CommandError::new(
            ErrorKind::NotBuilt,
            format!("{what}, so there is nothing to set up"),
        )
        .hint("`hermes setup` asks for everything there is"));
    }
    // Before any question: a file that cannot be read cannot be changed either.
    context.config()?;
    context.policy().refuse_if_managed()?;
    let attended = !args.non_interactive && io::stdin().is_terminal() && out.is_terminal();
    if args.answers.is_given() {
        // What is wrong with the answers is told before the old file is moved.
        args.answers.check(&match args.reset {
            true => without_file(context),
            false => context.renewed(None),
        })?;
    }
    if args.reset {
        reset(args, context, out)?;
    }
    let context = &context.renewed(None);
    if args.answers.is_given() {
        return args.answers.store(context, out);
    }
    if !attended {
        return lines(args.reset, out);
    }
    if args.quick && is_set_up(context)? {
        writeln!(out, "Nothing is missing: a model is set up.")?;
        return offer_chat(context, out);
    }
    ask(section, args.quick, context, out)?;
    if section.is_some() {
        return Ok(Exit::SUCCESS);
    }
    offer_chat(&context.renewed(None), out)
}

/// One section after the other.
fn ask(
    only: Option<&str>,
    quick: bool,
    context: &Context,
    out: &mut Out,
) -> Result<(), CommandError> {
    let mut stored: Vec<&str> = Vec::new();
    let wanted = |name: &str| match only {
        Some(section) => section == name,
        None => !quick || name == "model",
    };
    if only.is_none() {
        tell(
            "Esc leaves a section as it is, Ctrl+C leaves the rest.",
            out,
        )?;
    }
    for section in SECTIONS.iter().filter(|section| wanted(section.name)) {
        match section.ask {
            Ask::NotBuilt(what) => writeln!(out, "({}: {what}.)", section.name)?,
            Ask::With(ask) => match ask(&context.renewed(None), out) {
                Ok(true) => stored.push(section.name),
                Ok(false) => {}
                Err(error) if error.kind == ErrorKind::Interrupted && !stored.is_empty() => {
                    return Err(CommandError::new(
                        ErrorKind::Interrupted,
                        format!("interrupted; stored before that: {}", stored.join(", ")),
                    )
                    .hint(format!("`hermes setup {}` goes on here", section.name)));
                }
                Err(error) => return Err(error),
            },
        }
        out.flush()?;
    }
    Ok(())
}

/// What to type when nobody can be asked.
fn lines(after_reset: bool, out: &mut Out) -> Result<Exit, CommandError> {
    if !after_reset {
        writeln!(out, "Nothing was changed. These lines set Hermes up:\n")?;
    }
    writeln!(out, "  hermes config set OPENROUTER_API_KEY your-key")?;
    writeln!(out, "  hermes config set model.provider openrouter")?;
    writeln!(out, "  hermes config set model.default vendor/model")?;
    writeln!(
        out,
        "\nOr in one line: `hermes setup --provider openrouter --model vendor/model --api-key your-key`"
    )?;
    Ok(Exit::SUCCESS)
}

/// The same call as if there were no `config.yaml`.
fn without_file(context: &Context) -> Context {
    let mut fresh = context.renewed(None);
    fresh
        .environment
        .set(hermes_home::env::IGNORE_USER_CONFIG, "1");
    fresh
}

/// What a fresh file holds: nothing is set, and it says where to look.
const FRESH: &str = "# Nothing is set here, so everything is as built in. `hermes config list` shows it,\n\
     # `hermes config set KEY VALUE` changes it.\n";

/// Moves `config.yaml` aside and begins a fresh one. Keys and sessions stay.
fn reset(args: &Args, context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let file = context.home.config_file();
    if !file.exists() {
        write_atomic(&file, FRESH.as_bytes(), FileMode::Private)?;
        return Ok(());
    }
    if !confirm(
        "Begin with a fresh config.yaml? The old one is kept.",
        args.yes,
        out,
    )? {
        return Err(refused());
    }
    let time = context.clock.now_local().format("%Y%m%d_%H%M%S");
    let kept = file.with_file_name(format!("config.yaml.before-reset-{time}"));
    std::fs::rename(&file, &kept)?;
    write_atomic(&file, FRESH.as_bytes(), FileMode::Private)?;
    writeln!(
        out,
        "{} is fresh; the old settings are in {}",
        context.home.display(&file),
        context.home.display(&kept)
    )?;
    Ok(())
}

fn offer_chat(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if !is_set_up(context)? {
        writeln!(out)?;
        tell(
            "No model is set up yet. `hermes model` chooses one; `hermes demo` shows what there is without one.",
            out,
        )?;
        return Ok(Exit::SUCCESS);
    }
    writeln!(out)?;
    tell(
        "Done. `hermes` starts a chat; `hermes doctor` looks for problems.",
        out,
    )?;
    match confirm("Start a chat now?", false, out) {
        Ok(true) => super::chat::run(super::chat::Args::default(), context, out),
        // Everything is stored; there is nothing left to interrupt.
        Ok(false) => Ok(Exit::SUCCESS),
        Err(error) if error.kind == ErrorKind::Interrupted => Ok(Exit::SUCCESS),
        Err(error) => Err(error),
    }
}

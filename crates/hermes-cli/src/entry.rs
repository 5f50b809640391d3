//! From the process's arguments to its exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::ErrorKind as ClapErrorKind;
use hermes_home::{Clock, Environment};

use crate::cli::{self, Cli};
use crate::{CommandError, Context, Exit, Out, arguments, command_error, commands};

/// Runs one command to its end. All output has been flushed when this returns.
pub fn run(words: Vec<OsString>, environment: Environment, clock: Clock) -> ExitCode {
    let mut out = Out::of_process(&environment);
    let exit = parse(words, &mut out)
        .and_then(|parsed| match parsed {
            Parsed::Answered(exit) => Ok(exit),
            Parsed::Call(cli) => dispatch(*cli, environment, clock, &mut out),
        })
        .and_then(|exit| match out.finish() {
            Ok(()) => Ok(exit),
            Err(error) => Err(CommandError::from(error).context("cannot write the output")),
        });
    match exit {
        Ok(exit) => exit.into(),
        // Whoever read our output has seen enough: not a failure, and there is
        // nobody left to tell.
        Err(_) if out.reader_is_gone() => Exit::SUCCESS.into(),
        Err(error) => {
            // What the command printed so far comes before the reason it stopped.
            let _ = out.finish();
            command_error::report(&error, &mut out).into()
        }
    }
}

/// The same within a running program, with output that somebody captures: what
/// went wrong is part of it.
pub(crate) fn run_captured(
    words: Vec<OsString>,
    environment: Environment,
    clock: Clock,
    out: &mut Out,
) {
    let done = parse(words, out).and_then(|parsed| match parsed {
        Parsed::Answered(exit) => Ok(exit),
        Parsed::Call(cli) => dispatch(*cli, environment, clock, out),
    });
    let _ = out.finish();
    if let Err(error) = done {
        command_error::report(&error, out);
    }
}

enum Parsed {
    /// Help or a usage error, already printed.
    Answered(Exit),
    Call(Box<Cli>),
}

fn parse(words: Vec<OsString>, out: &mut Out) -> Result<Parsed, CommandError> {
    let command = cli::command();
    let words = arguments::prepare(words, &command);
    let matches = command.try_get_matches_from(words);
    if let Ok(matches) = &matches
        && let Some(name) = cli::not_built(matches)
        && !matches.get_flag("version")
    {
        return Err(commands::not_built(&name));
    }
    match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => Ok(Parsed::Call(Box::new(cli))),
        Err(error) => {
            let help = matches!(
                error.kind(),
                ClapErrorKind::DisplayHelp
                    // A group called without a verb of its own.
                    | ClapErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            );
            if help {
                out.styled(&error.render())?;
                Ok(Parsed::Answered(Exit::SUCCESS))
            } else {
                out.styled_to_stderr(&error.render());
                Ok(Parsed::Answered(Exit::USAGE))
            }
        }
    }
}

fn dispatch(
    cli: Cli,
    environment: Environment,
    clock: Clock,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    if cli.version {
        return commands::version::print(out);
    }
    let Cli {
        everywhere,
        run,
        oneshot,
        verb,
        ..
    } = cli;
    let context = Context::new(
        everywhere,
        run,
        oneshot,
        environment,
        clock,
        verb.as_ref(),
        out,
    )?;
    commands::run(verb, &context, out)
}

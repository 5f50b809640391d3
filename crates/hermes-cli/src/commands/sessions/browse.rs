//! `hermes sessions browse`: a numbered list to choose from. A number goes on
//! with that session, text narrows the list, an empty line leaves.

use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

use hermes_store::{ListFilter, ListOrder, ListedSession};
use hermes_types::SessionId;

use super::text::{ago, cell};
use crate::cli::RunOptions;
use crate::{CommandError, Context, Exit, Out};

const SHOWN_AT_ONCE: usize = 20;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only sessions of this source
    #[arg(long)]
    source: Option<String>,

    /// How many to choose from
    #[arg(long, value_name = "N", default_value_t = 500)]
    limit: usize,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if !out.is_attended() {
        return Err(CommandError::user(
            "`hermes sessions browse` asks questions and needs a terminal",
        )
        .hint("`hermes sessions list` prints the same sessions"));
    }
    let filter = ListFilter {
        source: args.source.clone(),
        limit: args.limit,
        order: ListOrder::LastActive,
        ..ListFilter::default()
    };
    let sessions = match super::open(context)? {
        Some(db) => db.list(&filter)?,
        None => Vec::new(),
    };
    if sessions.is_empty() {
        out.line("No sessions found.")?;
        return Ok(Exit::SUCCESS);
    }
    match choose(&sessions, context, out)? {
        Some(id) => Err(resume(&id, context, out)),
        None => Ok(Exit::SUCCESS),
    }
}

fn choose(
    sessions: &[ListedSession],
    context: &Context,
    out: &mut Out,
) -> Result<Option<SessionId>, CommandError> {
    let mut wanted = String::new();
    loop {
        let matching: Vec<&ListedSession> = sessions
            .iter()
            .filter(|session| matches(session, &wanted))
            .collect();
        for (number, session) in matching.iter().take(SHOWN_AT_ONCE).enumerate() {
            let name = session.title.as_deref().unwrap_or(&session.preview);
            let line = format!(
                "{:>3}  {} {} {}",
                number + 1,
                cell(name, 44, 45),
                cell(&ago(session.last_active, &context.clock), 11, 12),
                session.id
            );
            out.line(&line)?;
        }
        match matching.len() {
            0 => out.line("No session matches.")?,
            all if all > SHOWN_AT_ONCE => {
                out.line(&format!("     … and {} more", all - SHOWN_AT_ONCE))?;
            }
            _ => {}
        }
        write!(out, "Number to resume, text to filter, Enter to leave: ")?;
        out.flush()?;
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer)?;
        let answer = answer.trim();
        if read == 0 || ((answer.is_empty() || answer == "q") && wanted.is_empty()) {
            return Ok(None);
        }
        match answer.parse::<usize>() {
            Ok(number) if (1..=matching.len().min(SHOWN_AT_ONCE)).contains(&number) => {
                return Ok(Some(matching[number - 1].id.clone()));
            }
            // An empty line clears the filter first and leaves the second time.
            _ => answer.clone_into(&mut wanted),
        }
    }
}

fn matches(session: &ListedSession, wanted: &str) -> bool {
    let wanted = wanted.to_lowercase();
    [
        session.title.as_deref().unwrap_or_default(),
        &session.preview,
        session.id.as_str(),
        &session.source,
    ]
    .iter()
    .any(|text| text.to_lowercase().contains(&wanted))
}

/// Becomes `hermes --resume ID` with the options of this call; returns only when
/// that fails.
fn resume(id: &SessionId, context: &Context, out: &mut Out) -> CommandError {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error.into(),
    };
    if let Err(error) = out.finish() {
        return error.into();
    }
    let error = Command::new(program)
        .args(inherited(&context.global))
        .args(["--resume", id.as_str()])
        .env_clear()
        .envs(context.environment.iter())
        .exec();
    CommandError::internal(error).context("cannot start the chat")
}

fn inherited(options: &RunOptions) -> Vec<String> {
    let mut words = Vec::new();
    let mut valued = |name: &str, value: Option<&String>| {
        if let Some(value) = value {
            words.extend([name.to_owned(), value.clone()]);
        }
    };
    valued("--model", options.model.as_ref());
    valued("--provider", options.provider.as_ref());
    for skill in &options.skills {
        valued("--skills", Some(skill));
    }
    for (name, given) in [
        ("--accept-hooks", options.accept_hooks),
        ("--yolo", options.yolo),
        ("--pass-session-id", options.pass_session_id),
        ("--ignore-user-config", options.ignore_user_config),
        ("--ignore-rules", options.ignore_rules),
        ("--tui", options.tui),
        ("--cli", options.cli),
        ("--dev", options.dev),
    ] {
        if given {
            words.push(name.to_owned());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_call_reach_the_chat() {
        let options = RunOptions {
            model: Some("m".into()),
            skills: vec!["a,b".into()],
            yolo: true,
            ..RunOptions::default()
        };
        assert_eq!(
            inherited(&options),
            ["--model", "m", "--skills", "a,b", "--yolo"]
        );
    }
}

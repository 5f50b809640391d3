//! The conversation on a terminal. `hermes-tui` owns the screen; here is what it
//! asks of the program: sessions, models, settings, verbs.

mod commands;
mod host;
mod offer;
mod plain;
mod preferences;
mod recap;
mod rollback;
mod sessions;
mod verbs;
mod words;

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use hermes_agent::demo::DEMO_PROVIDER;
use hermes_home::env;
use hermes_llm::resolve::Selection;
use hermes_tools::StateHandle;
use hermes_tui::{App, History, Status};
use hermes_types::SessionId;
use ratatui::text::Line;

use self::host::ChatHost;
use super::beginning;
use super::run::counts;
use super::show::summary;
use super::worktree::Worktree;
use crate::cli::RunOptions;
use crate::wiring::selection;
use crate::{CommandError, Context, Exit, Out};

/// How the chat was started.
pub(super) struct Start {
    pub(super) options: RunOptions,
    pub(super) max_turns: Option<u32>,
    pub(super) checkpoints: bool,
    pub(super) source: Option<String>,
    pub(super) verbose: bool,
}

pub(super) fn run(start: Start, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    // A broken file is told before anything is on the screen.
    let preferences = preferences::read(context, start.verbose)?;
    let wanted = selection(&start.options);
    let wanted = match offer::needed(context, &wanted)? {
        false => wanted,
        true => match offer::ask(context, out)? {
            Some(chosen) => chosen,
            None => return Ok(Exit::SUCCESS),
        },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let exit = runtime.block_on(converse(start, preferences, wanted, context, out));
    runtime.shutdown_timeout(Duration::from_millis(100));
    exit
}

async fn converse(
    start: Start,
    preferences: hermes_tui::Preferences,
    wanted: Selection,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let started = Instant::now();
    let state = StateHandle::open(context.home.state_db(), context.clock.clone())?;
    beginning::tell_oddities(context, out)?;
    beginning::tidy(context, &state).await?;
    let worktree = match start.options.worktree {
        true => Some(Worktree::create(&std::env::current_dir()?, out).await?),
        false => None,
    };
    let mut host = ChatHost::new(context, start, wanted, state.clone(), worktree)?;
    let dumb = context.environment.get(env::TERM) == Some("dumb");
    let ended = if dumb || !std::io::stdout().is_terminal() {
        plain::run(&mut host, out).await?
    } else {
        let app = App::new(
            preferences,
            History::load(context.home.join(".hermes_history")),
            Box::new(words::Words::new(context, host.cwd())),
            Status::new(host.model_name(), host.short_cwd(), host.sandbox_name()),
        );
        let greeting = greeting(&host);
        match hermes_tui::run(app, &mut host, greeting, None).await {
            Ok(session) => session,
            Err(error) => {
                return Err(host.failure().unwrap_or_else(|| error.into()));
            }
        }
    };
    host.close().await;
    farewell(ended.as_ref(), started, &state, context, out).await?;
    host.leave_worktree(out).await;
    Ok(Exit::SUCCESS)
}

fn greeting(host: &ChatHost<'_>) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(format!(
        "Hermes {} · {} · /help shows what can be typed",
        env!("CARGO_PKG_VERSION"),
        host.model_name()
    ))];
    if host.is_demo() {
        lines.push(Line::from(
            "The demo model is a small set of rules, not a language model. Ask it to list or read files, run a command, search, or edit a file.",
        ));
    }
    lines.push(Line::default());
    lines
}

/// How to come back, or a word of goodbye when nothing was said.
async fn farewell(
    ended: Option<&SessionId>,
    started: Instant,
    state: &StateHandle,
    context: &Context,
    out: &mut Out,
) -> Result<(), CommandError> {
    let found = match ended {
        Some(id) => counts(state, id).await.map(|counts| (id, counts)),
        None => None,
    };
    match found {
        Some((id, counts)) if counts.user > 0 => {
            summary(out, id, context, &counts, started.elapsed())?;
        }
        _ => writeln!(out, "Goodbye.")?,
    }
    out.flush()?;
    Ok(())
}

fn demo_selection() -> Selection {
    Selection::of(Some(DEMO_PROVIDER), None)
}

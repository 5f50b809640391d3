//! What can be measured. Each area is one module with one `run`.

mod agent;
mod chat;
mod files;
mod kanban;
mod sandbox;
mod sessions;
mod start;
mod survival;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use crate::measure::Bench;
use crate::report::Row;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Area {
    /// Everything below, in turn.
    All,
    /// Starting the program: version, help, short verbs; size of the binary.
    Start,
    /// Lists and search over a large store, and appending while being killed.
    Sessions,
    /// Commands on this machine through the terminal tool.
    Terminal,
    /// Commands in the shared container; needs an engine.
    Sandbox,
    /// Files, code and the rules for commands: local, in a container, over ssh.
    Files,
    /// Conversations with a scripted model that answers at once.
    Agent,
    /// The conversation in the terminal: start, idle, latency, a long session resumed.
    Chat,
    /// A board with 10,000 tasks, and many processes on one board.
    Kanban,
}

type Measure = fn(&Bench) -> Result<Vec<Row>>;

const AREAS: &[(Area, Measure)] = &[
    (Area::Start, start::run),
    (Area::Sessions, sessions::run),
    (Area::Terminal, terminal::run),
    (Area::Sandbox, sandbox::run),
    (Area::Files, files::run),
    (Area::Agent, agent::run),
    (Area::Chat, chat::run),
    (Area::Kanban, kanban::run),
];

/// What was measured, and which areas could not be, with the reason.
pub(crate) struct Figures {
    pub(crate) rows: Vec<Row>,
    pub(crate) failed: Vec<(String, String)>,
}

/// Measures one area or all. Of all, an area that fails does not take the others along.
pub(crate) fn run(area: Area, bench: &Bench) -> Result<Figures> {
    let mut figures = Figures {
        rows: Vec::new(),
        failed: Vec::new(),
    };
    for (each, measure) in AREAS {
        if area != Area::All && area != *each {
            continue;
        }
        let name = each
            .to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default();
        eprintln!("measuring: {name}");
        match measure(bench) {
            Ok(rows) => figures.rows.extend(rows),
            Err(error) if area == Area::All => figures.failed.push((name, format!("{error:#}"))),
            Err(error) => return Err(error),
        }
    }
    Ok(figures)
}

/// Processes that an area needs many of: this program starts itself.
pub(crate) fn run_helper(words: &[OsString]) -> Result<ExitCode> {
    match words[0].to_str() {
        Some(sessions::APPEND) => sessions::append(words),
        Some(sessions::FILL) => sessions::fill(words),
        Some(kanban::CREATE) => kanban::create(words),
        Some(kanban::CLAIM) => kanban::claim(words),
        _ => anyhow::bail!("no helper is called {}", words[0].display()),
    }
}

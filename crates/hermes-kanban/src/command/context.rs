//! What a command is given, and how it ends.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use hermes_config::Config;
use hermes_home::{Clock, Environment, Home};
use hermes_types::TaskId;

use super::arguments::Verb;
use crate::boards::{BoardPaths, Boards, Selection, Slug};
use crate::env;
use crate::error::KanbanError;
use crate::host::Host;
use crate::machine::Fence;
use crate::model::{Task, Termination};
use crate::settings::Settings;
use crate::store::{Board, Check, OpenOptions};
use crate::triage::Assistant;
use crate::worker;

const BUFFER: usize = 64 * 1024;

/// One call.
#[derive(Clone)]
pub struct Context {
    pub home: Home,
    pub environment: Environment,
    pub config: Config,
    /// `-c KEY=VALUE`, for loops that read the configuration again.
    pub overrides: Vec<(String, String)>,
    pub clock: Clock,
    pub host: Host,
    /// Where the command was started.
    pub directory: PathBuf,
    /// The running program, which workers run too.
    pub program: PathBuf,
    /// Who helps with triage; `None` when no model is configured.
    pub assistant: Option<Arc<dyn Assistant>>,
}

/// Where a command writes: data through [`Write`], and remarks beside it.
pub trait Sink: Write {
    fn remark(&mut self, text: &str);
}

/// The writing end that commands use.
pub struct Output<'a> {
    pub sink: &'a mut dyn Sink,
}

impl<'a> Output<'a> {
    pub fn to(sink: &'a mut dyn Sink) -> Self {
        Self { sink }
    }

    pub fn line(&mut self, text: impl AsRef<str>) -> io::Result<()> {
        self.sink.write_all(text.as_ref().as_bytes())?;
        self.sink.write_all(b"\n")
    }

    pub fn json<T: serde::Serialize + ?Sized>(&mut self, value: &T) -> io::Result<()> {
        let mut buffer = self.buffered();
        serde_json::to_writer_pretty(&mut buffer, value)?;
        buffer.write_all(b"\n")?;
        buffer.flush()
    }

    /// JSON is written a few bytes at a time; the sink is asked for large pieces.
    fn buffered(&mut self) -> BufWriter<&mut dyn Sink> {
        BufWriter::with_capacity(BUFFER, &mut *self.sink)
    }

    pub fn remark(&mut self, text: impl AsRef<str>) {
        self.sink.remark(text.as_ref());
    }
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// What to print to standard error, and the exit code.
    Said { message: String, exit: u8 },
    /// Standard output is gone.
    Output(io::Error),
}

impl Failure {
    pub fn failed(message: impl Into<String>) -> Self {
        Failure::Said {
            message: message.into(),
            exit: 1,
        }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Failure::Said {
            message: message.into(),
            exit: 2,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl From<KanbanError> for Failure {
    fn from(error: KanbanError) -> Self {
        Failure::failed(format!("kanban: {error}"))
    }
}

/// A command with its board open.
pub(super) struct Session<'a> {
    pub(super) context: &'a Context,
    pub(super) boards: Boards,
    pub(super) paths: BoardPaths,
    pub(super) board: Board,
    pub(super) settings: Settings,
}

impl<'a> Session<'a> {
    pub(super) fn open(
        board: Option<&str>,
        verb: &Verb,
        context: &'a Context,
        output: &mut Output<'_>,
    ) -> Result<Self, Failure> {
        let boards = Boards::locate(&context.home, &context.environment);
        let selection = match board {
            None => Selection::active(&boards, &context.environment),
            Some(text) => {
                let slug = Slug::parse(text)
                    .map_err(|error| Failure::usage(format!("kanban: {error}")))?;
                if !boards.exists(&slug) {
                    return Err(unknown_board("kanban", &slug));
                }
                Selection::explicit(slug, &boards, &context.environment)
            }
        };
        if let Some(warning) = selection.warning {
            output.remark(format!("kanban: warning: {warning}"));
        }
        let mut settings = Settings::read(&context.config, &context.environment);
        let mut untouched = false;
        if let Verb::Dispatch(dispatch) = verb {
            settings.failure_limit = dispatch.failure_limit.unwrap_or(settings.failure_limit);
            untouched = dispatch.dry_run;
        }
        let paths = boards.paths(&selection.slug);
        let board = Board::open(
            &paths.database,
            &OpenOptions {
                check: Check::Quick,
                migrate: matches!(verb, Verb::Init),
                untouched,
                ..open_options(context, &settings)
            },
        )
        .map_err(|error| {
            Failure::failed(format!("kanban: could not initialize database: {error}"))
        })?;
        Ok(Self {
            context,
            boards,
            paths,
            board,
            settings,
        })
    }

    /// The name that comments and promotions carry.
    pub(super) fn author(&self) -> String {
        author(self.context)
    }

    /// A worker that acts on its own task acts on its own run only.
    pub(super) fn fence(&self, id: &TaskId) -> Fence {
        let environment = &self.context.environment;
        if environment.get_non_empty(env::TASK) != Some(id.as_str()) {
            return Fence::Open;
        }
        environment
            .get_non_empty(env::RUN_ID)
            .and_then(|text| text.parse().ok())
            .map_or(Fence::Open, Fence::Run)
    }

    /// Acts on a task once nobody works on it any more. A worker that calls this for
    /// its own task acts as that worker.
    pub(super) fn once_nobody_works<T>(
        &self,
        id: &TaskId,
        mut act: impl FnMut(&Task, Fence, Termination) -> Result<T, KanbanError>,
    ) -> Result<T, KanbanError> {
        if self.context.environment.get_non_empty(env::TASK) == Some(id.as_str()) {
            let task = self.board.task(id)?;
            return act(&task, self.fence(id), Termination::default());
        }
        worker::once_nobody_works(&self.board, &self.context.host, id, act)
    }
}

pub(super) fn open_options(context: &Context, settings: &Settings) -> OpenOptions {
    OpenOptions {
        patience: settings.busy_timeout,
        failure_limit: settings.failure_limit,
        clock: context.clock.clone(),
        ..OpenOptions::default()
    }
}

pub(super) fn author(context: &Context) -> String {
    let environment = &context.environment;
    environment
        .get_non_empty(env::PROFILE_NAME)
        .or_else(|| environment.get_non_empty(env::PROFILE))
        .map(str::to_owned)
        .unwrap_or_else(|| context.home.profile_name())
}

pub(super) fn unknown_board(command: &str, slug: &Slug) -> Failure {
    Failure::failed(format!(
        "{command}: board '{slug}' does not exist. Create it with `hermes kanban boards create {slug}`."
    ))
}

pub(super) fn task_id(text: &str) -> TaskId {
    TaskId::new(text.trim())
}

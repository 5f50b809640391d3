//! Real processes.

use std::sync::mpsc::Sender;

use hermes_process::{Command, Exit, Identity, spawn};
use hermes_types::TaskId;
use tokio::runtime::{Builder, Runtime};

use super::round::Launcher;
use crate::boards::Slug;
use crate::error::KanbanError;

/// A child of ours has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerExit {
    pub board: Slug,
    pub task: TaskId,
    pub run: i64,
    pub exit: Option<Exit>,
}

impl WorkerExit {
    pub fn code(&self) -> Option<i64> {
        match self.exit {
            Some(Exit::Code(code)) => Some(i64::from(code)),
            _ => None,
        }
    }

    pub fn signal(&self) -> Option<i64> {
        match self.exit {
            Some(Exit::Signal(signal)) => Some(i64::from(signal)),
            _ => None,
        }
    }
}

/// Who hears of a worker's end, and in which words.
type Listener<T> = (Sender<T>, fn(WorkerExit) -> T);

/// Starts workers; with a listener it also waits for each of them, on one thread
/// for all.
pub struct ProcessLauncher<T> {
    runtime: Option<Runtime>,
    listener: Option<Listener<T>>,
}

impl<T: Send + 'static> ProcessLauncher<T> {
    /// For a command that starts workers and goes.
    pub fn leaving() -> Self {
        Self {
            runtime: None,
            listener: None,
        }
    }

    /// For a loop that stays.
    pub fn watching(sender: Sender<T>, wrap: fn(WorkerExit) -> T) -> Self {
        Self {
            runtime: None,
            listener: Some((sender, wrap)),
        }
    }

    /// The runtime that waits, made when it is first needed.
    pub fn runtime(&mut self) -> Result<&Runtime, KanbanError> {
        if self.runtime.is_none() {
            let runtime = Builder::new_multi_thread()
                .worker_threads(1)
                .thread_name("kanban-watch")
                .enable_all()
                .build()
                .map_err(|error| KanbanError::Process(error.to_string()))?;
            self.runtime = Some(runtime);
        }
        self.runtime
            .as_ref()
            .ok_or_else(|| KanbanError::Process("no runtime".to_owned()))
    }
}

impl<T: Send + 'static> Launcher for ProcessLauncher<T> {
    fn launch(
        &mut self,
        board: &Slug,
        task: &TaskId,
        run: i64,
        command: Command,
    ) -> Result<Identity, String> {
        let listener = self.listener.clone();
        let runtime = self.runtime().map_err(|error| error.to_string())?;
        let process = runtime
            .block_on(spawn(command))
            .map_err(|error| error.to_string())?;
        let identity = process.identity().clone();
        if let Some((sender, wrap)) = listener {
            let (board, task) = (board.clone(), task.clone());
            runtime.spawn(async move {
                let exit = process.wait().await.ok();
                // The process is reaped when the guard goes, after its end is told.
                let _ = sender.send(wrap(WorkerExit {
                    board,
                    task,
                    run,
                    exit,
                }));
                drop(process);
            });
        }
        Ok(identity)
    }
}

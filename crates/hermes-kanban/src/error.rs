//! What can go wrong with a board or with what was asked of it.

use std::io;
use std::path::PathBuf;

use hermes_types::TaskId;
use thiserror::Error;

use crate::boards::{InvalidSlug, Slug};
use crate::machine::{InvalidTask, Refusal};

#[derive(Debug, Error)]
pub enum KanbanError {
    #[error("{source}")]
    Storage {
        /// The board itself is broken, not only out of reach.
        damaged: bool,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error(
        "Refusing to open corrupt kanban DB at {}: {reason}. Original preserved; backup at {}.",
        path.display(),
        backup.display()
    )]
    Corrupt {
        path: PathBuf,
        reason: String,
        backup: PathBuf,
    },
    #[error("unknown task {0}")]
    UnknownTask(TaskId),
    #[error("unknown parent task(s): {}", join(.0))]
    UnknownParents(Vec<TaskId>),
    #[error("unknown task(s): {}", join(.0))]
    UnknownTasks(Vec<TaskId>),
    #[error("a task cannot depend on itself")]
    SelfLink,
    #[error("linking {parent} -> {child} would create a cycle")]
    Cycle { parent: TaskId, child: TaskId },
    #[error(transparent)]
    Invalid(#[from] InvalidTask),
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{what} is required")]
    Required { what: &'static str },
    #[error(transparent)]
    Slug(#[from] InvalidSlug),
    #[error("board '{0}' does not exist")]
    UnknownBoard(Slug),
    #[error(
        "the completion names cards that were not created for this task: {}",
        join(phantom)
    )]
    PhantomCards {
        phantom: Vec<TaskId>,
        verified: Vec<TaskId>,
    },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("workspace: {0}")]
    Workspace(String),
    #[error("{0}")]
    Process(String),
    #[error("attachment exceeds {limit_mb} MB limit")]
    AttachmentTooBig { limit_mb: u64 },
    #[error("cyclic dependency detected in decomposed children list")]
    CyclicChildren,
    #[error(
        "the worker of {task} (process {pid}) could not be ended, so nothing was changed; \
         end it, then try again"
    )]
    WorkerLives { task: TaskId, pid: i64 },
    #[error("no free task id was found in {0} tries")]
    NoFreeId(u32),
}

pub(crate) fn join(ids: &[TaskId]) -> String {
    ids.iter()
        .map(TaskId::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

impl KanbanError {
    /// The task is not in a state in which this can be done, or is not there.
    pub fn is_refusal(&self) -> bool {
        matches!(self, KanbanError::Refused(_) | KanbanError::UnknownTask(_))
    }

    /// The file itself is unusable.
    pub fn is_damage(&self) -> bool {
        match self {
            KanbanError::Corrupt { .. } => true,
            KanbanError::Storage { damaged, .. } => *damaged,
            _ => false,
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| KanbanError::Io { path, source }
    }
}

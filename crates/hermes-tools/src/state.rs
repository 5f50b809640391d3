//! `state.db` for asynchronous code: one thread owns the connection and does
//! what it is sent, in order. What a call returns for is on disk.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use hermes_home::Clock;
use hermes_store::{StateDb, StoreError};
use tokio::sync::{mpsc, oneshot};

/// Work that may wait for the thread; more makes the senders wait.
const QUEUE: usize = 64;

type Job = Box<dyn FnOnce(Result<&StateDb, &StoreError>) + Send>;

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be opened when it was first needed.
    #[error("{0}")]
    NotOpen(String),
    #[error("the thread that owns the session database has ended")]
    Gone,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Now,
    Needed,
}

/// Cheap to clone. The thread ends, and the file closes, with the last clone.
#[derive(Clone)]
pub struct StateHandle {
    jobs: mpsc::Sender<Job>,
    path: Arc<PathBuf>,
}

impl StateHandle {
    /// Opens the file on its own thread, while the caller goes on.
    pub fn open(path: PathBuf, clock: Clock) -> std::io::Result<Self> {
        Self::start(path, clock, When::Now)
    }

    /// Opens the file when it is first needed; until then there is no thread work
    /// and no file.
    pub fn lazy(path: PathBuf, clock: Clock) -> std::io::Result<Self> {
        Self::start(path, clock, When::Needed)
    }

    fn start(path: PathBuf, clock: Clock, when: When) -> std::io::Result<Self> {
        let (jobs, mut inbox) = mpsc::channel::<Job>(QUEUE);
        let shared = Arc::new(path);
        let path = Arc::clone(&shared);
        thread::Builder::new()
            .name("state-db".to_owned())
            .spawn(move || {
                let mut next = match when {
                    When::Now => None,
                    When::Needed => match inbox.blocking_recv() {
                        Some(job) => Some(job),
                        None => return,
                    },
                };
                let opened = StateDb::open(&path, clock);
                while let Some(job) = next.take().or_else(|| inbox.blocking_recv()) {
                    job(opened.as_ref());
                }
            })?;
        Ok(Self { jobs, path: shared })
    }

    pub fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Runs `work` on the owning thread and waits for what it returns.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StateDb) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StateError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |database| {
            let result = match database {
                Ok(database) => work(database).map_err(StateError::Store),
                Err(error) => Err(StateError::NotOpen(error.to_string())),
            };
            // Whoever asked may have been cancelled; the work is done all the same.
            let _ = answer.send(result);
        });
        self.jobs.send(job).await.map_err(|_| StateError::Gone)?;
        answered.await.map_err(|_| StateError::Gone)?
    }
}

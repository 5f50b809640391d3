//! What one process of ours has to do with containers, across all of them: the
//! engine, the janitor that runs once, and the removals that exit must wait for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_home::{Clock, Environment};
use tokio::task::JoinHandle;

use super::binary::EngineProgram;
use super::cli::CliEngine;
use super::engine::{ContainerId, Engine, EngineError, limits};
use super::socket::SocketEngine;

/// How long exit waits for each removal.
const EXIT_PATIENCE: Duration = Duration::from_secs(15);

/// Where sentences for the user go: drift, a container that had to be replaced.
pub type Notify = Arc<dyn Fn(String) + Send + Sync>;

pub struct DockerHost {
    engine: Arc<dyn Engine>,
    clock: Clock,
    notify: Notify,
    reaped: AtomicBool,
    removals: Mutex<Vec<JoinHandle<()>>>,
}

impl DockerHost {
    /// Finds the engine; asks it nothing yet.
    pub fn find(
        environment: &Environment,
        user_home: &std::path::Path,
        clock: Clock,
        notify: Notify,
    ) -> Result<Arc<Self>, EngineError> {
        let program = EngineProgram::find(environment, user_home)?;
        let socket = program.socket.clone();
        let client = CliEngine::new(program, environment.clone());
        let engine: Arc<dyn Engine> = match socket {
            Some(socket) => Arc::new(SocketEngine::new(client, socket)),
            None => Arc::new(client),
        };
        Ok(Self::over(engine, clock, notify))
    }

    pub fn over(engine: Arc<dyn Engine>, clock: Clock, notify: Notify) -> Arc<Self> {
        Arc::new(Self {
            engine,
            clock,
            notify,
            reaped: AtomicBool::new(false),
            removals: Mutex::new(Vec::new()),
        })
    }

    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn notify(&self, sentence: String) {
        tracing::warn!("{sentence}");
        (self.notify)(sentence);
    }

    /// True for the first caller only.
    pub(crate) fn may_reap(&self) -> bool {
        !self.reaped.swap(true, Ordering::SeqCst)
    }

    /// Stops and removes a container on a worker that [`Self::finish`] waits for,
    /// whoever asked for it.
    pub(crate) fn remove_later(
        self: &Arc<Self>,
        id: ContainerId,
        after: impl FnOnce() + Send + 'static,
    ) {
        let host = self.clone();
        let worker = tokio::spawn(async move {
            if let Err(error) = stop_and_remove(host.engine.as_ref(), &id).await {
                host.notify(format!("container {id} could not be removed: {error}"));
            }
            after();
        });
        let mut removals = self.removals.lock().unwrap_or_else(PoisonError::into_inner);
        removals.retain(|worker| !worker.is_finished());
        removals.push(worker);
    }

    /// Waits for every removal that is under way, in parallel, 15 s at most.
    /// False when one was not done by then.
    pub async fn finish(&self) -> bool {
        let workers =
            std::mem::take(&mut *self.removals.lock().unwrap_or_else(PoisonError::into_inner));
        let all = futures_util::future::join_all(workers);
        tokio::time::timeout(EXIT_PATIENCE, all).await.is_ok()
    }
}

pub(crate) async fn stop_and_remove(
    engine: &dyn Engine,
    id: &ContainerId,
) -> Result<(), EngineError> {
    // Removal by force works on a running container too; the stop is for its sake.
    let _ = engine.stop(id).await;
    engine.remove(id.as_str(), limits::REMOVE).await
}

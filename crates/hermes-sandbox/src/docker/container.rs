//! One shared container as one process of ours sees it: found or made when first
//! needed, leased while in use, found or made again when it went away.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::create::create;
use super::drift;
use super::engine::{Container, ContainerId, Engine, EngineError, ExecRequest, State, limits};
use super::error::DockerError;
use super::find::{Step, Whose, choose, step_for};
use super::host::DockerHost;
use super::janitor;
use super::lease::{self, Lease, StateFile};
use super::settings::{ContainerSettings, LifeSettings, Persist};
use crate::channel::{Fault, Mended, Opener, Pool, Rights, Wire, resident_command};

/// How long a restarting or vanishing container may take to settle.
const SETTLE: Duration = Duration::from_secs(10);

/// After this long without a listing we ask whether the engine answers at all.
const DOUBT: Duration = Duration::from_secs(2);

/// What a container should be and whose it is.
#[derive(Clone, Debug)]
pub struct Plan {
    pub whose: Whose,
    pub settings: ContainerSettings,
    pub life: LifeSettings,
}

/// A container that we hold a lease on, and the channels into it.
pub(crate) struct Attached {
    pub(crate) id: ContainerId,
    pub(crate) name: String,
    pub(crate) pool: Pool,
    pub(crate) lease: Lease,
}

pub(crate) struct SharedContainer {
    host: Arc<DockerHost>,
    plan: Plan,
    current: Mutex<Option<Arc<Attached>>>,
    /// One search or creation at a time in this process.
    gate: Semaphore,
}

impl SharedContainer {
    pub(crate) fn new(host: Arc<DockerHost>, plan: Plan) -> Self {
        Self {
            host,
            plan,
            current: Mutex::new(None),
            gate: Semaphore::new(1),
        }
    }

    pub(crate) fn host(&self) -> &Arc<DockerHost> {
        &self.host
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn current(&self) -> Option<Arc<Attached>> {
        self.slot().clone()
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Arc<Attached>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The container in use, or the one that is found or made now.
    pub(crate) async fn ensure(&self) -> Result<Arc<Attached>, DockerError> {
        if let Some(attached) = self.current() {
            return Ok(attached);
        }
        let Ok(_permit) = self.gate.acquire().await else {
            return Err(DockerError::Busy("the sandbox is being closed".to_owned()));
        };
        if let Some(attached) = self.current() {
            return Ok(attached);
        }
        let attached = Arc::new(self.attach().await?);
        *self.slot() = Some(attached.clone());
        Ok(attached)
    }

    /// Forgets a container that went away, unless somebody healed it meanwhile.
    pub(crate) fn forget(&self, lost: &Arc<Attached>) {
        let mut slot = self.slot();
        if slot
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, lost))
        {
            *slot = None;
        }
    }

    pub(crate) fn take(&self) -> Option<Arc<Attached>> {
        self.slot().take()
    }

    async fn attach(&self) -> Result<Attached, DockerError> {
        let place = &self.plan.whose.place;
        let unusable = |source| DockerError::Directory {
            path: place.directory().to_owned(),
            source,
        };
        std::fs::create_dir_all(place.directory()).map_err(unusable)?;
        let (id, name, lease) = match self.plan.life.persist {
            Persist::AcrossProcesses => {
                let _creating = lease::creation(place).await.map_err(unusable)?;
                let (id, name) = self.find_or_create().await?;
                let lease = Lease::share(place.lease()).await.map_err(unusable)?;
                (id, name, lease)
            }
            Persist::WithProcess => {
                let created = create(&self.host, &self.plan).await?;
                let path = place.private_lease(&created.name);
                let lease = Lease::share(path).await.map_err(unusable)?;
                (created.id, created.name, lease)
            }
        };
        janitor::start_once(&self.host, &self.plan, id.clone());
        let opener = ContainerOpener {
            host: self.host.clone(),
            id: id.clone(),
        };
        Ok(Attached {
            pool: Pool::new(Arc::new(opener)),
            id,
            name,
            lease,
        })
    }

    /// Under `create.lock`.
    async fn find_or_create(&self) -> Result<(ContainerId, String), DockerError> {
        let mut candidate = match self.probe().await? {
            Some(found) => self.settle(found).await?,
            None => None,
        };
        if let Some(container) = candidate.take_if(|c| drift::must_go(c, &self.plan)) {
            drift::replace(&self.host, &self.plan, &container).await?;
        }
        if let Some(container) = &candidate
            && drift::recreates(&self.host, &self.plan, container).await?
        {
            candidate = None;
        }
        if let Some(container) = candidate {
            return Ok((container.id, container.name));
        }
        let created = create(&self.host, &self.plan).await?;
        StateFile::of(&created.id, &self.plan, self.host.clock()).save(&self.plan.whose.place);
        Ok((created.id, created.name))
    }

    /// A failed lookup is no match; an engine that does not answer is an error,
    /// because creating would only wait longer for the same answer.
    async fn probe(&self) -> Result<Option<Container>, DockerError> {
        let labels = self.plan.whose.identity.shared();
        let engine = self.host.engine();
        let mut listing = engine.list(&labels);
        let listed = tokio::select! {
            listed = &mut listing => listed,
            () = tokio::time::sleep(DOUBT) => {
                match tokio::time::timeout(limits::ALIVE - DOUBT, engine.alive()).await {
                    Ok(Ok(())) => listing.await,
                    Ok(Err(error)) => return Err(error.into()),
                    Err(_) => return Err(EngineError::Timeout {
                        engine: engine.name().to_owned(),
                        operation: "ps".to_owned(),
                        limit: limits::ALIVE,
                    }.into()),
                }
            }
        };
        match listed {
            Ok(listed) => Ok(choose(&listed, &self.plan.whose).cloned()),
            Err(error @ EngineError::Unreachable { .. }) => Err(error.into()),
            Err(error) => {
                self.host.notify(format!(
                    "looking for the container failed ({error}); making a new one"
                ));
                Ok(None)
            }
        }
    }

    /// Brings the container that was found to life; `None` when another must be made.
    async fn settle(&self, found: Container) -> Result<Option<Container>, DockerError> {
        let engine = self.host.engine().as_ref();
        let deadline = tokio::time::Instant::now() + SETTLE;
        let mut container = found;
        loop {
            let attempt = match step_for(&container.state) {
                Step::Attach => return Ok(Some(container)),
                Step::Start => engine.start(&container.id).await,
                Step::Unpause => engine.unpause(&container.id).await,
                Step::Wait => {
                    if tokio::time::Instant::now() >= deadline {
                        self.gives_up_on(&container, "it does not settle");
                        return Ok(None);
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    match engine.inspect(&container.id).await? {
                        Some(now) => container = now,
                        None => return Ok(None),
                    }
                    continue;
                }
                Step::Replace => {
                    engine.remove(container.id.as_str(), limits::REMOVE).await?;
                    return Ok(None);
                }
                Step::Fresh => {
                    self.gives_up_on(&container, "its state is unknown");
                    return Ok(None);
                }
            };
            return match attempt {
                Ok(()) => {
                    container.state = State::Running;
                    Ok(Some(container))
                }
                Err(error @ EngineError::Unreachable { .. }) => Err(error.into()),
                Err(error) => {
                    self.gives_up_on(&container, &error.to_string());
                    Ok(None)
                }
            };
        }
    }

    fn gives_up_on(&self, container: &Container, reason: &str) {
        self.host.notify(format!(
            "container {} ({}) cannot be used: {reason}; making a new one",
            container.id,
            container.state.as_str()
        ));
    }
}

/// The way into one container.
struct ContainerOpener {
    host: Arc<DockerHost>,
    id: ContainerId,
}

impl Opener for ContainerOpener {
    fn open(&self, rights: Rights) -> BoxFuture<'_, Result<Wire, Fault>> {
        async move {
            let request = ExecRequest {
                command: resident_command(),
                privileged: rights == Rights::All,
            };
            self.host
                .engine()
                .exec(&self.id, &request)
                .await
                .map_err(|error| Fault::Open(error.to_string()))
        }
        .boxed()
    }

    fn mend(&self) -> BoxFuture<'_, Mended> {
        mend(self.host.engine().as_ref(), &self.id).boxed()
    }
}

/// What became of a container whose channel failed; a paused one goes on.
async fn mend(engine: &dyn Engine, id: &ContainerId) -> Mended {
    match tokio::time::timeout(limits::ALIVE, engine.inspect(id)).await {
        Ok(Ok(None)) => Mended::Gone,
        Ok(Ok(Some(container))) => match container.state {
            State::Running => Mended::Retry,
            State::Paused => match engine.unpause(id).await {
                Ok(()) => Mended::Retry,
                Err(error) => Mended::Unknown(error.to_string()),
            },
            _ => Mended::Gone,
        },
        Ok(Err(error)) => Mended::Unknown(error.to_string()),
        Err(_) => Mended::Unknown(format!(
            "{} did not answer within {} s",
            engine.name(),
            limits::ALIVE.as_secs()
        )),
    }
}

impl Attached {
    pub(crate) async fn mend(&self, engine: &dyn Engine) -> Mended {
        mend(engine, &self.id).await
    }
}

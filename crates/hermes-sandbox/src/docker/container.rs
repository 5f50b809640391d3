//! One shared container as one process of ours sees it: found or made when first
//! needed, leased while in use, found or made again when it went away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hermes_home::Lock;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::cli::last_words;
use super::create::{create, create_instead};
use super::drift;
use super::engine::{
    Container, ContainerId, Engine, EngineError, ExecRequest, State, limits, list_or_doubt,
};
use super::error::DockerError;
use super::find::{Step, Whose, choose, step_for};
use super::host::DockerHost;
use super::idle;
use super::janitor;
use super::lease::{self, Lease, StateFile};
use super::settings::{ContainerSettings, LifeSettings, Persist};
use crate::channel::{Fault, Mended, Opener, Pool, Rights, Wire, resident_command};

/// How long a restarting or vanishing container may take to settle.
const SETTLE: Duration = Duration::from_secs(10);

/// For a look at a container that does not answer.
const MEND_LIMIT: Duration = Duration::from_millis(2500);

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
    origin: Origin,
    /// A command was started in it.
    worked: AtomicBool,
    last_use: Mutex<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Running,
    /// It lay still and was brought to life for us.
    Awoken,
    Made,
}

pub(crate) struct SharedContainer {
    host: Arc<DockerHost>,
    plan: Plan,
    current: Mutex<Option<Arc<Attached>>>,
    /// Containers that end as soon as they are started.
    hopeless: Mutex<Vec<ContainerId>>,
    /// One search or creation at a time in this process.
    gate: Semaphore,
}

impl SharedContainer {
    pub(crate) fn new(host: Arc<DockerHost>, plan: Plan) -> Self {
        Self {
            host,
            plan,
            current: Mutex::new(None),
            hopeless: Mutex::new(Vec::new()),
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
    pub(crate) async fn ensure(self: &Arc<Self>) -> Result<Arc<Attached>, DockerError> {
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
        idle::watch(self, &attached);
        Ok(attached)
    }

    /// Forgets a container that went away, unless somebody healed it meanwhile.
    /// One that never worked is not tried again: if we made it, it is removed and
    /// the reason told; if we found it, another is made.
    pub(crate) async fn forget(&self, lost: &Arc<Attached>) -> Result<(), DockerError> {
        {
            let mut slot = self.slot();
            let is_current = |current: &Arc<Attached>| Arc::ptr_eq(current, lost);
            if slot.as_ref().is_some_and(is_current) {
                *slot = None;
            }
        }
        if lost.worked.load(Ordering::Acquire) {
            return Ok(());
        }
        match lost.origin {
            Origin::Running => Ok(()),
            Origin::Awoken => {
                self.host.notify(format!(
                    "container {} ends as soon as it is started; making a new one",
                    lost.id
                ));
                let mut hopeless = self.hopeless.lock().unwrap_or_else(PoisonError::into_inner);
                hopeless.push(lost.id.clone());
                Ok(())
            }
            Origin::Made => {
                let engine = self.host.engine();
                let said = engine.logs(&lost.id, 5).await.unwrap_or_default();
                engine.remove(lost.id.as_str(), limits::REMOVE).await?;
                Err(DockerError::EndsAtOnce {
                    image: self.plan.settings.image.clone(),
                    said: last_words(&said),
                })
            }
        }
    }

    /// Lets go of the container as its settings say; see [`super::DockerTarget::cleanup`].
    pub(crate) async fn let_go(&self, force_remove: bool) {
        let taken = self.slot().take();
        let Some(attached) = taken else {
            return;
        };
        attached.lease.touch();
        attached.pool.close().await;
        if !force_remove && self.plan.life.persist == Persist::AcrossProcesses {
            return;
        }
        let place = self.plan.whose.place.clone();
        let private = self.plan.life.persist == Persist::WithProcess;
        let keep_files = self.plan.settings.persistent_files;
        let name = attached.name.clone();
        let id = attached.id.clone();
        self.host.remove_later(id, move || {
            // The lease lives until the container is gone.
            drop(attached);
            if private {
                let _ = std::fs::remove_file(place.private_lease(&name));
            }
            if !keep_files {
                for directory in [place.home(), place.workspace()] {
                    let _ = std::fs::remove_dir_all(directory);
                }
            }
        });
    }

    async fn attach(&self) -> Result<Attached, DockerError> {
        let place = &self.plan.whose.place;
        let unusable = |source| DockerError::Directory {
            path: place.directory().to_owned(),
            source,
        };
        std::fs::create_dir_all(place.directory()).map_err(unusable)?;
        let (id, name, origin, lease) = match self.plan.life.persist {
            Persist::AcrossProcesses => {
                let creating = lease::creation(place).await.map_err(unusable)?;
                let (id, name, origin) = self.find_or_create(&creating).await?;
                let lease = Lease::share(place.lease()).await.map_err(unusable)?;
                (id, name, origin, lease)
            }
            Persist::WithProcess => {
                let created = create(&self.host, &self.plan, None).await?;
                let path = place.private_lease(&created.name);
                let lease = Lease::share(path).await.map_err(unusable)?;
                (created.id, created.name, Origin::Made, lease)
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
            origin,
            worked: AtomicBool::new(false),
            last_use: Mutex::new(Instant::now()),
        })
    }

    /// Under `create.lock`.
    async fn find_or_create(
        &self,
        creating: &Lock,
    ) -> Result<(ContainerId, String, Origin), DockerError> {
        let found = self.probe().await?;
        let origin = match &found {
            Some(found) if found.state == State::Running => Origin::Running,
            _ => Origin::Awoken,
        };
        let mut candidate = match found {
            Some(found) => self.settle(found).await?,
            None => None,
        };
        if let Some(container) = candidate.take_if(|c| drift::must_go(c, &self.plan)) {
            drift::replace(&self.host, &self.plan, &container).await?;
        }
        let mut outdated = None;
        if let Some(container) = &candidate {
            outdated = drift::outdated(&self.host, &self.plan, container).await?;
        }
        let created = match (candidate, outdated) {
            (Some(container), None) => return Ok((container.id, container.name, origin)),
            (Some(old), Some(_alone)) => {
                let old = [old];
                match create_instead(&self.host, &self.plan, Some(creating), &old).await {
                    Ok(created) => created,
                    Err(error) => {
                        let [old] = old;
                        self.host
                            .notify(format!("container {} stays as it is: {error}", old.id));
                        return Ok((old.id, old.name, origin));
                    }
                }
            }
            (None, _) => create(&self.host, &self.plan, Some(creating)).await?,
        };
        StateFile::of(&created.id, &self.plan, self.host.clock()).save(&self.plan.whose.place);
        Ok((created.id, created.name, Origin::Made))
    }

    /// A failed lookup is no match; an engine that does not answer is an error,
    /// because creating would only wait longer for the same answer.
    async fn probe(&self) -> Result<Option<Container>, DockerError> {
        let labels = self.plan.whose.identity.shared();
        let listed = match list_or_doubt(self.host.engine().as_ref(), &labels).await {
            // It does not answer at all; creating would only wait longer.
            Err(error @ EngineError::Timeout { limit, .. }) if limit == limits::ALIVE => {
                return Err(error.into());
            }
            listed => listed,
        };
        match listed {
            Ok(mut listed) => {
                let hopeless = self.hopeless.lock().unwrap_or_else(PoisonError::into_inner);
                listed.retain(|container| !hopeless.contains(&container.id));
                Ok(choose(&listed, &self.plan.whose).cloned())
            }
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
        let deadline = Instant::now() + SETTLE;
        let mut container = found;
        loop {
            let attempt = match step_for(&container.state) {
                Step::Attach => return Ok(Some(container)),
                Step::Start => engine.start(&container.id).await,
                Step::Unpause => engine.unpause(&container.id).await,
                Step::Wait => {
                    if Instant::now() >= deadline {
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
                user: match rights {
                    Rights::Own => None,
                    Rights::User(user) => Some(user),
                },
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
    match tokio::time::timeout(MEND_LIMIT, engine.inspect(id)).await {
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
            MEND_LIMIT.as_secs_f32()
        )),
    }
}

impl Attached {
    /// A command was started: the container is good, and in use now.
    pub(crate) fn works(&self) {
        self.worked.store(true, Ordering::Release);
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.lease.touch();
    }

    /// Since a command was started.
    pub(crate) fn idle_for(&self) -> Duration {
        let last = *self.last_use.lock().unwrap_or_else(PoisonError::into_inner);
        last.elapsed()
    }

    pub(crate) async fn mend(&self, engine: &dyn Engine) -> Mended {
        mend(engine, &self.id).await
    }
}

//! Warm channels into one sandbox, as many as calls run at once.
//!
//! A call takes an idle channel or waits for the next one to be opened or given
//! back, whichever is first, so no call queues behind a slow one. Idle channels
//! beyond a few are closed after a while.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::call::{Call, Input, Started, carry};
use super::link::{Fault, Link, Tools};
use super::request::{CallInput, CallRequest};
use super::warden::Warden;
use super::wire::Wire;

/// Channels of one process into one sandbox. The sandbox has 256 processes for
/// everybody; a call needs three of them beside its own.
const MOST_CHANNELS: usize = 32;

/// Kept open however long nothing happens.
const ALWAYS_IDLE: usize = 2;

const IDLE_LIMIT: Duration = Duration::from_secs(30);

/// How long a channel that answered before may take to answer again.
const READY_LIMIT: Duration = Duration::from_secs(1);

/// How long a new one may take: an exec on a loaded machine. Whoever waits asks
/// then whether the engine answers at all, and tries again if it does.
const OPEN_LIMIT: Duration = Duration::from_secs(5);

/// With whose rights a resident shell runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Those that commands have.
    Own,
    /// Those of another user inside, to end what belongs to that user.
    User(u32),
}

/// What became of the sandbox when a channel failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mended {
    /// It is there and should answer now.
    Retry,
    /// It is gone, and everything that ran in it.
    Gone,
    /// Nobody can tell.
    Unknown(String),
}

/// How to get into one sandbox.
pub trait Opener: Send + Sync + 'static {
    /// Starts [`super::resident_command`] inside.
    fn open(&self, rights: Rights) -> BoxFuture<'_, Result<Wire, Fault>>;

    /// Looks at the sandbox after a fault and wakes it if it sleeps.
    fn mend(&self) -> BoxFuture<'_, Mended>;
}

/// Channels into one sandbox. Dropping the last handle closes them.
#[derive(Clone)]
pub struct Pool(Arc<PoolInner>);

pub(crate) struct PoolInner {
    opener: Arc<dyn Opener>,
    warden: Warden,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    waiting: VecDeque<oneshot::Sender<Result<Link, Fault>>>,
    /// Open, being opened or busy.
    total: usize,
    opening: usize,
    tools: Option<Tools>,
}

struct Idle {
    link: Link,
    since: Instant,
}

impl Pool {
    pub fn new(opener: Arc<dyn Opener>) -> Self {
        Self(Arc::new(PoolInner {
            warden: Warden::new(opener.clone()),
            opener,
            state: Mutex::default(),
        }))
    }

    /// What the sandbox has; opens a channel when none was open yet.
    pub async fn tools(&self) -> Result<Tools, Fault> {
        if let Some(tools) = self.0.lock().tools {
            return Ok(tools);
        }
        let taken = self.0.clone().take().await?;
        taken.slot.keep();
        let tools = taken.link.tools;
        self.0.release(taken.link);
        Ok(tools)
    }

    /// Starts a command. An error means that it was not started; a call that is
    /// lost after that reports so through its exit.
    pub async fn call(&self, request: &CallRequest) -> Result<Call, Fault> {
        loop {
            let taken = self.0.clone().take().await?;
            let warm = taken.warm;
            match self.start(taken, request).await {
                Ok(call) => return Ok(call),
                // A channel may have died while it lay idle, and so may its
                // neighbours; one that was just opened must work. Silence is
                // another matter: the sandbox sleeps, and all of them with it.
                Err(Fault::Closed { .. } | Fault::Garbled(_)) if warm => {}
                Err(fault) => return Err(fault),
            }
        }
    }

    async fn start(&self, taken: Taken, request: &CallRequest) -> Result<Call, Fault> {
        let Taken {
            mut link,
            warm,
            slot,
        } = taken;
        let nonce = uuid::Uuid::new_v4().simple().to_string();
        let mark = fresh_mark();
        let limit = if warm { READY_LIMIT } else { OPEN_LIMIT };
        link.prepare(request, &nonce, mark, limit).await?;
        self.0.warden.present().await;
        self.0.warden.watch_first(mark).await;
        if let Err(fault) = link.go().await {
            self.0.warden.unwatch(mark);
            return Err(fault);
        }
        slot.keep();
        let input = match &request.input {
            CallInput::Bytes(bytes) if request.takes_the_channel() => Input::Bytes(bytes.clone()),
            CallInput::Stream => Input::Stream,
            CallInput::Bytes(_) | CallInput::Nothing => Input::None,
        };
        let started = Started {
            link,
            nonce,
            mark,
            input,
        };
        Ok(carry(started, self.0.clone()).await)
    }

    /// A call is running, or waits for a channel.
    pub fn is_busy(&self) -> bool {
        let state = self.0.lock();
        state.total > state.idle.len() + state.opening || !state.waiting.is_empty()
    }

    /// Closes every idle channel in order.
    pub async fn close(&self) {
        let idle = {
            let mut state = self.0.lock();
            let idle = std::mem::take(&mut state.idle);
            state.total -= idle.len();
            idle
        };
        let closing = idle.into_iter().map(|idle| idle.link.close());
        futures_util::future::join_all(closing).await;
        self.0.warden.close().await;
    }
}

/// Unique among the calls of a sandbox: large, so that it limits nothing.
pub(crate) fn fresh_mark() -> u64 {
    let random = uuid::Uuid::new_v4().as_u64_pair().1;
    (1 << 61) | (random >> 3)
}

struct Taken {
    link: Link,
    /// It lay idle before.
    warm: bool,
    slot: Slot,
}

/// One of the pool's channels is in our hands; gives the place back when the
/// channel does not come back.
struct Slot(Option<Arc<PoolInner>>);

impl Slot {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(pool) = self.0.take() {
            pool.gone();
        }
    }
}

impl PoolInner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn warden(&self) -> &Warden {
        &self.warden
    }

    pub(crate) fn opener(&self) -> &Arc<dyn Opener> {
        &self.opener
    }

    async fn take(self: Arc<Self>) -> Result<Taken, Fault> {
        let receiver = {
            let mut state = self.lock();
            if let Some(idle) = state.idle.pop() {
                drop(state);
                return Ok(Taken {
                    link: idle.link,
                    warm: true,
                    slot: Slot(Some(self)),
                });
            }
            let (sender, receiver) = oneshot::channel();
            state.waiting.push_back(sender);
            if state.opening < state.waiting.len() && state.total < MOST_CHANNELS {
                state.total += 1;
                state.opening += 1;
                tokio::spawn(self.clone().open_one());
            }
            drop(state);
            self.warden.call();
            receiver
        };
        let closed = || Fault::Open("the sandbox is being closed".to_owned());
        let link = receiver.await.map_err(|_| closed())??;
        Ok(Taken {
            link,
            warm: false,
            slot: Slot(Some(self)),
        })
    }

    async fn open_one(self: Arc<Self>) {
        let opened = async {
            let wire = tokio::time::timeout(OPEN_LIMIT, self.opener.open(Rights::Own))
                .await
                .unwrap_or(Err(Fault::Silent { limit: OPEN_LIMIT }))?;
            Link::open(wire, OPEN_LIMIT).await
        }
        .await;
        self.lock().opening -= 1;
        match opened {
            Ok(link) => {
                self.lock().tools = Some(link.tools);
                self.release(link);
            }
            Err(fault) => {
                let mut state = self.lock();
                state.total -= 1;
                // One that waits hears of it; others may still be served by
                // channels that are being opened for them.
                while let Some(waiting) = state.waiting.pop_front() {
                    if waiting.send(Err(fault.clone())).is_ok() {
                        break;
                    }
                }
            }
        }
    }

    /// A channel that is as good as new.
    pub(crate) fn release(self: &Arc<Self>, link: Link) {
        let mut link = link;
        let trim = {
            let mut state = self.lock();
            loop {
                let Some(waiting) = state.waiting.pop_front() else {
                    state.idle.push(Idle {
                        link,
                        since: Instant::now(),
                    });
                    break state.idle.len() > ALWAYS_IDLE;
                };
                match waiting.send(Ok(link)) {
                    Ok(()) => break false,
                    Err(Ok(back)) => link = back,
                    Err(Err(_)) => break false,
                }
            }
        };
        if trim {
            tokio::spawn(trim_later(Arc::downgrade(self)));
        }
    }

    /// A channel is lost; somebody who waits may have its place.
    fn gone(self: &Arc<Self>) {
        let mut state = self.lock();
        state.total -= 1;
        if state.opening < state.waiting.len() && state.total < MOST_CHANNELS {
            state.total += 1;
            state.opening += 1;
            drop(state);
            if tokio::runtime::Handle::try_current().is_ok() {
                tokio::spawn(self.clone().open_one());
            }
        }
    }

    /// A call used its channel up.
    pub(crate) fn retired(self: &Arc<Self>) {
        self.gone();
    }
}

async fn trim_later(pool: std::sync::Weak<PoolInner>) {
    tokio::time::sleep(IDLE_LIMIT).await;
    let Some(pool) = pool.upgrade() else {
        return;
    };
    let surplus = {
        let mut state = pool.lock();
        let old = |idle: &Idle| idle.since.elapsed() >= IDLE_LIMIT;
        let mut surplus = Vec::new();
        // The front of the list has lain idle longest.
        while state.idle.len() > ALWAYS_IDLE && state.idle.first().is_some_and(old) {
            surplus.push(state.idle.remove(0));
            state.total -= 1;
        }
        surplus
    };
    for idle in surplus {
        idle.link.close().await;
    }
}

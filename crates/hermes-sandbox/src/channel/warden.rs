//! Endings inside the sandbox.
//!
//! The warden is one more resident shell that runs no commands. It finds and
//! signals the processes of a call with builtins alone, so it works when the
//! sandbox can start nothing any more; and when our process dies, its input ends
//! and it ends the calls that we were still running.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Shared;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::link::{Fault, Link, script};
use super::pool::{Mended, Opener, PoolInner, Rights};

const SWEEP: &str = include_str!("sweep.sh");
const WATCH: &str = include_str!("warden.sh");

/// Text that defines `_h_sweep`.
pub(crate) fn sweep_script() -> String {
    script(SWEEP)
}

const OPEN_LIMIT: Duration = Duration::from_secs(3);
const SWEEP_LIMIT: Duration = Duration::from_secs(2);

/// How long a command waits for it at most.
const CALL_LIMIT: Duration = Duration::from_secs(2);

/// How long a command waits for its watch.
const TELL_LIMIT: Duration = Duration::from_millis(50);

/// How long leaving may take.
const CLOSE_LIMIT: Duration = Duration::from_millis(300);

/// How long SIGKILL may take to act.
const KILL_PATIENCE: Duration = Duration::from_secs(1);

/// Names a call's processes inside the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallId {
    pub(crate) mark: u64,
    /// The first process and when it started, in ticks since boot.
    pub(crate) leader: u32,
    pub(crate) start: u64,
}

impl CallId {
    /// From a line of `/proc/<pid>/stat`.
    pub(crate) fn parse(mark: u64, stat: &str) -> Option<Self> {
        let leader = stat.split(' ').next()?.parse().ok()?;
        // The name in parentheses may itself hold spaces and parentheses.
        let (_, rest) = stat.rsplit_once(") ")?;
        let start = rest.split(' ').nth(19)?.parse().ok()?;
        Some(Self {
            mark,
            leader,
            start,
        })
    }

    fn words(&self) -> String {
        format!("{} {} {}", self.mark, self.leader, self.start)
    }
}

/// A command that could not be seen to end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TerminateError {
    #[error("{} of its processes could not be ended", .0.len())]
    Survivors(Vec<i32>),
    #[error("whether it ended could not be verified: {0}")]
    Unverified(String),
}

enum Request {
    Open(oneshot::Sender<()>),
    Watch(CallId),
    WatchFirst(u64, oneshot::Sender<()>),
    Unwatch(u64),
    Sweep {
        signal: &'static str,
        call: CallId,
        reply: oneshot::Sender<Result<Vec<i32>, Fault>>,
    },
    Owners {
        call: CallId,
        reply: oneshot::Sender<Result<Vec<u32>, Fault>>,
    },
    Close(oneshot::Sender<()>),
}

/// Handle of the warden's task, which is started when it is first needed.
pub(crate) struct Warden {
    opener: Arc<dyn Opener>,
    requests: Mutex<Option<mpsc::Sender<Request>>>,
    coming: Mutex<Coming>,
}

/// Whether the warden was called, and whether anybody has to wait for it.
enum Coming {
    NotCalled,
    Called(Shared<oneshot::Receiver<()>>),
    Over,
}

impl Warden {
    pub(crate) fn new(opener: Arc<dyn Opener>) -> Self {
        Self {
            opener,
            requests: Mutex::new(None),
            coming: Mutex::new(Coming::NotCalled),
        }
    }

    /// Opens the warden, once, beside the first channel.
    pub(crate) fn call(&self) {
        let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        if let Coming::NotCalled = *coming {
            let (done, opened) = oneshot::channel();
            let _ = self.sender().try_send(Request::Open(done));
            *coming = Coming::Called(opened.shared());
        }
    }

    /// Waits until the warden that was called is there: a command that runs before may
    /// fill the sandbox so that nobody is let in any more to end it. Bounded; without a
    /// warden commands run all the same.
    pub(crate) async fn present(&self) {
        let called = match &*self.coming.lock().unwrap_or_else(PoisonError::into_inner) {
            Coming::Called(opened) => opened.clone(),
            Coming::NotCalled | Coming::Over => return,
        };
        let _ = tokio::time::timeout(CALL_LIMIT, called).await;
        *self.coming.lock().unwrap_or_else(PoisonError::into_inner) = Coming::Over;
    }

    /// From now on the call ends with us. Opens the warden.
    pub(crate) fn watch(&self, call: CallId) {
        let _ = self.sender().try_send(Request::Watch(call));
    }

    /// The same before the command is started, so that there is no moment in which it
    /// would outlive us. Waits until the word is away, not long.
    pub(crate) async fn watch_first(&self, mark: u64) {
        let (reply, told) = oneshot::channel();
        if self
            .sender()
            .try_send(Request::WatchFirst(mark, reply))
            .is_ok()
        {
            let _ = tokio::time::timeout(TELL_LIMIT, told).await;
        }
    }

    /// The call is over; what it left behind may stay.
    pub(crate) fn unwatch(&self, mark: u64) {
        let _ = self.sender().try_send(Request::Unwatch(mark));
    }

    /// The living processes of the call, signalled.
    async fn sweep(&self, signal: &'static str, call: CallId) -> Result<Vec<i32>, Fault> {
        let (reply, answer) = oneshot::channel();
        let request = Request::Sweep {
            signal,
            call,
            reply,
        };
        let closed = || Fault::Open("the warden is gone".to_owned());
        self.sender().send(request).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// The users to whom the living processes of the call belong.
    async fn owners(&self, call: CallId) -> Result<Vec<u32>, Fault> {
        let (reply, answer) = oneshot::channel();
        let closed = || Fault::Open("the warden is gone".to_owned());
        let request = Request::Owners { call, reply };
        self.sender().send(request).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Leaves in order, so that nothing is ended.
    pub(crate) async fn close(&self) {
        let sender = self
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(sender) = sender {
            let (done, closed) = oneshot::channel();
            if sender.send(Request::Close(done)).await.is_ok() {
                // One that is just being opened watches nothing.
                let _ = tokio::time::timeout(CLOSE_LIMIT, closed).await;
            }
        }
    }

    fn sender(&self) -> mpsc::Sender<Request> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        match &*requests {
            Some(sender) if !sender.is_closed() => sender.clone(),
            _ => {
                let (sender, receiver) = mpsc::channel(64);
                tokio::spawn(work(self.opener.clone(), receiver));
                requests.insert(sender).clone()
            }
        }
    }
}

async fn work(opener: Arc<dyn Opener>, mut requests: mpsc::Receiver<Request>) {
    let mut link: Option<Link> = None;
    let mut watched: Vec<CallId> = Vec::new();
    while let Some(request) = requests.recv().await {
        match request {
            Request::Open(done) => {
                // Whoever needs it tries again and hears why it cannot be had.
                let _ = opened(&mut link, &opener, Rights::Own, &watched).await;
                let _ = done.send(());
            }
            Request::Watch(call) => {
                watched.push(call);
                let text = format!("_h_watch {}", call.words());
                if tell(&mut link, &opener, &watched, &text).await.is_err() {
                    link = None;
                }
            }
            Request::WatchFirst(mark, reply) => {
                let call = CallId {
                    mark,
                    leader: 0,
                    start: 0,
                };
                watched.push(call);
                // One that is not open hears of it when it is.
                if let Some(open) = &mut link
                    && open
                        .tell(&format!("_h_watch {}", call.words()))
                        .await
                        .is_err()
                {
                    link = None;
                }
                let _ = reply.send(());
            }
            Request::Unwatch(mark) => {
                watched.retain(|other| other.mark != mark);
                if let Some(open) = &mut link
                    && open.tell(&format!("_h_unwatch {mark}")).await.is_err()
                {
                    link = None;
                }
            }
            Request::Sweep {
                signal,
                call,
                reply,
            } => {
                let outcome = match opened(&mut link, &opener, Rights::Own, &watched).await {
                    Ok(open) => sweep(open, signal, call).await,
                    Err(fault) => Err(fault),
                };
                if outcome.is_err() {
                    link = None;
                }
                let _ = reply.send(outcome);
            }
            Request::Owners { call, reply } => {
                let outcome = match opened(&mut link, &opener, Rights::Own, &watched).await {
                    Ok(open) => owners(open, call).await,
                    Err(fault) => Err(fault),
                };
                let _ = reply.send(outcome);
            }
            Request::Close(done) => {
                if let Some(open) = link.take() {
                    open.close().await;
                }
                let _ = done.send(());
                return;
            }
        }
    }
    if let Some(open) = link {
        open.close().await;
    }
}

/// A link that just opened already knows everything watched.
async fn tell(
    link: &mut Option<Link>,
    opener: &Arc<dyn Opener>,
    watched: &[CallId],
    text: &str,
) -> Result<(), Fault> {
    let fresh = link.is_none();
    let open = opened(link, opener, Rights::Own, watched).await?;
    if fresh { Ok(()) } else { open.tell(text).await }
}

async fn opened<'a>(
    link: &'a mut Option<Link>,
    opener: &Arc<dyn Opener>,
    rights: Rights,
    watched: &[CallId],
) -> Result<&'a mut Link, Fault> {
    match link {
        Some(open) => Ok(open),
        None => {
            let wire = tokio::time::timeout(OPEN_LIMIT, opener.open(rights))
                .await
                .unwrap_or(Err(Fault::Silent { limit: OPEN_LIMIT }))?;
            let mut fresh = Link::open(wire, OPEN_LIMIT).await?;
            let mut text = format!("{}\n{}", script(SWEEP), script(WATCH));
            for call in watched {
                text.push_str(&format!("\n_h_watch {}", call.words()));
            }
            fresh.tell(&text).await?;
            Ok(link.insert(fresh))
        }
    }
}

async fn sweep(link: &mut Link, signal: &'static str, call: CallId) -> Result<Vec<i32>, Fault> {
    let text = format!(
        "_h_sweep {signal} {}; echo \"swept$_h_members\" >&3",
        call.words()
    );
    numbers(link.evaluate(&text, SWEEP_LIMIT).await?, "swept ")
}

async fn owners(link: &mut Link, call: CallId) -> Result<Vec<u32>, Fault> {
    let text = format!(
        "_h_sweep 0 {}; _h_owners; echo \"owned$_h_users\" >&3",
        call.words()
    );
    numbers(link.evaluate(&text, SWEEP_LIMIT).await?, "owned ")
}

fn numbers<T: std::str::FromStr>(answer: String, prefix: &str) -> Result<Vec<T>, Fault> {
    match answer.strip_prefix(prefix) {
        Some(words) => Ok(words.split(' ').filter_map(|w| w.parse().ok()).collect()),
        None => Err(Fault::Garbled(answer)),
    }
}

/// TERM, the grace, KILL, and a look after each: `Ok` means that nothing of the
/// call is left. Bounded, whatever the engine does.
pub(crate) async fn terminate(
    pool: &Arc<PoolInner>,
    call: &CallId,
    grace: Duration,
) -> Result<(), TerminateError> {
    let mut mended = false;
    loop {
        let fault = match end(pool, *call, grace).await {
            Ok(left) if left.is_empty() => return Ok(()),
            Ok(left) => return end_as_their_users(pool, *call, left).await,
            Err(fault) => fault,
        };
        match pool.opener().mend().await {
            Mended::Gone => return Ok(()),
            Mended::Retry if !mended => mended = true,
            Mended::Retry => return Err(TerminateError::Unverified(fault.to_string())),
            Mended::Unknown(reason) => return Err(TerminateError::Unverified(reason)),
        }
    }
}

async fn end(pool: &Arc<PoolInner>, call: CallId, grace: Duration) -> Result<Vec<i32>, Fault> {
    let warden = pool.warden();
    // A look takes its time, and what forks meanwhile is not in it: only a second one
    // that finds nobody is sure.
    if warden.sweep("TERM", call).await?.is_empty() && warden.sweep("TERM", call).await?.is_empty()
    {
        return Ok(Vec::new());
    }
    let deadline = Instant::now() + grace;
    let mut pause = Duration::from_millis(4);
    while Instant::now() < deadline {
        tokio::time::sleep(pause.min(deadline - Instant::now())).await;
        pause = (pause * 2).min(Duration::from_millis(100));
        if warden.sweep("0", call).await?.is_empty() && warden.sweep("TERM", call).await?.is_empty()
        {
            return Ok(Vec::new());
        }
    }
    // Stopped first, so that nothing forks away between being seen and being killed.
    warden.sweep("STOP", call).await?;
    let deadline = Instant::now() + KILL_PATIENCE;
    let mut nobody = false;
    loop {
        let left = warden.sweep("KILL", call).await?;
        if (left.is_empty() && nobody) || Instant::now() >= deadline {
            return Ok(left);
        }
        nobody = left.is_empty();
        if !nobody {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Commands may have become another user inside, whom even the container's root
/// may not signal without the capability for it; as that user it can be done.
async fn end_as_their_users(
    pool: &Arc<PoolInner>,
    call: CallId,
    mut left: Vec<i32>,
) -> Result<(), TerminateError> {
    let users = pool.warden().owners(call).await.unwrap_or_default();
    for user in users {
        let mut link = None;
        let rights = Rights::User(user);
        let Ok(open) = opened(&mut link, pool.opener(), rights, &[]).await else {
            continue;
        };
        let deadline = Instant::now() + KILL_PATIENCE;
        while let Ok(found) = sweep(open, "KILL", call).await {
            left = found;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    Err(TerminateError::Survivors(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_known_by_pid_and_start() {
        let stat = "45 (a) b) S 1 45 45 0 -1 4194560 125 0 0 0 0 0 0 0 20 0 1 0 987654 4399104 223";
        let id = CallId::parse(7, stat).expect("parses");
        assert_eq!((id.leader, id.start), (45, 987_654));
        assert_eq!(CallId::parse(7, "nonsense"), None);
    }
}

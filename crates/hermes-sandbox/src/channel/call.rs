//! A command on its way: its output as it comes, its exit, and its end on demand.
//!
//! One task per call reads the wire and knows where the call stands. When the
//! call is over and nobody is left who could write to its relay, the channel goes
//! back to the pool; in every other case it is given up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::filter::EndFilter;
use super::link::Link;
use super::pool::PoolInner;
use super::warden::{self, CallId};
use super::wire::Frame;

/// Chunks of output that may wait for their reader; the rest waits in the sandbox.
const OUTPUT_QUEUE: usize = 16;

/// A command that runs longer than this is watched by its first process too.
const WATCH_AFTER: Duration = Duration::from_millis(100);

/// Between TERM and KILL for a call that nobody waits for any more.
const DROPPED_GRACE: Duration = Duration::from_millis(500);

/// How long an unread channel may take to fall silent after its command.
const DISCARD_AFTER_EXIT: Duration = Duration::from_secs(1);

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallExit {
    /// 128 + signal for a command that a signal ended.
    Code(i32),
    /// The channel broke: the command may have run, wholly or in part.
    Lost(String),
}

pub struct Call {
    /// Standard output and error, merged. Ends with the last writer.
    pub output: mpsc::Receiver<Bytes>,
    /// The command itself; what it left behind may live on.
    pub exit: BoxFuture<'static, CallExit>,
    pub control: CallControl,
}

/// What can be done to a running call.
///
/// Dropped while the command runs, it ends the command's tree.
pub struct CallControl {
    id: Option<CallId>,
    pool: Arc<PoolInner>,
    input: Mutex<Option<mpsc::Sender<Bytes>>>,
    over: Arc<AtomicBool>,
}

impl CallControl {
    /// The command's process inside the sandbox, if it got that far.
    pub fn pid(&self) -> Option<u32> {
        self.id.as_ref().map(|id| id.leader)
    }

    /// Ends everything that came from the call: see [`warden::terminate`].
    pub async fn terminate(&self, grace: Duration) -> Result<(), warden::TerminateError> {
        match &self.id {
            Some(id) => warden::terminate(&self.pool, id, grace).await,
            None => Ok(()),
        }
    }

    /// Bytes for the command's standard input; `false` when it takes none.
    pub async fn write(&self, bytes: Bytes) -> bool {
        let input = self.input().clone();
        match input {
            Some(input) => input.send(bytes).await.is_ok(),
            None => false,
        }
    }

    /// The end of the command's standard input.
    pub fn close_input(&self) {
        *self.input() = None;
    }

    fn input(&self) -> MutexGuard<'_, Option<mpsc::Sender<Bytes>>> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallControl {
    fn drop(&mut self) {
        let Some(id) = self.id else {
            return;
        };
        if self.over.load(Ordering::Acquire) || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let pool = self.pool.clone();
        tokio::spawn(async move {
            let _ = warden::terminate(&pool, &id, DROPPED_GRACE).await;
        });
    }
}

/// What the pump needs to know about the call it carries.
pub(crate) struct Started {
    pub(crate) link: Link,
    pub(crate) nonce: String,
    pub(crate) mark: u64,
    pub(crate) input: Input,
}

pub(crate) enum Input {
    /// Nothing, or it travelled with the request: the channel can be used again.
    None,
    Bytes(Vec<u8>),
    Stream,
}

/// Takes over a link on which `go` was just said, and waits until the command is
/// known to have started or to be lost.
pub(crate) async fn carry(started: Started, pool: Arc<PoolInner>) -> Call {
    let (output_sender, output) = mpsc::channel(OUTPUT_QUEUE);
    let (exit_sender, exit) = oneshot::channel();
    let (id_sender, id) = oneshot::channel();
    let over = Arc::new(AtomicBool::new(false));
    let Started {
        mut link,
        nonce,
        mark,
        input,
    } = started;
    let reusable = matches!(input, Input::None);
    let input = feed(&mut link, input);
    let pump = Pump {
        filter: EndFilter::new(&nonce),
        link,
        nonce,
        mark,
        reusable,
        pool: Arc::downgrade(&pool),
        output: Some(output_sender),
        exit: Some(exit_sender),
        id_sender: Some(id_sender),
        id: None,
        watched: false,
        drained: false,
        over: over.clone(),
    };
    tokio::spawn(pump.run());
    Call {
        output,
        exit: exit
            .map(|exit| exit.unwrap_or_else(|_| CallExit::Lost("the call was dropped".to_owned())))
            .boxed(),
        control: CallControl {
            id: id.await.ok(),
            pool,
            input: Mutex::new(input),
            over,
        },
    }
}

/// Gives the wire's input to the command, where it is meant to have it.
fn feed(link: &mut Link, input: Input) -> Option<mpsc::Sender<Bytes>> {
    if matches!(input, Input::None) {
        return None;
    }
    let mut writer = std::mem::replace(&mut link.wire.input, Box::new(tokio::io::sink()));
    let (sender, mut receiver) = mpsc::channel::<Bytes>(4);
    let first = match input {
        Input::Bytes(bytes) => Some(bytes),
        Input::None | Input::Stream => None,
    };
    let keep_open = first.is_none();
    tokio::spawn(async move {
        // A command that does not read all of it is its own business.
        if let Some(bytes) = first {
            let _ = writer.write_all(&bytes).await;
        }
        while let Some(bytes) = receiver.recv().await {
            if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
                break;
            }
        }
        let _ = writer.shutdown().await;
    });
    keep_open.then_some(sender)
}

struct Pump {
    link: Link,
    filter: EndFilter,
    nonce: String,
    mark: u64,
    reusable: bool,
    pool: Weak<PoolInner>,
    output: Option<mpsc::Sender<Bytes>>,
    exit: Option<oneshot::Sender<CallExit>>,
    id_sender: Option<oneshot::Sender<CallId>>,
    id: Option<CallId>,
    watched: bool,
    drained: bool,
    over: Arc<AtomicBool>,
}

enum Event {
    Frame(std::io::Result<Frame>),
    NobodyReads,
    RunsLong,
    GivesUp,
}

enum Next {
    Continue,
    /// Everything came; the channel is as good as new.
    Clean,
    GiveUp,
}

impl Pump {
    async fn run(mut self) {
        let long = Instant::now() + WATCH_AFTER;
        let mut give_up: Option<Instant> = None;
        let outcome = loop {
            let event = self.event(long, give_up).await;
            let next = match event {
                Event::Frame(frame) => self.frame(frame).await,
                Event::RunsLong => {
                    self.watched = true;
                    self.tell_warden();
                    Next::Continue
                }
                Event::NobodyReads => {
                    self.output = None;
                    self.nobody_reads()
                }
                Event::GivesUp => Next::GiveUp,
            };
            match next {
                Next::Continue => {}
                other => break other,
            }
            if self.exit.is_none() && self.output.is_none() && give_up.is_none() {
                give_up = Some(Instant::now() + DISCARD_AFTER_EXIT);
            }
        };
        self.output = None;
        if let Some(pool) = self.pool.upgrade() {
            pool.warden().unwatch(self.mark);
            if matches!(outcome, Next::Clean) && self.reusable {
                pool.release(self.link);
            } else {
                pool.retired();
            }
        }
    }

    async fn event(&mut self, long: Instant, give_up: Option<Instant>) -> Event {
        let watch = !self.watched && self.id.is_some() && self.exit.is_some();
        let at = |instant: Option<Instant>| async move {
            match instant {
                Some(instant) => tokio::time::sleep_until(instant).await,
                None => std::future::pending().await,
            }
        };
        let output = &self.output;
        let closed = async {
            match output {
                Some(output) => output.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            frame = self.link.frame() => Event::Frame(frame),
            () = closed => Event::NobodyReads,
            () = at(watch.then_some(long)) => Event::RunsLong,
            () = at(give_up) => Event::GivesUp,
        }
    }

    async fn frame(&mut self, frame: std::io::Result<Frame>) -> Next {
        match frame {
            Ok(Frame::Output(bytes)) => {
                let sure = self.filter.push(bytes);
                self.forward(sure).await;
            }
            Ok(Frame::Control(bytes)) => {
                self.link.records.push(&bytes);
                loop {
                    match self.link.records.next() {
                        Ok(Some(record)) => self.record(&record),
                        Ok(None) => break,
                        Err(fault) => return self.lost(&fault.to_string()).await,
                    }
                }
            }
            Ok(Frame::End(_)) => {
                return self
                    .lost("the sandbox went away while the command ran")
                    .await;
            }
            Err(error) => return self.lost(&error.to_string()).await,
        }
        if self.drained && self.filter.at_end() {
            return Next::Clean;
        }
        Next::Continue
    }

    /// Waits while the reader is slow, so that memory stays bounded.
    async fn forward(&mut self, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        if let Some(output) = &self.output
            && output.send(bytes).await.is_err()
        {
            self.output = None;
        }
    }

    fn record(&mut self, record: &str) {
        let Some(rest) = record
            .strip_prefix(&self.nonce)
            .and_then(|rest| rest.strip_prefix(' '))
        else {
            return;
        };
        match rest.split_once(' ') {
            Some(("started", stat)) => {
                self.id = CallId::parse(self.mark, stat);
                if let (Some(sender), Some(id)) = (self.id_sender.take(), self.id) {
                    let _ = sender.send(id);
                }
            }
            Some(("exit", code)) => {
                self.exit(CallExit::Code(code.trim().parse().unwrap_or(-1)));
            }
            None if rest == "drained" => self.drained = true,
            _ => {}
        }
    }

    async fn lost(&mut self, reason: &str) -> Next {
        let rest = self.filter.rest();
        if !self.drained {
            self.forward(rest).await;
        }
        self.exit(CallExit::Lost(reason.to_owned()));
        Next::GiveUp
    }

    fn exit(&mut self, exit: CallExit) {
        self.over.store(true, Ordering::Release);
        if let Some(sender) = self.exit.take() {
            let _ = sender.send(exit);
        }
    }

    fn nobody_reads(&mut self) -> Next {
        match &self.exit {
            // After the exit only a descendant can still hold the relay: leave it
            // to itself and give the channel up.
            None => Next::GiveUp,
            Some(_) => Next::Continue,
        }
    }

    /// It finds more by the first process than by the mark alone.
    fn tell_warden(&self) {
        if let (Some(id), Some(pool)) = (self.id, self.pool.upgrade()) {
            pool.warden().watch(id);
        }
    }
}

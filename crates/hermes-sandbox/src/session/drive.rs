//! One command from its start to its end.
//!
//! A command has ended when its shell has. Descendants may hold the pipe open: what
//! they still print is read until the pipe was silent for a moment, but not for
//! long. A time limit or an interrupt ends the whole tree and is not over until
//! the target says that nobody is left.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::trailer::{Nonce, Report, Scanner};
use super::window::Window;
use crate::target::{EndError, Exit, Running};

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
/// Silence after which a pipe held by a descendant is left alone.
const IDLE: Duration = Duration::from_millis(300);
/// However much a descendant prints, the call returns.
const DRAIN: Duration = Duration::from_millis(900);
/// For the last words after the tree was ended: the pipe closes with it.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A copy of the output while it comes.
#[derive(Clone, Debug)]
pub enum Tee {
    /// Everything; a slow reader slows the command down.
    All(mpsc::Sender<Bytes>),
    /// What the reader has room for.
    Sample(mpsc::Sender<Bytes>),
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Exited(i32),
    /// The time limit; `Some` when it is not certain that all of it ended.
    TimedOut {
        left: Option<EndError>,
    },
    Interrupted {
        left: Option<EndError>,
    },
    /// The target went away. The command may have run.
    Lost(String),
}

impl Ending {
    pub fn code(&self) -> i32 {
        match self {
            Ending::Exited(code) => *code,
            Ending::TimedOut { .. } => 124,
            Ending::Interrupted { .. } => 130,
            Ending::Lost(_) => -1,
        }
    }
}

pub(super) struct Driven {
    pub(super) ending: Ending,
    pub(super) report: Option<Report>,
    pub(super) window: Window,
}

struct Sink<'a> {
    scanner: Option<Scanner>,
    window: Window,
    tee: Option<&'a Tee>,
}

impl Sink<'_> {
    async fn absorb(&mut self, chunk: Bytes) {
        let mut copies = Vec::new();
        let (window, wanted) = (&mut self.window, self.tee.is_some());
        let mut emit = |bytes: &[u8]| {
            window.push(bytes);
            if wanted {
                copies.push(shared(&chunk, bytes));
            }
        };
        match &mut self.scanner {
            Some(scanner) => scanner.push(&chunk, &mut emit),
            None => emit(&chunk),
        }
        self.pass_on(copies).await;
    }

    async fn finish(&mut self) {
        let mut copies = Vec::new();
        if let Some(scanner) = &mut self.scanner {
            let window = &mut self.window;
            scanner.finish(&mut |bytes| {
                window.push(bytes);
                copies.push(Bytes::copy_from_slice(bytes));
            });
        }
        self.pass_on(copies).await;
    }

    async fn pass_on(&self, copies: Vec<Bytes>) {
        for copy in copies {
            // A reader that went away is no reason to stop.
            match self.tee {
                Some(Tee::All(sender)) => drop(sender.send(copy).await),
                Some(Tee::Sample(sender)) => drop(sender.try_send(copy)),
                None => {}
            }
        }
    }
}

/// Most output passes as it came: it is shared then and not copied.
fn shared(chunk: &Bytes, part: &[u8]) -> Bytes {
    if chunk.as_ptr_range().contains(&part.as_ptr()) {
        return chunk.slice_ref(part);
    }
    Bytes::copy_from_slice(part)
}

enum Stop {
    Ended(Exit),
    TimedOut,
    Interrupted,
}

pub(super) async fn drive(
    running: Running,
    nonce: Option<&Nonce>,
    limit: usize,
    time: Duration,
    cancel: &CancellationToken,
    tee: Option<&Tee>,
) -> Driven {
    let Running {
        mut output,
        mut exit,
        control,
    } = running;
    let mut sink = Sink {
        scanner: nonce.map(Scanner::new),
        window: Window::new(limit),
        tee,
    };
    let deadline = Instant::now() + time;
    let mut open = true;
    let stop = loop {
        tokio::select! {
            chunk = output.recv(), if open => match chunk {
                Some(chunk) => sink.absorb(chunk).await,
                None => open = false,
            },
            exit = &mut exit => break Stop::Ended(exit),
            () = sleep_until(deadline) => break Stop::TimedOut,
            () = cancel.cancelled() => break Stop::Interrupted,
        }
    };

    // The tree is ended while its output is still read: a process that is blocked
    // on a full pipe could not act on SIGTERM.
    let mut left = None;
    if !matches!(stop, Stop::Ended(_)) {
        let mut end = control.terminate(GRACE);
        left = loop {
            tokio::select! {
                outcome = &mut end => break outcome.err(),
                chunk = output.recv(), if open => match chunk {
                    Some(chunk) => sink.absorb(chunk).await,
                    None => open = false,
                },
            }
        };
    }

    let (idle, most) = match stop {
        Stop::Ended(_) => (IDLE, DRAIN),
        Stop::TimedOut | Stop::Interrupted => (LAST_WORDS, LAST_WORDS),
    };
    let last = Instant::now() + most;
    while open {
        let patience = idle.min(last.saturating_duration_since(Instant::now()));
        match timeout(patience, output.recv()).await {
            Ok(Some(chunk)) => sink.absorb(chunk).await,
            Ok(None) | Err(_) => open = false,
        }
        if Instant::now() >= last {
            open = false;
        }
    }
    sink.finish().await;

    // What a shell reports while it is being ended is not a state to go on from.
    let report = match stop {
        Stop::Ended(_) => sink.scanner.as_ref().and_then(Scanner::report).cloned(),
        Stop::TimedOut | Stop::Interrupted => None,
    };
    let ending = match stop {
        Stop::Ended(Exit::Code(code)) => Ending::Exited(code),
        Stop::Ended(Exit::Signal(signal)) => Ending::Exited(128 + signal),
        Stop::Ended(Exit::Lost(reason)) => Ending::Lost(reason),
        Stop::TimedOut => Ending::TimedOut { left },
        Stop::Interrupted => Ending::Interrupted { left },
    };
    Driven {
        ending,
        report,
        window: sink.window,
    }
}

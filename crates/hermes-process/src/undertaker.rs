//! Children nobody waits for any more: ended if they must be, reaped in any case.
//!
//! One thread, started when first needed. It sleeps in `poll` on the descriptors
//! of the children in its care and on a pipe that announces new ones.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::sys::PidFd;
use crate::tree::Tree;

enum Charge {
    Reap(Child),
    Kill(Child, Tree),
}

/// The sender and the writing end of the pipe that wakes the thread.
type Desk = Mutex<(Sender<Charge>, File)>;

/// Reaps the child whenever it ends.
pub(crate) fn reap(child: Child) {
    hand_over(Charge::Reap(child));
}

/// Ends the whole tree now, then reaps the child.
pub(crate) fn kill(child: Child, tree: Tree) {
    hand_over(Charge::Kill(child, tree));
}

fn hand_over(charge: Charge) {
    static DESK: OnceLock<Option<Desk>> = OnceLock::new();
    match DESK.get_or_init(open) {
        Some(desk) => {
            let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = desk.0.send(charge);
            let _ = desk.1.write_all(&[0]);
        }
        // No thread to be had: do at once what cannot wait.
        None => {
            if let Charge::Kill(mut child, tree) = charge {
                let _ = tree.terminate_blocking(Duration::ZERO);
                let _ = child.wait();
            }
        }
    }
}

fn open() -> Option<Desk> {
    let (reading, writing) = nix::unistd::pipe2(OFlag::O_CLOEXEC).ok()?;
    let (sender, receiver) = channel();
    std::thread::Builder::new()
        .name("hermes-reap".to_owned())
        .spawn(move || serve(File::from(reading), &receiver))
        .ok()?;
    Some(Mutex::new((sender, File::from(writing))))
}

fn serve(mut wake: File, charges: &Receiver<Charge>) {
    let mut waiting: Vec<(Child, Option<PidFd>)> = Vec::new();
    loop {
        let mut descriptors = vec![PollFd::new(wake.as_fd(), PollFlags::POLLIN)];
        descriptors.extend(
            waiting
                .iter()
                .filter_map(|(_, descriptor)| descriptor.as_ref())
                .map(|descriptor| PollFd::new(descriptor.as_fd(), PollFlags::POLLIN)),
        );
        // Without pidfds (old kernels) the children are looked at now and then.
        let timeout = if waiting.iter().any(|(_, descriptor)| descriptor.is_none()) {
            PollTimeout::from(250_u8)
        } else {
            PollTimeout::NONE
        };
        let _ = poll(&mut descriptors, timeout);
        let woken = descriptors.first().and_then(PollFd::any).unwrap_or(false);
        drop(descriptors);
        if woken {
            let mut drained = [0; 64];
            if !matches!(wake.read(&mut drained), Ok(count) if count > 0) {
                return;
            }
        }
        while let Ok(charge) = charges.try_recv() {
            let child = match charge {
                Charge::Reap(child) => child,
                Charge::Kill(child, tree) => {
                    if let Err(survivors) = tree.terminate_blocking(Duration::ZERO) {
                        tracing::warn!(%survivors, "a dropped process tree did not end");
                    }
                    child
                }
            };
            let descriptor = i32::try_from(child.id())
                .ok()
                .and_then(|pid| PidFd::open(pid).ok());
            waiting.push((child, descriptor));
        }
        waiting.retain_mut(|(child, _)| matches!(child.try_wait(), Ok(None)));
    }
}

//! Everything that came from one child, and its end.
//!
//! A process belongs to the tree when it carries the tree's mark, sits in the
//! session of the root, or has a parent that belongs to it. Signals go by pidfd
//! to the process that was seen, never to a number that may have been recycled.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};

use crate::error::Survivors;
use crate::identity::{Identity, boot_id};
use crate::mark::Mark;
use crate::proc_fs::{self, Stat};
use crate::sys::PidFd;

/// How long SIGKILL may take before the processes count as survivors.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// Names a tree; holds nothing open and may be stored and read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    pub root: Identity,
    pub mark: Mark,
    /// Whether the root leads a session of its own.
    pub session: bool,
}

impl Tree {
    /// The tree below a process that another process of ours, or somebody else,
    /// started. A mark that we carry too belongs to a tree around both of us.
    pub fn led_by(root: Identity) -> Self {
        let own = i32::try_from(std::process::id())
            .ok()
            .and_then(proc_fs::mark);
        let mark = proc_fs::mark(root.pid)
            .filter(|mark| Some(*mark) != own && *mark != Mark::GUARD)
            .unwrap_or(Mark::NOBODY);
        let session = proc_fs::stat(root.pid).is_some_and(|stat| stat.session == root.pid);
        Self {
            root,
            mark,
            session,
        }
    }

    /// Every living member, oldest first, the root among them.
    pub fn members(&self) -> Vec<Identity> {
        self.scan()
            .into_iter()
            .map(|stat| Identity {
                pid: stat.pid,
                start_ticks: stat.start_ticks,
                boot_id: self.root.boot_id.clone(),
            })
            .collect()
    }

    fn scan(&self) -> Vec<Stat> {
        if self.root.boot_id != boot_id() {
            return Vec::new();
        }
        let own_pid = i32::try_from(std::process::id()).unwrap_or(0);
        let all = proc_fs::all();
        let root = all
            .iter()
            .find(|stat| stat.pid == self.root.pid && stat.start_ticks == self.root.start_ticks);
        // While the root exists, if only as a zombie, its number means its session.
        let session = root.filter(|_| self.session).map(|stat| stat.pid);

        let mut members: HashSet<i32> = HashSet::new();
        members.extend(root.map(|stat| stat.pid));
        let mut undecided: Vec<&Stat> = Vec::with_capacity(all.len());
        for stat in &all {
            if stat.pid == own_pid {
                continue;
            }
            let mark = proc_fs::mark(stat.pid);
            if mark == Some(Mark::GUARD) {
                continue;
            }
            if mark == Some(self.mark) || session == Some(stat.session) {
                members.insert(stat.pid);
            } else {
                undecided.push(stat);
            }
        }
        loop {
            let before = members.len();
            for stat in &undecided {
                if members.contains(&stat.parent) {
                    members.insert(stat.pid);
                }
            }
            if members.len() == before {
                break;
            }
        }
        let mut found: Vec<Stat> = all
            .into_iter()
            .filter(|stat| members.contains(&stat.pid) && !stat.is_dead())
            .collect();
        found.sort_by_key(|stat| (stat.pid != self.root.pid, stat.start_ticks, stat.pid));
        found
    }

    /// SIGTERM to all, `grace` for them to act on it, then SIGKILL to what is left
    /// and to what appears meanwhile. `Ok` means that a last look found nobody.
    pub fn terminate_blocking(&self, grace: Duration) -> Result<(), Survivors> {
        if !grace.is_zero() && self.request(grace) {
            return Ok(());
        }
        let deadline = Instant::now() + KILL_PATIENCE;
        loop {
            let members: Vec<Member> = self.scan().into_iter().map(Member::open).collect();
            if members.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Survivors {
                    pids: members.iter().map(|member| member.stat.pid).collect(),
                });
            }
            for member in &members {
                member.signal(Signal::SIGKILL);
            }
            let patience = Duration::from_millis(100).min(deadline - Instant::now());
            wait_for_all(&members, patience);
        }
    }

    /// Asks politely; `true` when everybody went.
    fn request(&self, grace: Duration) -> bool {
        let deadline = Instant::now() + grace;
        let mut asked: HashSet<(i32, u64)> = HashSet::new();
        loop {
            let members: Vec<Member> = self.scan().into_iter().map(Member::open).collect();
            if members.is_empty() {
                return true;
            }
            // Oldest first, which is parents first: a shell whose child ends before
            // itself would go on with its next command.
            for member in &members {
                if asked.insert((member.stat.pid, member.stat.start_ticks)) {
                    member.signal(Signal::SIGTERM);
                    // A stopped process acts on nothing until it is continued.
                    member.signal(Signal::SIGCONT);
                }
            }
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            wait_for_all(&members, deadline - now);
        }
    }

    /// The same without blocking the runtime.
    pub async fn terminate(&self, grace: Duration) -> Result<(), Survivors> {
        let tree = self.clone();
        let work = tokio::task::spawn_blocking(move || tree.terminate_blocking(grace));
        match work.await {
            Ok(outcome) => outcome,
            // The runtime is shutting down and refused the work.
            Err(_) => self.terminate_blocking(Duration::ZERO),
        }
    }
}

struct Member {
    stat: Stat,
    descriptor: Option<PidFd>,
}

impl Member {
    fn open(stat: Stat) -> Self {
        let descriptor = PidFd::open(stat.pid).ok().filter(|_| is_same(&stat));
        Self { stat, descriptor }
    }

    fn signal(&self, signal: Signal) {
        match &self.descriptor {
            Some(descriptor) => {
                let _ = descriptor.send(signal);
            }
            // Gone, or a kernel without pidfds.
            None if is_same(&self.stat) => {
                let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.stat.pid), signal);
            }
            None => {}
        }
    }
}

fn is_same(stat: &Stat) -> bool {
    proc_fs::stat(stat.pid).is_some_and(|now| now.start_ticks == stat.start_ticks)
}

/// Returns when all have ended or the time is up.
fn wait_for_all(members: &[Member], patience: Duration) {
    let deadline = Instant::now() + patience;
    let mut left: Vec<&Member> = members.iter().collect();
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if left.is_empty() || remaining.is_zero() {
            return;
        }
        let mut descriptors: Vec<PollFd<'_>> = left
            .iter()
            .filter_map(|member| member.descriptor.as_ref())
            .map(|descriptor| PollFd::new(descriptor.as_fd(), PollFlags::POLLIN))
            .collect();
        // Without a descriptor there is no event to wait for.
        let blind = descriptors.len() < left.len();
        let limit = if blind {
            remaining.min(Duration::from_millis(10))
        } else {
            remaining
        };
        let limit =
            PollTimeout::try_from(limit + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
        if poll(&mut descriptors, limit).is_err() {
            return;
        }
        left.retain(|member| {
            proc_fs::stat(member.stat.pid)
                .is_some_and(|now| now.start_ticks == member.stat.start_ticks && !now.is_dead())
        });
    }
}

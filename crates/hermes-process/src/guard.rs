//! One small shell per owner that outlives it, in order to end its trees.
//!
//! The kernel's parent-death signal reaches the child and nobody below it. The
//! guard holds the reading end of a pipe whose only writer is the owner, so the
//! owner's death in any way, SIGKILL included, is the end of its input; then it
//! kills every process that carries one of the marks it was told to watch. It is
//! started with the first tree that needs it, sits in a session of its own and
//! costs nothing while it waits.
//!
//! Lines it reads: `+ MARK` watch, `= MARK PID` also kill this group (where marks
//! do not work), `- MARK` forget.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use nix::fcntl::OFlag;

use crate::command::Grouping;
use crate::mark::Mark;
use crate::sys::{self, Preparation};

const SCRIPT: &str = r#"
trap '' HUP INT TERM QUIT PIPE
live=' ' groups=' '
while read -r op mark pid; do
  case $op in
    +) live="$live$mark " ;;
    =) groups="$groups$mark:$pid " ;;
    -) case $live in *" $mark "*) live="${live%% $mark *} ${live#* $mark }" ;; esac
       case $groups in *" $mark:"*) rest="${groups#* $mark:}"; groups="${groups%% $mark:*} ${rest#* }" ;; esac ;;
  esac
done
for entry in $groups; do kill -KILL -- "-${entry#*:}" 2>/dev/null; done
set --
for mark in $live; do set -- "$@" -e " $mark "; done
[ $# -gt 0 ] || exit 0
round=0
while [ $round -lt 40 ]; do
  found=
  for file in $(grep -l "$@" /proc/[0-9]*/limits 2>/dev/null); do
    pid=${file#/proc/}
    kill -KILL "${pid%/limits}" 2>/dev/null && found=1
  done
  [ -n "$found" ] || exit 0
  round=$((round + 1))
  sleep 0.05 2>/dev/null || sleep 1
done
"#;

struct Guard {
    /// Closed on exec in every child, so the owner alone keeps it open.
    orders: Option<File>,
    watched: HashMap<Mark, Option<i32>>,
}

static GUARD: Mutex<Option<Guard>> = Mutex::new(None);

/// From now until [`forget`], the owner's death kills whatever carries the mark.
pub(crate) fn watch(mark: Mark) {
    with_guard(|guard| {
        guard.watched.insert(mark, None);
        guard.order(&format!("+ {}\n", mark.value()));
    });
}

/// The mark did not take; kill the group of this pid instead.
pub(crate) fn watch_group(mark: Mark, pid: i32) {
    with_guard(|guard| {
        guard.watched.insert(mark, Some(pid));
        guard.order(&format!("= {} {pid}\n", mark.value()));
    });
}

pub(crate) fn forget(mark: Mark) {
    with_guard(|guard| {
        if guard.watched.remove(&mark).is_some() {
            guard.order(&format!("- {}\n", mark.value()));
        }
    });
}

fn with_guard(act: impl FnOnce(&mut Guard)) {
    let mut guard = GUARD.lock().unwrap_or_else(PoisonError::into_inner);
    act(guard.get_or_insert_with(|| Guard {
        orders: None,
        watched: HashMap::new(),
    }));
}

impl Guard {
    /// Tells the guard, starting one if there is none or the last one was killed.
    fn order(&mut self, line: &str) {
        if let Some(orders) = &mut self.orders
            && orders.write_all(line.as_bytes()).is_ok()
        {
            return;
        }
        match start() {
            Ok(mut orders) => {
                let all: String = self
                    .watched
                    .iter()
                    .map(|(mark, group)| {
                        let group = group
                            .map_or(String::new(), |pid| format!("= {} {pid}\n", mark.value()));
                        format!("+ {}\n{group}", mark.value())
                    })
                    .collect();
                if orders.write_all(all.as_bytes()).is_ok() {
                    self.orders = Some(orders);
                }
            }
            Err(error) => {
                self.orders = None;
                tracing::warn!(%error, "no guard process: if this process is killed, only direct children die with it");
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this crate is where processes are started"
)]
fn start() -> io::Result<File> {
    let (reading, writing): (OwnedFd, OwnedFd) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "hermes-guard"])
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .stdin(Stdio::from(reading))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    sys::prepare(
        &mut command,
        Preparation {
            grouping: Grouping::Session,
            controlling_terminal: false,
            die_with: None,
            mark: Mark::GUARD,
        },
    );
    let child = command.spawn()?;
    // It ends after us; should it be killed before, it is reaped there.
    crate::undertaker::reap(child);
    Ok(File::from(writing))
}

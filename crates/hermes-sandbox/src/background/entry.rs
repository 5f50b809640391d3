//! One background process and what is known about it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use tokio::sync::watch as channel;

use super::buffer::{Rolling, tail};
use super::checkpoint::Record;
use super::host::HostHandle;
use super::inside::InsideHandle;
use super::notice::{Notice, Notices};
use super::watch::{Watch, WatchEvent};

/// For whom it runs, and where to report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Names the agent's sandbox state; who shares it shares its processes.
    pub task: String,
    pub session_key: String,
    /// Where a gateway delivers notices: `platform`, `chat_id`, `thread_id`, ….
    pub route: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessStatus {
    Running,
    /// `None` when nobody could see how it ended.
    Exited(Option<i32>),
}

/// A moment of a process.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessView {
    pub id: String,
    pub command: String,
    pub cwd: String,
    pub pid: Option<i32>,
    pub started_at: SystemTime,
    pub uptime: Duration,
    pub status: ProcessStatus,
    /// Found again after a restart of ours.
    pub detached: bool,
    /// Everything that is kept of its output.
    pub output: String,
}

impl ProcessView {
    /// The last `count` characters of the output.
    pub fn tail(&self, count: usize) -> &str {
        tail(&self.output, count)
    }
}

pub(super) enum Handle {
    Host(HostHandle),
    Inside(InsideHandle),
}

pub(super) struct Entry {
    pub(super) id: String,
    pub(super) command: String,
    pub(super) cwd: String,
    pub(super) pid: Option<i32>,
    pub(super) started_at: SystemTime,
    pub(super) began: Instant,
    pub(super) owner: Owner,
    pub(super) detached: bool,
    pub(super) handle: Handle,
    pub(super) record: Record,
    pub(super) notices: Arc<Notices>,
    pub(super) notify_on_complete: AtomicBool,
    /// The agent knows how it ended; a notice would repeat it.
    pub(super) exit_seen: AtomicBool,
    /// We are ending it: however it goes, it was killed.
    pub(super) killed: AtomicBool,
    pub(super) status: channel::Sender<ProcessStatus>,
    output: Mutex<Collected>,
}

struct Collected {
    rolling: Rolling,
    watch: Watch,
}

/// The code of a process that we ended, whichever signal it took.
const KILLED: i32 = -15;

/// Of the output, in a completion notice.
const NOTICE_CHARS: usize = 2_000;

pub(super) struct NewEntry {
    pub(super) id: String,
    pub(super) command: String,
    pub(super) cwd: String,
    pub(super) pid: Option<i32>,
    pub(super) started_at: SystemTime,
    pub(super) owner: Owner,
    pub(super) detached: bool,
    pub(super) handle: Handle,
    pub(super) record: Record,
    pub(super) notices: Arc<Notices>,
    pub(super) notify_on_complete: bool,
    pub(super) watch_patterns: Vec<String>,
}

impl Entry {
    pub(super) fn new(new: NewEntry) -> Arc<Self> {
        let age = new.started_at.elapsed().unwrap_or_default();
        let now = Instant::now();
        Arc::new(Self {
            id: new.id,
            command: new.command,
            cwd: new.cwd,
            pid: new.pid,
            started_at: new.started_at,
            began: now.checked_sub(age).unwrap_or(now),
            owner: new.owner,
            detached: new.detached,
            handle: new.handle,
            record: new.record,
            notices: new.notices,
            notify_on_complete: AtomicBool::new(new.notify_on_complete),
            exit_seen: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            status: channel::Sender::new(ProcessStatus::Running),
            output: Mutex::new(Collected {
                rolling: Rolling::default(),
                watch: Watch::new(new.watch_patterns),
            }),
        })
    }

    fn collected(&self) -> std::sync::MutexGuard<'_, Collected> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> ProcessStatus {
        *self.status.borrow()
    }

    pub(super) fn is_running(&self) -> bool {
        self.status() == ProcessStatus::Running
    }

    pub(super) fn is_watching(&self) -> bool {
        self.collected().watch.is_active()
    }

    pub(super) fn watch_patterns(&self) -> Vec<String> {
        self.collected().watch.patterns().to_vec()
    }

    pub(super) fn output_text(&self) -> String {
        self.collected().rolling.text()
    }

    /// New output.
    pub(super) fn absorb(self: &Arc<Self>, bytes: &[u8]) {
        let event = {
            let mut collected = self.collected();
            let text = collected.rolling.push(bytes);
            collected.watch.feed(&text, Instant::now())
        };
        if !self.is_running() {
            return;
        }
        match event {
            None => {}
            Some(WatchEvent::Match {
                pattern,
                output,
                suppressed,
            }) => {
                let notice = Notice::WatchMatch {
                    session_id: self.id.clone(),
                    owner: self.owner.clone(),
                    command: self.command.clone(),
                    pattern,
                    output,
                    suppressed,
                };
                if self.notices.push_watch(notice, Instant::now()) {
                    let notices = self.notices.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(Notices::silence()).await;
                        notices.end_silence();
                    });
                }
            }
            Some(WatchEvent::Disabled { suppressed }) => {
                self.notify_on_complete.store(true, Ordering::SeqCst);
                self.notices.push(Notice::WatchDisabled {
                    session_id: self.id.clone(),
                    owner: self.owner.clone(),
                    command: self.command.clone(),
                    suppressed,
                });
            }
        }
    }

    /// The first call counts; later ones change nothing. `true` for the first.
    pub(super) fn finish(&self, code: Option<i32>) -> bool {
        let killed = self.killed.load(Ordering::SeqCst);
        let code = if killed { Some(KILLED) } else { code };
        let first = self.status.send_if_modified(|status| {
            let running = *status == ProcessStatus::Running;
            if running {
                *status = ProcessStatus::Exited(code);
            }
            running
        });
        if first && self.notify_on_complete.load(Ordering::SeqCst) {
            let output = self.output_text();
            self.notices.push(Notice::Completion {
                session_id: self.id.clone(),
                owner: self.owner.clone(),
                command: self.command.clone(),
                exit_code: code,
                output: tail(&output, NOTICE_CHARS).to_owned(),
            });
        }
        first
    }

    pub(super) fn view(&self) -> ProcessView {
        ProcessView {
            id: self.id.clone(),
            command: self.command.clone(),
            cwd: self.cwd.clone(),
            pid: self.pid,
            started_at: self.started_at,
            uptime: self.began.elapsed(),
            status: self.status(),
            detached: self.detached,
            output: self.output_text(),
        }
    }
}

//! Tells when a file grows.
//!
//! One thread waits in inotify for all files of this process and wakes whoever
//! follows them. Where inotify is not to be had, followers look now and then.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};
use tokio::sync::Notify;

/// How long a follower waits without an event before it looks anyway. With inotify
/// this only covers file systems that do not report.
const WITH_EVENTS: Duration = Duration::from_secs(2);
const WITHOUT_EVENTS: Duration = Duration::from_millis(200);

struct Watcher {
    inotify: Inotify,
    files: Mutex<HashMap<WatchDescriptor, Arc<Notify>>>,
}

/// Follows one file until dropped.
pub(super) struct Follower {
    grown: Arc<Notify>,
    watch: Option<(&'static Watcher, WatchDescriptor)>,
}

impl Follower {
    pub(super) fn new(path: &Path) -> Self {
        let grown = Arc::new(Notify::new());
        let watch = watcher().and_then(|watcher| {
            // The lock comes first: an event must not be missed before the entry exists.
            let mut files = watcher.files.lock().unwrap_or_else(PoisonError::into_inner);
            let descriptor = watcher
                .inotify
                .add_watch(path, AddWatchFlags::IN_MODIFY)
                .ok()?;
            files.insert(descriptor, grown.clone());
            Some((watcher, descriptor))
        });
        Self { grown, watch }
    }

    /// Returns when the file may have grown.
    pub(super) async fn grown(&self) {
        let patience = match self.watch {
            Some(_) => WITH_EVENTS,
            None => WITHOUT_EVENTS,
        };
        let _ = tokio::time::timeout(patience, self.grown.notified()).await;
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some((watcher, descriptor)) = self.watch {
            let _ = watcher.inotify.rm_watch(descriptor);
            watcher
                .files
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&descriptor);
        }
    }
}

fn watcher() -> Option<&'static Watcher> {
    static WATCHER: OnceLock<Option<Watcher>> = OnceLock::new();
    static THREAD: OnceLock<()> = OnceLock::new();
    let watcher = WATCHER
        .get_or_init(|| {
            Some(Watcher {
                inotify: Inotify::init(InitFlags::IN_CLOEXEC).ok()?,
                files: Mutex::new(HashMap::new()),
            })
        })
        .as_ref()?;
    THREAD.get_or_init(|| {
        let _ = std::thread::Builder::new()
            .name("hermes-follow".to_owned())
            .spawn(move || {
                loop {
                    let events = match watcher.inotify.read_events() {
                        Ok(events) => events,
                        Err(nix::errno::Errno::EINTR) => continue,
                        Err(_) => return,
                    };
                    let files = watcher.files.lock().unwrap_or_else(PoisonError::into_inner);
                    for event in events {
                        if let Some(grown) = files.get(&event.wd) {
                            // Stored if nobody waits right now.
                            grown.notify_one();
                        }
                    }
                }
            });
    });
    Some(watcher)
}

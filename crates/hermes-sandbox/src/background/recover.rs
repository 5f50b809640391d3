//! Taking up the processes of a Hermes that is gone.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::checkpoint::Record;
use super::entry::{Entry, Handle, NewEntry};
use super::host;
use super::inside::{self, InsideHandle};
use super::registry::Processes;
use crate::target::Target;

impl Processes {
    /// Reads `processes.json` and goes on with every process that still runs and
    /// that no living Hermes looks after: those of this machine, and those inside
    /// `target`. Only those of the conversation `task`, or all: who takes up a
    /// process is the one to ask about it. Returns how many.
    pub async fn recover(
        self: &Arc<Self>,
        target: Option<&Arc<dyn Target>>,
        task: Option<&str>,
    ) -> usize {
        let Some(checkpoint) = self.checkpoint() else {
            return 0;
        };
        let mut count = 0;
        for record in checkpoint.adopt(task) {
            let recovered = match record.pid_scope.as_str() {
                "sandbox" => self.recover_inside(record, target).await,
                _ => self.recover_host(record),
            };
            count += usize::from(recovered);
        }
        self.write_checkpoint().await;
        count
    }

    fn recover_host(self: &Arc<Self>, record: Record) -> bool {
        let Some(tree) = record.living_tree() else {
            return false;
        };
        let identity = tree.root.clone();
        let log = record.log.clone().map(PathBuf::from);
        let entry = self.recovered(record, Handle::Host(host::found(tree)));
        let Some(entry) = entry else {
            return false;
        };
        let processes = self.clone();
        tokio::spawn(async move {
            host::follow_found(identity, log, &entry).await;
            processes.finished(&entry, None).await;
        });
        true
    }

    async fn recover_inside(
        self: &Arc<Self>,
        record: Record,
        target: Option<&Arc<dyn Target>>,
    ) -> bool {
        let (Some(target), Some(pid)) = (target, record.pid) else {
            return false;
        };
        let base = record
            .log
            .clone()
            .unwrap_or_else(|| inside::base_path(&**target, &record.session_id));
        let handle = InsideHandle::new(target.clone(), base, pid);
        if !handle.exists().await {
            return false;
        }
        let Some(entry) = self.recovered(record, Handle::Inside(handle)) else {
            return false;
        };
        self.follow_inside(entry);
        true
    }

    /// `None` when the process is known already.
    fn recovered(self: &Arc<Self>, record: Record, handle: Handle) -> Option<Arc<Entry>> {
        let started_at = Duration::try_from_secs_f64(record.started_at).unwrap_or_default();
        let entry = Entry::new(NewEntry {
            id: record.session_id.clone(),
            command: record.command.clone(),
            cwd: record.cwd.clone(),
            pid: record.pid,
            started_at: SystemTime::UNIX_EPOCH + started_at,
            owner: record.owner(),
            detached: true,
            handle,
            notices: self.notices().clone(),
            notify_on_complete: record.notify_on_complete,
            watch_patterns: record.watch_patterns.clone(),
            record,
        });
        self.insert(entry)
    }
}

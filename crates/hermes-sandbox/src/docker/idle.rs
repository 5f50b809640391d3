//! Containers that this process has not used for a while.
//!
//! A shared one is let go: lease and channels are given back, the container stays
//! as it is. Shell state lives inside it, so the next command finds it again and
//! goes on where the last one stopped. A private one is removed, unless something
//! still runs in it.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::container::{Attached, SharedContainer};
use super::drift::is_idle;
use super::settings::Persist;
use crate::channel::is_resident;

const TICK: Duration = Duration::from_secs(60);

/// Watches over an attachment until it ends or is replaced.
pub(crate) fn watch(container: &Arc<SharedContainer>, attached: &Arc<Attached>) {
    tokio::spawn(work(Arc::downgrade(container), Arc::downgrade(attached)));
}

async fn work(container: Weak<SharedContainer>, attached: Weak<Attached>) {
    loop {
        let Some(lifetime) = container.upgrade().map(|c| c.plan().life.lifetime) else {
            return;
        };
        tokio::time::sleep(TICK.min(lifetime.max(Duration::from_secs(1)))).await;
        let (Some(container), Some(attached)) = (container.upgrade(), attached.upgrade()) else {
            return;
        };
        if attached.idle_for() <= lifetime || attached.pool.is_busy() {
            continue;
        }
        if container.plan().life.persist == Persist::WithProcess
            && something_runs(&container, &attached).await
        {
            attached.works();
            continue;
        }
        drop(attached);
        container.let_go(false).await;
        return;
    }
}

/// Anything but what keeps the container alive and our own shells. Not knowing
/// counts as yes.
async fn something_runs(container: &SharedContainer, attached: &Attached) -> bool {
    match container.host().engine().processes(&attached.id).await {
        Ok(running) => running
            .iter()
            .any(|process| !is_idle(process) && !is_resident(&process.command)),
        Err(_) => true,
    }
}

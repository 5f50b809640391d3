//! The sweep that goes with the first use of a container in a process: old
//! leftovers of this profile and home, containers of single processes that were
//! killed, and, where the user asked for it, running
//! containers that nobody has used for long. Runs after the reuse probe, never in
//! anybody's way, and never fails out loud.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::container::Plan;
use super::drift::free_to_remove;
use super::engine::{Container, ContainerId, EngineError, State, limits};
use super::host::DockerHost;
use super::labels;
use super::lease;
use super::place::Place;
use super::reap::{is_candidate, is_overdue, may_be_abandoned, threshold};
use super::settings::Persist;

pub(crate) fn start_once(host: &Arc<DockerHost>, plan: &Plan, in_use: ContainerId) {
    let wanted = plan.life.orphan_reaper || plan.life.idle_stop.is_some();
    if !wanted || !host.may_reap() {
        return;
    }
    let host = host.clone();
    let plan = plan.clone();
    tokio::spawn(async move {
        if plan.life.orphan_reaper {
            match sweep(&host, &plan, &in_use).await {
                Ok(0) => {}
                Ok(count) => tracing::info!("removed {count} leftover containers"),
                Err(error) => tracing::debug!("looking for leftover containers: {error}"),
            }
        }
        if let Err(error) = stop_idle(&host, &plan, &in_use).await {
            tracing::debug!("looking for idle containers: {error}");
        }
    });
}

/// Removes what is overdue; one failure does not stop the rest.
pub(crate) async fn sweep(
    host: &DockerHost,
    plan: &Plan,
    in_use: &ContainerId,
) -> Result<usize, EngineError> {
    let engine = host.engine().as_ref();
    let limit = threshold(plan.life.lifetime);
    let mut removed = 0;
    for listed in ours(host, plan).await? {
        if may_be_abandoned(&listed, &plan.whose.identity, in_use) {
            removed += usize::from(remove_abandoned(host, plan, &listed, limit).await);
            continue;
        }
        if !is_candidate(&listed, &plan.whose.identity, in_use) {
            continue;
        }
        // A listing may be old by now; its state and times are looked at again.
        let Ok(Some(container)) = engine.inspect(&listed.id).await else {
            continue;
        };
        if !is_candidate(&container, &plan.whose.identity, in_use)
            || !is_overdue(&container, host.clock().now(), limit)
        {
            continue;
        }
        match engine.remove(container.id.as_str(), limits::REMOVE).await {
            Ok(()) => removed += 1,
            Err(error) => tracing::debug!("leftover {}: {error}", container.id),
        }
    }
    Ok(removed)
}

/// A container whose one process was killed: nobody holds its lease, and nothing runs in
/// it but what keeps it alive.
async fn remove_abandoned(
    host: &DockerHost,
    plan: &Plan,
    container: &Container,
    limit: Duration,
) -> bool {
    let Some(place) = place_of(container, plan) else {
        return false;
    };
    if !is_overdue(container, host.clock().now(), limit) {
        return false;
    }
    let engine = host.engine().as_ref();
    let Ok(Ok(_alone)) = free_to_remove(engine, &place, container).await else {
        return false;
    };
    match engine.remove(container.id.as_str(), limits::REMOVE).await {
        Ok(()) => {
            let _ = std::fs::remove_file(place.lease_of(container));
            true
        }
        Err(error) => {
            tracing::debug!("abandoned {}: {error}", container.id);
            false
        }
    }
}

async fn ours(host: &DockerHost, plan: &Plan) -> Result<Vec<Container>, EngineError> {
    let wanted = [
        (labels::AGENT, "1"),
        (labels::PROFILE, plan.whose.identity.profile.as_str()),
    ];
    host.engine().list(&wanted).await
}

async fn stop_idle(
    host: &DockerHost,
    plan: &Plan,
    in_use: &ContainerId,
) -> Result<(), EngineError> {
    let (Some(limit), Persist::AcrossProcesses) = (plan.life.idle_stop, plan.life.persist) else {
        return Ok(());
    };
    for container in ours(host, plan).await? {
        if container.state != State::Running
            || container.id == *in_use
            || container.label(labels::HOME) != Some(plan.whose.identity.home.as_str())
        {
            continue;
        }
        let Some(place) = place_of(&container, plan) else {
            continue;
        };
        let unused = lease::last_used(&place)
            .and_then(|last| (host.clock().now() - last).to_std().ok())
            .is_some_and(|age| age > limit);
        if !unused {
            continue;
        }
        if let Ok(Ok(_alone)) = free_to_remove(host.engine().as_ref(), &place, &container).await {
            tracing::info!("stopping {}: nobody has used it", container.id);
            let _ = host.engine().stop(&container.id).await;
        }
    }
    Ok(())
}

/// Where a container of this home keeps its lease: beside what it binds, else
/// under its key where that is its label.
pub(crate) fn place_of(container: &Container, plan: &Plan) -> Option<Place> {
    let bound = container.binds.get("/root").map(Path::new);
    if let Some(directory) = bound.and_then(Path::parent)
        && directory.parent() == plan.whose.place.directory().parent()
    {
        return Some(Place::at(directory));
    }
    let task = container.label(labels::TASK)?;
    let root = plan.whose.place.directory().parent()?;
    let directory = root.join(task);
    directory.is_dir().then(|| Place::at(&directory))
}

//! A container keeps the settings it was made with; configuration moves on. The
//! difference is shown, and taken away where that harms nobody.

use super::container::Plan;
use super::engine::{Container, ContainerProcess, Engine, EngineError};
use super::error::DockerError;
use super::host::{DockerHost, stop_and_remove};
use super::labels;
use super::lease::{self, StateFile};
use super::parse;
use super::place::Place;
use super::settings::{Drift, OnDrift, Spec};
use crate::channel::is_resident;

/// What the container is known to have: our own record of its making, else what
/// it shows from outside.
pub(crate) fn known_spec(container: &Container, place: &Place) -> Spec {
    match StateFile::read(place) {
        Some(state) if state.container == container.id.as_str() && !state.spec.0.is_empty() => {
            state.spec
        }
        _ => parse::spec_of(container),
    }
}

/// Every setting in which the container differs. Costs nothing when the hash
/// agrees, else one look at the container.
pub(crate) async fn drift_of(
    engine: &dyn Engine,
    plan: &Plan,
    container: &Container,
) -> Result<Vec<Drift>, EngineError> {
    let wanted = plan.settings.spec();
    if container.label(labels::SPEC) == Some(wanted.hash().as_str()) {
        return Ok(Vec::new());
    }
    let looked_at;
    let container = match &container.details {
        Some(_) => container,
        None => match engine.inspect(&container.id).await? {
            Some(found) => {
                looked_at = found;
                &looked_at
            }
            None => return Ok(Vec::new()),
        },
    };
    Ok(known_spec(container, &plan.whose.place).drift_to(&wanted))
}

/// A network where none is allowed is not a matter of taste.
pub(crate) fn must_go(container: &Container, plan: &Plan) -> bool {
    !plan.settings.network
        && container
            .network_mode
            .as_deref()
            .is_some_and(|mode| mode != "none")
}

/// Takes away a container that must not be used, or says why it cannot.
pub(crate) async fn replace(
    host: &DockerHost,
    plan: &Plan,
    container: &Container,
) -> Result<(), DockerError> {
    let engine = host.engine().as_ref();
    match free_to_remove(engine, &plan.whose.place, container).await? {
        Ok(_alone) => {
            host.notify(format!(
                "container {} has a network and `terminal.docker_network` is off; replacing it",
                container.id
            ));
            stop_and_remove(engine, &container.id).await?;
            Ok(())
        }
        Err(user) => Err(DockerError::Busy(format!(
            "container {} has a network, `terminal.docker_network` is off, and {user}: \
             end that, or run `hermes sandbox rm --force {}`",
            container.id, container.id
        ))),
    }
}

/// The lease alone, when the container shall be made anew. Warns otherwise.
pub(crate) async fn outdated(
    host: &DockerHost,
    plan: &Plan,
    container: &Container,
) -> Result<Option<lease::Alone>, DockerError> {
    let engine = host.engine().as_ref();
    // Drift is advice; failing to tell it must not keep anybody from working.
    let drift = drift_of(engine, plan, container).await.unwrap_or_default();
    if drift.is_empty() {
        return Ok(None);
    }
    let list: Vec<String> = drift.iter().map(Drift::to_string).collect();
    let list = list.join("; ");
    if plan.life.on_drift == OnDrift::Recreate {
        match free_to_remove(engine, &plan.whose.place, container).await? {
            Ok(alone) => {
                host.notify(format!("container {} is made anew: {list}", container.id));
                return Ok(Some(alone));
            }
            Err(user) => {
                host.notify(format!(
                    "container {} is not as configured and stays as it is, because {user}: {list}",
                    container.id
                ));
                return Ok(None);
            }
        }
    }
    host.notify(format!(
        "container {} is not as configured ({list}); `hermes sandbox recreate` applies the settings",
        container.id
    ));
    Ok(None)
}

/// The lease alone, if nobody uses the container; else who does, in words.
pub(crate) async fn free_to_remove(
    engine: &dyn Engine,
    place: &Place,
    container: &Container,
) -> Result<Result<lease::Alone, String>, DockerError> {
    let path = place.lease_of(container);
    let alone = lease::alone(&path).map_err(|source| DockerError::Directory {
        path: path.clone(),
        source,
    })?;
    let Some(alone) = alone else {
        return Ok(Err("another process is using it".to_owned()));
    };
    // The reference takes no lease; whatever runs inside betrays its user.
    let running = match engine.processes(&container.id).await {
        Ok(running) => running,
        Err(error) => return Ok(Err(format!("what runs in it is not known: {error}"))),
    };
    // Our own shells, with nobody holding a lease, are on their way out.
    let somebody =
        |process: &&ContainerProcess| !is_idle(process) && !is_resident(&process.command);
    Ok(match running.iter().find(somebody) {
        Some(process) => Err(format!(
            "`{}` is running in it",
            shortened(&process.command)
        )),
        None => Ok(alone),
    })
}

/// The init and the sleep that keep a container of ours alive.
pub(crate) fn is_idle(process: &ContainerProcess) -> bool {
    process.command.ends_with("sleep infinity")
}

fn shortened(command: &str) -> String {
    command.chars().take(60).collect()
}

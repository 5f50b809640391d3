//! Making a container. The creation itself is the probe for what the engine can
//! do: a limit that it refuses is left out, and the answer is remembered.

use std::fs;
use std::path::PathBuf;

use hermes_home::{FileMode, Lock, write_atomic};

use super::arguments::{EngineFacts, RunInput, run_plan, workspace_is_covered};
use super::container::Plan;
use super::engine::{Container, ContainerId, Engine, EngineError, State, limits};
use super::error::DockerError;
use super::host::DockerHost;
use super::mounts::read_only_mounts;

/// Entrypoints of images that bring their own PID 1.
const INITS: &[&str] = &["/init", "/package/admin/s6-overlay/command/init"];

pub(crate) struct Created {
    pub(crate) id: ContainerId,
    pub(crate) name: String,
}

/// `lock` makes others wait for a creation that we did not live to see.
pub(crate) async fn create(
    host: &DockerHost,
    plan: &Plan,
    lock: Option<&Lock>,
) -> Result<Created, DockerError> {
    make_directories(plan)?;
    let engine = host.engine().as_ref();
    let entrypoint = engine.entrypoint(&plan.settings.image).await.ok().flatten();
    let mut facts = EngineFacts {
        image_has_init: entrypoint.is_some_and(|word| INITS.contains(&word.as_str())),
        disk_quota: !no_quota_file(plan, engine).exists(),
        limits: true,
        init: true,
    };
    let copies = plan.whose.place.directory();
    let (read_only, notes) = read_only_mounts(&plan.settings.share, copies);
    for note in notes {
        host.notify(format!("not shared with the container: {note}"));
    }
    loop {
        let input = RunInput {
            settings: &plan.settings,
            identity: &plan.whose.identity,
            place: &plan.whose.place,
            persist: plan.life.persist,
            facts,
            read_only: &read_only,
            name: format!("hermes-{}", &uuid::Uuid::new_v4().simple().to_string()[..8]),
        };
        let run = run_plan(&input);
        let held = lock.and_then(|lock| lock.for_child().ok());
        let error = match engine.run(&run, held).await {
            Ok(id) => return Ok(Created { id, name: run.name }),
            Err(error) => error,
        };
        // A run that fails may leave a container that was created and not started.
        let cleared = engine.remove(&run.name, limits::REMOVE_FAILED).await;
        if let Err(error) = cleared {
            tracing::warn!("the remains of {} could not be removed: {error}", run.name);
        }
        match without_what_was_refused(facts, &error) {
            Some(fewer) => {
                if facts.disk_quota && !fewer.disk_quota {
                    remember_no_quota(plan, engine);
                    host.notify(format!(
                        "{} cannot limit the disk of a container here; \
                         `terminal.container_disk` has no effect",
                        engine.name()
                    ));
                }
                if facts.init && !fewer.init {
                    host.notify(format!(
                        "{} has no init program here: what ends in the container stays as a zombie, \
                         and stopping it takes 10 s; install `catatonit`",
                        engine.name()
                    ));
                }
                if facts.limits && !fewer.limits {
                    host.notify(format!(
                        "{} cannot limit CPU, memory or processes here: {error}",
                        engine.name()
                    ));
                }
                facts = fewer;
            }
            None => {
                return Err(DockerError::Create {
                    image: plan.settings.image.clone(),
                    source: error,
                });
            }
        }
    }
}

/// Makes a container in place of others, which are stopped first because they may hold
/// what it needs. When it cannot be made, they are as they were.
pub(crate) async fn create_instead(
    host: &DockerHost,
    plan: &Plan,
    lock: Option<&Lock>,
    old: &[Container],
) -> Result<Created, DockerError> {
    let engine = host.engine().as_ref();
    for container in old {
        let _ = engine.stop(&container.id).await;
    }
    let created = match create(host, plan, lock).await {
        Ok(created) => created,
        Err(error) => {
            for container in old.iter().filter(|c| c.state == State::Running) {
                if let Err(error) = engine.start(&container.id).await {
                    host.notify(format!(
                        "container {} could not be started again: {error}",
                        container.id
                    ));
                }
            }
            return Err(error);
        }
    };
    for container in old {
        if let Err(error) = engine.remove(container.id.as_str(), limits::REMOVE).await {
            host.notify(format!(
                "container {} could not be removed: {error}",
                container.id
            ));
        }
    }
    Ok(created)
}

/// Judged by what the engine says about its own options.
fn without_what_was_refused(facts: EngineFacts, error: &EngineError) -> Option<EngineFacts> {
    let EngineError::Refused { reason, .. } = error else {
        return None;
    };
    let reason = reason.to_ascii_lowercase();
    let about_disk = ["storage-opt", "storage opt", "pquota", "size option"];
    if facts.disk_quota && about_disk.iter().any(|text| reason.contains(text)) {
        return Some(EngineFacts {
            disk_quota: false,
            ..facts
        });
    }
    if facts.init && reason.contains("container-init binary not found") {
        return Some(EngineFacts {
            init: false,
            ..facts
        });
    }
    let about_limits = [
        "cgroup",
        "nanocpus",
        "cpu cfs",
        "kernel does not support",
        "pids limit",
    ];
    if facts.limits && about_limits.iter().any(|text| reason.contains(text)) {
        return Some(EngineFacts {
            limits: false,
            ..facts
        });
    }
    None
}

fn make_directories(plan: &Plan) -> Result<(), DockerError> {
    if !plan.settings.persistent_files {
        return Ok(());
    }
    let place = &plan.whose.place;
    let mut wanted = vec![place.home()];
    if !workspace_is_covered(&plan.settings) {
        wanted.push(place.workspace());
    }
    for path in wanted {
        fs::create_dir_all(&path).map_err(|source| DockerError::Directory { path, source })?;
    }
    Ok(())
}

/// Its existence says that this engine, reached this way, refused a disk limit.
fn no_quota_file(plan: &Plan, engine: &dyn Engine) -> PathBuf {
    let place = plan.whose.place.directory();
    place.with_file_name(format!(".no-disk-quota-{}", engine.name()))
}

fn remember_no_quota(plan: &Plan, engine: &dyn Engine) {
    let path = no_quota_file(plan, engine);
    if let Err(error) = write_atomic(&path, b"", FileMode::Private) {
        tracing::debug!("{}: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(reason: &str) -> EngineError {
        EngineError::Refused {
            engine: "docker".to_owned(),
            operation: "run".to_owned(),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn a_refused_limit_is_left_out_and_nothing_else_is_retried() {
        let facts = EngineFacts {
            image_has_init: false,
            disk_quota: true,
            limits: true,
            init: true,
        };
        let quota = refused(
            "--storage-opt is supported only for overlay over xfs with 'pquota' mount option",
        );
        let fewer = without_what_was_refused(facts, &quota).expect("retry");
        assert!(!fewer.disk_quota && fewer.limits);
        assert_eq!(without_what_was_refused(fewer, &quota), None);
        let cpu = refused("NanoCPUs can not be set, as your kernel does not support CPU CFS");
        assert!(!without_what_was_refused(facts, &cpu).expect("retry").limits);
        let init = refused("container-init binary not found on the host: stat /x/catatonit");
        assert!(!without_what_was_refused(facts, &init).expect("retry").init);
        assert_eq!(
            without_what_was_refused(facts, &refused("no such image")),
            None
        );
    }
}

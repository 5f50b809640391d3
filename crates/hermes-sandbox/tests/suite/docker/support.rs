//! A home, a plan and a target for one test, and what must be gone afterwards.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hermes_home::{Clock, Environment};
use hermes_sandbox::docker::find::Whose;
use hermes_sandbox::docker::{
    ContainerSettings, DockerHost, DockerTarget, HomeShare, Identity, LifeSettings, OnDrift,
    Persist, Place, Plan,
};
use hermes_sandbox::{Exit, Launch, LaunchError, Running, Shell, Target};
use hermes_testkit::docker::Sweep;
use tempfile::TempDir;

use super::CLIENT;

pub(super) struct Setup {
    pub(super) directory: TempDir,
    pub(super) plan: Plan,
    pub(super) sweep: Sweep,
    pub(super) notices: Arc<Mutex<Vec<String>>>,
}

/// This process's environment, with what leads to the engine.
pub(super) fn environment() -> Environment {
    let mut environment = Environment::of_process();
    for (name, value) in CLIENT.environment() {
        environment.set(name, value);
    }
    environment
}

/// `None` where no engine is to be had and none is required.
pub(super) fn setup(image: &'static str) -> Option<Setup> {
    if !CLIENT.available() {
        return None;
    }
    CLIENT.image(image);
    let directory = tempfile::tempdir().expect("temporary directory");
    let home = directory.path().to_owned();
    let identity = Identity::new("default", "tester", &home);
    let sweep = Sweep::on(CLIENT, format!("hermes-home={}", identity.home));
    let plan = Plan {
        whose: Whose {
            identity,
            place: Place::new(&home.join("sandboxes"), "default"),
            home: home.clone(),
        },
        settings: ContainerSettings {
            image: image.to_owned(),
            working_directory: "/root".to_owned(),
            cpus: 0.0,
            memory_mb: 512,
            disk_mb: 0,
            persistent_files: true,
            host_workspace: None,
            volumes: Vec::new(),
            share: HomeShare {
                home: home.clone(),
                ..HomeShare::default()
            },
            environment: Default::default(),
            extra_arguments: Vec::new(),
            run_as: None,
            network: true,
        },
        life: LifeSettings {
            persist: Persist::AcrossProcesses,
            on_drift: OnDrift::Warn,
            orphan_reaper: false,
            lifetime: Duration::from_secs(300),
            idle_stop: None,
        },
    };
    Some(Setup {
        directory,
        plan,
        sweep,
        notices: Arc::default(),
    })
}

impl Setup {
    pub(super) fn host_with(&self, environment: &Environment) -> Arc<DockerHost> {
        let notices = self.notices.clone();
        let notify = Arc::new(move |sentence: String| {
            notices.lock().expect("no panic").push(sentence);
        });
        DockerHost::find(
            environment,
            &PathBuf::from("/nonexistent"),
            Clock::System,
            notify,
        )
        .expect("an engine")
    }

    pub(super) fn target(&self) -> DockerTarget {
        DockerTarget::new(self.host_with(&environment()), self.plan.clone())
    }

    /// Over the client program instead of the socket.
    pub(super) fn target_over_client(&self) -> DockerTarget {
        let mut environment = environment();
        environment.set("HERMES_DOCKER_BINARY", CLIENT.program());
        DockerTarget::new(self.host_with(&environment), self.plan.clone())
    }

    pub(super) fn notices(&self) -> Vec<String> {
        self.notices.lock().expect("no panic").clone()
    }
}

pub(super) async fn start(target: &DockerTarget, script: &str) -> Result<Running, LaunchError> {
    target.launch(Launch::new(script, Shell::Bash)).await
}

/// Everything a script printed, and how it ended.
pub(super) async fn finish(mut running: Running) -> (Vec<u8>, Exit) {
    let mut output = Vec::new();
    while let Some(bytes) = running.output.recv().await {
        output.extend_from_slice(&bytes);
    }
    (output, running.exit.await)
}

pub(super) async fn run(target: &DockerTarget, script: &str) -> (String, Exit) {
    let running = start(target, script).await.expect("starts");
    let (output, exit) = finish(running).await;
    (String::from_utf8_lossy(&output).into_owned(), exit)
}

pub(super) async fn says(target: &DockerTarget, script: &str) -> String {
    let (output, exit) = run(target, script).await;
    assert_eq!(exit, Exit::Code(0), "{script}: {output}");
    output
}

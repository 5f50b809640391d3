//! Commands in the shared container, and healing.
//!
//! A command counts as started from the moment its channel was told to go. Lost
//! before that, the container is healed and the command is tried again; lost
//! after, its exit says so and it is never run a second time. What decides is the
//! channel and the engine's own word, never what a command prints.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::container::{Attached, Plan, SharedContainer};
use super::host::DockerHost;
use super::plain;
use crate::channel::{Fault, Mended, Tools, request, running};
use crate::target::{Launch, LaunchError, Running, Target};

/// A container may vanish again while we heal; after this often it is not ours to mend.
const ATTEMPTS: usize = 3;

/// The docker backend of one container key.
pub struct DockerTarget {
    container: Arc<SharedContainer>,
}

impl DockerTarget {
    /// Touches neither engine nor disk before the first command.
    pub fn new(host: Arc<DockerHost>, plan: Plan) -> Self {
        Self {
            container: Arc::new(SharedContainer::new(host, plan)),
        }
    }

    /// What the container's shell found in the image; makes the container if need be.
    pub async fn tools(&self) -> Result<Tools, LaunchError> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let attached = self.attached().await?;
            match attached.pool.tools().await {
                Ok(tools) => return Ok(tools),
                Err(fault) => last = Some(self.healed(&attached, fault).await?),
            }
        }
        Err(gave_up(last))
    }

    /// Id and name of the container in use, if there is one yet.
    pub fn container(&self) -> Option<(super::ContainerId, String)> {
        let attached = self.container.current()?;
        Some((attached.id.clone(), attached.name.clone()))
    }

    pub fn plan(&self) -> &Plan {
        self.container.plan()
    }

    /// Lets go of the container as its settings say: shared ones are left alone,
    /// private ones are stopped and removed by a worker that
    /// [`DockerHost::finish`] waits for. With `force_remove` shared ones go too.
    pub async fn cleanup(&self, force_remove: bool) {
        self.container.let_go(force_remove).await;
    }

    async fn attached(&self) -> Result<Arc<Attached>, LaunchError> {
        self.container
            .ensure()
            .await
            .map_err(super::DockerError::into_launch_error)
    }

    /// Looks at the container after a channel failed before its command started.
    /// `Ok`: it is worth another try.
    async fn healed(&self, attached: &Arc<Attached>, fault: Fault) -> Result<Fault, LaunchError> {
        match attached.mend(self.container.host().engine().as_ref()).await {
            Mended::Gone => {
                let forgotten = self.container.forget(attached).await;
                forgotten.map_err(super::DockerError::into_launch_error)?;
                Ok(fault)
            }
            Mended::Retry if says_no_shell(&fault) => Err(LaunchError::NoShell("sh")),
            Mended::Retry => Ok(fault),
            Mended::Unknown(reason) => Err(LaunchError::Unavailable(reason)),
        }
    }

    async fn start(&self, launch: Launch) -> Result<Running, LaunchError> {
        let request = request(&launch);
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let attached = self.attached().await?;
            if request.shell.first().is_some_and(|shell| shell == "bash") {
                match attached.pool.tools().await {
                    Ok(tools) if !tools.bash => return Err(LaunchError::NoShell("bash")),
                    Ok(_) => {}
                    Err(fault) => {
                        last = Some(self.healed(&attached, fault).await?);
                        continue;
                    }
                }
            }
            match attached.pool.call(&request).await {
                Ok(call) => {
                    attached.works();
                    return Ok(running(call));
                }
                Err(fault) => last = Some(self.healed(&attached, fault).await?),
            }
        }
        self.start_plainly(launch, last).await
    }

    /// No channel can be had, though the container is there.
    async fn start_plainly(
        &self,
        launch: Launch,
        why: Option<Fault>,
    ) -> Result<Running, LaunchError> {
        let attached = self.attached().await?;
        let engine = self.container.host().engine();
        match attached.mend(engine.as_ref()).await {
            Mended::Retry => {
                tracing::warn!("no channel into {}: {:?}", attached.id, why);
                let running = plain::launch(engine, &attached.id, launch).await?;
                attached.works();
                Ok(running)
            }
            Mended::Gone | Mended::Unknown(_) => Err(gave_up(why)),
        }
    }
}

fn gave_up(last: Option<Fault>) -> LaunchError {
    let reason = last.map_or_else(
        || "it keeps going away".to_owned(),
        |fault| fault.to_string(),
    );
    LaunchError::Unavailable(format!("the container cannot be used: {reason}"))
}

/// The runtime's word for a program that is not in the image, said before anything ran.
fn says_no_shell(fault: &Fault) -> bool {
    matches!(fault, Fault::Closed { text, .. } | Fault::Open(text)
        if text.contains("executable file not found") || text.contains("no such file or directory"))
}

impl Target for DockerTarget {
    fn describe(&self) -> String {
        // The same before and after the container is found: state that is kept
        // for this sandbox is found again by it.
        format!("docker container of `{}`", self.plan().whose.identity.task)
    }

    fn temp_dir(&self) -> &str {
        "/tmp"
    }

    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<Running, LaunchError>> {
        async move { self.start(launch.without_terminal("a container")?).await }.boxed()
    }
}

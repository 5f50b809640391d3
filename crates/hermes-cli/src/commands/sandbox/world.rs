//! Configuration, engine and containers as the verbs need them.

use std::sync::{Arc, Mutex, PoisonError};

use hermes_sandbox::docker::{
    Container, DockerConfig, DockerError, DockerHost, EngineError, HostUser, Inventory, Notify,
    Surroundings,
};

use crate::{CommandError, Context, ErrorKind, Out};

/// The container key of everything that is not isolated on purpose.
pub(super) const KEY: &str = "default";

pub(super) fn host_user() -> HostUser {
    HostUser {
        uid: nix::unistd::geteuid().as_raw(),
        gid: nix::unistd::getegid().as_raw(),
    }
}

/// Sentences for the user that come up while something else is being done.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    pub(crate) fn collector(&self) -> Notify {
        let kept = self.0.clone();
        Arc::new(move |sentence: String| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            // A container that keeps failing must not fill our memory.
            if kept.len() < 100 {
                kept.push(sentence);
            }
        })
    }

    pub(crate) fn tell(&self, out: &mut Out) {
        let told = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for notice in told {
            out.warning(&notice);
        }
    }
}

/// The docker side of this home.
pub(super) struct World {
    pub(super) host: Arc<DockerHost>,
    pub(super) config: DockerConfig,
    pub(super) notices: Notices,
}

impl World {
    pub(super) fn new(context: &Context, out: &mut Out) -> Result<Self, CommandError> {
        let around = Surroundings {
            directory: std::env::current_dir().ok(),
            user: host_user(),
        };
        let config = DockerConfig::read(context.config()?, &context.home, KEY, &around)?;
        for warning in &config.warnings {
            out.warning(warning);
        }
        let notices = Notices::default();
        let host = DockerHost::find(
            &context.environment,
            context.home.user_home(),
            context.clock.clone(),
            notices.collector(),
        )
        .map_err(engine_error)?;
        Ok(Self {
            host,
            config,
            notices,
        })
    }

    pub(super) fn inventory(&self) -> Inventory<'_> {
        Inventory {
            host: &self.host,
            plan: &self.config.plan,
        }
    }

    /// The one container that `text` names.
    pub(super) async fn one(&self, text: &str) -> Result<Container, CommandError> {
        let mut found = self.inventory().find(text).await.map_err(engine_error)?;
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(
                CommandError::user(format!("no container of Hermes is called `{text}`"))
                    .hint("`hermes sandbox ls --all` shows what there is"),
            ),
            _ => {
                let ids: Vec<&str> = found.iter().map(|c| c.id.short()).collect();
                let ids = ids.join(", ");
                Err(CommandError::user(format!(
                    "`{text}` could be any of {ids}"
                )))
            }
        }
    }
}

pub(super) fn engine_error(error: EngineError) -> CommandError {
    let hint = match &error {
        EngineError::NotFound => {
            Some("install docker or podman, or name one with the variable `HERMES_DOCKER_BINARY`")
        }
        EngineError::Unreachable { .. } | EngineError::Timeout { .. } => {
            Some("see whether `docker version` answers")
        }
        _ => None,
    };
    let kind = match &error {
        EngineError::Timeout { .. } | EngineError::Unreachable { .. } => ErrorKind::Remote,
        _ => ErrorKind::User,
    };
    let error = CommandError::new(kind, error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

pub(super) fn docker_error(error: DockerError) -> CommandError {
    match error {
        DockerError::Engine(error) => engine_error(error),
        error @ DockerError::InUse { .. } => {
            CommandError::new(ErrorKind::Busy, error).hint("`--force` takes it all the same")
        }
        error @ DockerError::Busy(_) => CommandError::new(ErrorKind::Busy, error),
        error @ (DockerError::Create { .. } | DockerError::EndsAtOnce { .. }) => {
            CommandError::new(ErrorKind::Remote, error)
        }
        error @ DockerError::Directory { .. } => CommandError::internal(error),
    }
}

//! Which sandbox a task gets: made from configuration when first needed, shared by
//! everybody who is not set apart on purpose.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_config::{Config, ConfigError};
use hermes_home::{Clock, Environment, Home};

use crate::background::{Processes, ProcessesOptions};
use crate::docker::{
    DockerConfig, DockerHost, DockerTarget, EngineError, HomeShare, HostUser, Notify, Surroundings,
    session_records,
};
use crate::files::ShellFiles;
use crate::local::{LocalPlan, local_sandbox};
use crate::path::MountMap;
use crate::sandbox::{Sandbox, SandboxParts};
use crate::session::SessionOptions;
use crate::settings::directory::remote_directory;
use crate::settings::environment::{passed_on, passthrough};
use crate::settings::{Backend, FrontEnd, TerminalSettings};
use crate::ssh::{ShareRules, SshError, SshLogin, SshTarget};
use crate::target::Target;

/// The key of everything that is not isolated.
const SHARED: &str = "default";

/// Looks at the files for a host before every command.
const FORCE_SYNC: &str = "HERMES_FORCE_FILE_SYNC";

/// Where background processes are remembered.
const CHECKPOINT: &str = "processes.json";

pub struct SandboxesPlan {
    pub config: Arc<Config>,
    pub home: Home,
    pub environment: Environment,
    pub front_end: FrontEnd,
    /// The directory of this process; `None` when it was deleted.
    pub launched_in: Option<PathBuf>,
    pub user: HostUser,
    pub clock: Clock,
    /// Sentences for the user: drift, a container that had to be replaced.
    pub notify: Notify,
}

/// What one task wants different. Only an image sets it apart; a directory moves
/// its session and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Override {
    pub image: Option<String>,
    pub cwd: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Ssh(#[from] SshError),
    #[error("the terminal backend `{0}` is not built yet: use `local`, `docker` or `ssh`")]
    NotBuilt(&'static str),
}

pub struct Sandboxes {
    source: Source,
    processes: Arc<Processes>,
    made: Mutex<Made>,
}

enum Source {
    Plan(Box<SandboxesPlan>),
    Fixed(Box<TerminalSettings>, Arc<Sandbox>),
}

#[derive(Default)]
struct Made {
    sandboxes: HashMap<String, Arc<Sandbox>>,
    overrides: HashMap<String, Override>,
    docker: Option<Arc<DockerHost>>,
    containers: Vec<Arc<DockerTarget>>,
    hosts: Vec<Arc<SshTarget>>,
    /// Tasks whose left processes have been looked for.
    taken_up: HashSet<String>,
}

impl Sandboxes {
    /// Touches neither disk nor engine.
    pub fn new(plan: SandboxesPlan) -> Arc<Self> {
        let processes = Processes::new(ProcessesOptions {
            checkpoint: Some(plan.home.join(CHECKPOINT)),
        });
        Arc::new(Self {
            source: Source::Plan(Box::new(plan)),
            processes,
            made: Mutex::default(),
        })
    }

    /// One sandbox for everybody, made elsewhere.
    pub fn fixed(settings: TerminalSettings, sandbox: Arc<Sandbox>) -> Arc<Self> {
        Arc::new(Self {
            processes: sandbox.processes().clone(),
            source: Source::Fixed(Box::new(settings), sandbox),
            made: Mutex::default(),
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn processes(&self) -> &Arc<Processes> {
        &self.processes
    }

    /// Goes on with what an earlier Hermes started for `task` and left running.
    /// Looks once for each task.
    pub async fn take_up(&self, task: &str) {
        if !self.lock().taken_up.insert(task.to_owned()) {
            return;
        }
        let target = self.get(task).ok().map(|sandbox| sandbox.target().clone());
        self.processes.recover(target.as_ref(), Some(task)).await;
    }

    /// Read anew for every call, so that a bad value fails the call it concerns.
    pub fn settings(&self) -> Result<TerminalSettings, SandboxError> {
        match &self.source {
            Source::Fixed(settings, _) => Ok((**settings).clone()),
            Source::Plan(plan) => Ok(TerminalSettings::read(&plan.config, &plan.home)?),
        }
    }

    /// Replaces what `task` wants different; moves its session if it has one.
    pub fn set_override(&self, task: &str, wanted: Override) {
        let key = key(task, Some(&wanted));
        let mut made = self.lock();
        if let (Some(cwd), Some(sandbox)) = (&wanted.cwd, made.sandboxes.get(key)) {
            sandbox.set_cwd(task, cwd);
        }
        made.overrides.insert(task.to_owned(), wanted);
    }

    /// The sandbox of `task`. Making one starts nothing: its first command does.
    pub fn get(&self, task: &str) -> Result<Arc<Sandbox>, SandboxError> {
        let plan = match &self.source {
            Source::Fixed(_, sandbox) => return Ok(sandbox.clone()),
            Source::Plan(plan) => plan,
        };
        // Held throughout: several first calls make one sandbox.
        let mut made = self.lock();
        let wanted = made.overrides.get(task).cloned();
        let key = key(task, wanted.as_ref()).to_owned();
        if let Some(sandbox) = made.sandboxes.get(&key) {
            return Ok(sandbox.clone());
        }
        let sandbox = self.make(plan, &mut made, &key, wanted.as_ref())?;
        if let Some(cwd) = wanted.and_then(|wanted| wanted.cwd) {
            sandbox.set_cwd(task, &cwd);
        }
        made.sandboxes.insert(key, sandbox.clone());
        Ok(sandbox)
    }

    fn make(
        &self,
        plan: &SandboxesPlan,
        made: &mut Made,
        key: &str,
        wanted: Option<&Override>,
    ) -> Result<Arc<Sandbox>, SandboxError> {
        let settings = TerminalSettings::read(&plan.config, &plan.home)?;
        match settings.backend {
            Backend::Local => Ok(local_sandbox(LocalPlan {
                settings: &settings,
                environment: plan.config.environment(),
                home: &plan.home,
                front_end: plan.front_end,
                launched_in: plan.launched_in.as_deref(),
                processes: self.processes.clone(),
            })),
            Backend::Docker => self.make_docker(plan, made, key, wanted, &settings),
            Backend::Ssh => self.make_ssh(plan, made, &settings),
            other => Err(SandboxError::NotBuilt(other.as_str())),
        }
    }

    fn make_ssh(
        &self,
        plan: &SandboxesPlan,
        made: &mut Made,
        settings: &TerminalSettings,
    ) -> Result<Arc<Sandbox>, SandboxError> {
        let login = SshLogin::read(settings, &plan.environment)?;
        let rules = ShareRules {
            share: HomeShare::read(&plan.config, &plan.home)?,
            back: settings.ssh.sync_back,
            always: plan.environment.is_truthy(FORCE_SYNC),
        };
        let host = Arc::new(SshTarget::new(login).sharing(plan.home.clone(), rules));
        made.hosts.push(host.clone());
        let target: Arc<dyn Target> = host;
        let session = SessionOptions {
            environment: passed_on(&settings.env_passthrough, plan.config.environment()),
            init_files: settings.shell_init_files.clone(),
            live_in: Some(session_records(
                &settings.sandbox_dir,
                Backend::Ssh.as_str(),
            )),
            ..SessionOptions::starting_in(remote_directory(settings))
        };
        Ok(Sandbox::new(SandboxParts {
            backend: Backend::Ssh,
            files: Arc::new(ShellFiles::new(target.clone())),
            target,
            mounts: MountMap::default(),
            session,
            processes: self.processes.clone(),
        }))
    }

    fn make_docker(
        &self,
        plan: &SandboxesPlan,
        made: &mut Made,
        key: &str,
        wanted: Option<&Override>,
        settings: &TerminalSettings,
    ) -> Result<Arc<Sandbox>, SandboxError> {
        let around = Surroundings {
            directory: plan.launched_in.clone(),
            user: plan.user,
        };
        let mut docker = DockerConfig::read(&plan.config, &plan.home, key, &around)?;
        for warning in &docker.warnings {
            (plan.notify)(warning.clone());
        }
        if let Some(image) = wanted.and_then(|wanted| wanted.image.clone()) {
            docker.plan.settings.image = image;
        }
        let host = match &made.docker {
            Some(host) => host.clone(),
            None => {
                let host = DockerHost::find(
                    &plan.environment,
                    plan.home.user_home(),
                    plan.clock.clone(),
                    plan.notify.clone(),
                )?;
                made.docker.insert(host).clone()
            }
        };
        let session = SessionOptions {
            environment: docker.session_environment,
            live_in: Some(session_records(
                &settings.sandbox_dir,
                Backend::Docker.as_str(),
            )),
            ..SessionOptions::starting_in(docker.plan.settings.working_directory.clone())
        };
        let exposed = docker.plan.settings.exposed();
        let container = Arc::new(DockerTarget::new(host, docker.plan));
        made.containers.push(container.clone());
        let target: Arc<dyn Target> = container;
        let parts = SandboxParts {
            backend: Backend::Docker,
            files: Arc::new(ShellFiles::new(target.clone())),
            target,
            mounts: MountMap::default(),
            session,
            processes: self.processes.clone(),
        };
        Ok(Sandbox::exposing(parts, exposed))
    }

    /// Lets the commands of `task` see these variables, as a skill that it loaded asks:
    /// values from our environment, never a credential of Hermes. Commands on this
    /// machine see them anyway; scripts do not.
    pub fn pass_on(&self, task: &str, names: &[String]) {
        let Source::Plan(plan) = &self.source else {
            return;
        };
        let Ok(sandbox) = self.get(task) else {
            return;
        };
        let environment = plan.config.environment();
        let names = passthrough(names.iter().map(String::as_str));
        let variables = names.into_iter().filter_map(|name| {
            let value = environment.get_non_empty(&name)?.to_owned();
            Some((name, value))
        });
        let session = sandbox.session(task);
        match sandbox.backend() {
            Backend::Local => session.pass_to_scripts(variables),
            _ => session.pass_on(variables),
        }
    }

    /// Lets go of everything as the settings say; waits for what must be removed.
    /// Background processes stay. `false` when a removal was not done in time.
    pub async fn close(&self) -> bool {
        let made = std::mem::take(&mut *self.lock());
        futures_util::future::join_all(made.sandboxes.values().map(|sandbox| sandbox.close()))
            .await;
        futures_util::future::join_all(
            made.containers
                .iter()
                .map(|container| container.cleanup(false)),
        )
        .await;
        futures_util::future::join_all(made.hosts.iter().map(|host| host.close())).await;
        match made.docker {
            Some(host) => host.finish().await,
            None => true,
        }
    }
}

fn key<'a>(task: &'a str, wanted: Option<&Override>) -> &'a str {
    match wanted {
        Some(Override { image: Some(_), .. }) => task,
        _ => SHARED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn sandboxes(yaml: &str) -> Arc<Sandboxes> {
        let home = tempfile::tempdir().unwrap();
        Sandboxes::new(SandboxesPlan {
            config: Arc::new(Config::from_yaml(yaml).unwrap()),
            home: Home::at(home.path(), home.path()),
            environment: Environment::default(),
            front_end: FrontEnd::Terminal,
            launched_in: Some(PathBuf::from("/")),
            user: HostUser { uid: 0, gid: 0 },
            clock: Clock::System,
            notify: Arc::new(|_| {}),
        })
    }

    #[test]
    fn a_directory_moves_a_session_and_does_not_set_a_task_apart() {
        let sandboxes = sandboxes("terminal: {backend: local}");
        let shared = sandboxes.get("one").unwrap();
        sandboxes.set_override(
            "two",
            Override {
                image: None,
                cwd: Some("/usr".to_owned()),
            },
        );
        let other = sandboxes.get("two").unwrap();
        assert!(Arc::ptr_eq(&shared, &other));
        assert_eq!(
            (shared.session("one").cwd(), other.session("two").cwd()),
            ("/".to_owned(), "/usr".to_owned())
        );
        sandboxes.set_override(
            "three",
            Override {
                image: Some("x".to_owned()),
                cwd: None,
            },
        );
        assert!(!Arc::ptr_eq(&shared, &sandboxes.get("three").unwrap()));
    }

    #[test]
    fn what_is_not_built_and_what_is_wrong_is_said() {
        let error = sandboxes("terminal: {backend: modal}")
            .get("x")
            .err()
            .unwrap();
        assert!(error.to_string().contains("`modal`"), "{error}");
        for wrong in ["5m", "0", "-7"] {
            let text = format!("terminal: {{timeout: {wrong}}}");
            let error = sandboxes(&text).get("x").err().unwrap().to_string();
            assert!(error.contains("terminal.timeout"), "{error}");
            assert!(error.contains(wrong), "{error}");
        }
    }
}

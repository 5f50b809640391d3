//! Commands on the host, over channels, and what happens when it goes away.
//!
//! As in a container, a command counts as started once its channel was told to go.
//! Lost before that, the connection is made again and the command tried again;
//! lost after, its exit says so and it is never run a second time.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hermes_home::Home;
use hermes_process::{Command, Input, Output, OwnerDeath, spawn};

use super::login::SshLogin;
use super::master;
use super::sync::{ShareRules, Sync};
use crate::channel::{
    Fault, Mended, Opener, Pool, Rights, Wire, quote, request, resident_command, running,
};
use crate::target::{Launch, LaunchError, Running, Target};

const ATTEMPTS: usize = 3;

pub struct SshTarget {
    host: Host,
    sync: Option<Sync>,
}

impl SshTarget {
    /// Connects with the first command.
    pub fn new(login: SshLogin) -> Self {
        let login = Arc::new(login);
        Self {
            host: Host {
                pool: Pool::new(Arc::new(HostOpener(login.clone()))),
                login,
            },
            sync: None,
        }
    }

    /// The host gets files of the home, and what it changes comes back.
    pub fn sharing(mut self, home: Home, rules: ShareRules) -> Self {
        self.sync = Some(Sync::new(home, rules));
        self
    }

    /// Fetches what changed and closes our channels. The shared connection stays for
    /// others and ends by itself when nobody uses it.
    pub async fn close(&self) {
        if let Some(sync) = &self.sync {
            sync.back(&self.host).await;
        }
        self.host.pool.close().await;
    }

    /// Ends the shared connection, for everybody who uses it.
    pub async fn hang_up(&self) {
        self.host.pool.close().await;
        master::hang_up(&self.host.login).await;
    }
}

/// The host alone: files are moved over it before and after commands.
struct Host {
    login: Arc<SshLogin>,
    pool: Pool,
}

impl Host {
    async fn start(&self, launch: Launch) -> Result<Running, LaunchError> {
        let request = request(&launch);
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let fault = match self.attempt(&request).await {
                Ok(running) => return Ok(running),
                Err(Attempt::Final(error)) => return Err(error),
                Err(Attempt::Fault(fault)) => fault,
            };
            if let Mended::Unknown(reason) = HostOpener(self.login.clone()).mend().await {
                return Err(LaunchError::Unavailable(reason));
            }
            last = Some(fault);
        }
        let reason = last.map_or_else(String::new, |fault| fault.to_string());
        Err(LaunchError::Unavailable(format!(
            "{} cannot be used: {reason}",
            self.login.name()
        )))
    }

    async fn attempt(&self, request: &crate::channel::CallRequest) -> Result<Running, Attempt> {
        if request.shell.first().is_some_and(|shell| shell == "bash") {
            let tools = self.pool.tools().await.map_err(Attempt::Fault)?;
            if !tools.bash {
                return Err(Attempt::Final(LaunchError::NoShell("bash")));
            }
        }
        let call = self.pool.call(request).await.map_err(Attempt::Fault)?;
        Ok(running(call))
    }
}

enum Attempt {
    Fault(Fault),
    Final(LaunchError),
}

impl Target for Host {
    fn describe(&self) -> String {
        format!("ssh {}", self.login.name())
    }

    fn temp_dir(&self) -> &str {
        "/tmp"
    }

    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<Running, LaunchError>> {
        async move {
            self.start(launch.without_terminal("a host behind ssh")?)
                .await
        }
        .boxed()
    }
}

impl Target for SshTarget {
    fn describe(&self) -> String {
        self.host.describe()
    }

    fn temp_dir(&self) -> &str {
        self.host.temp_dir()
    }

    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<Running, LaunchError>> {
        async move {
            if let Some(sync) = &self.sync {
                sync.forth(&self.host).await;
            }
            self.host.launch(launch).await
        }
        .boxed()
    }
}

struct HostOpener(Arc<SshLogin>);

impl Opener for HostOpener {
    fn open(&self, rights: Rights) -> BoxFuture<'_, Result<Wire, Fault>> {
        async move {
            if let Rights::User(user) = rights {
                return Err(Fault::Open(format!(
                    "nobody but {} can log in here, and user {user} owns the process",
                    self.0.user
                )));
            }
            master::ensure(&self.0).await.map_err(Fault::Open)?;
            // Read by a shell over there, whichever it is.
            let remote: Vec<String> = resident_command().iter().map(|word| quote(word)).collect();
            let command = Command::new(&self.0.program)
                .args(self.0.arguments("no"))
                .arg("-T")
                .arg(self.0.destination())
                .arg("--")
                .arg(remote.join(" "))
                .stdin(Input::Pipe)
                .stdout(Output::Pipe)
                .stderr(Output::Pipe)
                .owner_death(OwnerDeath::KillChild);
            let process = spawn(command)
                .await
                .map_err(|error| Fault::Open(error.to_string()))?;
            Wire::over_process(process).map_err(|error| Fault::Open(error.to_string()))
        }
        .boxed()
    }

    fn mend(&self) -> BoxFuture<'_, Mended> {
        async move {
            match master::ensure(&self.0).await {
                Ok(()) => Mended::Retry,
                Err(reason) => Mended::Unknown(reason),
            }
        }
        .boxed()
    }
}

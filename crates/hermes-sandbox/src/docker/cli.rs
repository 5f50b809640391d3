//! The driver that always works: the engine's own command-line client.
//!
//! Containers are listed by id and then inspected, because docker's and podman's
//! listings differ while their inspections agree. An error is the client's last
//! words, never its command line.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hermes_home::Environment;
use hermes_process::{Captured, Command, Input, Limits, Output, OutputError, OwnerDeath};

use super::arguments::{ENV_FILE, RunPlan};
use super::binary::EngineProgram;
use super::engine::{
    Container, ContainerId, ContainerProcess, Engine, EngineError, ExecRequest, PlainExec, limits,
};
use super::parse;
use crate::channel::Wire;

/// An engine reached through its client program.
pub struct CliEngine {
    program: EngineProgram,
    name: String,
    environment: Environment,
}

impl CliEngine {
    pub fn new(program: EngineProgram, environment: Environment) -> Self {
        Self {
            name: program.name(),
            program,
            environment,
        }
    }

    fn command(&self) -> Command {
        Command::new(self.program.path.clone())
            .only_env(self.environment.iter())
            .owner_death(OwnerDeath::KillChild)
    }

    async fn ask(
        &self,
        operation: &str,
        arguments: &[&str],
        timeout: Duration,
    ) -> Result<Captured, EngineError> {
        let command = self.command().args(arguments.iter().copied());
        self.run_client(operation, command, timeout).await
    }

    async fn run_client(
        &self,
        operation: &str,
        command: Command,
        timeout: Duration,
    ) -> Result<Captured, EngineError> {
        let limits = Limits {
            timeout,
            max_bytes: 8 << 20,
        };
        hermes_process::output(command, limits)
            .await
            .map_err(|error| match error {
                OutputError::Timeout { .. } => EngineError::Timeout {
                    engine: self.name.clone(),
                    operation: operation.to_owned(),
                    limit: timeout,
                },
                other => EngineError::Unreachable {
                    engine: self.name.clone(),
                    reason: other.to_string(),
                },
            })
    }

    /// The same, where anything but success is an error.
    async fn must(
        &self,
        operation: &str,
        arguments: &[&str],
        timeout: Duration,
    ) -> Result<Captured, EngineError> {
        let captured = self.ask(operation, arguments, timeout).await?;
        self.succeeded(operation, captured)
    }

    fn succeeded(&self, operation: &str, captured: Captured) -> Result<Captured, EngineError> {
        if captured.success() {
            return Ok(captured);
        }
        Err(self.refusal(operation, &captured))
    }

    fn refusal(&self, operation: &str, captured: &Captured) -> EngineError {
        let reason = last_words(&captured.stderr_text());
        if daemon_is_away(&reason) {
            return EngineError::Unreachable {
                engine: self.name.clone(),
                reason,
            };
        }
        EngineError::Refused {
            engine: self.name.clone(),
            operation: operation.to_owned(),
            reason,
        }
    }

    fn unreadable(&self, operation: &str, error: &serde_json::Error) -> EngineError {
        EngineError::Unreadable {
            engine: self.name.clone(),
            operation: operation.to_owned(),
            reason: error.to_string(),
        }
    }

    async fn inspect_all(&self, ids: &[&str]) -> Result<Vec<Container>, EngineError> {
        let mut arguments = vec!["inspect", "--type", "container"];
        arguments.extend(ids);
        let captured = self.ask("inspect", &arguments, limits::INSPECT).await?;
        // One that vanished meanwhile makes the client fail, and list the others.
        if !captured.success() && !says_absent(&captured.stderr_text()) {
            return Err(self.refusal("inspect", &captured));
        }
        let json: &[u8] = match captured.stdout.trim_ascii() {
            b"" => b"[]",
            json => json,
        };
        parse::inspected(json).map_err(|error| self.unreadable("inspect", &error))
    }

    async fn list_by(&self, labels: &[(&str, &str)]) -> Result<Vec<Container>, EngineError> {
        let filters: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("label={name}={value}"))
            .collect();
        let mut arguments = vec!["ps", "-a", "--no-trunc"];
        for filter in &filters {
            arguments.extend(["--filter", filter]);
        }
        arguments.extend(["--format", "{{.ID}}"]);
        let captured = self.must("ps", &arguments, limits::LIST).await?;
        let text = captured.stdout_text();
        let ids: Vec<&str> = text.split_whitespace().collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.inspect_all(&ids).await
    }

    async fn run_plan(
        &self,
        plan: &RunPlan,
        held: Option<File>,
    ) -> Result<ContainerId, EngineError> {
        let io_error = |error: std::io::Error| EngineError::Unreachable {
            engine: self.name.clone(),
            reason: format!("cannot write the variables for the container: {error}"),
        };
        // Created 0600 and gone with this scope.
        let mut file = None;
        if let Some(content) = &plan.env_file {
            let mut private = tempfile::NamedTempFile::new().map_err(io_error)?;
            private.write_all(content.as_bytes()).map_err(io_error)?;
            file = Some(private);
        }
        let arguments = plan.arguments.iter().map(|argument| match &file {
            Some(file) if argument == ENV_FILE => file.path().as_os_str().to_owned(),
            _ => argument.clone().into(),
        });
        // The engine finishes what it was asked for whatever becomes of us; so the
        // client goes on too and keeps the lock that makes others wait for it.
        let mut command = self
            .command()
            .args(arguments)
            .owner_death(OwnerDeath::LeaveRunning);
        if let Some(file) = held {
            command = command.stdin(Input::File(file));
        }
        for (name, value) in &plan.environment {
            command = command.env(name, value);
        }
        let captured = self.run_client("run", command, limits::RUN).await?;
        let captured = self.succeeded("run", captured)?;
        let text = captured.stdout_text();
        let id = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        match id {
            Some(id) if id.len() >= 12 && id.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Ok(ContainerId::new(id))
            }
            other => Err(EngineError::Unreadable {
                engine: self.name.clone(),
                operation: "run".to_owned(),
                reason: format!("{:?} is not a container id", other.unwrap_or_default()),
            }),
        }
    }

    async fn remove_by(&self, id_or_name: &str, limit: Duration) -> Result<(), EngineError> {
        let captured = self.ask("rm", &["rm", "-f", id_or_name], limit).await?;
        if says_absent(&captured.stderr_text()) {
            return Ok(());
        }
        self.succeeded("rm", captured).map(drop)
    }

    async fn top(&self, id: &ContainerId) -> Result<Vec<ContainerProcess>, EngineError> {
        let arguments: &[&str] = if self.name.contains("podman") {
            &["top", id.as_str(), "pid", "args"]
        } else {
            &["top", id.as_str(), "-o", "pid,args"]
        };
        let captured = self.must("top", arguments, limits::LIST).await?;
        Ok(captured
            .stdout_text()
            .lines()
            .skip(1)
            .filter_map(|line| {
                let (pid, command) = line.trim().split_once(char::is_whitespace)?;
                Some(ContainerProcess {
                    pid: pid.to_owned(),
                    command: command.trim().to_owned(),
                })
            })
            .collect())
    }

    async fn exec_wire(
        &self,
        id: &ContainerId,
        request: &ExecRequest,
    ) -> Result<Wire, EngineError> {
        let mut command = self.command().args(["exec", "-i", "-w", "/"]);
        if let Some(user) = request.user {
            command = command.args(["--user".to_owned(), user.to_string()]);
        }
        let command = command
            .arg(id.as_str())
            .args(request.command.iter())
            .stdin(Input::Pipe);
        self.attached(command).await
    }

    async fn plain_wire(&self, id: &ContainerId, request: &PlainExec) -> Result<Wire, EngineError> {
        let mut command = self.command().arg("exec");
        for (name, value) in &request.environment {
            // By name only: the client passes on what it has.
            command = command.arg("-e").arg(name).env(name, value);
        }
        let command = command.arg(id.as_str()).args(request.command.iter());
        self.attached(command).await
    }

    async fn attached(&self, command: Command) -> Result<Wire, EngineError> {
        let command = command.stdout(Output::Pipe).stderr(Output::Pipe);
        let unreachable = |reason: String| EngineError::Unreachable {
            engine: self.name.clone(),
            reason,
        };
        let process = hermes_process::spawn(command)
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        Wire::over_process(process).map_err(|error| unreachable(error.to_string()))
    }
}

/// The client's own word for "the daemon does not answer".
fn daemon_is_away(reason: &str) -> bool {
    [
        "Cannot connect to the",
        "connection refused",
        "Is the docker daemon running",
    ]
    .iter()
    .any(|text| reason.contains(text))
}

/// The client's own word for a container that does not exist. Only ever asked of
/// what the client says about a lookup, never of a command's output.
fn says_absent(stderr: &str) -> bool {
    let lower = stderr.to_ascii_lowercase();
    lower.contains("no such container") || lower.contains("no such object")
}

/// The line that says what went wrong, bounded.
pub(crate) fn last_words(stderr: &str) -> String {
    let line = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .rfind(|line| !(line.starts_with("See '") || line.starts_with("Run '")))
        .unwrap_or("it gave no reason");
    let line = line
        .trim_start_matches("docker: ")
        .trim_start_matches("Error response from daemon: ")
        .trim_start_matches("Error: ");
    line.chars().take(400).collect()
}

impl Engine for CliEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn alive(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            self.must("version", &["version"], limits::ALIVE)
                .await
                .map(drop)
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        labels: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Result<Vec<Container>, EngineError>> {
        self.list_by(labels).boxed()
    }

    fn inspect<'a>(
        &'a self,
        id: &'a ContainerId,
    ) -> BoxFuture<'a, Result<Option<Container>, EngineError>> {
        async move { Ok(self.inspect_all(&[id.as_str()]).await?.into_iter().next()) }.boxed()
    }

    fn run<'a>(
        &'a self,
        plan: &'a RunPlan,
        held: Option<File>,
    ) -> BoxFuture<'a, Result<ContainerId, EngineError>> {
        self.run_plan(plan, held).boxed()
    }

    fn start<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            self.must("start", &["start", id.as_str()], limits::START)
                .await
                .map(drop)
        }
        .boxed()
    }

    fn unpause<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            self.must("unpause", &["unpause", id.as_str()], limits::START)
                .await
                .map(drop)
        }
        .boxed()
    }

    fn stop<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            let captured = self
                .ask("stop", &["stop", "-t", "10", id.as_str()], limits::REMOVE)
                .await?;
            if says_absent(&captured.stderr_text()) {
                return Ok(());
            }
            self.succeeded("stop", captured).map(drop)
        }
        .boxed()
    }

    fn remove<'a>(
        &'a self,
        id_or_name: &'a str,
        limit: Duration,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.remove_by(id_or_name, limit).boxed()
    }

    fn entrypoint<'a>(
        &'a self,
        image: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, EngineError>> {
        async move {
            let arguments = [
                "image",
                "inspect",
                image,
                "--format",
                "{{json .Config.Entrypoint}}",
            ];
            let captured = self
                .must("image inspect", &arguments, limits::IMAGE)
                .await?;
            let words: Option<Vec<String>> = serde_json::from_slice(&captured.stdout)
                .map_err(|error| self.unreadable("image inspect", &error))?;
            Ok(words.and_then(|words| words.into_iter().next()))
        }
        .boxed()
    }

    fn processes<'a>(
        &'a self,
        id: &'a ContainerId,
    ) -> BoxFuture<'a, Result<Vec<ContainerProcess>, EngineError>> {
        self.top(id).boxed()
    }

    fn logs<'a>(
        &'a self,
        id: &'a ContainerId,
        lines: u32,
    ) -> BoxFuture<'a, Result<String, EngineError>> {
        async move {
            let lines = lines.to_string();
            let arguments = ["logs", "--tail", &lines, id.as_str()];
            let captured = self.must("logs", &arguments, limits::LIST).await?;
            Ok(captured.stdout_text() + &captured.stderr_text())
        }
        .boxed()
    }

    fn exec<'a>(
        &'a self,
        id: &'a ContainerId,
        request: &'a ExecRequest,
    ) -> BoxFuture<'a, Result<Wire, EngineError>> {
        self.exec_wire(id, request).boxed()
    }

    fn exec_plain<'a>(
        &'a self,
        id: &'a ContainerId,
        request: &'a PlainExec,
    ) -> BoxFuture<'a, Result<Wire, EngineError>> {
        self.plain_wire(id, request).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_reason_is_the_line_that_says_what_went_wrong() {
        let stderr = "Unable to find image 'x:1' locally\n\
            docker: Error response from daemon: pull access denied for x\n\n\
            Run 'docker run --help' for more information\n";
        assert_eq!(last_words(stderr), "pull access denied for x");
        assert_eq!(last_words(""), "it gave no reason");
        assert!(says_absent("Error: No such container: abc"));
        assert!(!says_absent("Cannot connect to the Docker daemon"));
        assert!(daemon_is_away(&last_words(
            "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"
        )));
    }
}

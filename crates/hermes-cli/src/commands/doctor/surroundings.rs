//! What lies outside the home: the installed command, programs that the configured
//! backend needs, and the model's server.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_config::Config;
use hermes_home::env;
use hermes_process::{Command, Limits, output_blocking};

use super::findings::Findings;
use crate::{Context, endpoint};

pub(super) fn check(context: &Context, config: &Config, network: bool, findings: &mut Findings) {
    check_command(context, findings);
    check_git(context, findings);
    // What stands in place of a file that cannot be read says nothing about it.
    if context.config().is_err() {
        findings.warning(
            "terminal backend and model were not looked at: the configuration cannot be read",
            "mend the configuration, then `hermes doctor` again",
        );
        return;
    }
    check_backend(context, config, network, findings);
    check_model(config, network, findings);
}

/// Which `hermes` the shell would start.
fn check_command(context: &Context, findings: &mut Findings) {
    findings.group("Command");
    let ours = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .unwrap_or_default();
    match find_program("hermes", context) {
        None => findings.warning(
            "`hermes` is not on your PATH",
            format!("link it: `ln -s {} ~/.local/bin/hermes`", ours.display()),
        ),
        Some(found) if found.canonicalize().is_ok_and(|found| found == ours) => {
            findings.good(format!("`hermes` is {}", found.display()));
        }
        Some(found) => findings.warning(
            format!(
                "`hermes` in your shell is {}, this one is {}",
                found.display(),
                ours.display()
            ),
            "put the one you want first in PATH",
        ),
    }
}

fn check_git(context: &Context, findings: &mut Findings) {
    findings.group("Programs");
    match find_program("git", context) {
        Some(_) => findings.good("git"),
        None => findings.warning("git is missing; worktrees need it", "install git"),
    }
}

fn check_backend(context: &Context, config: &Config, network: bool, findings: &mut Findings) {
    let backend = config.string("terminal.backend").unwrap_or_default();
    match backend.as_str() {
        "docker" => check_docker(context, findings),
        "ssh" => check_ssh(context, config, network, findings),
        _ => findings.good(format!(
            "terminal backend: {}",
            if backend.is_empty() {
                "local"
            } else {
                &backend
            }
        )),
    }
}

fn check_docker(context: &Context, findings: &mut Findings) {
    let named = context
        .environment
        .get_non_empty("HERMES_DOCKER_BINARY")
        .map(PathBuf::from);
    let program = named
        .or_else(|| find_program("docker", context))
        .or_else(|| find_program("podman", context));
    let Some(program) = program else {
        findings.bad(
            "terminal.backend is docker, but there is no docker or podman",
            "install docker, or `hermes config set terminal.backend local`",
        );
        return;
    };
    let command = Command::new(&program).args(["version", "--format", "{{.Server.Version}}"]);
    match output_blocking(command, Limits::seconds(10)) {
        Ok(output) if output.success() => {
            findings.good(format!(
                "{} {}",
                program.display(),
                output.stdout_text().trim()
            ));
        }
        Ok(output) => {
            let reason = output.stderr_text();
            let reason = reason
                .lines()
                .next()
                .unwrap_or("no reason given")
                .to_owned();
            findings.bad(
                format!("{} does not reach its engine: {reason}", program.display()),
                "start the engine, or join the group that may use it",
            );
        }
        Err(error) => findings.bad(error.to_string(), "start the engine"),
    }
}

fn check_ssh(context: &Context, config: &Config, network: bool, findings: &mut Findings) {
    let Some(program) = find_program("ssh", context) else {
        findings.bad(
            "terminal.backend is ssh, but there is no ssh",
            "install the ssh client",
        );
        return;
    };
    let setting = |key: &str| config.optional_string(key).ok().flatten();
    for (key, word) in [("terminal.ssh_host", "HOST"), ("terminal.ssh_user", "USER")] {
        if setting(key).is_none() {
            findings.bad(
                format!("terminal.backend is ssh, but {key} is not set"),
                format!("`hermes config set {key} {word}`"),
            );
            return;
        }
    }
    let host = setting("terminal.ssh_host").unwrap_or_default();
    if !network {
        findings.good(format!("terminal backend: ssh to {host} (not tried)"));
        return;
    }
    match login(&program, config, &setting, &host) {
        Ok(()) => findings.good(format!("terminal backend: ssh to {host}")),
        Err(reason) => findings.bad(
            format!("terminal backend: ssh to {host} fails: {reason}"),
            "look at terminal.ssh_host, ssh_user, ssh_port and ssh_key, and try `ssh` by hand",
        ),
    }
}

/// Whether the host lets us in without a question.
fn login(
    program: &Path,
    config: &Config,
    setting: &dyn Fn(&str) -> Option<String>,
    host: &str,
) -> Result<(), String> {
    let mut command = Command::new(program).args([
        "-o",
        "BatchMode=yes",
        "-o",
        "ConnectTimeout=5",
        "-o",
        "StrictHostKeyChecking=accept-new",
    ]);
    if let Ok(port) = config.integer("terminal.ssh_port") {
        command = command.args(["-p".to_owned(), port.to_string()]);
    }
    if let Some(key) = setting("terminal.ssh_key") {
        command = command.args(["-i".to_owned(), key]);
    }
    let user = setting("terminal.ssh_user").unwrap_or_default();
    let command = command.args(["-l", &user, "--", host, "true"]);
    let done = output_blocking(command, Limits::seconds(10)).map_err(|error| error.to_string())?;
    if done.success() {
        return Ok(());
    }
    let reason = done.stderr_text();
    let last = reason.lines().rev().find(|line| !line.trim().is_empty());
    Err(last.unwrap_or("no reason given").trim().to_owned())
}

fn check_model(config: &Config, network: bool, findings: &mut Findings) {
    findings.group("Model");
    let model = ["model", "model.default", "model.model"]
        .iter()
        .find_map(|key| {
            config
                .get(key)
                .and_then(|value| value.as_str())
                .filter(|text| !text.is_empty())
        });
    match model {
        Some(model) => findings.good(format!("model {model}")),
        None => findings.warning(
            "no model is configured",
            "`hermes config set model NAME` and a key for its provider",
        ),
    }
    let Some(url) = endpoint::configured(config).filter(|_| network) else {
        return;
    };
    match endpoint::probe(&url, config) {
        Ok(answer) => {
            findings.good(format!(
                "{url} answers ({}, {} ms)",
                answer.status, answer.milliseconds
            ));
        }
        Err(error) => findings.bad(
            format!("{url} does not answer: {error}"),
            "start that server, or correct model.base_url",
        ),
    }
}

fn find_program(name: &str, context: &Context) -> Option<PathBuf> {
    let path = context.environment.get(env::PATH)?;
    std::env::split_paths(path)
        .map(|directory| directory.join(name))
        .find(|candidate| {
            candidate
                .metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
}

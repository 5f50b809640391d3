//! Commands that the catalogue does not have: those of `quick_commands`, and skills
//! by their name.

use std::time::Duration;

use hermes_agent::slash;
use hermes_process::{Command, Limits, output};
use hermes_tui::Outcome;
use serde_json::Value;

use super::host::ChatHost;
use crate::CommandError;

const LIMITS: Limits = Limits {
    timeout: Duration::from_secs(30),
    max_bytes: 256 * 1024,
};

pub(super) async fn run(host: &mut ChatHost, words: &str) -> Result<Outcome, CommandError> {
    let (name, arguments) = words.split_once(' ').unwrap_or((words, ""));
    let arguments = arguments.trim();
    let quick = host.context.config()?.section("quick_commands");
    let known = quick.as_object().and_then(|map| {
        map.iter()
            .find(|(own, _)| own.trim_start_matches('/').eq_ignore_ascii_case(name))
    });
    if let Some((_, command)) = known {
        return carry_out(name, command, arguments, host).await;
    }
    let session = host.session();
    let session = session.as_ref().map_or("", |id| id.as_str());
    let skill = host
        .wired
        .as_ref()
        .map(|wired| wired.shelf.view(name, session));
    if let Some(Ok(view)) = skill {
        let content = view["content"].as_str().unwrap_or_default();
        let directory = view["skill_dir"].as_str().unwrap_or_default();
        return Ok(Outcome::Send(format!(
            "[The skill {name} is loaded; follow it. Its directory: {directory}]\n\n{content}\n\n{arguments}"
        )));
    }
    match slash::find(name) {
        Ok(command) => Ok(Outcome::Again(format!("/{} {arguments}", command.name))),
        Err(error) => Err(CommandError::user(error)),
    }
}

async fn carry_out(
    name: &str,
    command: &Value,
    arguments: &str,
    host: &ChatHost,
) -> Result<Outcome, CommandError> {
    match command["type"].as_str() {
        Some("exec") => {
            let script = command["command"].as_str().unwrap_or_default();
            let shell = Command::new("sh")
                .args(["-c", script])
                .only_env(host.context.environment.iter())
                .directory(host.cwd());
            let done = output(shell, LIMITS).await.map_err(CommandError::user)?;
            let said = match done.stdout.is_empty() {
                true => done.stderr,
                false => done.stdout,
            };
            Ok(Outcome::Output(String::from_utf8_lossy(&said).into_owned()))
        }
        Some("alias") => {
            let target = command["target"].as_str().unwrap_or_default();
            let target = target.trim().trim_start_matches('/');
            Ok(Outcome::Again(format!("/{target} {arguments}")))
        }
        other => Err(CommandError::user(format!(
            "quick_commands.{name}.type is {}, not exec or alias",
            other.unwrap_or("missing")
        ))),
    }
}

//! Commands that tell: where one is, what it cost, what runs in the background.

use hermes_sandbox::background::ProcessStatus;
use hermes_tui::Outcome;

use super::host::ChatHost;
use crate::CommandError;

pub(super) async fn status(host: &ChatHost) -> Result<Outcome, CommandError> {
    let (model, provider) = match &host.wired {
        Some(wired) => wired.model(),
        None => ("", ""),
    };
    let mut text = format!(
        "| | |\n|---|---|\n| model | {model} ({provider}) |\n| directory | {} |\n| sandbox | {} |\n| profile | {} |\n",
        host.short_cwd(),
        host.sandbox_name(),
        host.context.home.profile_name(),
    );
    if let Some(id) = host.session() {
        text.push_str(&format!("| session | {id} |\n"));
        let row = host
            .state
            .run(move |database| database.session(&id))
            .await?;
        if let Some(row) = row {
            text.push_str(&format!(
                "| title | {} |\n| messages | {} ({} tool calls) |\n",
                row.title.as_deref().unwrap_or("none"),
                row.message_count,
                row.tool_call_count
            ));
        }
    }
    Ok(Outcome::Say(text))
}

pub(super) async fn usage(host: &ChatHost) -> Result<Outcome, CommandError> {
    let row = match host.session() {
        Some(id) => {
            host.state
                .run(move |database| database.session(&id))
                .await?
        }
        None => None,
    };
    let Some(row) = row else {
        return Ok(Outcome::Say("Nothing was used yet.".to_owned()));
    };
    let cost = match (row.actual_cost_usd, row.estimated_cost_usd) {
        (Some(usd), _) => format!("${usd:.4}"),
        (None, Some(usd)) => format!("about ${usd:.4}"),
        (None, None) => "unknown".to_owned(),
    };
    Ok(Outcome::Say(format!(
        "| | |\n|---|---|\n| requests | {} |\n| input tokens | {} |\n| from the cache | {} |\n| output tokens | {} |\n| reasoning tokens | {} |\n| cost | {cost} |\n",
        row.api_call_count,
        row.input_tokens,
        row.cache_read_tokens,
        row.output_tokens,
        row.reasoning_tokens,
    )))
}

pub(super) fn whoami(host: &ChatHost) -> Result<Outcome, CommandError> {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::effective()).ok();
    let name = user.flatten().map_or_else(String::new, |user| user.name);
    Ok(Outcome::Say(format!(
        "| | |\n|---|---|\n| user | {name} |\n| profile | {} |\n| home | `{}` |\n",
        host.context.home.profile_name(),
        host.context.home.path().display()
    )))
}

/// Processes, and questions that are answered beside the conversation.
pub(super) fn background(host: &ChatHost) -> Outcome {
    let (processes, questions) = (host.running(), host.beside.running());
    if processes.is_empty() && questions.is_empty() {
        return Outcome::Say("Nothing runs in the background.".to_owned());
    }
    let mut text = String::from("| id | since | what |\n|---|---|---|\n");
    let mut row = |id: &str, since: &str, what: &str| {
        let what = what.replace('|', "\\|").replace('\n', " ");
        text.push_str(&format!("| {id} | {since} | `{what}` |\n"));
    };
    for question in questions {
        let since = format!("{} s", question.since.as_secs());
        row(&format!("bg {}", question.number), &since, &question.text);
    }
    for process in processes {
        let since = match process.status {
            ProcessStatus::Running => format!("{} s", process.uptime.as_secs()),
            ProcessStatus::Exited(_) => "ended".to_owned(),
        };
        row(&process.id.to_string(), &since, &process.command);
    }
    Outcome::Say(text)
}

pub(super) async fn stop(host: &mut ChatHost) -> Result<Outcome, CommandError> {
    let (processes, questions) = (host.running().len(), host.beside.stop());
    if processes + questions == 0 {
        return Ok(Outcome::Say("Nothing runs in the background.".to_owned()));
    }
    let mut ended = Vec::new();
    if questions > 0 {
        ended.push(format!("{questions} background question(s)"));
    }
    let left = host.end_processes().await;
    if processes > left.len() {
        ended.push(format!("{} background process(es)", processes - left.len()));
    }
    let mut text = match ended.is_empty() {
        true => String::new(),
        false => format!("Ended {}.", ended.join(" and ")),
    };
    if !left.is_empty() {
        text.push_str(&format!(" These could not be ended: {}", left.join(", ")));
    }
    Ok(Outcome::Say(text.trim_start().to_owned()))
}

//! Commands that change `config.yaml` and what the conversation makes of it.

use hermes_agent::{personalities, personality as personality_of};
use hermes_config::edit::{Change, change_config};
use hermes_tui::{Outcome, PickItem, Picker, Switch, Then};
use serde_json::Value;

use super::host::ChatHost;
use super::sessions;
use crate::CommandError;

fn set(path: &str, value: impl Into<Value>) -> Change {
    Change::Set {
        path: path.to_owned(),
        value: value.into(),
    }
}

fn unset(path: &str) -> Change {
    Change::Unset {
        path: path.to_owned(),
    }
}

fn store(host: &mut ChatHost, changes: &[Change]) -> Result<(), CommandError> {
    host.context.policy().refuse_if_managed()?;
    let environment = host.context.config()?.environment();
    change_config(&host.context.home, environment, changes)?;
    host.context = host.context.renewed(None);
    Ok(())
}

/// The same conversation with what the files say now.
async fn anew(host: &mut ChatHost, message: String) -> Result<Outcome, CommandError> {
    if let Some(id) = host.stored().await? {
        return sessions::again(host, &id, Then::Nothing, &message).await;
    }
    let chat = host.chat(None).await?;
    Ok(Outcome::Switch(Switch::going_on(chat, message)))
}

/// How long the model thinks, for good; and whether one sees it.
pub(super) async fn reasoning(
    host: &mut ChatHost,
    arguments: &str,
) -> Result<Outcome, CommandError> {
    let change = match arguments {
        "" => {
            let config = host.context.config()?;
            let effort = config.optional_string("agent.reasoning_effort")?;
            let effort = effort.unwrap_or_else(|| "left to the model".to_owned());
            return Ok(Outcome::Say(format!(
                "Reasoning: {effort}. `/reasoning none|minimal|low|medium|high|xhigh` changes it, \
                 `/reasoning show` and `hide` say whether you see it."
            )));
        }
        "show" | "hide" => set("display.show_reasoning", arguments == "show"),
        "none" | "minimal" | "low" | "medium" | "high" | "xhigh" => {
            set("agent.reasoning_effort", arguments)
        }
        other => {
            return Err(
                CommandError::usage(format!("`{other}` is no level of reasoning"))
                    .hint("none, minimal, low, medium, high, xhigh; or show, hide"),
            );
        }
    };
    store(host, &[change])?;
    match arguments {
        "show" => Ok(Outcome::ShowReasoning(
            true,
            "What the model thinks is shown from now on.".to_owned(),
        )),
        "hide" => Ok(Outcome::ShowReasoning(
            false,
            "What the model thinks is hidden from now on.".to_owned(),
        )),
        level => anew(host, format!("Reasoning: {level}, from now on.")).await,
    }
}

/// Whether the provider is paid for speed, for good.
pub(super) async fn fast(host: &mut ChatHost, arguments: &str) -> Result<Outcome, CommandError> {
    let change = match arguments {
        "" | "status" => {
            let tier = host.context.config()?.string("agent.service_tier")?;
            let now = match tier.as_str() {
                "" | "normal" => "normal".to_owned(),
                tier => format!("`{tier}`"),
            };
            return Ok(Outcome::Say(format!(
                "Speed: {now}. `/fast fast` pays for more where the provider sells it, `/fast normal` does not."
            )));
        }
        "normal" => unset("agent.service_tier"),
        "fast" => set("agent.service_tier", "fast"),
        other => {
            return Err(CommandError::usage(format!("`{other}` is no speed"))
                .hint("`/fast normal`, `/fast fast` or `/fast status`"));
        }
    };
    store(host, &[change])?;
    anew(host, format!("Speed: {arguments}, from now on.")).await
}

/// How the model speaks, for good: a text over the system prompt.
pub(super) async fn personality(host: &mut ChatHost, name: &str) -> Result<Outcome, CommandError> {
    let config = host.context.config()?;
    if name.is_empty() {
        let now = config.string("display.personality")?;
        let mut items: Vec<PickItem> = personalities(config)
            .into_iter()
            .map(|known| PickItem {
                label: match known.name == now {
                    true => format!("{} (now)", known.name),
                    false => known.name.clone(),
                },
                detail: known.description,
                value: known.name,
            })
            .collect();
        items.push(PickItem {
            value: "none".to_owned(),
            label: "none".to_owned(),
            detail: "speaks as it does by itself".to_owned(),
        });
        return Ok(Outcome::Pick(Picker::new(
            "Personalities",
            "personality",
            items,
        )));
    }
    let (changes, message) = match name {
        "none" => (
            vec![unset("agent.system_prompt"), unset("display.personality")],
            "No personality, from now on.".to_owned(),
        ),
        name => {
            let Some(chosen) = personality_of(config, name) else {
                return Err(CommandError::user(format!(
                    "there is no personality `{name}`"
                ))
                .hint("`/personality` lists them; `agent.personalities` in config.yaml adds to them"));
            };
            (
                vec![
                    set("agent.system_prompt", chosen.text),
                    set("display.personality", chosen.name.as_str()),
                ],
                format!("Personality: {}, from now on.", chosen.name),
            )
        }
    };
    store(host, &changes)?;
    // The prompt of a stored session is composed once; this is a reason to do it again.
    if let Some(id) = host.stored().await? {
        host.state
            .run(move |database| database.set_system_prompt(&id, ""))
            .await?;
    }
    anew(host, message).await
}

/// Reads `.env` and `config.yaml` again.
pub(super) async fn reload(host: &mut ChatHost) -> Result<Outcome, CommandError> {
    let fresh = host.context.renewed(None);
    // A broken file changes nothing.
    let variables = fresh.config()?.dotenv().variables.iter().count();
    host.context = fresh;
    anew(
        host,
        format!("Read again: config.yaml, and {variables} variable(s) of .env."),
    )
    .await
}

/// Looks for skills again and tells the model what changed.
pub(super) fn reload_skills(host: &mut ChatHost) -> Result<Outcome, CommandError> {
    let (added, removed) = host.look_for_skills()?;
    if added.is_empty() && removed.is_empty() {
        return Ok(Outcome::Say(
            "The skills are the same as before.".to_owned(),
        ));
    }
    let mut parts = Vec::new();
    if !added.is_empty() {
        parts.push(format!("new: {}", added.join(", ")));
    }
    if !removed.is_empty() {
        parts.push(format!("gone: {}", removed.join(", ")));
    }
    let what = parts.join("; ");
    host.tell_next(&format!("Note: the skills changed. {what}."));
    Ok(Outcome::Say(format!("Skills, {what}.")))
}

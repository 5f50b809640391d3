//! `/sandbox`: where the commands of this chat run, and the containers there are.

use hermes_tui::{Outcome, PickItem, Picker, Switch};
use serde_json::Value;

use super::host::ChatHost;
use super::verbs;
use crate::CommandError;

/// The kinds of places, and what to say about each.
const PLACES: [(&str, &str); 3] = [
    (
        "local",
        "on this machine; dangerous commands are asked about",
    ),
    ("docker", "in a container"),
    ("ssh", "on another machine"),
];

pub(super) async fn pick(host: &mut ChatHost, width: usize) -> Result<Outcome, CommandError> {
    let now = host.sandbox_name();
    let has_host = host
        .context
        .config()?
        .optional_string("terminal.ssh_host")?
        .is_some_and(|name| !name.trim().is_empty());
    let mut items: Vec<PickItem> = PLACES
        .iter()
        .filter(|(name, _)| *name != "ssh" || has_host)
        .map(|(name, detail)| PickItem {
            value: format!("use {name}"),
            label: match *name == now {
                true => format!("{name} (now)"),
                false => (*name).to_owned(),
            },
            detail: (*detail).to_owned(),
        })
        .collect();
    // Without an engine there are no containers to show, which is no failure here.
    let listed = verbs::run("sandbox", "ls --json", &host.context, width).await;
    let rows: Vec<Value> = serde_json::from_str(&listed).unwrap_or_default();
    items.extend(rows.iter().filter_map(|row| {
        let name = row["name"].as_str()?;
        Some(PickItem {
            value: format!("show {name}"),
            label: name.to_owned(),
            detail: format!(
                "{} · {}",
                row["state"].as_str().unwrap_or(""),
                row["image"].as_str().unwrap_or("")
            ),
        })
    }));
    Ok(Outcome::Pick(Picker::new("Sandbox", "sandbox", items)))
}

/// Lets this chat's commands run elsewhere from now on; nothing is stored.
pub(super) async fn switch(host: &mut ChatHost, wanted: &str) -> Result<Outcome, CommandError> {
    if wanted == host.sandbox_name() {
        return Ok(Outcome::Say(format!("Commands run in `{wanted}` already.")));
    }
    let context = host.context.renewed(Some(("terminal.backend", wanted)));
    context.config()?.string("terminal.backend")?;
    let running = host.running().len();
    if running > 0 {
        return Err(CommandError::user(format!(
            "{running} background process(es) run where the commands run now"
        ))
        .hint("`/agents` lists them, `/stop` ends them"));
    }
    let stored = host.stored().await?;
    let before = host.move_to(context).await;
    let chat = match host.chat(stored.as_ref()).await {
        Ok(chat) => chat,
        Err(error) => {
            host.move_to(before).await;
            return Err(error);
        }
    };
    if stored.is_some() {
        host.tell_next(&format!(
            "Note: commands and file tools work in another place from now on: {wanted}. \
             Files and processes of the place before may not be there."
        ));
    }
    let message = format!(
        "Commands of this chat run in `{wanted}` from now on. \
         For good: `hermes config set terminal.backend {wanted}`."
    );
    Ok(Outcome::Switch(Switch::going_on(chat, message)))
}

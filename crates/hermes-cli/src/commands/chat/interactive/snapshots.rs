//! `/snapshot`: copies of settings and sessions, and back to one of them.

use hermes_tui::{Outcome, Switch};

use super::host::ChatHost;
use super::sessions;
use crate::CommandError;
use crate::commands::backup::quick::{KEPT, PutBack, all, prune, put_back, take};
use crate::output::human;

pub(super) async fn run(host: &mut ChatHost, arguments: &str) -> Result<Outcome, CommandError> {
    let mut words = arguments.split_whitespace();
    let verb = words.next().unwrap_or("list");
    let rest: Vec<&str> = words.collect();
    match (verb, rest.as_slice()) {
        ("list", []) => Ok(Outcome::Say(listed(host))),
        ("create", label) => {
            let label = label.join("-");
            let label = Some(label.as_str()).filter(|label| !label.is_empty());
            let made = take(label, &host.context)?;
            Ok(Outcome::Say(format!(
                "Copied {} file{} as `{}`.",
                made.file_count,
                if made.file_count == 1 { "" } else { "s" },
                made.id
            )))
        }
        ("restore", [id]) => restore(host, id).await,
        ("prune", rest) => {
            let keep = match rest {
                [] => Some(KEPT),
                [count] => count.parse().ok(),
                _ => None,
            };
            let Some(keep) = keep else {
                return Err(CommandError::usage("that is no number of snapshots")
                    .hint("`/snapshot prune 5` keeps the newest five"));
            };
            let gone = prune(keep, &host.context)?;
            Ok(Outcome::Say(format!("{gone} snapshot(s) removed.")))
        }
        _ => Err(
            CommandError::usage(format!("`/snapshot {arguments}` means nothing"))
                .hint("`/snapshot list`, `create [LABEL]`, `restore ID` or `prune [N]`"),
        ),
    }
}

fn listed(host: &ChatHost) -> String {
    let found = all(&host.context);
    if found.is_empty() {
        return "There is no snapshot yet: `/snapshot create` makes one.".to_owned();
    }
    let mut text = String::from("| id | files | size |\n|---|---|---|\n");
    for manifest in found {
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            manifest.id,
            manifest.file_count,
            human::bytes(manifest.total_size)
        ));
    }
    text
}

/// The session may not be in what is put back, so a new one begins.
async fn restore(host: &mut ChatHost, id: &str) -> Result<Outcome, CommandError> {
    let PutBack { restored, before } = put_back(id, &host.context)?;
    host.context = host.context.renewed(None);
    let message = format!(
        "`{}` is back: {} files. What was there is kept as `{}`. A new session begins.",
        restored.id, restored.file_count, before.id
    );
    match sessions::begin(host, "", false).await? {
        Outcome::Switch(switch) => Ok(Outcome::Switch(Switch {
            ended: None,
            message,
            ..switch
        })),
        other => Ok(other),
    }
}

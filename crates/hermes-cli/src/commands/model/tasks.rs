//! The models of side tasks: each follows the main model unless somebody says
//! otherwise.

use std::io::Write;

use hermes_config::keys::keys;

use super::choices::rows;
use super::decision::Decision;
use super::pick::{Asking, one_of};
use crate::commands::ask::{choose, hidden, item, line};
use crate::{CommandError, Context, Out};

const RESET: &str = "";
const AUTO: &str = "auto";
const OWN: &str = "own";

/// Tasks that something asks for, as the table of keys knows them.
fn tasks() -> Vec<(&'static str, &'static str)> {
    keys()
        .iter()
        .filter(|key| !key.planned)
        .filter_map(|key| {
            let task = key
                .name
                .strip_prefix("auxiliary.")?
                .strip_suffix(".model")?;
            Some((
                task,
                key.about.strip_prefix("model for ").unwrap_or(key.about),
            ))
        })
        .collect()
}

/// One task after the other, until the person leaves.
pub(super) fn menu(asking: &Asking<'_>, out: &mut Out) -> Result<bool, CommandError> {
    let mut any = false;
    loop {
        let context = asking.context.renewed(None);
        let mut items = Vec::new();
        for (task, about) in tasks() {
            items.push(item(
                task,
                &format!("{task}: {}", setting(&context, task)?),
                about,
            ));
        }
        items.push(item(
            RESET,
            "All as the main model",
            "removes what is set here",
        ));
        let chosen = match choose("Models of side tasks (Esc when done)", items) {
            Ok(chosen) => chosen,
            Err(error) if any => {
                return Err(CommandError::new(
                    error.kind,
                    "interrupted; what was stored before stays",
                ));
            }
            Err(error) => return Err(error),
        };
        let decision = match chosen.as_deref() {
            None => break,
            Some(RESET) => {
                let mut decision = Decision::default();
                for (task, _) in tasks() {
                    follow(&mut decision, task);
                }
                Some(decision)
            }
            Some(task) => ask(asking, task, out)?,
        };
        if let Some(decision) = decision {
            decision.write(&context)?;
            any = true;
        }
    }
    match any {
        true => writeln!(
            out,
            "Stored in {}",
            asking
                .context
                .home
                .display(&asking.context.home.config_file())
        )?,
        false => writeln!(out, "Nothing was changed.")?,
    }
    Ok(any)
}

/// What a task is set to, in a few words.
fn setting(context: &Context, task: &str) -> Result<String, CommandError> {
    let config = context.config()?;
    let read = |name: &str| config.string(&format!("auxiliary.{task}.{name}"));
    let (provider, model, url) = (read("provider")?, read("model")?, read("base_url")?);
    Ok(match (provider.as_str(), model.as_str(), url.as_str()) {
        ("auto" | "", "", "") => "as the main model".to_owned(),
        ("auto" | "", model, "") => model.to_owned(),
        (provider, "", "") => provider.to_owned(),
        (provider, model, "") => format!("{model} ({provider})"),
        (_, model, url) => format!("{model} ({url})"),
    })
}

/// The task follows the main model.
fn follow(decision: &mut Decision, task: &str) {
    for name in ["provider", "model", "base_url", "api_key"] {
        decision.unset(&format!("auxiliary.{task}.{name}"));
    }
}

fn ask(asking: &Asking<'_>, task: &str, out: &mut Out) -> Result<Option<Decision>, CommandError> {
    let mut items = vec![
        item(AUTO, "As the main model", ""),
        item(OWN, "A server of its own", "you type its address"),
    ];
    for row in rows(&asking.groups, asking.now.as_ref()) {
        if row.is_ready && row.provider != hermes_agent::demo::DEMO_PROVIDER {
            items.push(item(
                format!("{}\n{}", row.provider, row.model),
                &row.model,
                &row.label,
            ));
        }
    }
    let mut decision = Decision::default();
    follow(&mut decision, task);
    let path = |name: &str| format!("auxiliary.{task}.{name}");
    match choose(&format!("Who does {task}?"), items)?.as_deref() {
        None => return Ok(None),
        Some(AUTO) => {}
        Some(OWN) => {
            let typed = line("Address, such as http://127.0.0.1:8080/v1: ", out)?;
            let Some(url) = typed.filter(|url| !url.is_empty()) else {
                return Ok(None);
            };
            let Some(key) = hidden("Key (not shown; Enter if it needs none):", out)? else {
                return Ok(None);
            };
            let listed = asking.ask(&hermes_llm::resolve::Selection {
                base_url: Some(url.clone()),
                api_key: (!key.is_empty()).then(|| key.clone()),
                ..hermes_llm::resolve::Selection::of(Some("custom"), None)
            })?;
            if let Some(failure) = &listed.failure {
                writeln!(out, "{url}: {failure}.")?;
                out.flush()?;
            }
            let Some(model) = one_of(&listed.models, None, out)? else {
                return Ok(None);
            };
            decision.set(&path("provider"), "custom");
            decision.set(&path("model"), model);
            decision.set(&path("base_url"), url);
            if !key.is_empty() {
                let variable = format!("AUXILIARY_{}_API_KEY", task.to_uppercase());
                decision.set(&path("api_key"), format!("${{{variable}}}"));
                decision.secret(&variable, &key, None);
            }
        }
        Some(both) => {
            let (provider, model) = both.split_once('\n').unwrap_or(("auto", both));
            decision.set(&path("provider"), provider);
            decision.set(&path("model"), model);
        }
    }
    Ok(Some(decision))
}

//! Servers of one's own: adding one under `providers`, and removing one.

use std::io::Write;

use hermes_config::Config;
use hermes_config::edit::Change;
use hermes_http::Url;
use hermes_llm::AskFailure;
use hermes_llm::resolve::Selection;
use serde_json::{Map, Value, json};

use super::decision::Decision;
use super::pick::{Asking, one_of};
use crate::commands::ask::{choose, hidden, item, line, tell};
use crate::commands::confirm::confirm;
use crate::{CommandError, Context, Out};

/// Wire formats by the names that both programs read.
const FORMATS: [(&str, &str, &str); 4] = [
    ("", "As the address says", "right for most servers"),
    (
        "openai_chat",
        "Chat completions",
        "OpenAI's older form, what most servers speak",
    ),
    ("anthropic_messages", "Messages", "Anthropic's form"),
    ("codex_responses", "Responses", "OpenAI's newer form"),
];

/// An address, a name, a key if it needs one, a wire format, and one of its models.
pub(super) fn ask(asking: &Asking<'_>, out: &mut Out) -> Result<Option<Decision>, CommandError> {
    let Some(url) = ask_address(out)? else {
        return Ok(None);
    };
    let Some(name) = ask_name(&url, asking.context.config()?, out)? else {
        return Ok(None);
    };
    let Some(key) = hidden("Key (not shown; Enter if it needs none):", out)? else {
        return Ok(None);
    };
    let formats = FORMATS
        .iter()
        .map(|(value, label, detail)| item(*value, label, detail))
        .collect();
    let Some(format) = choose("What does it speak?", formats)? else {
        return Ok(None);
    };
    let listed = asking.ask(&Selection {
        base_url: Some(url.clone()),
        api_key: (!key.is_empty()).then(|| key.clone()),
        api_mode: (!format.is_empty()).then(|| format.clone()),
        ..Selection::of(Some("custom"), None)
    })?;
    match &listed.failure {
        None => {}
        Some(failure @ AskFailure::KeyRefused(_)) => {
            return Err(CommandError::user(format!("{url}: {failure}"))
                .hint("nothing was stored; try again with the right key"));
        }
        Some(failure) => tell(
            &format!("{url}: {failure}. It can be stored all the same."),
            out,
        )?,
    }
    let Some(model) = one_of(&listed.models, None, out)? else {
        return Ok(None);
    };
    let mut endpoint = Map::new();
    endpoint.insert("api".to_owned(), json!(url));
    endpoint.insert("default_model".to_owned(), json!(model));
    if !format.is_empty() {
        endpoint.insert("transport".to_owned(), json!(format));
    }
    let mut decision = Decision::model(asking.context, &format!("custom:{name}"), &model, None)?;
    if !key.is_empty() {
        let variable = format!("{}_API_KEY", name.to_uppercase().replace('-', "_"));
        endpoint.insert("key_env".to_owned(), json!(variable));
        decision.secret(&variable, &key, None);
    }
    decision.set(&format!("providers.{name}"), Value::Object(endpoint));
    Ok(Some(decision))
}

fn ask_address(out: &mut Out) -> Result<Option<String>, CommandError> {
    loop {
        let typed = line("Address, such as http://127.0.0.1:8080/v1: ", out)?;
        let Some(typed) = typed.filter(|typed| !typed.is_empty()) else {
            return Ok(None);
        };
        let is_usable = Url::parse(&typed).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.host_str().is_some_and(|h| !h.is_empty())
        });
        if is_usable {
            return Ok(Some(typed));
        }
        tell(
            &format!("`{typed}` is no address. One begins with http:// or https://; Enter leaves."),
            out,
        )?;
    }
}

fn ask_name(url: &str, config: &Config, out: &mut Out) -> Result<Option<String>, CommandError> {
    let proposal = proposed_name(url);
    loop {
        let Some(typed) = line(&format!("A name for it [{proposal}]: "), out)? else {
            return Ok(None);
        };
        let name = match typed.as_str() {
            "" => proposal.clone(),
            typed => typed.to_lowercase().replace(' ', "-"),
        };
        let is_word = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if !is_word {
            writeln!(
                out,
                "A name has letters, digits and `-`; `{name}` has more."
            )?;
        } else if hermes_llm::catalogue::provider(&name).is_some() {
            writeln!(out, "`{name}` is the name of a provider; take another one.")?;
        } else {
            if config
                .get("providers")
                .is_some_and(|all| all.get(&name).is_some())
            {
                writeln!(out, "The server `{name}` is replaced.")?;
            }
            return Ok(Some(name));
        }
    }
}

/// From the host: `local-8080`, `models-example-org`.
fn proposed_name(url: &str) -> String {
    let Ok(url) = Url::parse(url) else {
        return "own".to_owned();
    };
    let host = url.host_str().unwrap_or("own").to_lowercase();
    let host = match host.as_str() {
        "127.0.0.1" | "localhost" | "[::1]" => "local".to_owned(),
        other => other
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("-"),
    };
    match url.port() {
        Some(port) => format!("{host}-{port}"),
        None if host == "local" => "local-server".to_owned(),
        None => host,
    }
}

/// An endpoint that the user named, and how it is taken out again.
pub(super) struct Removable {
    name: String,
    address: String,
    change: Change,
    key_variable: Option<String>,
}

pub(super) fn removable(config: &Config) -> Vec<Removable> {
    let address = |tree: &Value| {
        ["base_url", "api", "url"]
            .iter()
            .find_map(|field| tree.get(field)?.as_str())
            .map(str::to_owned)
    };
    let key_variable = |tree: &Value| tree.get("key_env")?.as_str().map(str::to_owned);
    let mut found = Vec::new();
    let by_id = config.get("providers").and_then(Value::as_object);
    for (id, tree) in by_id.into_iter().flatten() {
        // A dot would be read as a step in the path.
        if let Some(address) = address(tree).filter(|_| !id.contains('.')) {
            found.push(Removable {
                name: id.clone(),
                address,
                change: Change::Unset {
                    path: format!("providers.{id}"),
                },
                key_variable: key_variable(tree),
            });
        }
    }
    let listed = config.get("custom_providers").and_then(Value::as_array);
    for (index, tree) in listed.into_iter().flatten().enumerate() {
        let Some(address) = address(tree) else {
            continue;
        };
        let mut rest = listed.cloned().unwrap_or_default();
        rest.remove(index);
        let name = tree.get("name").and_then(Value::as_str);
        found.push(Removable {
            name: name.unwrap_or(&address).to_owned(),
            address,
            change: Change::Set {
                path: "custom_providers".to_owned(),
                value: Value::Array(rest),
            },
            key_variable: key_variable(tree),
        });
    }
    found
}

pub(super) fn remove(context: &Context, out: &mut Out) -> Result<bool, CommandError> {
    let config = context.config()?;
    let found = removable(config);
    let items = found
        .iter()
        .enumerate()
        .map(|(index, own)| item(index.to_string(), &own.name, &own.address))
        .collect();
    let chosen = choose("Which server is removed?", items)?;
    let own = chosen.and_then(|index| found.get(index.parse::<usize>().ok()?));
    let Some(own) = own else {
        writeln!(out, "Nothing was changed.")?;
        return Ok(false);
    };
    if !confirm(
        &format!("Remove {} ({})?", own.name, own.address),
        false,
        out,
    )? {
        writeln!(out, "Nothing was changed.")?;
        return Ok(false);
    }
    let mut decision = Decision::default();
    decision.changes.push(own.change.clone());
    let slug = own.name.to_lowercase().replace(' ', "-");
    let provider = config.optional_string("model.provider")?;
    let was_current = provider.is_some_and(|provider| {
        let provider = provider.to_lowercase();
        provider.strip_prefix("custom:").unwrap_or(&provider) == slug
    });
    if was_current {
        decision.unset("model.provider");
        decision.unset("model.default");
    }
    decision.write(context)?;
    writeln!(out, "Removed {}", own.name)?;
    if was_current {
        tell(
            "It was the server of the model; `hermes model` chooses another one.",
            out,
        )?;
    }
    if let Some(variable) = &own.key_variable {
        writeln!(
            out,
            "Its key stays in {}: `hermes config unset {variable}` removes it.",
            context.home.display(&context.home.env_file())
        )?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_server_is_named_after_its_host() {
        for (url, name) in [
            ("http://127.0.0.1:8080/v1", "local-8080"),
            ("http://localhost/v1", "local-server"),
            ("https://models.example.org/v1", "models-example-org"),
            ("http://[::1]:9000", "local-9000"),
        ] {
            assert_eq!(proposed_name(url), name, "{url}");
        }
    }
}

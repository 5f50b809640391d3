//! Older and shorter spellings brought to one shape. Only the tree in memory
//! changes; the file keeps what the user wrote.

use serde_json::{Map, Value};

/// A value that was moved: where readers find it, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub to: &'static str,
    pub from: &'static str,
}

/// Applies every spelling rule to the user's map.
pub(crate) fn normalise(user: &mut Map<String, Value>) -> Vec<Moved> {
    let mut moved = Vec::new();
    model(user, &mut moved);
    max_turns(user, &mut moved);
    backend(user, &mut moved);
    moved
}

/// `model` is always a map for readers: `{default, provider, base_url, …}`.
fn model(user: &mut Map<String, Value>, moved: &mut Vec<Moved>) {
    const ROOT: [(&str, &str); 3] = [
        ("provider", "model.provider"),
        ("base_url", "model.base_url"),
        ("context_length", "model.context_length"),
    ];
    let has_root = ROOT.iter().any(|(name, _)| user.contains_key(*name));
    if !has_root && !user.contains_key("model") {
        return;
    }
    let mut model = match user.remove("model") {
        Some(Value::Object(map)) => map,
        None | Some(Value::Null) => Map::new(),
        Some(Value::String(text)) if text.is_empty() => Map::new(),
        Some(scalar) => {
            moved.push(Moved {
                to: "model.default",
                from: "model",
            });
            Map::from_iter([("default".to_owned(), scalar)])
        }
    };
    if is_empty(model.get("default"))
        && let Some(older) = model.get("model").filter(|value| !is_empty(Some(value)))
    {
        let older = older.clone();
        model.insert("default".to_owned(), older);
        moved.push(Moved {
            to: "model.default",
            from: "model.model",
        });
    }
    for (name, to) in ROOT {
        let Some(value) = user.remove(name) else {
            continue;
        };
        if is_empty(model.get(name)) && !is_empty(Some(&value)) {
            model.insert(name.to_owned(), value);
            moved.push(Moved { to, from: name });
        }
    }
    user.insert("model".to_owned(), Value::Object(model));
}

fn max_turns(user: &mut Map<String, Value>, moved: &mut Vec<Moved>) {
    let Some(value) = user.remove("max_turns") else {
        return;
    };
    if value.is_null() {
        return;
    }
    let agent = user
        .entry("agent")
        .or_insert_with(|| Value::Object(Map::new()));
    if agent.is_null() {
        *agent = Value::Object(Map::new());
    }
    if let Value::Object(agent) = agent
        && agent.get("max_turns").is_none_or(Value::is_null)
    {
        agent.insert("max_turns".to_owned(), value);
        moved.push(Moved {
            to: "agent.max_turns",
            from: "max_turns",
        });
    }
}

fn backend(user: &mut Map<String, Value>, moved: &mut Vec<Moved>) {
    if let Some(Value::Object(terminal)) = user.get_mut("terminal")
        && is_empty(terminal.get("backend"))
        && let Some(value) = terminal.get("env_type").cloned()
        && !is_empty(Some(&value))
    {
        terminal.insert("backend".to_owned(), value);
        moved.push(Moved {
            to: "terminal.backend",
            from: "terminal.env_type",
        });
    }
}

fn is_empty(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

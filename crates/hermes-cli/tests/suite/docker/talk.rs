//! A model that does as it is told, for conversations about the container.

use hermes_testkit::model::{ModelServer, Recorded, Reply};
use serde_json::{Value, json};

use super::world::World;

/// Starts the model and configures it for this home.
pub(super) fn obedient_model(world: &World) -> ModelServer {
    let server = ModelServer::start();
    server.fallback(obey);
    world.scratch.write(
        "config.yaml",
        format!(
            "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: test-key\n  context_length: 200000\n{}",
            ModelServer::DEFAULT_MODEL,
            server.url(),
            world.scratch.read("config.yaml"),
        ),
    );
    server
}

/// A line is the name of a tool and its arguments as JSON; `run CMD` and
/// `background CMD` are short for calls of the terminal. Results of tools are the
/// answer; with several lines, each is done in its turn.
fn obey(request: &Recorded) -> Reply {
    let messages = request.messages();
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let asked = messages.iter().rposition(|m| m["role"] == "user");
    let Some(asked) = asked else {
        return Reply::text("fine");
    };
    let results: Vec<String> = messages[asked..]
        .iter()
        .filter(|m| m["role"] == "tool")
        .map(text)
        .collect();
    let order = text(&messages[asked]);
    match order
        .lines()
        .nth(results.len())
        .map(|line| line.split_once(' '))
    {
        Some(Some(("run", command))) => Reply::tool_call("terminal", json!({ "command": command })),
        Some(Some(("background", command))) => Reply::tool_call(
            "terminal",
            json!({ "command": command, "background": true }),
        ),
        Some(Some((tool, arguments))) => match serde_json::from_str(arguments) {
            Ok(arguments) => Reply::tool_call(tool, arguments),
            Err(_) => Reply::text("fine"),
        },
        _ if results.is_empty() => Reply::text("fine"),
        _ => Reply::text(results.join("\n")),
    }
}

//! Messages as text for whoever writes the summary, and one-line stand-ins for
//! results that are no longer needed.

use std::fmt::Write;

use hermes_tools::preview::{of_arguments, one_line};
use hermes_types::{Content, Message, Part, Redaction, Role, redact};
use serde_json::Value;

const MESSAGE_LIMIT: usize = 6000;
const MESSAGE_HEAD: usize = 4000;
const MESSAGE_TAIL: usize = 1500;
const ARGUMENTS_LIMIT: usize = 1500;
const WORTH_PRUNING: usize = 200;

/// The messages as a summariser reads them: masked, each of bounded length.
pub(super) fn render<'a>(messages: impl Iterator<Item = &'a Message>) -> String {
    let mut out = String::new();
    for message in messages {
        let who = match message.role {
            Role::User => "USER",
            Role::Assistant => "ASSISTANT",
            Role::Tool => "RESULT",
            Role::System => continue,
        };
        let text = cut_middle(&text_of(message));
        let name = message.tool_name.as_deref().unwrap_or("");
        let _ = writeln!(
            out,
            "{who}{}{name}: {text}",
            if name.is_empty() { "" } else { " " }
        );
        for call in &message.tool_calls {
            let arguments: String = call.arguments.chars().take(ARGUMENTS_LIMIT).collect();
            let _ = writeln!(out, "  CALL {} {arguments}", call.name);
        }
    }
    redact(&out, Redaction::Text).into_owned()
}

/// A long result as one line: which tool, what about, how it went.
pub(super) fn pruned(result: &Message, arguments: Option<&str>) -> Option<Content> {
    let text = text_of(result);
    if text.len() <= WORTH_PRUNING && matches!(result.content, Content::Text(_)) {
        return None;
    }
    let name = result.tool_name.as_deref().unwrap_or("tool");
    let about = arguments
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .map(|arguments| of_arguments(&arguments))
        .unwrap_or_default();
    let code = serde_json::from_str::<Value>(&text)
        .ok()
        .and_then(|value| value.get("exit_code").and_then(Value::as_i64))
        .map(|code| format!(", exit code {code}"))
        .unwrap_or_default();
    Some(Content::Text(format!(
        "[{name} {}: {} characters{code}, left out to save space]",
        one_line(&about, 80),
        text.chars().count()
    )))
}

/// The text of a message with pictures named instead of shown.
pub(super) fn text_of(message: &Message) -> String {
    match &message.content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => text.as_str(),
                Part::Image { .. } => "[picture]",
            })
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn cut_middle(text: &str) -> String {
    let count = text.chars().count();
    if count <= MESSAGE_LIMIT {
        return text.to_owned();
    }
    let head: String = text.chars().take(MESSAGE_HEAD).collect();
    let tail: String = text.chars().skip(count - MESSAGE_TAIL).collect();
    format!(
        "{head}\n[… {} characters …]\n{tail}",
        count - MESSAGE_HEAD - MESSAGE_TAIL
    )
}

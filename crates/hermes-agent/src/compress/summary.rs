//! The summary: how it is asked for, what stands in when nobody can write it,
//! and the message it becomes.

use std::collections::BTreeSet;

use hermes_tools::preview::{of_arguments, one_line};
use hermes_types::{Message, Redaction, Role, redact};
use serde_json::Value;

use super::transcript::text_of;

/// What a summary starts with; the reference recognises it too.
pub const PREFIX: &str = "[CONTEXT SUMMARY]:";
const REFERENCE_PREFIX: &str = "[CONTEXT COMPACTION";
const END: &str = "[END OF SUMMARY. What follows is the conversation as it was.]";
const LOCAL_LIMIT: usize = 8000;
const TASK_LIMIT: usize = 12_000;

/// Whether a message is a summary, ours or the reference's.
pub fn is_summary(message: &Message) -> bool {
    let text = text_of(message);
    let text = text.trim_start();
    text.starts_with(PREFIX) || text.starts_with(REFERENCE_PREFIX)
}

pub(super) const SYSTEM: &str = "You condense the older part of a conversation between a user and an agent with tools, so that the agent can go on working from your text alone. Write only the summary. Use the user's language. Never write secrets, keys or passwords. Facts only: exact paths, names, commands, numbers, error texts. Leave out what is settled and no longer matters.";

/// What the summariser is asked, with the transcript.
pub(super) fn question(
    transcript: &str,
    previous: Option<&str>,
    topic: Option<&str>,
    words: u64,
) -> String {
    let mut out = format!(
        "Write a summary of at most {words} words with these headings, leaving out empty ones:\n\
         Active task (the latest request that is not fulfilled, quoted word for word)\n\
         Goal\nConstraints and preferences\nDone (numbered)\nState now\nIn progress\nBlocked\n\
         Decisions and why\nQuestions answered\nOpen questions\nFiles that matter\nStill to do\n\
         Must not be forgotten\n"
    );
    if let Some(topic) = topic {
        out.push_str(&format!(
            "\nGive most of the space to everything about: {topic}\n"
        ));
    }
    if let Some(previous) = previous {
        out.push_str(&format!(
            "\nThere is a summary of what came before. Bring it up to date; keep what still holds:\n<previous>\n{previous}\n</previous>\n"
        ));
    }
    out.push_str(&format!("\n<conversation>\n{transcript}</conversation>"));
    out
}

/// The message that takes the place of what was condensed.
pub(super) fn message(
    summary: &str,
    task: Option<&str>,
    todos: Option<&str>,
    previous_session: &str,
) -> String {
    let mut out = format!(
        "{PREFIX} Earlier messages were condensed to save space. Treat this as your own memory of them; do not answer it. The full text is in session {previous_session} (session_search can read it).\n\n{}",
        summary.trim()
    );
    if let Some(task) = task {
        let task: String = task.chars().take(TASK_LIMIT).collect();
        out.push_str(&format!(
            "\n\nThe user's current request, word for word:\n<request>\n{task}\n</request>"
        ));
    }
    if let Some(todos) = todos {
        out.push_str(&format!("\n\nYour task list:\n{todos}"));
    }
    out.push_str(&format!("\n\n{END}"));
    out
}

/// The text of an earlier summary without its frame.
pub(super) fn inner(text: &str) -> String {
    let text = text.trim().trim_start_matches(PREFIX).trim();
    let text = text.split(END).next().unwrap_or(text);
    let end = text
        .find("\n\nThe user's current request, word for word:")
        .unwrap_or(text.len());
    text[..end].trim().to_owned()
}

/// What a person wrote in a user message; a summary may stand in front of it.
pub fn request(message: &Message) -> Option<String> {
    let text = text_of(message);
    if !is_summary(message) {
        return Some(text);
    }
    let (_, after) = text.split_once(END)?;
    let after = after.trim();
    (!after.is_empty()).then(|| after.to_owned())
}

/// A summary made without a model: requests, actions, paths, failures.
pub(super) fn local(messages: &[&Message], previous: Option<&str>) -> String {
    let mut asks = Vec::new();
    let mut actions = Vec::new();
    let mut paths = BTreeSet::new();
    let mut failures = Vec::new();
    for message in messages {
        match message.role {
            Role::User if !is_summary(message) => asks.push(one_line(&text_of(message), 400)),
            Role::Assistant => {
                for call in &message.tool_calls {
                    let arguments: Value =
                        serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
                    actions.push(format!("{} {}", call.name, of_arguments(&arguments)));
                    for key in ["path", "file_path", "workdir"] {
                        if let Some(path) = arguments.get(key).and_then(Value::as_str) {
                            paths.insert(path.to_owned());
                        }
                    }
                }
            }
            Role::Tool => {
                let text = text_of(message);
                if crate::guardrails::is_failure(message.tool_name.as_deref().unwrap_or(""), &text)
                {
                    failures.push(one_line(&text, 200));
                }
            }
            _ => {}
        }
    }
    let mut out = String::from(
        "(Written without a model because no summary could be had; details are missing.)\n",
    );
    if let Some(previous) = previous {
        out.push_str(&format!(
            "\nBefore that:\n{}\n",
            previous.chars().take(3000).collect::<String>()
        ));
    }
    section(&mut out, "Requests", &asks, 12);
    section(&mut out, "Done", &actions, 40);
    section(&mut out, "Failures", &failures, 8);
    section(
        &mut out,
        "Files",
        &paths.into_iter().collect::<Vec<_>>(),
        40,
    );
    let spoken: Vec<String> = messages
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .map(|message| one_line(&text_of(message), 600))
        .filter(|text| !text.is_empty())
        .collect();
    section(&mut out, "Last words", &spoken, 3);
    let out: String = out.chars().take(LOCAL_LIMIT).collect();
    redact(&out, Redaction::Text).into_owned()
}

/// The newest `limit` of the lines.
fn section(out: &mut String, title: &str, lines: &[String], limit: usize) {
    if lines.is_empty() {
        return;
    }
    out.push_str(&format!("\n{title}:\n"));
    for line in &lines[lines.len().saturating_sub(limit)..] {
        out.push_str(&format!("- {line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_both_programs_are_recognised() {
        assert!(is_summary(&Message::user(message("x", None, None, "s"))));
        assert!(is_summary(&Message::assistant(
            "[CONTEXT COMPACTION — REFERENCE] …"
        )));
        assert!(!is_summary(&Message::user("a [CONTEXT SUMMARY]: b")));
    }

    #[test]
    fn the_task_survives_word_for_word_and_the_frame_comes_off_again() {
        let text = message(
            "Goal: x",
            Some("do\nthis  exactly"),
            Some("- [ ] one"),
            "s1",
        );
        assert!(text.contains("<request>\ndo\nthis  exactly\n</request>"));
        assert!(text.contains("session s1"));
        assert!(inner(&text).ends_with("Goal: x"));
    }

    #[test]
    fn a_summary_can_be_made_without_a_model() {
        let messages = [
            Message::user("fix the build"),
            Message::assistant("I looked."),
        ];
        let text = local(&messages.iter().collect::<Vec<_>>(), Some("older"));
        assert!(
            text.contains("- fix the build")
                && text.contains("- I looked.")
                && text.contains("older")
        );
    }
}

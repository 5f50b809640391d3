//! Histories come from disk, from crashes and from other versions. Providers
//! want roles to alternate and every call to have exactly one result; this is
//! where any stored list is brought into that shape.

use std::collections::{HashMap, HashSet};

use hermes_types::{Content, Message, Part, Role, ToolCall};
use serde_json::Value;

use super::arguments::{Arguments, read_arguments};
use super::canonical::canonical;

/// Stands for a result that was never recorded.
pub const PLACEHOLDER: &str =
    "[No result: the run ended before this call finished. It may have done part of its work.]";

/// Stands before the result of a call whose stored arguments cannot be read.
pub const UNREADABLE: &str =
    "[The arguments of this call were not valid JSON and were replaced by {}.]";

/// A stored message as it goes to the model: white space around texts removed,
/// arguments in their one spelling, nothing that only people need.
pub fn wire(mut message: Message) -> Message {
    trim(&mut message.content);
    for call in &mut message.tool_calls {
        call.arguments = match read_arguments(&call.arguments) {
            Arguments::Object(map) => canonical(&Value::Object(map)),
            Arguments::Broken(_) => "{}".to_owned(),
        };
    }
    message.finish_reason = None;
    message
}

/// The whole stored list in wire form, with every hole filled and every stray
/// removed. Mending twice changes nothing more.
pub fn mend(stored: Vec<Message>) -> Vec<Message> {
    let results = results_of(&stored);
    let mut out: Vec<Message> = Vec::with_capacity(stored.len());
    let mut stored: Vec<Option<Message>> = stored.into_iter().map(Some).collect();
    for index in 0..stored.len() {
        // Gone when it was a result that has been taken.
        let Some(message) = stored[index].take() else {
            continue;
        };
        match message.role {
            // Results are taken together with the calls they answer.
            Role::System | Role::Tool => {}
            Role::User => {
                let message = wire(message);
                if !message.content.is_empty() {
                    push_user(&mut out, message);
                }
            }
            Role::Assistant => {
                let results = results
                    .get(&index)
                    .into_iter()
                    .flatten()
                    .filter_map(|(id, at)| Some((id.clone(), stored[*at].take()?)))
                    .collect();
                push_assistant(&mut out, message, results);
            }
        }
    }
    out
}

/// The results of every answer's calls, by the place of the answer. Of two for one
/// call the first is taken, but one that only says that there is none gives way: it
/// was written by a process that took the call of a living one for dead, and the
/// real one may stand behind later messages.
fn results_of(stored: &[Message]) -> HashMap<usize, HashMap<String, usize>> {
    let mut caller: HashMap<&str, usize> = HashMap::new();
    let mut results: HashMap<usize, HashMap<String, usize>> = HashMap::new();
    for (index, message) in stored.iter().enumerate() {
        for call in &message.tool_calls {
            caller.insert(&call.id, index);
        }
        let Some(id) = message
            .tool_call_id
            .as_deref()
            .filter(|_| message.role == Role::Tool)
        else {
            continue;
        };
        let Some(at) = caller.get(id) else { continue };
        let known = results.entry(*at).or_default();
        match known.get(id) {
            Some(first) if stored[*first].content.text() != PLACEHOLDER => {}
            _ => drop(known.insert(id.to_owned(), index)),
        }
    }
    results
}

/// Calls at the end of the list that have no result yet.
pub fn missing_results(stored: &[Message]) -> Vec<ToolCall> {
    let Some(index) = stored
        .iter()
        .rposition(|message| message.role != Role::Tool)
    else {
        return Vec::new();
    };
    let answered: HashSet<&str> = stored[index + 1..]
        .iter()
        .filter_map(|message| message.tool_call_id.as_deref())
        .collect();
    stored[index]
        .tool_calls
        .iter()
        .filter(|call| !answered.contains(call.id.as_str()))
        .cloned()
        .collect()
}

/// Appends a user message; two in a row become one.
pub(crate) fn push_user(out: &mut Vec<Message>, message: Message) {
    match out.last_mut() {
        Some(last) if last.role == Role::User => merge(&mut last.content, message.content),
        _ => out.push(message),
    }
}

fn push_assistant(out: &mut Vec<Message>, message: Message, mut results: HashMap<String, Message>) {
    let broken: HashSet<String> = message
        .tool_calls
        .iter()
        .filter(|call| matches!(read_arguments(&call.arguments), Arguments::Broken(_)))
        .map(|call| call.id.clone())
        .collect();
    let mut message = wire(message);
    let mut seen = HashSet::new();
    message
        .tool_calls
        .retain(|call| seen.insert(call.id.clone()));
    if message.tool_calls.is_empty() && message.content.is_empty() {
        return;
    }
    match out.last_mut() {
        // Two answers in a row: an interrupted one and its successor.
        Some(last) if last.role == Role::Assistant => {
            merge(&mut last.content, message.content);
            last.tool_calls = message.tool_calls.clone();
            last.reasoning = message.reasoning.take().or(last.reasoning.take());
            last.reasoning_details = message
                .reasoning_details
                .take()
                .or(last.reasoning_details.take());
        }
        _ => out.push(message.clone()),
    }
    for call in &message.tool_calls {
        let mut result = results
            .remove(&call.id)
            .map(wire)
            .unwrap_or_else(|| Message::tool_result(call, PLACEHOLDER));
        if result.tool_name.is_none() {
            result.tool_name = Some(call.name.clone());
        }
        if broken.contains(&call.id) && !result.content.text().starts_with(UNREADABLE) {
            let noted = format!("{UNREADABLE}\n{}", result.content.text());
            result.content = Content::Text(noted.trim_end().to_owned());
        }
        out.push(result);
    }
}

fn trim(content: &mut Content) {
    if let Content::Text(text) = content {
        let trimmed = text.trim();
        if trimmed.len() != text.len() {
            *text = trimmed.to_owned();
        }
    }
}

fn merge(into: &mut Content, other: Content) {
    if other.is_empty() {
        return;
    }
    match (&mut *into, other) {
        (Content::Text(text), Content::Text(more)) => {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&more);
        }
        (_, other) => {
            let mut all = parts(std::mem::replace(into, Content::Text(String::new())));
            all.extend(parts(other));
            *into = Content::Parts(all);
        }
    }
}

fn parts(content: Content) -> Vec<Part> {
    match content {
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => vec![Part::Text { text }],
        Content::Parts(parts) => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn call(id: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: "terminal".to_owned(),
            arguments: arguments.to_owned(),
            extra: None,
        }
    }

    fn calling(text: &str, calls: Vec<ToolCall>) -> Message {
        Message {
            tool_calls: calls,
            ..Message::assistant(text)
        }
    }

    fn result(id: &str, text: &str) -> Message {
        Message::tool_result(&call(id, "{}"), text)
    }

    fn shape(messages: &[Message]) -> Vec<String> {
        messages
            .iter()
            .map(|message| {
                let calls: Vec<&str> = message.tool_calls.iter().map(|c| c.id.as_str()).collect();
                format!(
                    "{} {:?} {}{}",
                    message.role.as_str(),
                    message.content.text(),
                    calls.join(","),
                    message.tool_call_id.as_deref().unwrap_or("")
                )
            })
            .collect()
    }

    #[test]
    fn a_batch_killed_in_the_middle_gets_placeholders() {
        let stored = vec![
            Message::user("go"),
            calling("", vec![call("a", "{}"), call("b", "{}"), call("c", "{}")]),
            result("b", "two"),
        ];
        assert_eq!(
            missing_results(&stored)
                .iter()
                .map(|c| c.id.clone())
                .collect::<Vec<_>>(),
            ["a", "c"]
        );
        let mended = mend(stored);
        assert_eq!(
            shape(&mended)[2..],
            [
                format!("tool {PLACEHOLDER:?} a"),
                "tool \"two\" b".to_owned(),
                format!("tool {PLACEHOLDER:?} c"),
            ]
        );
    }

    #[test]
    fn a_real_result_wins_over_one_that_says_there_is_none() {
        let mended = mend(vec![
            Message::user("go"),
            calling("", vec![call("a", "{}")]),
            result("a", PLACEHOLDER),
            Message::user("and?"),
            result("a", "real"),
            result("a", "late"),
            Message::assistant("done"),
            // The same name again is another call.
            Message::user("more"),
            calling("", vec![call("a", "{}")]),
        ]);
        assert_eq!(mended[2].content.text(), "real");
        assert_eq!(mended[3].content.text(), "and?");
        assert_eq!(mended.last().unwrap().content.text(), PLACEHOLDER);
    }

    #[test]
    fn strays_are_dropped_and_neighbours_merged() {
        let mended = mend(vec![
            result("lost", "nobody asked"),
            Message::user(" one "),
            Message::user("two"),
            Message::assistant(""),
            calling("thinking", vec![call("a", "{\"b\":1, \"a\": 2}")]),
            result("a", " out \n"),
            result("other", "stray"),
            Message::assistant("first"),
            Message::assistant("second"),
        ]);
        assert_eq!(
            shape(&mended),
            [
                "user \"one\\n\\ntwo\" ",
                "assistant \"thinking\" a",
                "tool \"out\" a",
                "assistant \"first\\n\\nsecond\" ",
            ]
        );
        assert_eq!(mended[1].tool_calls[0].arguments, r#"{"a":2,"b":1}"#);
    }

    #[test]
    fn unreadable_arguments_are_replaced_and_named() {
        let mended = mend(vec![
            Message::user("go"),
            calling("", vec![call("a", "{\"x\": \"cut")]),
            result("a", "done"),
        ]);
        assert_eq!(mended[1].tool_calls[0].arguments, "{}");
        assert_eq!(
            mended[2].content,
            Content::Text(format!("{UNREADABLE}\ndone"))
        );
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let id = prop_oneof![Just("a"), Just("b"), Just("c")];
        prop_oneof![
            "[a-z ]{0,6}".prop_map(Message::user),
            "[a-z ]{0,6}".prop_map(Message::assistant),
            ("[a-z]{0,3}", prop::collection::vec(id.clone(), 1..4)).prop_map(|(text, ids)| {
                calling(&text, ids.into_iter().map(|id| call(id, "{bad")).collect())
            }),
            (id, "[a-z]{0,4}").prop_map(|(id, text)| result(id, &text)),
        ]
    }

    proptest! {
        #[test]
        fn every_history_becomes_valid_and_stays_so(stored in prop::collection::vec(any_message(), 0..12)) {
            let mended = mend(stored);
            let mut index = 0;
            while index < mended.len() {
                let message = &mended[index];
                prop_assert_ne!(message.role, Role::Tool);
                if index > 0 && message.role != Role::Tool {
                    let before = &mended[index - 1];
                    prop_assert!(before.role != message.role);
                }
                for call in &message.tool_calls {
                    index += 1;
                    prop_assert_eq!(mended[index].tool_call_id.as_deref(), Some(call.id.as_str()));
                }
                index += 1;
            }
            prop_assert_eq!(mend(mended.clone()), mended);
        }
    }
}

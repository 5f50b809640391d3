//! A conversation as every provider insists on it: each call answered once, each
//! answer to a call that exists, no assistant message without content, no two
//! user messages in a row. Histories come from disks, crashes and other versions.

use std::collections::HashSet;
use std::sync::Arc;

use hermes_types::{Content, Message, Part, Role, ToolCall};

/// What a call gets whose result was lost.
const LOST_RESULT: &str =
    r#"{"error":"the result of this call was lost; run it again if it is still needed"}"#;

/// The tidy conversation. Messages that need no change are shared, not copied.
pub fn tidy(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut out: Vec<Arc<Message>> = Vec::with_capacity(messages.len());
    let mut rest = messages.iter().peekable();
    while let Some(message) = rest.next() {
        match message.role {
            // The system text has its own place in a request.
            Role::System => {}
            // An answer to a call that is not the preceding message's.
            Role::Tool => {}
            Role::User => push_user(&mut out, message),
            Role::Assistant if message.tool_calls.is_empty() => {
                if !is_blank(&message.content) {
                    out.push(Arc::clone(message));
                }
            }
            Role::Assistant => {
                let mut results = Vec::new();
                while let Some(result) = rest.next_if(|next| next.role == Role::Tool) {
                    results.push(result);
                }
                push_batch(&mut out, message, &results);
            }
        }
    }
    out
}

/// An assistant message with calls, then exactly one result per call in the order
/// in which they came; calls with one id are told apart by nobody, so only the
/// first is kept.
fn push_batch(out: &mut Vec<Arc<Message>>, message: &Arc<Message>, results: &[&Arc<Message>]) {
    let mut ids = HashSet::new();
    let calls: Vec<&ToolCall> = message
        .tool_calls
        .iter()
        .filter(|call| ids.insert(call.id.as_str()))
        .collect();
    if calls.len() == message.tool_calls.len() {
        out.push(Arc::clone(message));
    } else {
        let mut changed = Message::clone(message);
        changed.tool_calls = calls.iter().map(|call| (*call).clone()).collect();
        out.push(Arc::new(changed));
    }
    let mut answered = HashSet::new();
    for result in results {
        let id = result.tool_call_id.as_deref().unwrap_or("");
        if ids.contains(id) && answered.insert(id) {
            out.push(Arc::clone(result));
        }
    }
    for call in calls {
        if !answered.contains(call.id.as_str()) {
            out.push(Arc::new(Message::tool_result(call, LOST_RESULT)));
        }
    }
}

fn push_user(out: &mut Vec<Arc<Message>>, message: &Arc<Message>) {
    let merged = match out.last() {
        Some(last) if last.role == Role::User => {
            Message::user(join(&last.content, &message.content))
        }
        _ => {
            out.push(Arc::clone(message));
            return;
        }
    };
    out.pop();
    out.push(Arc::new(merged));
}

fn join(first: &Content, second: &Content) -> Content {
    if let (Content::Text(a), Content::Text(b)) = (first, second) {
        return Content::Text(format!("{}\n\n{}", a.trim(), b.trim()));
    }
    let parts = |content: &Content| match content {
        Content::Text(text) => vec![Part::Text { text: text.clone() }],
        Content::Parts(parts) => parts.clone(),
    };
    let mut all = parts(first);
    all.extend(parts(second));
    Content::Parts(all)
}

pub(super) fn is_blank(content: &Content) -> bool {
    match content {
        Content::Text(text) => text.trim().is_empty(),
        Content::Parts(parts) => parts.iter().all(|part| match part {
            Part::Text { text } => text.trim().is_empty(),
            Part::Image { .. } => false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.to_owned(),
            name: "t".to_owned(),
            arguments: "{}".to_owned(),
            extra: None,
        }
    }

    fn calling(ids: &[&str]) -> Arc<Message> {
        let mut message = Message::assistant("");
        message.tool_calls = ids.iter().map(|id| call(id)).collect();
        Arc::new(message)
    }

    fn result(id: &str) -> Arc<Message> {
        Arc::new(Message::tool_result(&call(id), format!("result of {id}")))
    }

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::user(text))
    }

    fn shape(messages: &[Arc<Message>]) -> Vec<String> {
        tidy(messages)
            .iter()
            .map(|m| {
                let ids: Vec<&str> = m.tool_calls.iter().map(|c| c.id.as_str()).collect();
                format!("{} {} {}", m.role.as_str(), m.content.text(), ids.join(","))
                    .trim()
                    .to_owned()
            })
            .collect()
    }

    #[test]
    fn every_call_has_exactly_one_result() {
        let lost = format!("tool {LOST_RESULT}");
        for (messages, expected) in [
            (
                vec![user("a"), calling(&["1", "2"]), result("1")],
                vec!["user a", "assistant  1,2", "tool result of 1", &lost],
            ),
            (
                vec![
                    user("a"),
                    result("9"),
                    calling(&["1"]),
                    result("1"),
                    result("1"),
                ],
                vec!["user a", "assistant  1", "tool result of 1"],
            ),
            (
                vec![user("a"), calling(&["1", "1"]), result("1"), result("2")],
                vec!["user a", "assistant  1", "tool result of 1"],
            ),
            (
                vec![user("a"), calling(&["1"]), user("b"), result("1")],
                vec!["user a", "assistant  1", &lost, "user b"],
            ),
        ] {
            assert_eq!(shape(&messages), expected);
        }
    }

    #[test]
    fn empty_answers_vanish_and_the_users_around_them_become_one() {
        let mut thinking = Message::assistant("  ");
        thinking.reasoning = Some("hm".to_owned());
        assert_eq!(
            shape(&[user("a"), Arc::new(thinking), user(" b ")]),
            ["user a\n\nb"]
        );
    }

    proptest! {
        #[test]
        fn any_history_becomes_one_that_providers_accept(kinds in prop::collection::vec(0..7u8, 0..20)) {
            let messages: Vec<Arc<Message>> = kinds.iter().map(|kind| match kind {
                0 => user("u"),
                1 => Arc::new(Message::assistant("a")),
                2 => calling(&["1"]),
                3 => calling(&["1", "2"]),
                4 => result("1"),
                5 => result("2"),
                _ => Arc::new(Message::assistant("")),
            }).collect();
            let tidied = tidy(&messages);
            let mut open: HashSet<String> = HashSet::new();
            let mut last = None;
            for message in &tidied {
                match message.role {
                    Role::Tool => prop_assert!(open.remove(message.tool_call_id.as_deref().unwrap())),
                    _ => {
                        prop_assert!(open.is_empty());
                        prop_assert!(!(message.role == Role::User && last == Some(Role::User)));
                        open = message.tool_calls.iter().map(|c| c.id.clone()).collect();
                    }
                }
                last = Some(message.role);
            }
            prop_assert!(open.is_empty());
            prop_assert_eq!(tidy(&tidied), tidied);
        }
    }
}

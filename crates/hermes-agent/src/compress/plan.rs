//! Which messages stay and which are condensed. Pure.

use std::ops::Range;

use hermes_types::{Message, Role};

use super::summary::is_summary;
use crate::history::weight;

/// A conversation cut in three; `middle` is condensed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub head: Range<usize>,
    pub middle: Range<usize>,
    pub tail: Range<usize>,
}

/// How much of the end stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    Tokens(u64),
    /// The last questions with all that followed them.
    Exchanges(usize),
}

/// `None` when there is nothing worth condensing.
pub fn plan(messages: &[&Message], protect_first: usize, tail: Tail) -> Option<Plan> {
    const SMALLEST_TAIL: usize = 3;
    let count = messages.len();
    // A summary from before is condensed again, never protected.
    let mut head = messages
        .iter()
        .take(protect_first)
        .position(|message| is_summary(message))
        .unwrap_or(protect_first);
    // The head ends after an answer, so that the summary can follow it as a message
    // of its own.
    while head > 0 && head < count {
        let cut_batch = messages[head].role == Role::Tool;
        let open_question = messages[head - 1].role == Role::User;
        match (cut_batch, open_question) {
            (false, false) => break,
            (false, true) if is_summary(messages[head]) => head -= 1,
            _ => head += 1,
        }
    }
    // Where nothing is protected somebody asked for it: an answer less will do.
    let smallest = if protect_first == 0 { 3 } else { 4 };
    if count <= head + smallest {
        return None;
    }
    let tail_tokens = match tail {
        Tail::Tokens(tokens) => tokens,
        Tail::Exchanges(kept) => {
            let mut questions = (0..count)
                .rev()
                .filter(|at| messages[*at].role == Role::User && !is_summary(messages[*at]));
            let start = questions.nth(kept.checked_sub(1)?)?;
            return (start > head).then_some(Plan {
                head: 0..head,
                middle: head..start,
                tail: start..count,
            });
        }
    };
    let budget = tail_tokens + tail_tokens / 2;
    let mut start = count;
    let mut tokens = 0;
    while start > head {
        let next = (weight(messages[start - 1]) / 4) as u64;
        if count - start >= SMALLEST_TAIL && tokens + next > budget {
            break;
        }
        tokens += next;
        start -= 1;
    }
    if start <= head {
        // Everything would fit: condense all but the newest.
        start = count - SMALLEST_TAIL;
    }
    // A result stays with its call.
    while start > head && messages[start].role == Role::Tool {
        start -= 1;
    }
    (start > head).then_some(Plan {
        head: 0..head,
        middle: head..start,
        tail: start..count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::ToolCall;
    use proptest::prelude::*;

    fn turn(results: usize, size: usize) -> Vec<Message> {
        let mut out = vec![Message::user("do it")];
        for number in 0..results {
            let call = ToolCall {
                id: number.to_string(),
                name: "terminal".into(),
                arguments: "{}".into(),
                extra: None,
            };
            out.push(Message {
                tool_calls: vec![call.clone()],
                ..Message::assistant("")
            });
            out.push(Message::tool_result(&call, "x".repeat(size)));
        }
        out
    }

    fn plan_of(messages: &[Message], first: usize, tail: u64) -> Option<Plan> {
        plan(
            &messages.iter().collect::<Vec<_>>(),
            first,
            Tail::Tokens(tail),
        )
    }

    #[test]
    fn short_conversations_are_left_alone() {
        assert_eq!(plan_of(&turn(3, 10), 3, 100), None);
    }

    #[test]
    fn the_tail_follows_the_budget_and_the_middle_is_the_rest() {
        let messages = turn(20, 4000);
        let plan = plan_of(&messages, 3, 4000).unwrap();
        assert_eq!(plan.head, 0..3);
        assert!(plan.tail.len() >= 8 && plan.tail.len() <= 14, "{plan:?}");
    }

    #[test]
    fn a_summary_from_before_is_not_protected() {
        let mut messages = turn(10, 100);
        messages.insert(1, Message::assistant("[CONTEXT SUMMARY]: earlier"));
        assert_eq!(plan_of(&messages, 3, 10).unwrap().head, 0..0);
    }

    #[test]
    fn the_last_exchanges_are_kept_whole_on_request() {
        let messages: Vec<Message> = (0..6).flat_map(|_| turn(1, 4)).collect();
        let all: Vec<&Message> = messages.iter().collect();
        let of_one = messages.len() / 6;
        let cut = plan(&all, of_one, Tail::Exchanges(2)).unwrap();
        assert_eq!(cut.middle.end, messages.len() - 2 * of_one);
        assert_eq!(messages[cut.tail.start].role, Role::User);
        assert_eq!(plan(&all, of_one, Tail::Exchanges(40)), None);
        assert_eq!(plan(&all, of_one, Tail::Exchanges(0)), None);
    }

    proptest! {
        #[test]
        fn calls_and_results_are_never_parted(
            batches in prop::collection::vec((0usize..4, 0usize..3000), 1..12),
            first in 0usize..6,
            tail in 1u64..4000,
        ) {
            let mut messages = Vec::new();
            for (results, size) in batches {
                messages.extend(turn(results, size));
                messages.push(Message::assistant("done"));
            }
            if let Some(plan) = plan_of(&messages, first, tail) {
                prop_assert_eq!(plan.head.end, plan.middle.start);
                prop_assert_eq!(plan.middle.end, plan.tail.start);
                prop_assert_eq!(plan.tail.end, messages.len());
                prop_assert!(!plan.middle.is_empty());
                prop_assert!(plan.tail.len() >= 3);
                prop_assert!(messages[plan.tail.start].role != Role::Tool);
                prop_assert!(plan.head.is_empty() || messages[plan.middle.start].role != Role::Tool);
            }
        }
    }
}

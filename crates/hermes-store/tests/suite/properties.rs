//! For any text: search never fails, and what goes in comes out.

use hermes_store::{NewMessage, SearchOrder, SearchRequest, StateDb};
use hermes_types::{Content, Message, Part, Role, ToolCall};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::support::{Scratch, session};

/// Text made mostly of what has a meaning in a query.
fn query() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\"".to_owned()),
        Just("*".to_owned()),
        Just("AND".to_owned()),
        Just(" OR ".to_owned()),
        Just(" NOT ".to_owned()),
        Just("NEAR(".to_owned()),
        Just("content:".to_owned()),
        Just("(){}[]^+-:;,'".to_owned()),
        Just("你好".to_owned()),
        Just("日本語の".to_owned()),
        Just("\0".to_owned()),
        "[a-z]{1,4}",
        ".{0,6}",
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn message() -> impl Strategy<Value = Message> {
    let part = prop_oneof![
        ".*".prop_map(|text| Part::Text { text }),
        "data:[a-z/]{1,8};base64,[A-Za-z0-9]{0,12}".prop_map(|url| Part::Image { url }),
    ];
    let content = prop_oneof![
        // Memory blocks are taken out of history on purpose; no other text is.
        "[^<]*".prop_map(Content::Text),
        vec(part, 0..4).prop_map(Content::Parts),
    ];
    let call = (".*", ".*", ".*").prop_map(|(id, name, arguments)| ToolCall {
        id,
        name,
        arguments,
        extra: None,
    });
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    (role, content, vec(call, 0..3), proptest::option::of(".*")).prop_map(
        |(role, content, tool_calls, reasoning)| Message {
            role,
            content,
            tool_calls,
            reasoning,
            ..Message::user("")
        },
    )
}

fn filled(scratch: &Scratch) -> StateDb {
    let db = scratch.open();
    let id = session(&db, "s");
    for text in [
        "alpha beta",
        "日本語のテキスト 你好",
        "\"quoted\" NEAR content:x",
    ] {
        db.append(&id, Message::user(text)).unwrap();
    }
    db
}

#[test]
fn no_text_makes_search_fail() {
    let scratch = Scratch::new();
    let db = filled(&scratch);
    proptest!(ProptestConfig::with_cases(600), |(text in query())| {
        for order in [SearchOrder::Relevance, SearchOrder::Newest, SearchOrder::Oldest] {
            let mut request = SearchRequest::new(text.clone());
            request.order = order;
            db.search(&request).unwrap();
        }
    });
}

#[test]
fn a_word_of_a_message_finds_it() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    proptest!(ProptestConfig::with_cases(100), |(words in vec("[a-z0-9]{2,8}", 1..6))| {
        let stored = db.append(&id, Message::user(words.join(" "))).unwrap();
        let mut request = SearchRequest::new(words.join(" "));
        request.order = SearchOrder::Newest;
        let hits = db.search(&request).unwrap();
        prop_assert_eq!(hits.first().map(|hit| hit.id), Some(stored));
    });
}

#[test]
fn messages_and_exports_survive_a_round_trip() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    let mut sent = Vec::new();
    let sent_cell = std::cell::RefCell::new(&mut sent);
    proptest!(ProptestConfig::with_cases(150), |(message in message())| {
        db.append_batch(&id, &[NewMessage::from(message.clone())]).unwrap();
        sent_cell.borrow_mut().push(message);
    });
    let read: Vec<Message> = db
        .messages(&id)
        .unwrap()
        .into_iter()
        .map(|m| m.message)
        .collect();
    assert_eq!(read, sent);

    let exported = db.export(&id).unwrap().unwrap();
    let text = exported.to_string();
    assert!(!text.contains('\n'), "an export is one line");
    let parsed: Value = serde_json::from_str(&text).unwrap();
    let messages = parsed["messages"].as_array().unwrap();
    assert_eq!(messages.len(), sent.len());
    for (exported, sent) in messages.iter().zip(&sent) {
        assert_eq!(exported["role"], sent.role.as_str());
        if let Content::Text(text) = &sent.content {
            assert_eq!(exported["content"], text.as_str());
        }
    }
}

//! A file made by Python Hermes 0.16.0, read as it stands.

use std::fs;

use hermes_store::{ListFilter, SearchOrder, SearchRequest};
use hermes_types::{Content, Part, Role, SessionId};
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::support::{Scratch, fixture};

#[test]
fn export_equals_what_the_reference_exports() {
    let scratch = Scratch::with_fixture();
    let db = scratch.open();
    let golden = fs::read_to_string(fixture("sessions-export-all.jsonl")).unwrap();
    let expected: Vec<Value> = golden
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(expected.len(), 20);
    let exported: Vec<Value> = db
        .export_ids(None)
        .unwrap()
        .iter()
        // Through text on both sides: the parser rounds the last digit of a time.
        .map(|id| db.export(id).unwrap().unwrap().to_string())
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    assert_eq!(exported, expected);
}

#[test]
fn list_shows_the_rows_and_order_of_the_reference() {
    let scratch = Scratch::with_fixture();
    let rows = scratch.open().list(&ListFilter::default()).unwrap();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "cron_be6521620bc0_20260530_120502",
            "cron_fe178b4faf97_20260530_120502",
            "api-36ef3062d0ecf8ce",
            "20260528_190001_fe547db9",
            "20260528_080001_4ef671",
            "20260528_070001_377ed9",
            "20260527_183002_e7ff36",
            "20260527_090002_5265e6",
            "20260526_100004_1734be",
            "20260525_150001_6ae2f5",
            "20260525_090002_1d8d95",
            "20260524_120003_8f4ce6",
            "20260523_110002_cb30da",
            "20260522_093001_97f0f0",
            "20260521_140001_d07837",
            "20260520_101502_2c6524",
            "20260520_090003_d65561",
        ]
    );
    let chain = &rows[8];
    assert_eq!(chain.title.as_deref(), Some("Count all the lines #2"));
    assert_eq!(chain.preview, "Start counting lines.");
    assert_eq!(
        chain.lineage_root.as_ref().map(SessionId::as_str),
        Some("20260526_090001_8252c0")
    );
}

#[test]
fn messages_keep_pictures_calls_and_hidden_rows() {
    let scratch = Scratch::with_fixture();
    let db = scratch.open();
    let telegram = SessionId::new("20260528_190001_fe547db9");
    let active = db.messages(&telegram).unwrap();
    assert_eq!(active.len(), 4);
    assert_eq!(db.all_messages(&telegram).unwrap().len(), 6);
    assert_eq!(
        active[2].message.content,
        Content::Parts(vec![
            Part::Text {
                text: "and this photo?".into()
            },
            Part::Image {
                url: "data:image/png;base64,AAAA".into()
            },
        ])
    );
    assert_eq!(active[2].platform_message_id.as_deref(), Some("502"));

    let listing = db
        .messages(&SessionId::new("20260520_101502_2c6524"))
        .unwrap();
    let call = &listing[1].message.tool_calls[0];
    assert_eq!(call.name, "terminal");
    assert_eq!(call.arguments, r#"{"command": "ls -1"}"#);
    assert_eq!(call.extra, None);
    assert_eq!(listing[2].message.role, Role::Tool);
    assert_eq!(
        listing[2].message.tool_call_id.as_deref(),
        Some(call.id.as_str())
    );
}

#[test]
fn search_finds_words_phrases_and_cjk() {
    let scratch = Scratch::with_fixture();
    let db = scratch.open();
    let sessions = |query: &str| -> Vec<String> {
        let mut request = SearchRequest::new(query);
        request.order = SearchOrder::Newest;
        db.search(&request)
            .unwrap()
            .into_iter()
            .map(|hit| hit.session_id.to_string())
            .collect()
    };
    assert_eq!(sessions("polite greet"), ["20260521_140001_d07837"]);
    assert_eq!(sessions("日本語")[0], "20260527_183002_e7ff36");
    assert_eq!(sessions("你好")[0], "20260527_183002_e7ff36");
    assert!(
        sessions("wrong answer").is_empty(),
        "rewound rows were found"
    );
    assert!(sessions("\"who you are\"").is_empty());
    assert_eq!(sessions("\"who are you\""), ["20260520_090003_d65561"]);
}

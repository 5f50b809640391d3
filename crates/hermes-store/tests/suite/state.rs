//! What a writer does with sessions and messages.

use std::time::Duration;

use hermes_store::{
    ListFilter, ListOrder, NewMessage, NewSession, Prune, Retention, SearchRequest, StoreError,
    UsageUpdate,
};
use hermes_types::{Cost, CostStatus, Message, Role, SessionId, ToolCall, Usage};
use pretty_assertions::assert_eq;

use super::support::{Scratch, session};

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: "terminal".into(),
        arguments: r#"{"command":"ls"}"#.into(),
        extra: None,
    }
}

#[test]
fn appended_messages_come_back_and_are_counted() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s1");
    let asked = Message {
        tool_calls: vec![call("call_1"), call("call_2")],
        reasoning: Some("think".into()),
        finish_reason: Some("tool_calls".into()),
        ..Message::assistant("")
    };
    let sent = [
        Message::user("list the files"),
        asked.clone(),
        Message::tool_result(&asked.tool_calls[0], "a\nb"),
    ];
    let first = db.append(&id, sent[0].clone()).unwrap();
    let rest: Vec<NewMessage> = sent[1..].iter().cloned().map(NewMessage::from).collect();
    let ids = db.append_batch(&id, &rest).unwrap();
    assert_eq!(ids, [first + 1, first + 2]);

    let reader = scratch.open();
    let read: Vec<Message> = reader
        .messages(&id)
        .unwrap()
        .into_iter()
        .map(|stored| stored.message)
        .collect();
    assert_eq!(read, sent);
    let row = reader.session(&id).unwrap().unwrap();
    assert_eq!((row.message_count, row.tool_call_count), (3, 2));
}

#[test]
fn a_message_for_no_session_is_refused() {
    let db = Scratch::new();
    let db = db.open();
    let error = db
        .append(&SessionId::new("nobody"), Message::user("x"))
        .unwrap_err();
    assert!(
        matches!(error, StoreError::SessionNotFound { .. }),
        "{error}"
    );
}

#[test]
fn usage_adds_up_and_an_unknown_price_is_not_zero() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = SessionId::new("s1");
    let mut update = UsageUpdate {
        usage: Usage {
            input: 10,
            output: 3,
            cache_read: 5,
            cache_write: 1,
            reasoning: 2,
        },
        api_calls: 1,
        model: Some("m".into()),
        cost: Some(Cost {
            usd: 0.0,
            status: CostStatus::Unknown,
        }),
        ..UsageUpdate::default()
    };
    db.record_usage(&id, &update).unwrap();
    assert_eq!(db.session(&id).unwrap().unwrap().estimated_cost_usd, None);
    assert_eq!(db.session(&id).unwrap().unwrap().source, "unknown");
    assert!(db.create_session(&NewSession::new(&id, "cli")).unwrap());

    update.model = Some("other".into());
    update.cost = Some(Cost {
        usd: 0.25,
        status: CostStatus::Estimated,
    });
    db.record_usage(&id, &update).unwrap();
    let row = db.session(&id).unwrap().unwrap();
    assert_eq!(row.source, "cli");
    assert_eq!(row.model.as_deref(), Some("m"));
    assert_eq!((row.input_tokens, row.cache_read_tokens), (20, 10));
    assert_eq!((row.api_call_count, row.reasoning_tokens), (2, 4));
    assert_eq!(row.estimated_cost_usd, Some(0.25));
    assert_eq!(row.cost_status.as_deref(), Some("estimated"));
}

#[test]
fn titles_are_unique_and_numbered() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let (a, b) = (session(&db, "a"), session(&db, "b"));
    scratch.clock.advance(chrono::Duration::seconds(5));
    let c = session(&db, "c");
    assert_eq!(db.next_title("Trip").unwrap(), "Trip");
    assert_eq!(
        db.set_title(&a, "  Trip\n").unwrap().as_deref(),
        Some("Trip")
    );
    let taken = db.set_title(&b, "Trip").unwrap_err();
    assert!(matches!(&taken, StoreError::TitleInUse { session, .. } if session == "a"));
    assert_eq!(db.next_title("Trip").unwrap(), "Trip #2");
    db.set_title(&c, "Trip #7").unwrap();
    assert_eq!(db.next_title("Trip #7").unwrap(), "Trip #8");
    assert_eq!(db.resolve("Trip").unwrap(), c);
    assert_eq!(db.resolve("Trip #7").unwrap(), c);
    assert_eq!(db.set_title(&a, " ").unwrap(), None);
    db.set_title(&b, "Trip").unwrap();
}

#[test]
fn ids_resolve_by_unique_beginning() {
    let scratch = Scratch::new();
    let db = scratch.open();
    session(&db, "2026_a1");
    session(&db, "2026_a2");
    session(&db, "2025_%");
    assert_eq!(db.resolve("2025").unwrap().as_str(), "2025_%");
    assert!(matches!(
        db.resolve("2026").unwrap_err(),
        StoreError::AmbiguousSession { matches, .. } if matches == ["2026_a1", "2026_a2"]
    ));
    for nothing in ["", "%", "_", "2027"] {
        assert!(matches!(
            db.resolve(nothing).unwrap_err(),
            StoreError::SessionNotFound { .. }
        ));
    }
}

#[test]
fn the_first_end_wins_and_reopening_takes_it_back() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    assert!(db.end_session(&id, "cli_close").unwrap());
    assert!(!db.end_session(&id, "other").unwrap());
    let row = db.session(&id).unwrap().unwrap();
    assert_eq!(row.end_reason.as_deref(), Some("cli_close"));
    db.reopen_session(&id).unwrap();
    assert_eq!(db.session(&id).unwrap().unwrap().ended_at, None);
}

/// Root, its compressed continuation, and a second one.
fn chain(scratch: &Scratch) -> (hermes_store::StateDb, Vec<SessionId>) {
    let db = scratch.open();
    let mut ids: Vec<SessionId> = Vec::new();
    for name in ["root", "middle", "tip"] {
        let id = SessionId::new(name);
        let mut new = NewSession::new(&id, "cli");
        new.parent = ids.last().cloned();
        db.create_session(&new).unwrap();
        db.append(&id, Message::user(format!("question in {name}")))
            .unwrap();
        scratch.clock.advance(chrono::Duration::seconds(60));
        if name != "tip" {
            db.end_session(&id, "compression").unwrap();
        }
        ids.push(id);
    }
    (db, ids)
}

#[test]
fn a_compressed_chain_is_one_row_at_its_live_end() {
    let scratch = Scratch::new();
    let (db, ids) = chain(&scratch);
    assert_eq!(db.compression_tip(&ids[0]).unwrap(), ids[2]);
    assert_eq!(db.compression_root(&ids[2]).unwrap(), ids[0]);
    assert_eq!(db.compression_root(&ids[0]).unwrap(), ids[0]);
    assert_eq!(db.lineage_root(&ids[2]).unwrap(), ids[0]);
    assert_eq!(
        db.ancestors(&ids[2]).unwrap(),
        [ids[1].clone(), ids[0].clone()]
    );
    let later = session(&db, "later");
    db.append(&ids[2], Message::user("again")).unwrap();
    let listed = |order| -> Vec<SessionId> {
        let filter = ListFilter {
            order,
            ..ListFilter::default()
        };
        db.list(&filter)
            .unwrap()
            .into_iter()
            .map(|r| r.id)
            .collect()
    };
    assert_eq!(listed(ListOrder::Started), [later.clone(), ids[2].clone()]);
    scratch.clock.advance(chrono::Duration::seconds(60));
    db.append(&ids[2], Message::user("and again")).unwrap();
    assert_eq!(listed(ListOrder::LastActive), [ids[2].clone(), later]);
    assert_eq!(db.newest_of_source("cli").unwrap(), Some(ids[2].clone()));
    assert_eq!(db.newest_of_source("tui").unwrap(), None);
}

#[test]
fn history_with_ancestors_shows_a_carried_question_once() {
    let scratch = Scratch::new();
    let (db, ids) = chain(&scratch);
    db.append(&ids[2], Message::user("question in root"))
        .unwrap();
    let texts: Vec<String> = db
        .messages_with_ancestors(&ids[2])
        .unwrap()
        .iter()
        .map(|stored| stored.message.content.text())
        .collect();
    assert_eq!(
        texts,
        ["question in root", "question in middle", "question in tip"]
    );
}

#[test]
fn resuming_an_empty_session_finds_the_descendant_with_messages() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let empty = session(&db, "empty");
    let mut new = NewSession::new(&SessionId::new("child"), "cli");
    new.parent = Some(empty.clone());
    db.create_session(&new).unwrap();
    assert_eq!(db.resume_target(&empty).unwrap(), empty);
    let child = SessionId::new("child");
    db.append(&child, Message::user("x")).unwrap();
    assert_eq!(db.resume_target(&empty).unwrap(), child);
}

#[test]
fn deleting_orphans_children_and_leaves_nothing_to_find() {
    let scratch = Scratch::new();
    let (db, ids) = chain(&scratch);
    let deleted = db.delete_session(&ids[0]).unwrap();
    assert_eq!((deleted.sessions.len(), deleted.messages), (1, 1));
    assert_eq!(
        db.session(&ids[1]).unwrap().unwrap().parent_session_id,
        None
    );
    assert!(db.search(&SearchRequest::new("root")).unwrap().is_empty());
    assert_eq!(db.search(&SearchRequest::new("middle")).unwrap().len(), 1);
    assert!(db.delete_session(&ids[0]).unwrap().sessions.is_empty());
}

#[test]
fn pruning_takes_only_ended_and_old_sessions() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let (old, open, cron) = (
        session(&db, "old"),
        session(&db, "open"),
        SessionId::new("cron"),
    );
    db.create_session(&NewSession::new(&cron, "cron")).unwrap();
    db.end_session(&old, "cli_close").unwrap();
    db.end_session(&cron, "cron_complete").unwrap();
    scratch.clock.advance(chrono::Duration::days(3));
    let fresh = session(&db, "fresh");
    db.end_session(&fresh, "cli_close").unwrap();
    let mut prune = Prune {
        older_than_days: 2.0,
        source: Some("cron".into()),
    };
    assert_eq!(db.prunable(&prune).unwrap(), std::slice::from_ref(&cron));
    assert_eq!(db.prune(&prune).unwrap().sessions, [cron]);
    prune.source = None;
    assert_eq!(db.prune(&prune).unwrap().sessions, [old]);
    assert!(db.session(&open).unwrap().is_some());
    assert!(db.session(&fresh).unwrap().is_some());
}

#[test]
fn the_last_exchanges_are_read_without_the_rest() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    let asked = Message {
        tool_calls: vec![call("call_1")],
        ..Message::assistant("")
    };
    for number in 0..5 {
        db.append(&id, Message::user(format!("question {number}")))
            .unwrap();
        db.append(&id, asked.clone()).unwrap();
        db.append(&id, Message::tool_result(&asked.tool_calls[0], "output"))
            .unwrap();
        db.append(&id, Message::assistant(format!("answer {number}")))
            .unwrap();
    }
    let (said, earlier) = db.last_said(&id, 2).unwrap();
    let texts: Vec<String> = said
        .iter()
        .map(|stored| stored.message.content.text())
        .collect();
    assert_eq!(
        texts,
        ["question 3", "", "answer 3", "question 4", "", "answer 4"]
    );
    assert_eq!(earlier, 9);
    assert_eq!(db.last_said(&id, 100).unwrap().0.len(), 15);
    assert_eq!(
        db.last_said(&SessionId::new("none"), 2).unwrap(),
        (vec![], 0)
    );
}

#[test]
fn a_branch_has_the_active_history_and_the_trunk_ends() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    db.append(&id, Message::user("one")).unwrap();
    db.append(&id, Message::assistant("1")).unwrap();
    let taken_back = db.append(&id, Message::user("two")).unwrap();
    db.rewind(&id, taken_back).unwrap();
    let child = db.branch(&id, "a twig").unwrap();
    let texts = |id: &SessionId| -> Vec<String> {
        let messages = db.messages(id).unwrap();
        messages
            .iter()
            .map(|stored| stored.message.content.text())
            .collect()
    };
    assert_eq!(texts(&child), ["one", "1"]);
    assert_eq!(texts(&id), ["one", "1"]);
    let row = db.session(&child).unwrap().unwrap();
    assert_eq!(row.title.as_deref(), Some("a twig"));
    assert_eq!(row.parent_session_id, Some(id.clone()));
    assert_eq!(row.model_config.unwrap()["_branched_from"], id.as_str());
    let trunk = db.session(&id).unwrap().unwrap();
    assert_eq!(trunk.end_reason.as_deref(), Some("branched"));
    // Both are in the list, and both are found.
    assert_eq!(db.list(&ListFilter::default()).unwrap().len(), 2);
    assert!(matches!(
        db.branch(&SessionId::new("none"), "x").unwrap_err(),
        StoreError::SessionNotFound { .. }
    ));
}

#[test]
fn rewinding_hides_and_restoring_shows_again() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    db.append(&id, Message::user("one")).unwrap();
    let answer = db.append(&id, Message::assistant("1")).unwrap();
    let second = db.append(&id, Message::user("two")).unwrap();
    db.append(&id, Message::assistant("2")).unwrap();
    assert!(matches!(
        db.rewind(&id, answer).unwrap_err(),
        StoreError::NotAUserMessage { .. }
    ));
    assert_eq!(db.rewind(&id, second).unwrap(), 2);
    assert_eq!(db.messages(&id).unwrap().len(), 2);
    assert_eq!(db.session(&id).unwrap().unwrap().rewind_count, 1);
    assert!(db.search(&SearchRequest::new("two")).unwrap().is_empty());
    assert_eq!(db.restore_rewound(&id, second).unwrap(), 2);
    assert_eq!(db.messages(&id).unwrap().len(), 4);
}

#[test]
fn numbers_in_meta_add_up_over_connections() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.open(), scratch.open());
    assert_eq!(a.add_to_meta("budget:2026-05-31:usd", 0.5).unwrap(), 0.5);
    assert_eq!(b.add_to_meta("budget:2026-05-31:usd", 0.25).unwrap(), 0.75);
    assert_eq!(a.meta_with_prefix("budget:").unwrap().len(), 1);
    a.set_meta("word", "x").unwrap();
    assert!(matches!(
        a.add_to_meta("word", 1.0).unwrap_err(),
        StoreError::NotANumber { .. }
    ));
    assert_eq!(b.meta("word").unwrap().as_deref(), Some("x"));
    b.remove_meta("word").unwrap();
    assert_eq!(a.meta("word").unwrap(), None);
}

#[test]
fn one_handoff_claim_and_one_compression_lock_win() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    assert!(db.request_handoff(&id, "telegram").unwrap());
    assert!(!db.request_handoff(&id, "discord").unwrap());
    assert_eq!(
        db.pending_handoffs("telegram").unwrap(),
        std::slice::from_ref(&id)
    );
    assert!(db.claim_handoff(&id).unwrap());
    assert!(!db.claim_handoff(&id).unwrap());
    db.finish_handoff(&id, Err(&"é".repeat(600))).unwrap();
    let row = db.session(&id).unwrap().unwrap();
    assert_eq!(row.handoff_error.map(|e| e.chars().count()), Some(500));

    let ttl = Duration::from_secs(300);
    assert!(db.lock_compression(&id, "one", ttl).unwrap());
    assert!(!db.lock_compression(&id, "two", ttl).unwrap());
    assert!(!db.unlock_compression(&id, "two").unwrap());
    scratch.clock.advance(chrono::Duration::seconds(301));
    assert!(db.lock_compression(&id, "two", ttl).unwrap());
    assert!(!db.unlock_compression(&id, "one").unwrap());
    assert!(db.unlock_compression(&id, "two").unwrap());
}

#[test]
fn stats_and_optimize_report_what_is_there() {
    let scratch = Scratch::new();
    let (db, ids) = chain(&scratch);
    db.set_archived(&ids[0], true).unwrap();
    let stats = db.stats().unwrap();
    assert_eq!((stats.sessions, stats.archived, stats.messages), (2, 1, 3));
    assert_eq!(stats.sources[0].sessions, 2);
    let optimized = db.optimize().unwrap();
    assert_eq!(optimized.indexes, 2);
    assert!(optimized.bytes_after > 0);
    db.rebuild_search().unwrap();
    db.check_search().unwrap();
    assert_eq!(db.search(&SearchRequest::new("question")).unwrap().len(), 3);
}

#[test]
fn short_cjk_text_is_found_wherever_it_stands() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    let texts = [
        "你好",
        "说你好",
        "你好世界",
        "好你",
        "ends with 你好",
        "Über 你",
        "\"你好\"",
    ];
    for text in texts {
        db.append(&id, Message::user(text)).unwrap();
    }
    let in_calls = Message {
        tool_calls: vec![ToolCall {
            arguments: "你好".into(),
            ..call("c")
        }],
        ..Message::assistant("")
    };
    db.append(&id, in_calls).unwrap();
    let found = |query: &str| db.search(&SearchRequest::new(query)).unwrap();
    assert_eq!(found("你好").len(), 6);
    assert_eq!(found("你").len(), 8);
    assert_eq!(found("世界 你好世").len(), 1, "any of the words");
    assert!(found("再见").is_empty());
    assert_eq!(found("世界")[0].snippet, "你好>>>世界<<<");
}

#[test]
fn upkeep_on_start_happens_once_per_interval() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let old = session(&db, "old");
    db.end_session(&old, "cli_close").unwrap();
    let ghost = SessionId::new("ghost");
    db.create_session(&NewSession::new(&ghost, "tui")).unwrap();
    db.end_session(&ghost, "cli_close").unwrap();
    scratch.clock.advance(chrono::Duration::days(3));
    let mut retention = Retention {
        auto_prune: false,
        retention_days: 90.0,
        min_interval_hours: 24.0,
        vacuum_after_prune: true,
    };
    let first = db.upkeep_on_start(&retention).unwrap();
    assert_eq!(first.sessions, [ghost]);
    assert_eq!(
        db.meta("ghost_session_prune_v1").unwrap().as_deref(),
        Some("1")
    );
    assert_eq!(db.meta("last_auto_prune").unwrap(), None);

    retention.auto_prune = true;
    assert!(db.upkeep_on_start(&retention).unwrap().sessions.is_empty());
    retention.retention_days = 1.0;
    assert!(
        db.upkeep_on_start(&retention).unwrap().sessions.is_empty(),
        "not due yet"
    );
    scratch.clock.advance(chrono::Duration::hours(25));
    assert_eq!(db.upkeep_on_start(&retention).unwrap().sessions, [old]);
}

#[test]
fn relevance_looks_at_older_matches_when_newer_ones_are_filtered_out() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "s");
    let wanted = db.append(&id, Message::user("harbour")).unwrap();
    let noise: Vec<NewMessage> = (0..7_000)
        .map(|_| Message::assistant("harbour").into())
        .collect();
    db.append_batch(&id, &noise).unwrap();
    let mut request = SearchRequest::new("harbour");
    request.roles = vec![Role::User];
    let found: Vec<i64> = db
        .search(&request)
        .unwrap()
        .iter()
        .map(|hit| hit.id)
        .collect();
    assert_eq!(found, [wanted]);
    request.roles = vec![Role::Assistant];
    request.limit = 6_500;
    let mut all: Vec<i64> = db
        .search(&request)
        .unwrap()
        .iter()
        .map(|hit| hit.id)
        .collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6_500, "a match was skipped or came twice");
}

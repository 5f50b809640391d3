//! Rules that need a database to be seen.

use hermes_kanban::KanbanError;
use hermes_kanban::machine::{Fence, NewTask};
use hermes_kanban::store::{ClaimRequest, CompletionRequest, SubscriptionKey};
use hermes_types::TaskId;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::TestHome;

fn card(title: &str) -> NewTask {
    NewTask {
        title: title.to_owned(),
        assignee: Some("w".to_owned()),
        ..NewTask::default()
    }
}

fn request() -> ClaimRequest {
    ClaimRequest {
        lock: "testhost:1".to_owned(),
        ttl: 900,
        host: None,
    }
}

#[test]
fn a_late_worker_cannot_close_its_successors_run() {
    let home = TestHome::new();
    let board = home.board();
    let id = board.create(&card("x")).unwrap().id;
    let first = board
        .claim(&id, &request())
        .unwrap()
        .current_run_id
        .unwrap();
    board
        .release(
            &id,
            Some(first),
            hermes_kanban::machine::Release::Manual {
                reason: None,
                termination: Default::default(),
            },
        )
        .unwrap();
    board.claim(&id, &request()).unwrap();
    let before = board.view(&id).unwrap();
    let late = CompletionRequest {
        fence: Fence::Run(first),
        ..Default::default()
    };
    assert!(board.complete(&id, &late).unwrap_err().is_refusal());
    assert!(
        board
            .block(&id, None, Fence::Run(first), None)
            .unwrap_err()
            .is_refusal()
    );
    assert!(
        board
            .heartbeat(&id, None, Fence::Run(first), None)
            .unwrap_err()
            .is_refusal()
    );
    assert_eq!(board.view(&id).unwrap(), before);
}

#[test]
fn a_completion_that_names_invented_cards_changes_nothing_but_is_on_record() {
    let home = TestHome::new();
    let board = home.board();
    let id = board.create(&card("x")).unwrap().id;
    let own = board
        .create(&NewTask {
            created_by: Some("w".into()),
            ..card("made by w")
        })
        .unwrap()
        .id;
    let foreign = board
        .create(&NewTask {
            created_by: Some("z".into()),
            ..card("made by z")
        })
        .unwrap()
        .id;
    let invented = TaskId::new("t_deadbeef");
    let request = |cards: &[&TaskId]| CompletionRequest {
        summary: Some("done".into()),
        created_cards: cards.iter().map(|id| (*id).clone()).collect(),
        ..Default::default()
    };
    match board
        .complete(&id, &request(&[&own, &invented, &foreign]))
        .unwrap_err()
    {
        KanbanError::PhantomCards { phantom, verified } => {
            assert_eq!(phantom, [invented, foreign]);
            assert_eq!(verified, std::slice::from_ref(&own));
        }
        other => panic!("{other}"),
    }
    let view = board.view(&id).unwrap();
    assert_eq!(view.task.status.as_str(), "ready");
    assert_eq!(
        view.events.last().unwrap().kind,
        "completion_blocked_hallucination"
    );
    board.complete(&id, &request(&[&own])).unwrap();
    let payload = board
        .view(&id)
        .unwrap()
        .events
        .last()
        .unwrap()
        .payload
        .clone()
        .unwrap();
    assert_eq!(payload["verified_cards"], json!([own]));
}

#[test]
fn a_summary_that_mentions_unknown_tasks_completes_with_a_remark() {
    let home = TestHome::new();
    let board = home.board();
    let id = board.create(&card("x")).unwrap().id;
    let text = format!("see t_deadbeef and {id}");
    let request = CompletionRequest {
        summary: Some(text),
        ..Default::default()
    };
    assert_eq!(
        board.complete(&id, &request).unwrap().status.as_str(),
        "done"
    );
    let view = board.view(&id).unwrap();
    let last = view.events.last().unwrap();
    assert_eq!(last.kind, "suspected_hallucinated_references");
    assert_eq!(
        last.payload.as_ref().unwrap()["phantom_refs"],
        json!(["t_deadbeef"])
    );
}

#[test]
fn each_event_is_told_once_and_can_be_put_back() {
    let home = TestHome::new();
    let board = home.board();
    let id = board.create(&card("x")).unwrap().id;
    let key = SubscriptionKey {
        task_id: id.clone(),
        platform: "telegram".into(),
        chat_id: "1".into(),
        thread_id: String::new(),
    };
    board.subscribe(&key, None, Some("default")).unwrap();
    assert_eq!(
        board.pending_events(&key).unwrap(),
        None,
        "creation is not told"
    );
    board.block(&id, Some("why"), Fence::Open, None).unwrap();
    let delivery = board.pending_events(&key).unwrap().unwrap();
    assert_eq!(delivery.events[0].kind, "blocked");
    assert_eq!(
        board.pending_events(&key).unwrap().as_ref(),
        Some(&delivery)
    );
    assert!(board.acknowledge(&key, &delivery).unwrap());
    assert!(
        !board.acknowledge(&key, &delivery).unwrap(),
        "somebody was quicker"
    );
    assert_eq!(board.pending_events(&key).unwrap(), None);
    assert!(board.put_back(&key, &delivery).unwrap());
    assert_eq!(
        board.pending_events(&key).unwrap().as_ref(),
        Some(&delivery)
    );
    board.acknowledge(&key, &delivery).unwrap();
    board.unblock(&id, None).unwrap();
    board.complete(&id, &CompletionRequest::default()).unwrap();
    let next = board.pending_events(&key).unwrap().unwrap();
    assert_eq!(next.events[0].kind, "completed");
    board.acknowledge(&key, &next).unwrap();
    assert!(
        !board.put_back(&key, &delivery).unwrap(),
        "somebody has moved on"
    );
}

#[test]
fn a_breaker_block_recovers_and_a_requested_one_does_not() {
    let home = TestHome::new();
    let board = home.board();
    let asked = board.create(&card("asked")).unwrap().id;
    board
        .block(&asked, Some("please look"), Fence::Open, None)
        .unwrap();
    let broken = board
        .create(&NewTask {
            max_retries: Some(1),
            ..card("broken")
        })
        .unwrap()
        .id;
    board.claim(&broken, &request()).unwrap();
    let run = board.task(&broken).unwrap().current_run_id;
    board
        .fail(
            &broken,
            run,
            hermes_kanban::machine::Failed {
                kind: hermes_kanban::machine::FailureKind::SpawnFailed,
                error: "no such program".into(),
                at_once: false,
                fence: Fence::Open,
            },
        )
        .unwrap();
    assert_eq!(board.task(&broken).unwrap().status.as_str(), "blocked");
    for _ in 0..3 {
        assert_eq!(board.recompute_ready().unwrap(), 0);
    }
    board.assign(&broken, Some("other")).unwrap();
    assert_eq!(
        board.recompute_ready().unwrap(),
        1,
        "a new assignee has no failures"
    );
    assert_eq!(board.task(&asked).unwrap().status.as_str(), "blocked");
}

//! Several processes on one file, each opening the board for every call.
//!
//! A child is this test program itself, told by a variable what to do.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hermes_kanban::machine::{Fence, NewTask};
use hermes_kanban::store::{
    Board, ClaimRequest, ListFilter, ListSort, OpenOptions, SubscriptionKey,
};
use hermes_store::rusqlite::Connection;
use hermes_types::TaskId;

use super::support::TestHome;

const ROLE: &str = "KANBAN_TEST_CHILD";
const PROCESSES: usize = 8;

fn open(path: &Path) -> Board {
    Board::open(path, &OpenOptions::default()).unwrap()
}

/// Not a test of its own: what a child does, and nothing in the parent.
#[test]
fn child_entry() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (role, rest) = role.split_once(' ').unwrap();
    let (number, path) = rest.split_once(' ').unwrap();
    let number: usize = number.parse().unwrap();
    let path = Path::new(path);
    match role {
        "create" => {
            for n in 0..100 {
                let new = NewTask {
                    title: format!("{number}-{n}"),
                    idempotency_key: (n % 10 == 0).then(|| format!("shared-{n}")),
                    ..NewTask::default()
                };
                let task = open(path).create(&new).unwrap();
                println!("ID {}", task.id);
            }
        }
        "claim" => {
            let mut ids: Vec<TaskId> = open(path)
                .list(&ListFilter::default(), ListSort::Created)
                .unwrap()
                .into_iter()
                .map(|task| task.id)
                .collect();
            // Everybody in another order, so that they meet at every task.
            let half = ids.len() * number / PROCESSES;
            ids.rotate_left(half);
            if number % 2 == 1 {
                ids.reverse();
            }
            let request = ClaimRequest {
                lock: format!("testhost:{number}"),
                ttl: 900,
                host: None,
            };
            for id in ids {
                match open(path).claim(&id, &request) {
                    Ok(_) => println!("ID {id}"),
                    Err(error) => assert!(error.is_refusal(), "{error}"),
                }
            }
        }
        // A gateway: what is to be told goes into its ledger, once per event, and only
        // then the cursor moves.
        "deliver" => {
            let ledger = Connection::open(path.with_file_name("ledger.db")).unwrap();
            ledger.busy_timeout(Duration::from_secs(60)).unwrap();
            let board = open(path);
            loop {
                for subscription in board.subscriptions(None).unwrap() {
                    let key = SubscriptionKey::from(&subscription);
                    let Some(delivery) = board.pending_events(&key).unwrap() else {
                        continue;
                    };
                    for event in &delivery.events {
                        ledger
                            .execute(
                                "INSERT OR IGNORE INTO told VALUES (?1, ?2)",
                                (event.id, &key.chat_id),
                            )
                            .unwrap();
                    }
                    board.acknowledge(&key, &delivery).unwrap();
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        other => panic!("unknown role {other}"),
    }
}

fn children(role: &str, count: usize, path: &Path) -> Vec<Child> {
    (0..count)
        .map(|number| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "suite::processes::child_entry", "--nocapture"])
                .env(ROLE, format!("{role} {number} {}", path.display()))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect()
}

/// The ids each child acknowledged.
fn acknowledged(children: Vec<Child>) -> Vec<Vec<String>> {
    children
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "a child reported an error");
            String::from_utf8(output.stdout)
                .unwrap()
                .lines()
                .filter_map(|line| line.split_once("ID ").map(|(_, id)| id.to_owned()))
                .collect()
        })
        .collect()
}

#[test]
fn eight_processes_lose_no_acknowledged_task() {
    for _ in 0..2 {
        let home = TestHome::new();
        let path = home.root().join("kanban.db");
        let ids = acknowledged(children("create", PROCESSES, &path));
        let distinct: HashSet<&String> = ids.iter().flatten().collect();
        assert_eq!(ids.iter().map(Vec::len).sum::<usize>(), PROCESSES * 100);
        let board = open(&path);
        let stored = board
            .list(&ListFilter::default(), ListSort::Created)
            .unwrap();
        // Ten keys are shared by all eight.
        assert_eq!(stored.len(), PROCESSES * 90 + 10);
        assert_eq!(distinct.len(), stored.len());
        assert!(
            stored
                .iter()
                .all(|task| distinct.contains(&task.id.as_str().to_owned()))
        );
        assert!(board.event_gaps(10_000).unwrap().is_empty());
        assert_sound(&path);
    }
}

#[test]
fn eight_processes_never_claim_one_task_twice() {
    for _ in 0..2 {
        let home = TestHome::new();
        let path = home.root().join("kanban.db");
        let cards: Vec<NewTask> = (0..200)
            .map(|n| NewTask {
                title: format!("{n}"),
                ..NewTask::default()
            })
            .collect();
        let tasks = open(&path).create_many(&cards).unwrap();
        let ids = acknowledged(children("claim", PROCESSES, &path));
        let distinct: HashSet<&String> = ids.iter().flatten().collect();
        assert_eq!(
            distinct.len(),
            ids.iter().map(Vec::len).sum::<usize>(),
            "a double claim"
        );
        assert_eq!(distinct.len(), tasks.len());
        let board = open(&path);
        for task in tasks {
            let view = board.view(&task.id).unwrap();
            assert_eq!(view.runs.len(), 1);
            assert_eq!(
                view.events.iter().filter(|e| e.kind == "claimed").count(),
                1
            );
        }
        assert_sound(&path);
    }
}

/// Deliverers are killed at any moment while tasks go on; every event is told once.
#[test]
fn killed_deliverers_lose_and_repeat_no_event() {
    let home = TestHome::new();
    let path = home.root().join("kanban.db");
    let board = open(&path);
    let ledger = Connection::open(path.with_file_name("ledger.db")).unwrap();
    ledger
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE told (event INTEGER, chat TEXT, PRIMARY KEY (event, chat))",
        )
        .unwrap();
    let ids: Vec<TaskId> = (0..5)
        .map(|n| {
            let id = TaskId::new(home.create(&format!("t{n}")));
            for chat in ["1", "2"] {
                let key = SubscriptionKey {
                    task_id: id.clone(),
                    platform: "telegram".into(),
                    chat_id: chat.into(),
                    thread_id: String::new(),
                };
                board.subscribe(&key, None, None).unwrap();
            }
            id
        })
        .collect();
    let mut deliverers = children("deliver", 2, &path);
    for round in 0..12 {
        for id in &ids {
            board.block(id, Some("why"), Fence::Open, None).unwrap();
            board.unblock(id, None).unwrap();
        }
        if round % 3 == 2 {
            for mut child in deliverers.drain(..) {
                child.kill().unwrap();
                child.wait().unwrap();
            }
            deliverers = children("deliver", 2, &path);
        }
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while board.subscriptions(None).unwrap().iter().any(|one| {
        let key = SubscriptionKey::from(one);
        board.pending_events(&key).unwrap().is_some()
    }) {
        assert!(Instant::now() < deadline, "events are left over");
        std::thread::sleep(Duration::from_millis(10));
    }
    for mut child in deliverers {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let told: i64 = ledger
        .query_row("SELECT COUNT(*) FROM told", [], |row| row.get(0))
        .unwrap();
    assert_eq!(told, 12 * 5 * 2);
}

fn assert_sound(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let verdict: String = connection
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}

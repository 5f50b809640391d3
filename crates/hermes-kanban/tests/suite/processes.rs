//! Several processes on one file, each opening the board for every call.
//!
//! A child is this test program itself, told by a variable what to do.

use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_kanban::machine::NewTask;
use hermes_kanban::store::{Board, ClaimRequest, ListFilter, ListSort, OpenOptions};
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
        other => panic!("unknown role {other}"),
    }
}

fn children(role: &str, path: &Path) -> Vec<Child> {
    (0..PROCESSES)
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
        let ids = acknowledged(children("create", &path));
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
        let ids = acknowledged(children("claim", &path));
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

fn assert_sound(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let verdict: String = connection
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}

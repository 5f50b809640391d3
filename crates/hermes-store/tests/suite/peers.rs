//! Another program on the same file, one that opens and closes it for every
//! write, as the reference does.

use std::collections::HashSet;
use std::path::PathBuf;

use hermes_store::rusqlite::{Connection, params};
use hermes_testkit::process::{Running, child_test};
use hermes_types::Message;

use super::support::{Scratch, session};

const DATABASE: &str = "HERMES_STORE_TEST_PEER_DATABASE";
const MESSAGES: usize = 150;

/// The part of the stranger: plain SQLite, nothing of ours.
#[test]
fn stranger() {
    let Ok(database) = std::env::var(DATABASE) else {
        return;
    };
    for number in 0..MESSAGES {
        let connection = Connection::open(PathBuf::from(&database)).unwrap();
        connection
            .busy_timeout(std::time::Duration::from_secs(20))
            .unwrap();
        connection
            .execute_batch("PRAGMA journal_mode=WAL; PRAGMA foreign_keys=ON")
            .unwrap();
        connection
            .execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('shared', 'user', ?1, 1.0)",
                params![format!("stranger {number}")],
            )
            .unwrap();
        println!("stored {}", connection.last_insert_rowid());
    }
}

#[test]
fn ours_and_a_program_that_reopens_the_file_lose_nothing() {
    let scratch = Scratch::new();
    let db = scratch.open();
    let id = session(&db, "shared");
    let path = scratch.path();
    let strangers: Vec<Running> = (0..2)
        .map(|_| {
            Running::start(child_test(
                "suite::peers::stranger",
                &[(DATABASE, path.to_str().unwrap())],
            ))
        })
        .collect();
    let mut acknowledged: HashSet<i64> = HashSet::new();
    for number in 0..MESSAGES {
        acknowledged.insert(
            db.append(&id, Message::user(format!("ours {number}")))
                .unwrap(),
        );
        // Our own connections come and go too; the guard keeps the log alive.
        drop(scratch.open());
    }
    for child in strangers {
        let finished = child.wait();
        assert!(finished.status.success(), "{}", finished.stderr);
        acknowledged.extend(
            finished
                .stdout
                .lines()
                .filter_map(|line| line.split("stored ").nth(1)?.parse::<i64>().ok()),
        );
    }
    assert_eq!(acknowledged.len(), 3 * MESSAGES);
    let found: HashSet<i64> = db
        .messages(&id)
        .unwrap()
        .into_iter()
        .map(|message| message.id)
        .collect();
    assert_eq!(found, acknowledged);
    db.database().integrity_check().unwrap();
    db.check_search().unwrap();
}

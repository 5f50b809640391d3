//! Eight processes append to one file and half of them are killed: what was
//! acknowledged is there. The benchmark does the same in more rounds.

use std::collections::HashSet;
use std::path::PathBuf;

use hermes_home::Clock;
use hermes_store::{NewSession, StateDb};
use hermes_testkit::process::{Running, child_test};
use hermes_types::{Message, SessionId};

use super::support::Scratch;

const DATABASE: &str = "HERMES_STORE_TEST_DATABASE";
const SESSION: &str = "HERMES_STORE_TEST_SESSION";
const WRITERS: usize = 8;
const MESSAGES_EACH: usize = 200;
const ROUNDS: usize = 3;

/// The part that a child process plays; nothing in a plain test run.
#[test]
fn writer() {
    let (Ok(database), Ok(session)) = (std::env::var(DATABASE), std::env::var(SESSION)) else {
        return;
    };
    let db = StateDb::open(&PathBuf::from(database), Clock::System).unwrap();
    let session = SessionId::new(session);
    db.create_session(&NewSession::new(&session, "test"))
        .unwrap();
    for number in 0..MESSAGES_EACH {
        let id = db
            .append(&session, Message::user(format!("message {number}")))
            .unwrap();
        println!("stored {id}");
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_half_of_the_writers_are_killed() {
    for round in 0..ROUNDS {
        let scratch = Scratch::new();
        let path = scratch.path();
        let children: Vec<Running> = (0..WRITERS)
            .map(|writer| {
                Running::start(child_test(
                    "suite::kill::writer",
                    &[
                        (DATABASE, path.to_str().unwrap()),
                        (SESSION, &format!("writer_{writer}")),
                    ],
                ))
            })
            .collect();
        let mut acknowledged = HashSet::new();
        let mut survivors = Vec::new();
        for (writer, child) in children.into_iter().enumerate() {
            if writer % 2 == 0 {
                let after = (round * 37 + writer * 23) % 100 + 1;
                child.nth_line_with("stored", after);
                acknowledged.extend(stored(&child.kill9().stdout));
            } else {
                survivors.push(child);
            }
        }
        for child in survivors {
            let finished = child.wait();
            assert!(finished.status.success(), "{}", finished.stderr);
            let ids = stored(&finished.stdout);
            assert_eq!(ids.len(), MESSAGES_EACH);
            acknowledged.extend(ids);
        }

        let db = scratch.open();
        db.database().integrity_check().unwrap();
        db.check_search().unwrap();
        let mut found = HashSet::new();
        for id in db.export_ids(None).unwrap() {
            let messages = db.messages(&id).unwrap();
            let row = db.session(&id).unwrap().unwrap();
            assert_eq!(usize::try_from(row.message_count).unwrap(), messages.len());
            found.extend(messages.into_iter().map(|message| message.id));
        }
        let lost: Vec<_> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "round {round} lost {lost:?}");
        assert!(acknowledged.len() > WRITERS / 2 * MESSAGES_EACH);
    }
}

/// A killed child may leave half a line at the end.
fn stored(stdout: &str) -> Vec<i64> {
    stdout
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        // The test harness may put its own words in front.
        .filter_map(|line| line.split("stored ").nth(1)?.parse().ok())
        .collect()
}

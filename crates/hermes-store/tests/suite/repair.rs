//! Damage in the middle of a file, and what is saved around it.

use std::fs;
use std::time::Duration;

use hermes_home::Clock;
use hermes_store::{SearchRequest, StateDb, StoreError, salvage_closed};
use hermes_types::{Message, SessionId};

use super::support::{Scratch, session};

/// Overwrites the second half but the last quarter of a healthy file.
fn damage(scratch: &Scratch) -> Vec<u8> {
    let mut bytes = fs::read(scratch.path()).unwrap();
    let (from, to) = (bytes.len() / 2, bytes.len() * 3 / 4);
    bytes[from..to].fill(0xA5);
    fs::write(scratch.path(), &bytes).unwrap();
    bytes
}

fn files(scratch: &Scratch) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(scratch.directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    names.sort();
    names
}

#[test]
fn rows_around_the_damage_are_saved_and_the_original_stays() {
    let scratch = Scratch::with_fixture();
    let bytes = damage(&scratch);
    let patience = Duration::from_secs(1);
    let saved = match StateDb::open_existing(&scratch.path(), Clock::System, patience) {
        Ok(db) => {
            let db = db.unwrap();
            assert!(db.database().integrity_check().is_err());
            db.salvage().unwrap()
        }
        Err(error) => {
            assert!(error.is_damage(), "{error}");
            salvage_closed(&scratch.path()).unwrap()
        }
    };
    assert_eq!(fs::read(scratch.path()).unwrap(), bytes);
    assert!(saved.report.sessions + saved.report.nameless_sessions > 0);
    let db = StateDb::open_read_only(&saved.file, Clock::System)
        .unwrap()
        .unwrap();
    db.database().integrity_check().unwrap();
    assert_eq!(
        usize::try_from(db.stats().unwrap().messages).unwrap(),
        saved.report.messages
    );
}

#[test]
fn the_same_bytes_are_not_repaired_twice() {
    let scratch = Scratch::with_fixture();
    let whole = fs::read(scratch.path()).unwrap();
    fs::write(scratch.path(), &whole[..whole.len() * 3 / 4]).unwrap();
    let first = salvage_closed(&scratch.path()).unwrap();
    assert_eq!(first.report.sessions, 20);
    assert!(first.report.messages > 50, "{:?}", first.report);
    let left = files(&scratch);
    assert_eq!(left.len(), 2, "{left:?}");
    let error = salvage_closed(&scratch.path()).unwrap_err();
    assert!(
        matches!(&error, StoreError::AlreadyRepaired { file } if *file == first.file),
        "{error}"
    );
    assert_eq!(files(&scratch), left);
}

#[test]
fn a_file_that_this_process_has_open_is_not_copied_behind_its_back() {
    let scratch = Scratch::with_fixture();
    let db = scratch.open();
    let error = salvage_closed(&scratch.path()).unwrap_err();
    assert!(error.to_string().contains("open already"), "{error}");
    drop(db);
}

/// What another version of SQLite leaves when it takes less out of a text than we do.
#[test]
fn indexes_that_another_version_filled_do_not_stop_deletes_and_searches() {
    let scratch = Scratch::new();
    let db = scratch.open();
    for name in ["a", "b"] {
        let id = session(&db, name);
        db.append(&id, Message::user("several words about the harbour"))
            .unwrap();
    }
    let raw = db.database().connection();
    raw.execute_batch(
        "UPDATE messages_fts_data SET block = X'0200' WHERE id = 1; \
         UPDATE messages_fts_trigram_data SET block = X'0200' WHERE id = 1;",
    )
    .unwrap();
    drop(db);
    let db = scratch.open();
    assert_eq!(db.delete_session(&SessionId::new("a")).unwrap().messages, 1);
    db.check_search().unwrap();

    db.database()
        .connection()
        .execute_batch("DELETE FROM messages_fts_docsize")
        .unwrap();
    assert_eq!(db.search(&SearchRequest::new("harbour")).unwrap().len(), 1);
    db.check_search().unwrap();
}

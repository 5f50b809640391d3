//! Opening under all kinds of weather.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use hermes_home::Clock;
use hermes_store::{StateDb, StoreError};

use super::support::{Scratch, session};

#[test]
fn a_new_file_is_private_and_keeps_its_log() {
    let scratch = Scratch::new();
    let db = scratch.open();
    session(&db, "s");
    let mode = fs::metadata(scratch.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let log = scratch.directory().join("state.db-wal");
    assert!(log.exists());
    drop(db);
    assert!(log.exists(), "closing removed the log");
}

#[test]
fn a_zero_byte_file_is_a_new_database() {
    let scratch = Scratch::new();
    fs::write(scratch.path(), b"").unwrap();
    assert!(
        StateDb::open_existing(&scratch.path(), Clock::System, Duration::from_secs(1))
            .unwrap()
            .is_none()
    );
    session(&scratch.open(), "s");
}

#[test]
fn reading_verbs_make_no_file() {
    let scratch = Scratch::new();
    let patience = Duration::from_secs(1);
    assert!(
        StateDb::open_existing(&scratch.path(), Clock::System, patience)
            .unwrap()
            .is_none()
    );
    assert!(
        StateDb::open_read_only(&scratch.path(), Clock::System)
            .unwrap()
            .is_none()
    );
    assert_eq!(fs::read_dir(scratch.directory()).unwrap().count(), 0);
}

#[test]
fn what_is_not_a_database_is_refused_and_left_alone() {
    for bytes in [
        b"just some text, certainly longer than a header would be".as_slice(),
        b"SQLite format 3\0",
        b"x",
    ] {
        let scratch = Scratch::new();
        fs::write(scratch.path(), bytes).unwrap();
        let error = StateDb::open(&scratch.path(), Clock::System).unwrap_err();
        assert!(error.is_damage(), "{error}");
        assert!(error.hint().is_some());
        assert_eq!(fs::read(scratch.path()).unwrap(), bytes);
    }
}

#[test]
fn a_truncated_file_is_refused_and_left_alone() {
    let scratch = Scratch::with_fixture();
    let whole = fs::read(scratch.path()).unwrap();
    let half = &whole[..whole.len() / 2];
    fs::write(scratch.path(), half).unwrap();
    let error = StateDb::open(&scratch.path(), Clock::System).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert_eq!(fs::read(scratch.path()).unwrap(), half);
}

#[test]
fn a_directory_is_not_a_database() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path()).unwrap();
    let error = StateDb::open(&scratch.path(), Clock::System).unwrap_err();
    assert!(error.to_string().contains("is a directory"), "{error}");
}

#[test]
fn a_locked_file_is_waited_for_and_then_named() {
    let scratch = Scratch::new();
    let holder = scratch.open();
    let waiting = StateDb::open_existing(&scratch.path(), Clock::System, Duration::from_millis(50))
        .unwrap()
        .unwrap();
    holder
        .database()
        .write(|_| {
            let error = waiting.set_meta("k", "v").unwrap_err();
            assert!(matches!(error, StoreError::Busy { .. }), "{error}");
            assert!(error.to_string().contains("state.db"));
            Ok::<(), StoreError>(())
        })
        .unwrap();
    waiting.set_meta("k", "v").unwrap();
}

#[test]
fn a_read_only_open_reads_and_never_writes() {
    let scratch = Scratch::new();
    session(&scratch.open(), "s");
    let db = StateDb::open_read_only(&scratch.path(), Clock::System)
        .unwrap()
        .unwrap();
    assert_eq!(db.stats().unwrap().sessions, 1);
    assert!(matches!(
        db.set_meta("k", "v").unwrap_err(),
        StoreError::ReadOnly { .. }
    ));
}

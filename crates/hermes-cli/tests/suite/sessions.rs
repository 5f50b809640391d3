//! `hermes sessions …` through the binary, over a copy of a home that Python
//! Hermes 0.16.0 left.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hermes_home::Clock;
use hermes_store::{NewSession, StateDb, StoreError};
use hermes_types::{Message, SessionId};
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::support::{Scratch, ran};

fn scratch() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home()).unwrap();
    fs::copy(fixture(), scratch.home().join("state.db")).unwrap();
    scratch
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hermes-store/tests/fixtures/state-0.16.0.db")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_home_without_sessions_has_none_and_gets_no_file() {
    let scratch = Scratch::new();
    assert_eq!(scratch.ok(["sessions", "list"]), "No sessions found.\n");
    assert_eq!(scratch.ok(["sessions", "list", "--json"]), "[]\n");
    assert_eq!(
        scratch.ok(["sessions", "search", "x"]),
        "No messages found.\n"
    );
    assert_eq!(scratch.ok(["sessions", "export", "-"]), "");
    assert!(
        scratch
            .ok(["sessions", "stats"])
            .contains("Total sessions: 0")
    );
    assert!(!scratch.home().join("state.db").exists());
}

#[test]
fn the_group_alone_prints_help() {
    assert!(
        Scratch::new()
            .ok(["sessions"])
            .contains("Usage: hermes sessions")
    );
}

#[test]
fn list_shows_one_row_per_chain() {
    let scratch = scratch();
    let text = scratch.ok(["sessions", "list"]);
    assert!(text.contains("Count all the lines #2"), "{text}");
    assert!(!text.contains("20260526_090001_8252c0"), "{text}");
    let listed = json(&scratch.ok(["sessions", "list", "--json", "--limit", "100"]));
    assert_eq!(listed.as_array().unwrap().len(), 17);
    assert_eq!(listed[8]["_lineage_root_id"], "20260526_090001_8252c0");
    let archived = json(&scratch.ok(["sessions", "list", "--json", "--archived"]));
    assert_eq!(archived.as_array().unwrap().len(), 18);
}

#[test]
fn export_writes_lines_that_parse() {
    let scratch = scratch();
    let all = scratch.ok(["sessions", "export", "-"]);
    assert_eq!(all.lines().count(), 20);
    let one = scratch.ok(["sessions", "export", "-", "--session-id", "20260520_090003"]);
    assert_eq!(json(&one)["messages"].as_array().unwrap().len(), 2);
    let by_title = scratch.ok(["sessions", "export", "-", "--session-id", "Project listing"]);
    assert_eq!(json(&by_title)["id"], "20260520_101502_2c6524");

    let file = scratch.user_home().join("out.jsonl");
    let said = scratch.ok(["sessions", "export", "out.jsonl", "--source", "cron"]);
    assert_eq!(said, "Exported 2 sessions to out.jsonl\n");
    assert_eq!(fs::read_to_string(file).unwrap().lines().count(), 2);
    assert_eq!(
        scratch.ok(["sessions", "export", "/dev/null"]),
        "Exported 20 sessions to /dev/null\n"
    );
}

#[test]
fn an_export_that_fails_leaves_no_file() {
    let scratch = scratch();
    let ran = scratch.run(["sessions", "export", "missing/out.jsonl"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("missing/out.jsonl"), "{}", ran.stderr);
    let ran = scratch.run(["sessions", "export", "out.jsonl", "--session-id", "nope"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("\"nope\" not found"), "{}", ran.stderr);
    assert!(!scratch.user_home().join("out.jsonl").exists());
}

#[test]
fn show_prints_a_conversation() {
    let scratch = scratch();
    let text = scratch.ok(["sessions", "show", "Project listing"]);
    for part in [
        "Project listing",
        "List the files of the project.",
        "→ terminal",
        "three entries",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    assert_eq!(
        json(&scratch.ok(["sessions", "show", "20260520_1", "--json"]))["source"],
        "cli"
    );
}

#[test]
fn search_finds_orders_and_filters() {
    let scratch = scratch();
    let text = scratch.ok(["sessions", "search", "polite", "greet"]);
    assert!(text.contains("20260521_140001_d07837"), "{text}");
    assert!(text.contains(">>>"), "{text}");
    let newest = json(&scratch.ok(["sessions", "search", "files", "--newest", "--json"]));
    let ids: Vec<i64> = newest
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["id"].as_i64().unwrap())
        .collect();
    assert!(ids.len() > 1 && ids.is_sorted_by(|a, b| a > b), "{ids:?}");
    let users = json(&scratch.ok(["sessions", "search", "files", "--role", "user", "--json"]));
    assert!(
        users
            .as_array()
            .unwrap()
            .iter()
            .all(|hit| hit["role"] == "user")
    );
    let cut = json(&scratch.ok(["sessions", "search", "files", "--limit", "1", "--json"]));
    assert_eq!(cut.as_array().unwrap().len(), 1);
    assert_eq!(
        scratch
            .run(["sessions", "search", "x", "--role", "nobody"])
            .code,
        2
    );
    for odd in [
        "\"", "a AND", "NEAR(", "*", "content:", "-x", "^", "(((", "日", "' OR 1=1",
    ] {
        assert_eq!(
            scratch.run(["sessions", "search", "--", odd]).code,
            0,
            "{odd:?}"
        );
    }
}

#[test]
fn rename_sets_takes_away_and_refuses() {
    let scratch = scratch();
    let id = "20260520_090003_d65561";
    assert_eq!(
        scratch.ok(["sessions", "rename", "20260520_090003", "First", "chat"]),
        format!("Session '{id}' renamed to: First chat\n")
    );
    let taken = scratch.run(["sessions", "rename", id, "Project", "listing"]);
    assert_eq!(taken.code, 1);
    assert!(
        taken
            .stderr
            .contains("already in use by session 20260520_101502_2c6524"),
        "{}",
        taken.stderr
    );
    assert_eq!(scratch.run(["sessions", "rename", "nosuch", "x"]).code, 1);
    assert_eq!(
        scratch
            .run(["sessions", "rename", id, &"x".repeat(101)])
            .code,
        1
    );
    scratch.ok(["sessions", "rename", id, "   "]);
    assert!(!scratch.ok(["sessions", "list"]).contains("First chat"));
}

#[test]
fn delete_asks_and_takes_the_files_along() {
    let scratch = scratch();
    let id = "20260520_090003_d65561";
    let files = scratch.home().join("sessions");
    fs::create_dir(&files).unwrap();
    for name in [
        format!("{id}.json"),
        format!("request_dump_{id}_1.json"),
        "other.json".into(),
    ] {
        fs::write(files.join(name), "{}").unwrap();
    }
    let unasked = scratch.run(["sessions", "delete", id]);
    assert_eq!(unasked.code, 1);
    assert!(unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    assert_eq!(
        scratch.ok(["sessions", "delete", "20260520_09", "--yes"]),
        format!("Deleted session '{id}'.\n")
    );
    let left: Vec<_> = fs::read_dir(files)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["other.json"]);
    let again = scratch.run(["sessions", "delete", id, "-y"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("not found"), "{}", again.stderr);
    let ambiguous = scratch.run(["sessions", "delete", "202605", "-y"]);
    assert_eq!(ambiguous.code, 1);
    assert!(
        ambiguous.stderr.contains("give more of the id"),
        "{}",
        ambiguous.stderr
    );
}

#[test]
fn prune_takes_ended_sessions_only() {
    let scratch = scratch();
    assert_eq!(
        scratch.run(["sessions", "prune", "--older-than", "1"]).code,
        1
    );
    assert_eq!(
        scratch.ok([
            "sessions",
            "prune",
            "--older-than",
            "1",
            "--source",
            "cron",
            "-y"
        ]),
        "Pruned 2 session(s).\n"
    );
    assert_eq!(
        scratch.ok(["sessions", "prune", "--older-than", "1", "-y"]),
        "Pruned 2 session(s).\n"
    );
    assert_eq!(
        scratch.ok(["sessions", "prune", "--older-than", "1"]),
        "Pruned 0 session(s).\n"
    );
}

#[test]
fn optimize_and_stats_report_sizes() {
    let scratch = scratch();
    assert!(
        scratch
            .ok(["sessions", "optimize"])
            .contains("Database size: 0.3 MB")
    );
    let stats = json(&scratch.ok(["sessions", "stats", "--json"]));
    assert_eq!(
        (&stats["sessions"], &stats["messages"]),
        (&19.into(), &122.into())
    );
}

#[test]
fn browse_without_a_terminal_says_so() {
    let ran = scratch().run(["sessions", "browse"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.stderr.lines().count(), 2, "{}", ran.stderr);
}

#[test]
fn browse_filters_and_leaves() {
    let scratch = scratch();
    let plain = scratch.command(["sessions", "browse"]);
    let line = format!("{} sessions browse", plain.get_program().display());
    // `script` gives the child a terminal of its own.
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_clear();
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let mut child = command
        .current_dir(scratch.user_home())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` of util-linux starts");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"polite\nno such thing\n\n\n").unwrap();
    let ran = ran(child.wait_with_output().unwrap());
    drop(stdin);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let after_filter = ran.stdout.split("to leave: ").nth(1).unwrap_or_default();
    assert!(
        after_filter.contains("1  Polite greeting in app"),
        "{ran:#?}"
    );
    assert!(!after_filter.contains("Project listing"), "{ran:#?}");
    assert!(ran.stdout.contains("No session matches."), "{ran:#?}");
}

#[test]
fn broken_databases_get_a_sentence_and_stay_as_they_are() {
    let scratch = scratch();
    let file = scratch.home().join("state.db");
    let whole = fs::read(&file).unwrap();
    for (bytes, said) in [
        (&whole[..whole.len() / 2], "is damaged"),
        (&whole[..50], "is damaged"),
        (
            b"not a database at all, whatever its name says".as_slice(),
            "is not a database",
        ),
    ] {
        fs::write(&file, bytes).unwrap();
        for verb in [
            vec!["list"],
            vec!["stats"],
            vec!["search", "x"],
            vec!["export", "-"],
        ] {
            let ran = scratch.run([&["sessions"], verb.as_slice()].concat());
            assert_eq!(ran.code, 1, "{ran:#?}");
            assert!(ran.stderr.contains(said), "{}", ran.stderr);
            assert!(ran.stderr.contains("hint:"), "{}", ran.stderr);
        }
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
    fs::write(&file, b"").unwrap();
    assert_eq!(scratch.ok(["sessions", "list"]), "No sessions found.\n");
}

#[test]
fn secrets_are_masked_on_screens_and_in_exports() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home()).unwrap();
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    let db = StateDb::open(&scratch.home().join("state.db"), Clock::System).unwrap();
    let id = SessionId::new("s1");
    db.create_session(&NewSession::new(&id, "cli")).unwrap();
    db.append(&id, Message::user(format!("key {secret}")))
        .unwrap();
    drop(db);
    for words in [
        vec!["list"],
        vec!["list", "--json"],
        vec!["search", "key"],
        vec!["search", "key", "--json"],
        vec!["show", "s1"],
        vec!["show", "s1", "--json"],
        vec!["export", "-"],
    ] {
        let text = scratch.ok([&["sessions"], words.as_slice()].concat());
        assert!(text.contains("key"), "{words:?}: {text}");
        assert!(!text.contains(secret), "{words:?}: {text}");
    }
    assert!(
        scratch
            .ok(["sessions", "export", "-", "--no-redact"])
            .contains(secret)
    );
    assert!(
        scratch
            .ok(["sessions", "show", "s1", "--no-redact"])
            .contains(secret)
    );
}

/// Root writes where nobody may, so the binary runs as somebody else then.
#[test]
fn a_home_that_cannot_be_written_is_still_read() {
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;

    let scratch = scratch();
    let home = scratch.home();
    let program = scratch.user_home().join("hermes");
    fs::copy(env!("CARGO_BIN_EXE_hermes"), &program).unwrap();
    let modes = |file: u32, directory: u32| {
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&home.join("state.db"), file);
        set(&home, directory);
        set(scratch.user_home(), 0o755);
    };
    modes(0o444, 0o555);
    let run = |words: &[&str]| {
        let mut command = Command::new(&program);
        command
            .args(words)
            .env_clear()
            .env("HOME", scratch.user_home())
            .env("TZ", "UTC")
            .current_dir("/");
        if nix::unistd::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        ran(command.output().expect("the binary starts"))
    };
    let listed = run(&["sessions", "list"]);
    assert_eq!(listed.code, 0, "{listed:#?}");
    assert!(listed.stdout.contains("Project listing"), "{listed:#?}");
    assert_eq!(run(&["sessions", "search", "polite"]).code, 0);
    let renamed = run(&["sessions", "rename", "20260520_090003", "x"]);
    assert_eq!(renamed.code, 1, "{renamed:#?}");
    assert!(renamed.stderr.contains("read-only"), "{}", renamed.stderr);

    // What may not even be read is named.
    modes(0o000, 0o755);
    if nix::unistd::geteuid().is_root() {
        chown(home.join("state.db"), Some(0), Some(0)).unwrap();
    }
    let unreadable = run(&["sessions", "list"]);
    assert_eq!(unreadable.code, 1, "{unreadable:#?}");
    assert!(
        unreadable.stderr.contains("state.db"),
        "{}",
        unreadable.stderr
    );
    assert!(unreadable.stderr.contains("hint:"), "{}", unreadable.stderr);
}

#[test]
fn a_locked_database_is_named_after_a_while() {
    let scratch = scratch();
    let file = scratch.home().join("state.db");
    let holder = StateDb::open(&file, Clock::System).unwrap();
    holder
        .database()
        .write(|_| {
            // Readers do not wait for a writer; writers do, and then say so.
            assert!(scratch.ok(["sessions", "list"]).contains("Project listing"));
            let ran = scratch.run(["sessions", "rename", "20260520_090003", "x"]);
            assert_eq!(ran.code, 1);
            assert!(
                ran.stderr.contains("locked by another process"),
                "{}",
                ran.stderr
            );
            Ok::<(), StoreError>(())
        })
        .unwrap();
}

#[test]
fn repair_saves_what_can_be_read_beside_the_damaged_file() {
    let scratch = scratch();
    // The SQLite that made it cut one text into other words than ours does.
    let said = scratch.ok(["sessions", "repair"]);
    assert!(said.contains("search indexes were built anew"), "{said}");
    let said = scratch.ok(["sessions", "repair"]);
    assert!(said.contains("Nothing is wrong"), "{said}");
    let file = scratch.home().join("state.db");
    let whole = fs::read(fixture()).unwrap();
    let damaged = &whole[..whole.len() * 3 / 4];
    for log in ["state.db-wal", "state.db-shm"] {
        fs::remove_file(scratch.home().join(log)).unwrap();
    }
    fs::write(&file, damaged).unwrap();
    let hint = scratch.run(["sessions", "list"]).stderr;
    assert!(hint.contains("hermes sessions repair"), "{hint}");
    let said = scratch.ok(["sessions", "repair"]);
    assert!(said.contains("Saved 20 sessions"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), damaged);
    let again = scratch.run(["sessions", "repair"]);
    assert_eq!(again.code, 1);
    assert!(
        again.stderr.contains("were repaired before"),
        "{}",
        again.stderr
    );
    // The printed commands put it into place.
    let commands: String = said
        .lines()
        .filter(|line| line.starts_with("  "))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        Command::new("sh")
            .args(["-c", &commands])
            .status()
            .unwrap()
            .success()
    );
    assert!(scratch.ok(["sessions", "list"]).contains("Project listing"));
    let left = fs::read_dir(scratch.home()).unwrap().count();
    assert_eq!(
        left, 4,
        "the database, its log and index, and the broken one"
    );
}

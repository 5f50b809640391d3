//! Boards made by Python Hermes 0.16.0 are read as it reads them itself.

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::support::{TestHome, in_local_time};

/// The command of a golden and what it printed.
fn golden(name: &str, home: &TestHome) -> (String, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/golden")
        .join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut lines = text.splitn(3, '\n');
    let command = lines
        .next()
        .unwrap()
        .split("hermes kanban ")
        .nth(1)
        .unwrap()
        .to_owned();
    lines.next();
    let body = lines.next().unwrap_or_default();
    let root = home.root().to_str().unwrap();
    (
        command,
        in_local_time(&body.replace("/home/user/.hermes", root)),
    )
}

/// Paths inside the recorded rows stay what they were.
fn check(home: &TestHome, name: &str) {
    let (command, expected) = golden(name, home);
    let outcome = home.kanban(&command);
    let root = home.root().to_str().unwrap();
    let printed = outcome.out.replace("/home/user/.hermes", root);
    assert_eq!(printed, expected, "{name}: `kanban {command}`");
}

#[test]
fn lists_are_the_same_in_every_order_and_filter() {
    let home = TestHome::recorded();
    for name in [
        "kanban-list.txt",
        "kanban-list.json",
        "kanban-list-archived.txt",
        "kanban-list-archived.json",
        "kanban-list-assignee.json",
        "kanban-list-tenant.txt",
        "kanban-list-sort-assignee.txt",
        "kanban-list-sort-created.txt",
        "kanban-list-sort-created-desc.txt",
        "kanban-list-sort-priority.txt",
        "kanban-list-sort-status.txt",
        "kanban-list-sort-title.txt",
        "kanban-list-sort-updated.txt",
        "kanban-list-status-archived.txt",
        "kanban-list-status-blocked.txt",
        "kanban-list-status-done.txt",
        "kanban-list-status-ready.txt",
        "kanban-list-status-review.txt",
        "kanban-list-status-running.txt",
        "kanban-list-status-scheduled.txt",
        "kanban-list-status-todo.txt",
        "kanban-list-status-triage.txt",
        "kanban-site-list.txt",
        "kanban-site-list.json",
    ] {
        check(&home, name);
    }
}

#[test]
fn mine_means_the_profile_of_the_environment() {
    let mut home = TestHome::recorded();
    home.context.environment.set("HERMES_PROFILE", "builder");
    check(&home, "kanban-list-mine.txt");
}

#[test]
fn the_environment_chooses_the_board() {
    let mut home = TestHome::recorded();
    home.context
        .environment
        .set("HERMES_KANBAN_BOARD", "site-redesign");
    check(&home, "kanban-site-list-env.txt");
}

#[test]
fn single_tasks_are_the_same_as_json() {
    let home = TestHome::recorded();
    for which in [
        "arch", "block", "crash", "dir", "done", "filter", "review", "run", "sched", "triage",
        "two", "work",
    ] {
        check(&home, &format!("kanban-show-{which}.json"));
    }
}

/// The text differs on purpose in two places: payloads are JSON, and findings use
/// the configured limits.
#[test]
fn single_tasks_are_the_same_as_text_but_for_payloads_and_findings() {
    let home = TestHome::recorded();
    let facts = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| {
                !line.starts_with("    ") && !line.starts_with("       ")
                    || line.starts_with("        ")
            })
            .map(|line| match line.find(" {") {
                Some(at) if line.starts_with("  [") => line[..at].to_owned(),
                _ => line.to_owned(),
            })
            .collect()
    };
    for which in [
        "arch", "block", "crash", "dir", "done", "review", "run", "sched", "triage", "two", "work",
    ] {
        let name = format!("kanban-show-{which}.txt");
        let (command, expected) = golden(&name, &home);
        let root = home.root().to_str().unwrap();
        let printed = home.ok(&command).replace("/home/user/.hermes", root);
        assert_eq!(facts(&printed), facts(&expected), "{name}");
    }
}

#[test]
fn runs_contexts_counts_boards_and_subscriptions_are_the_same() {
    let home = TestHome::recorded();
    for name in [
        "kanban-assignees.json",
        "kanban-assignees.txt",
        "kanban-boards-list-all.txt",
        "kanban-boards-list.json",
        "kanban-boards-list.txt",
        "kanban-boards-show.txt",
        "kanban-context-child.txt",
        "kanban-context-crash.txt",
        "kanban-context-done.txt",
        "kanban-notify-list.json",
        "kanban-notify-list.txt",
        "kanban-runs-crash.json",
        "kanban-runs-crash.txt",
        "kanban-runs-done.json",
        "kanban-runs-done.txt",
        "kanban-runs-triage.json",
        "kanban-runs-triage.txt",
        "kanban-runs-work.json",
        "kanban-runs-work.txt",
        "kanban-site-stats.json",
        "kanban-stats.json",
        "kanban-promote-dry-run.json",
        "kanban-promote-force-dry-run.json",
    ] {
        check(&home, name);
    }
    // The reference leaves `review` out of the text; nothing else may differ.
    let (command, expected) = golden("kanban-stats.txt", &home);
    let printed = home.ok(&command).replace("  review    1\n", "");
    assert_eq!(printed, expected);
}

#[test]
fn failures_say_the_same_but_do_not_exit_with_0() {
    let home = TestHome::recorded();
    for name in [
        "kanban-board-unknown.txt",
        "kanban-show-unknown.txt",
        "kanban-log-missing.txt",
    ] {
        let (command, _) = golden(name, &home);
        let stderr = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/golden")
            .join(format!("{name}.stderr"));
        let outcome = home.kanban(&command);
        assert_eq!(outcome.err, fs::read_to_string(stderr).unwrap(), "{name}");
        assert_eq!((outcome.out.as_str(), outcome.exit), ("", 1), "{name}");
    }
}

#[test]
fn diagnostics_agree_in_every_fact() {
    let home = TestHome::recorded();
    let (command, expected) = golden("kanban-diagnostics.json", &home);
    let mut printed = home.json(&command);
    let expected: Value = serde_json::from_str(&expected).unwrap();
    for row in printed.as_array_mut().unwrap() {
        for finding in row["diagnostics"].as_array_mut().unwrap() {
            let finding = finding.as_object_mut().unwrap();
            assert!(
                finding
                    .shift_remove("detail")
                    .is_some_and(|v| v.is_string())
            );
            let actions = finding.shift_remove("actions").unwrap();
            assert!(!actions.as_array().unwrap().is_empty());
        }
    }
    assert_eq!(printed, expected);
}

#[test]
fn reading_changes_no_row() {
    let home = TestHome::recorded();
    let before = home.board().latest_event_id().unwrap();
    for command in [
        "list",
        "stats",
        "diagnostics",
        "show t_82149e09",
        "boards list",
    ] {
        home.ok(command);
    }
    assert_eq!(home.board().latest_event_id().unwrap(), before);
}

//! Options that the other suites do not meet: each of these fails if nothing reads it.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::TestHome;

fn titles(listed: &Value) -> Vec<&str> {
    let tasks = listed.as_array().unwrap().iter();
    tasks.map(|task| task["title"].as_str().unwrap()).collect()
}

#[test]
fn lists_are_narrowed_by_session_template_and_step() {
    let home = TestHome::new();
    for title in ["a", "b", "c", "d"] {
        home.create(title);
    }
    home.sql(
        "UPDATE tasks SET session_id = 's1' WHERE title = 'a';
         UPDATE tasks SET workflow_template_id = 'w1' WHERE title = 'b';
         UPDATE tasks SET current_step_key = 'k1' WHERE title = 'c'",
    );
    assert_eq!(titles(&home.json("list --json --session s1")), ["a"]);
    assert_eq!(
        titles(&home.json("list --json --workflow-template-id w1")),
        ["b"]
    );
    assert_eq!(titles(&home.json("list --json --step-key k1")), ["c"]);
    assert_eq!(home.ok("list --session nobody"), "(no matching tasks)\n");
}

#[test]
fn several_tasks_are_named_with_ids() {
    let home = TestHome::new();
    let [first, second] = [home.create("one"), home.create("two")];
    assert_eq!(
        home.ok(&format!("block {first} why not --ids {second}")),
        format!("Blocked {first}: why not\nBlocked {second}: why not\n")
    );
    home.ok(&format!("unblock {first} {second}"));
    home.ok(&format!("schedule {first} --ids {second}"));
    assert_eq!(home.status(&second), "scheduled");
    home.ok(&format!("unblock {first} {second}"));
    let parent = home.create("parent");
    for child in [&first, &second] {
        home.ok(&format!("link {parent} {child}"));
    }
    let promoted = home.json(&format!("promote {first} --ids {second} --force --json"));
    assert_eq!(promoted[1]["task_id"], json!(second));
    assert_eq!(home.status(&second), "ready");
}

#[test]
fn a_board_is_described_by_its_options() {
    let home = TestHome::new();
    home.ok(
        "boards create p --name 'The P' --description 'What it is' --icon x --color red \
         --default-workdir /srv/p --switch",
    );
    let boards = home.json("boards list --json");
    let board = &boards[1];
    let said = ["name", "description", "icon", "color", "default_workdir"].map(|key| &board[key]);
    assert_eq!(said, ["The P", "What it is", "x", "red", "/srv/p"]);
    assert_eq!(board["is_current"], true);
    // The directory is for tasks that name none.
    assert_eq!(
        home.json("create t --workspace dir --json")["workspace_path"],
        "/srv/p"
    );
    let made = home.json("create t --workspace worktree --branch side --created-by me --json");
    assert_eq!(
        (&made["branch_name"], &made["created_by"]),
        (&json!("side"), &json!("me"))
    );
    home.ok("boards rm p --delete");
    assert!(!home.root().join("kanban/boards/p").exists());
    assert!(!home.root().join("kanban/boards/_archived").exists());
}

#[test]
fn findings_are_filtered_by_severity_and_carry_the_commands_that_help() {
    let home = TestHome::new();
    let id = home.create("stranded --assignee alpha");
    home.advance(2_000);
    let board = home.board();
    let before = board.data_version().unwrap();
    let found = home.json("diagnostics --json");
    assert_eq!(found[0]["diagnostics"][0]["kind"], "stranded_in_ready");
    let actions = found[0]["diagnostics"][0]["actions"].as_array().unwrap();
    assert!(
        actions.iter().any(|action| action["payload"]["command"]
            .as_str()
            .is_some_and(|c| c.starts_with("hermes "))),
        "{actions:?}"
    );
    assert_eq!(home.json("diagnostics --json --severity error"), json!([]));
    home.advance(20_000);
    let critical = home.json("diagnostics --json --severity critical");
    assert_eq!(critical[0]["task_id"], json!(id));
    assert_eq!(board.data_version().unwrap(), before, "nobody has written");
}

#[test]
fn a_log_has_a_tail_and_collection_has_its_days() {
    let home = TestHome::new();
    let id = home.create("x");
    let logs = home.root().join("kanban/logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join(format!("{id}.log")), "first\nsecond\nthird\n").unwrap();
    assert_eq!(home.ok(&format!("log {id} --tail 8")), "third\n");
    home.ok(&format!("archive {id}"));
    // The files of this test are younger than its clock; a year ahead they are old.
    home.advance(400 * 86_400);
    assert_eq!(
        home.ok("gc --event-retention-days 500 --log-retention-days 500"),
        "GC complete: 0 workspace(s), 0 event row(s), 0 log file(s) removed\n"
    );
    assert_eq!(
        home.ok("gc --event-retention-days 500 --log-retention-days 1"),
        "GC complete: 0 workspace(s), 0 event row(s), 1 log file(s) removed\n"
    );
    assert_eq!(
        home.ok("gc --event-retention-days 1"),
        "GC complete: 0 workspace(s), 2 event row(s), 0 log file(s) removed\n"
    );
}

#[test]
fn names_of_people_are_kept() {
    let home = TestHome::new();
    let id = home.create("x");
    home.ok(&format!("comment {id} hello --author ann"));
    assert_eq!(
        home.json(&format!("show {id} --json"))["comments"][0]["author"],
        "ann"
    );
    home.ok(&format!(
        "notify-subscribe {id} --platform p --chat-id c --thread-id t --user-id u --notifier-profile n"
    ));
    let row = &home.json(&format!("notify-list {id} --json"))[0];
    let said = [
        "platform",
        "chat_id",
        "thread_id",
        "user_id",
        "notifier_profile",
    ];
    assert_eq!(said.map(|key| &row[key]), ["p", "c", "t", "u", "n"]);
    home.ok(&format!(
        "notify-unsubscribe {id} --platform p --chat-id c --thread-id t"
    ));
    assert_eq!(home.ok("notify-list"), "(no subscriptions)\n");
    home.add_profile("alpha");
    fs::write(home.root().join("profiles/alpha/config.yaml"), "").unwrap();
    home.create("y --assignee lane");
    let names = home.json("assignees --json");
    let of = |name: &str| {
        let rows = names.as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["on_disk"].clone()
    };
    assert_eq!((of("alpha"), of("lane")), (json!(true), json!(false)));
}

#[test]
fn a_new_board_brings_the_workers_skill_once() {
    let home = TestHome::new();
    assert!(home.ok("init").contains("kanban-worker was added"));
    let skill = home.root().join("skills/devops/kanban-worker/SKILL.md");
    assert!(
        fs::read_to_string(&skill)
            .unwrap()
            .contains("environments: [kanban]")
    );
    fs::write(&skill, "mine").unwrap();
    assert!(!home.ok("init").contains("was added"));
    assert_eq!(fs::read_to_string(&skill).unwrap(), "mine");
}

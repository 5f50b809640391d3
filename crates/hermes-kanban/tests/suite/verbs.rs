//! Every verb on a fresh board: what it prints, how it ends, what it leaves.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::{Outcome, TestHome};

fn failed(message: &str, exit: u8) -> Outcome {
    Outcome {
        out: String::new(),
        err: format!("{message}\n"),
        exit,
    }
}

#[test]
fn a_task_is_created_with_what_was_said_about_it() {
    let home = TestHome::new();
    home.ok("create Parent");
    let task = home.json(
        "create 'Json task' --body text --assignee Builder --priority 3 --tenant acme --skill notes \
         --max-runtime 10m --max-retries 4 --json",
    );
    assert_eq!(task["status"], "ready");
    assert_eq!(task["assignee"], "builder");
    assert_eq!(task["priority"], 3);
    assert_eq!(task["skills"], json!(["notes"]));
    assert_eq!(task["created_by"], "user");
    let line = home.ok("create Plain");
    assert!(
        line.starts_with("Created t_") && line.ends_with("  (ready, assignee=-)\n"),
        "{line}"
    );
}

#[test]
fn bad_words_are_usage_errors_and_bad_tasks_are_failures() {
    let home = TestHome::new();
    assert_eq!(
        home.run(["create", ""]),
        failed("kanban: title is required", 1)
    );
    assert_eq!(
        home.kanban("create x --parent t_00000000"),
        failed("kanban: unknown parent task(s): t_00000000", 1)
    );
    assert_eq!(home.kanban("create x --max-runtime soon").exit, 2);
    assert_eq!(home.kanban("create x --workspace cloud").exit, 2);
    assert_eq!(home.kanban("create x --max-retries 0").exit, 2);
    assert_eq!(
        home.run(["create", "x", "--assignee", " "]),
        failed("kanban: profile name cannot be empty", 1)
    );
    assert_eq!(home.kanban("create x --skill web").exit, 1);
    assert_eq!(home.kanban("list --status bogus").exit, 2);
    assert_eq!(home.kanban("--board 'Bad Slug!' list").exit, 2);
    assert_eq!(home.kanban("--board nope list").exit, 1);
    assert_eq!(home.json("list --json"), json!([]), "nothing was written");
}

#[test]
fn a_file_of_json_lines_becomes_tasks_or_nothing() {
    let home = TestHome::new();
    let parent = home.create("Parent");
    let file = home.root().join("cards.jsonl");
    let path = file.to_str().unwrap();
    let good = format!(
        "{{\"title\": \"one\", \"priority\": 2}}\n\n\
         {{\"title\": \"two\", \"parents\": [\"{parent}\"], \"key\": \"k\", \"tenant\": \"acme\"}}\n\
         {{\"title\": \"three\", \"status\": \"triage\"}}\n\
         {{\"title\": \"again\", \"key\": \"k\"}}\n"
    );
    std::fs::write(&file, &good).unwrap();
    let printed = home.ok(&format!("create --from {path}"));
    let ids: Vec<&str> = printed.lines().collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(ids[1], ids[3], "the same key is the same task");
    assert_eq!(home.status(ids[0]), "ready");
    assert_eq!(home.status(ids[1]), "todo");
    assert_eq!(home.status(ids[2]), "triage");

    std::fs::write(&file, "{\"title\": \"four\"}\n{\"titel\": \"five\"}\n").unwrap();
    let refused = home.kanban(&format!("create --from {path}"));
    assert_eq!(refused.exit, 1);
    assert!(
        refused.err.contains("line 2") && refused.err.contains("titel"),
        "{}",
        refused.err
    );
    std::fs::write(
        &file,
        "{\"title\": \"four\"}\n{\"title\": \"x\", \"parents\": [\"t_0\"]}\n",
    )
    .unwrap();
    let refused = home.kanban(&format!("create --from {path}"));
    assert!(
        refused.err.contains("line 2") && refused.err.contains("t_0"),
        "{}",
        refused.err
    );
    assert_eq!(home.json("list --json").as_array().unwrap().len(), 4);
}

#[test]
fn an_idempotency_key_names_one_task() {
    let home = TestHome::new();
    let first = home.create("x --idempotency-key k");
    assert_eq!(home.create("other --idempotency-key k"), first);
    home.ok(&format!("archive {first}"));
    assert_ne!(home.create("x --idempotency-key k"), first);
}

#[test]
fn links_hold_children_and_refuse_circles() {
    let home = TestHome::new();
    let (a, b, c) = (home.create("a"), home.create("b"), home.create("c"));
    assert_eq!(
        home.ok(&format!("link {a} {b}")),
        format!("Linked {a} -> {b}\n")
    );
    assert_eq!(home.status(&b), "todo");
    home.ok(&format!("link {b} {c}"));
    assert_eq!(
        home.kanban(&format!("link {c} {a}")),
        failed(
            &format!("kanban: linking {c} -> {a} would create a cycle"),
            1
        )
    );
    assert_eq!(
        home.kanban(&format!("link {a} {a}")),
        failed("kanban: a task cannot depend on itself", 1)
    );
    assert_eq!(
        home.kanban(&format!("link {a} t_00000000")),
        failed("kanban: unknown task(s): t_00000000", 1)
    );
    home.ok(&format!("complete {a}"));
    assert_eq!(home.status(&b), "ready");
    assert_eq!(home.status(&c), "todo");
    assert_eq!(
        home.ok(&format!("unlink {b} {c}")),
        format!("Unlinked {b} -> {c}\n")
    );
    assert_eq!(home.status(&c), "ready");
    assert_eq!(
        home.kanban(&format!("unlink {b} {c}")),
        failed(&format!("No such link: {b} -> {c}"), 1)
    );
}

#[test]
fn a_claim_by_hand_goes_through_its_whole_life() {
    let home = TestHome::new();
    let id = home.create("x");
    let workspace = home.root().join("kanban/workspaces").join(&id);
    assert_eq!(
        home.ok(&format!("claim {id}")),
        format!("Claimed {id}\nWorkspace: {}\n", workspace.display())
    );
    assert!(workspace.is_dir());
    let lock = format!("testhost:{}", std::process::id());
    assert_eq!(
        home.kanban(&format!("claim {id}")),
        failed(&format!("cannot claim {id}: status=running lock={lock}"), 1)
    );
    assert_eq!(
        home.ok(&format!("heartbeat {id} --note alive")),
        format!("Heartbeat recorded for {id}\n")
    );
    assert_eq!(
        home.kanban(&format!("assign {id} builder")).err,
        format!(
            "kanban: cannot reassign {id}: currently running (claimed). Wait for completion or \
             reclaim the stale lock first.\n"
        )
    );
    assert_eq!(home.kanban(&format!("reassign {id} builder")).exit, 1);
    assert_eq!(
        home.ok(&format!("reassign {id} builder --reclaim --reason stuck")),
        format!("Reassigned {id} to builder (claim reclaimed)\n")
    );
    home.ok(&format!("claim {id}"));
    assert_eq!(
        home.ok(&format!("reclaim {id}")),
        format!("Reclaimed {id}\n")
    );
    assert_eq!(
        home.kanban(&format!("reclaim {id}")),
        failed(
            &format!("cannot reclaim {id} (not running or unknown id)"),
            1
        )
    );
    assert_eq!(
        home.ok(&format!("block {id} waiting for parts")),
        format!("Blocked {id}: waiting for parts\n")
    );
    assert_eq!(
        home.ok(&format!("unblock {id}")),
        format!("Unblocked {id}\n")
    );
    assert_eq!(
        home.kanban(&format!("unblock {id}")),
        failed(&format!("cannot unblock {id} (not blocked/scheduled?)"), 1)
    );
    assert_eq!(
        home.ok(&format!("schedule {id} tomorrow")),
        format!("Scheduled {id}: tomorrow\n")
    );
    home.ok(&format!("unblock {id} --reason today"));
    home.ok(&format!(
        "complete {id} --result ok --summary 'did it' --metadata {{\"n\":1}}"
    ));
    assert!(
        !workspace.exists(),
        "the scratch directory goes with the task"
    );
    assert_eq!(
        home.kanban(&format!("complete {id}")),
        failed(
            &format!("cannot complete {id} (unknown id or terminal state)"),
            1
        )
    );
    assert_eq!(
        home.kanban(&format!("complete {id} --metadata notjson"))
            .exit,
        2
    );
    home.ok(&format!("edit {id} --result better"));
    home.ok(&format!("archive {id}"));
    assert_eq!(
        home.kanban(&format!("archive {id}")),
        failed(&format!("cannot archive {id}"), 1)
    );
    assert_eq!(
        home.ok(&format!("archive --rm {id}")),
        format!("Deleted {id}\n")
    );
    assert_eq!(
        home.kanban(&format!("show {id}")),
        failed(&format!("no such task: {id}"), 1)
    );
}

#[test]
fn a_heartbeat_with_the_lock_keeps_the_claim() {
    let home = TestHome::new();
    let id = home.create("x");
    home.ok(&format!("claim {id} --ttl 10"));
    let board = home.board();
    let expires = |board: &hermes_kanban::store::Board| {
        board
            .task(&hermes_types::TaskId::new(id.as_str()))
            .unwrap()
            .claim_expires
    };
    let first = expires(&board);
    home.advance(5);
    home.ok(&format!("heartbeat {id}"));
    assert_eq!(expires(&board), first, "anybody may say that it is alive");
    let lock = format!("testhost:{}", std::process::id());
    home.ok(&format!("heartbeat {id} --lock {lock}"));
    assert!(expires(&board) > first, "the holder keeps it");
}

#[test]
fn a_forced_promotion_survives_the_next_claim() {
    let home = TestHome::new();
    let parent = home.create("parent");
    let child = home.create(&format!("child --parent {parent}"));
    let refused = home.kanban(&format!("promote {child} because"));
    assert_eq!(
        refused,
        failed(
            &format!(
                "cannot promote {child}: unsatisfied parent dependencies: {parent} (use --force to override)"
            ),
            1
        )
    );
    assert_eq!(
        home.ok(&format!("promote {child} --dry-run --force")),
        format!("Would promote {child} -> ready (dry)\n")
    );
    assert_eq!(home.status(&child), "todo");
    home.ok(&format!("promote {child} --force"));
    home.ok(&format!("claim {child}"));
    assert_eq!(home.status(&child), "running");
}

#[test]
fn a_task_blocked_from_birth_stays_blocked() {
    let home = TestHome::new();
    let id = home.create("x --initial-status blocked");
    for _ in 0..3 {
        home.ok("list");
    }
    assert_eq!(home.status(&id), "blocked");
    assert_eq!(home.event_kinds(&id), ["created", "blocked"]);
}

#[test]
fn comments_are_cut_and_need_a_task() {
    let home = TestHome::new();
    let id = home.create("x");
    assert_eq!(
        home.ok(&format!("comment {id} hello there --max-len 5")),
        format!("Comment added to {id}\n")
    );
    let shown = home.json(&format!("show {id} --json"));
    assert_eq!(
        shown["comments"][0]["body"],
        "hello\n\n[trimmed to 5 chars by --max-len]"
    );
    assert_eq!(shown["comments"][0]["author"], "default");
    assert_eq!(
        home.kanban("comment t_00000000 x"),
        failed("kanban: unknown task t_00000000", 1)
    );
    assert_eq!(home.kanban(&format!("comment {id} x --max-len 0")).exit, 2);
}

#[test]
fn boards_are_made_switched_renamed_and_removed() {
    let home = TestHome::new();
    let root = home.root().display().to_string();
    let created = home.ok("boards create alpha-team");
    assert_eq!(
        created,
        format!(
            "Board 'alpha-team' created.\n  Display name: Alpha Team\n  DB path:      {root}/kanban/boards/alpha-team/kanban.db\n  Use `hermes kanban boards switch alpha-team` to make it current.\n"
        )
    );
    assert!(
        home.ok("boards create alpha-team")
            .starts_with("Board 'alpha-team' already exists.")
    );
    assert_eq!(home.kanban("boards create 'Bad Slug!'").exit, 2);
    assert_eq!(
        home.ok("boards rename alpha-team Alpha"),
        "Board 'alpha-team' renamed to 'Alpha'.\n"
    );
    assert_eq!(
        home.kanban("boards set-default-workdir alpha-team relative/path")
            .exit,
        2
    );
    assert_eq!(
        home.ok("boards set-default-workdir alpha-team /srv/project"),
        "Board 'alpha-team' default workdir set to '/srv/project'.\n"
    );
    home.ok("boards switch alpha-team");
    let task = home.json("create 'On alpha' --workspace dir --json");
    assert_eq!(task["workspace_path"], "/srv/project");
    assert_eq!(
        home.json("create Scratch --json")["workspace_path"],
        json!(null)
    );
    assert_eq!(
        home.ok("boards set-default-workdir alpha-team"),
        "Board 'alpha-team' default workdir cleared.\n"
    );
    assert!(
        home.ok("boards show")
            .contains("Tasks:        2 total (ready=2)")
    );
    assert_eq!(
        home.ok("--board default list"),
        "Board: default (1 other board — `hermes kanban boards list`)\n\n(no matching tasks)\n"
    );
    let removed = home.ok("boards rm alpha-team");
    assert!(
        removed.contains("kanban/boards/_archived/alpha-team-"),
        "{removed}"
    );
    assert!(
        home.ok("boards show")
            .starts_with("Current board: default\n")
    );
    assert_eq!(home.kanban("boards rm default").exit, 1);
    assert_eq!(home.kanban("boards switch nope").exit, 1);
}

#[test]
fn subscriptions_are_listed_and_removed() {
    let home = TestHome::new();
    let id = home.create("x");
    assert_eq!(home.ok("notify-list"), "(no subscriptions)\n");
    assert_eq!(
        home.ok(&format!(
            "notify-subscribe {id} --platform telegram --chat-id -5 --thread-id 7"
        )),
        format!("Subscribed telegram:-5:7 to {id}\n")
    );
    assert_eq!(
        home.ok("notify-list"),
        format!("  {id}  telegram:-5:7  (since event 0)  owner=default\n")
    );
    let off = format!("notify-unsubscribe {id} --platform telegram --chat-id -5 --thread-id 7");
    assert_eq!(home.ok(&off), format!("Unsubscribed from {id}\n"));
    assert_eq!(home.kanban(&off), failed("(no such subscription)", 1));
    assert_eq!(
        home.kanban("notify-subscribe t_0 --platform p --chat-id c")
            .exit,
        1
    );
}

#[test]
fn several_tasks_fail_one_by_one() {
    let home = TestHome::new();
    let id = home.create("x");
    let outcome = home.kanban(&format!("complete t_00000000 {id}"));
    assert_eq!(outcome.exit, 1);
    assert_eq!(outcome.out, format!("Completed {id}\n"));
    assert_eq!(
        outcome.err,
        "cannot complete t_00000000 (unknown id or terminal state)\n"
    );
    assert_eq!(
        home.kanban(&format!("complete {id} t_1 --summary s")).exit,
        2
    );
}

#[test]
fn collection_removes_what_is_old_and_keeps_what_is_owed() {
    let home = TestHome::new();
    let (told, owed) = (home.create("told"), home.create("owed"));
    home.ok(&format!("notify-subscribe {owed} --platform p --chat-id c"));
    home.ok(&format!("complete {owed}"));
    home.ok(&format!("claim {told}"));
    home.ok(&format!("archive {told}"));
    home.advance(40 * 86_400);
    let printed = home.ok("gc");
    assert_eq!(
        printed,
        "GC complete: 1 workspace(s), 3 event row(s), 0 log file(s) removed\n"
    );
    assert_eq!(home.event_kinds(&owed), ["created", "completed"]);
    home.create("next");
    let newest = home.board().latest_event_id().unwrap();
    assert_eq!(
        newest, 6,
        "ids of events that are gone are never used again"
    );
}

#[test]
fn a_claim_without_a_place_to_work_in_is_given_back() {
    let home = TestHome::new();
    let id = home.create("x --workspace worktree:/nowhere/at/all");
    let refused = home.kanban(&format!("claim {id}"));
    assert_eq!(refused.exit, 1);
    assert!(refused.err.contains("no git repository"), "{}", refused.err);
    assert_eq!(home.status(&id), "ready");
    assert_eq!(
        home.json(&format!("runs {id} --json"))[0]["outcome"],
        "reclaimed"
    );
}

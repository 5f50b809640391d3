//! Rounds with real processes: a shell script stands in for the worker.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_kanban::boards::Boards;
use hermes_kanban::dispatch::daemon::{Daemon, Ended, Report};
use hermes_kanban::dispatch::{is_someone_dispatching, memory_cap};
use hermes_kanban::store::ClaimRequest;
use hermes_kanban::{Host, Settings};
use hermes_process::Identity;
use hermes_types::TaskId;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::TestHome;

/// A home whose workers run `script`.
pub(super) fn home_with(script: &str) -> TestHome {
    let mut home = TestHome::new();
    home.add_profile("alpha");
    home.add_profile("beta");
    let program = home.root().join("worker.sh");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    home.context
        .environment
        .set("HERMES_BIN", program.to_str().unwrap());
    home
}

/// Says its pid and sleeps until somebody ends it.
pub(super) const SLEEPER: &str = "echo $$ > \"$HERMES_KANBAN_WORKSPACE/pid\"\nexec sleep 300";

pub(super) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(super) fn dispatch(home: &TestHome) -> Value {
    home.json("dispatch --json")
}

pub(super) fn workspace(home: &TestHome, id: &str) -> PathBuf {
    home.root().join("kanban/workspaces").join(id)
}

/// The worker's process, once it has said its number.
pub(super) fn worker(home: &TestHome, id: &str) -> Identity {
    let file = workspace(home, id).join("pid");
    eventually("the worker's start", || {
        let pid: i32 = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        Identity::of(pid)
    })
}

pub(super) fn end(process: &Identity) {
    process.signal(nix::sys::signal::Signal::SIGKILL);
    eventually("the end of a worker", || {
        (!process.is_alive()).then_some(())
    });
}

fn last_event(home: &TestHome, id: &str) -> Value {
    let shown = home.json(&format!("show {id} --json"));
    shown["events"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn the_reference_board_is_planned_as_the_reference_plans_it() {
    let home = TestHome::recorded();
    let golden = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/golden")
            .join(name);
        fs::read_to_string(path)
            .unwrap()
            .splitn(3, '\n')
            .nth(2)
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        home.ok("dispatch --dry-run"),
        golden("kanban-dispatch-dry-run.txt")
    );
    let mut planned = home.json("dispatch --dry-run --json");
    let planned = planned.as_object_mut().unwrap();
    assert_eq!(planned.shift_remove("respawn_guarded"), Some(json!([])));
    assert_eq!(planned.shift_remove("rate_limited"), Some(json!([])));
    let expected: Value = serde_json::from_str(&golden("kanban-dispatch-dry-run.json")).unwrap();
    assert_eq!(Value::Object(planned.clone()), expected);
    // Where the reference ignores `--max` in a dry run, ours does not.
    let one = home.json("dispatch --dry-run --json --max 1");
    assert_eq!(one["spawned"].as_array().unwrap().len(), 1);
}

#[test]
fn a_dry_run_changes_no_byte() {
    let home = TestHome::recorded();
    let file = home.root().join("kanban.db");
    let before = fs::read(&file).unwrap();
    for _ in 0..3 {
        home.ok("dispatch --dry-run");
    }
    hermes_kanban::store::Board::forget(&file);
    assert!(
        fs::read(&file).unwrap() == before,
        "the file is another one"
    );
    let log = home.root().join("kanban.db-wal");
    assert!(
        fs::metadata(log).map_or(0, |meta| meta.len()) == 0,
        "something was written"
    );
}

#[test]
fn an_unassigned_task_is_skipped_without_a_default_and_started_with_one() {
    let mut home = home_with(SLEEPER);
    let id = home.create("nobody");
    let mine = home.create("mine --assignee beta");
    home.set_config("kanban:\n  default_assignee: '   '\n  max_in_progress: 1\n");
    let skipped = home.json("dispatch --json --dry-run");
    assert_eq!(skipped["skipped_unassigned"], json!([id]));
    home.set_config("kanban:\n  default_assignee: alpha\n");
    let dry = home.json("dispatch --dry-run --json");
    assert_eq!(dry["auto_assigned_default"], json!([id]));
    assert_eq!(
        home.event_kinds(&id),
        ["created"],
        "a dry run assigns nothing"
    );
    let result = dispatch(&home);
    assert_eq!(result["auto_assigned_default"], json!([id]));
    assert_eq!(result["spawned"][0]["assignee"], "alpha");
    assert_eq!(result["spawned"][1]["task_id"], json!(mine));
    let shown = home.json(&format!("show {id} --json"));
    assert_eq!(shown["task"]["assignee"], "alpha");
    assert_eq!(
        shown["events"][1]["payload"],
        json!({"assignee": "alpha", "source": "kanban.default_assignee"})
    );
    assert_eq!(
        home.event_kinds(&mine)
            .iter()
            .filter(|kind| *kind == "assigned")
            .count(),
        0,
        "an explicit assignee is left alone"
    );
    for task in [&id, &mine] {
        end(&worker(&home, task));
    }
}

#[test]
fn a_default_that_is_no_profile_leaves_tasks_alone() {
    let mut home = home_with("exit 0");
    let id = home.create("nobody");
    home.set_config("kanban:\n  default_assignee: stranger\n");
    let result = dispatch(&home);
    assert_eq!(result["skipped_unassigned"], json!([id]));
    assert_eq!(result["auto_assigned_default"], json!([]));
    let lane = home.create("lane --assignee terminal-3");
    assert_eq!(dispatch(&home)["skipped_nonspawnable"], json!([lane]));
    assert_eq!(home.status(&lane), "ready");
}

#[test]
fn a_cap_per_profile_balances_and_the_rest_goes_later() {
    let mut home = home_with(SLEEPER);
    home.set_config("kanban:\n  max_in_progress_per_profile: 2\n");
    let alphas: Vec<String> = (0..3).map(|_| home.create("a --assignee alpha")).collect();
    let betas: Vec<String> = (0..3).map(|_| home.create("b --assignee beta")).collect();
    let dry = home.json("dispatch --dry-run --json");
    assert_eq!(dry["spawned"].as_array().unwrap().len(), 4);
    let result = dispatch(&home);
    assert_eq!(result["spawned"].as_array().unwrap().len(), 4);
    assert_eq!(
        result["skipped_per_profile_capped"],
        json!([
            {"task_id": alphas[2], "assignee": "alpha", "current": 2},
            {"task_id": betas[2], "assignee": "beta", "current": 2},
        ])
    );
    assert_eq!(dispatch(&home)["spawned"], json!([]), "running tasks count");
    let workers: Vec<Identity> = alphas[..2]
        .iter()
        .chain(&betas[..2])
        .map(|id| worker(&home, id))
        .collect();
    home.ok(&format!("complete {}", alphas[0]));
    assert!(
        !workers[0].is_alive(),
        "completing a task by hand ends its worker"
    );
    assert_eq!(dispatch(&home)["spawned"][0]["task_id"], json!(alphas[2]));
    end(&worker(&home, &alphas[2]));
    workers[1..].iter().for_each(end);
}

#[test]
fn a_worker_gets_the_command_line_and_environment_of_the_protocol() {
    let mut home = home_with(
        "{ echo \"argv:$*\"; pwd; env; ls -l /proc/self/fd; } > \"$HERMES_KANBAN_WORKSPACE/dump.tmp\"\n\
         echo to the log; echo and stderr >&2\n\
         mv \"$HERMES_KANBAN_WORKSPACE/dump.tmp\" \"$HERMES_KANBAN_WORKSPACE/dump\"",
    );
    home.context.environment.set("TERMINAL_TIMEOUT", "60");
    let skill = home
        .root()
        .join("profiles/alpha/skills/devops/kanban-worker");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: kanban-worker\n---\n").unwrap();
    let id = home.create(
        "x --assignee alpha --tenant acme --skill notes --skill kanban-worker --max-runtime 10m \
         --goal --goal-max-turns 7",
    );
    let result = dispatch(&home);
    let place = workspace(&home, &id);
    assert_eq!(result["spawned"][0]["workspace"], json!(place));
    let dump = eventually("the worker's dump", || {
        fs::read_to_string(place.join("dump")).ok()
    });
    let mut lines = dump.lines();
    assert_eq!(
        lines.next(),
        Some(
            format!(
                "argv:-p alpha --accept-hooks --skills kanban-worker --skills notes chat -q work \
                 kanban task {id}"
            )
            .as_str()
        )
    );
    assert_eq!(
        lines.next(),
        Some(place.to_str().unwrap()),
        "it works in its workspace"
    );
    let variables: HashMap<&str, &str> = dump
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let root = home.root().display();
    let task = home.board().task(&TaskId::new(id.as_str())).unwrap();
    for (name, value) in [
        ("HERMES_HOME", format!("{root}/profiles/alpha")),
        ("HERMES_PROFILE", "alpha".to_owned()),
        ("HERMES_KANBAN_TASK", id.clone()),
        ("HERMES_KANBAN_WORKSPACE", place.display().to_string()),
        ("HERMES_KANBAN_DB", format!("{root}/kanban.db")),
        (
            "HERMES_KANBAN_WORKSPACES_ROOT",
            format!("{root}/kanban/workspaces"),
        ),
        ("HERMES_KANBAN_BOARD", "default".to_owned()),
        (
            "HERMES_KANBAN_RUN_ID",
            task.current_run_id.unwrap().to_string(),
        ),
        (
            "HERMES_KANBAN_CLAIM_LOCK",
            format!("testhost:{}", std::process::id()),
        ),
        ("HERMES_TENANT", "acme".to_owned()),
        ("HERMES_KANBAN_GOAL_MODE", "1".to_owned()),
        ("HERMES_KANBAN_GOAL_MAX_TURNS", "7".to_owned()),
        ("TERMINAL_TIMEOUT", "570".to_owned()),
        ("TERMINAL_MAX_FOREGROUND_TIMEOUT", "570".to_owned()),
    ] {
        assert_eq!(variables.get(name), Some(&value.as_str()), "{name}");
    }
    // 0 and 1 and 2, the redirection of the dump, and the listing's own.
    let descriptors = dump.lines().filter(|line| line.contains(" -> ")).count();
    assert!(descriptors <= 5, "more descriptors than its own:\n{dump}");
    let log = eventually("the log", || {
        let log = home.ok(&format!("log {id}"));
        (log == "to the log\nand stderr\n").then_some(log)
    });
    assert!(!log.is_empty());
    assert_eq!(
        home.event_kinds(&id),
        ["created", "claimed", "tip_scratch_workspace", "spawned"]
    );
    assert!(home.root().join(".scratch_tip_shown").exists());
}

#[test]
fn a_program_that_cannot_be_started_counts_until_the_limit() {
    let mut home = home_with("");
    home.context
        .environment
        .set("HERMES_BIN", "/nonexistent/hermes");
    let id = home.create("x --assignee alpha");
    assert_eq!(dispatch(&home)["auto_blocked"], json!([]));
    assert_eq!(home.status(&id), "ready");
    assert_eq!(last_event(&home, &id)["kind"], "spawn_failed");
    assert_eq!(dispatch(&home)["auto_blocked"], json!([id]));
    assert_eq!(
        last_event(&home, &id)["payload"]["trigger_outcome"],
        "spawn_failed"
    );
    for _ in 0..3 {
        dispatch(&home);
    }
    assert_eq!(home.status(&id), "blocked", "and stays");
    home.ok(&format!("unblock {id}"));
    assert_eq!(home.status(&id), "ready");
}

#[test]
fn a_killed_worker_is_noticed_after_the_grace_and_given_up_after_the_limit() {
    let home = home_with(SLEEPER);
    let id = home.create("x --assignee alpha");
    dispatch(&home);
    end(&worker(&home, &id));
    assert_eq!(dispatch(&home)["crashed"], json!([]), "in its grace");
    home.advance(31);
    fs::remove_file(workspace(&home, &id).join("pid")).unwrap();
    let result = dispatch(&home);
    assert_eq!(result["crashed"], json!([id]));
    assert_eq!(
        result["spawned"][0]["task_id"],
        json!(id),
        "and tried again"
    );
    end(&worker(&home, &id));
    assert_eq!(
        dispatch(&home)["crashed"],
        json!([]),
        "a retry has a grace too"
    );
    home.advance(31);
    let result = dispatch(&home);
    assert_eq!(
        (&result["crashed"], &result["auto_blocked"]),
        (&json!([id]), &json!([id]))
    );
    dispatch(&home);
    assert_eq!(home.status(&id), "blocked");
    let kinds = home.event_kinds(&id);
    assert_eq!(kinds[kinds.len() - 2..], ["crashed", "gave_up"]);
}

#[test]
fn three_alike_crashes_in_one_round_are_not_repeated() {
    let home = home_with(SLEEPER);
    let ids: Vec<String> = (0..3).map(|_| home.create("x --assignee alpha")).collect();
    dispatch(&home);
    ids.iter().for_each(|id| end(&worker(&home, id)));
    home.advance(31);
    let result = dispatch(&home);
    assert_eq!(result["auto_blocked"], json!(ids));
    assert_eq!(result["spawned"], json!([]));
}

#[test]
fn an_expired_claim_is_kept_for_a_live_worker_and_taken_from_a_silent_one() {
    let home = home_with(SLEEPER);
    let id = home.create("x --assignee alpha");
    dispatch(&home);
    let process = worker(&home, &id);
    home.advance(901);
    assert_eq!(dispatch(&home)["reclaimed"], 0);
    assert_eq!(last_event(&home, &id)["kind"], "claim_extended");
    assert!(process.is_alive());
    home.ok(&format!("heartbeat {id}"));
    home.advance(4000);
    let result = home.json("dispatch --json --max 1");
    assert_eq!(result["reclaimed"], 1);
    assert!(
        !process.is_alive(),
        "it was ended before the task was taken back"
    );
    let events = home.json(&format!("show {id} --json"))["events"].clone();
    let reclaimed = events
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event["kind"] == "reclaimed")
        .unwrap()
        .clone();
    assert_eq!(reclaimed["payload"]["heartbeat_stale"], true);
    assert_eq!(reclaimed["payload"]["terminated"], true);
    fs::remove_file(workspace(&home, &id).join("pid")).unwrap_or_default();
    home.ok(&format!("archive {id}"));
}

#[test]
fn a_worker_beyond_its_time_is_ended_with_its_children() {
    let home = home_with(
        "sleep 300 &\necho $! > \"$HERMES_KANBAN_WORKSPACE/child\"\n\
         echo $$ > \"$HERMES_KANBAN_WORKSPACE/pid\"\nwait",
    );
    let id = home.create("x --assignee alpha --max-runtime 60");
    dispatch(&home);
    let process = worker(&home, &id);
    let child: i32 = fs::read_to_string(workspace(&home, &id).join("child"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let child = Identity::of(child).unwrap();
    home.advance(61);
    let result = home.json("dispatch --json --max 1 --failure-limit 1");
    assert_eq!(result["timed_out"], json!([id]));
    assert_eq!(result["auto_blocked"], json!([id]));
    assert!(!process.is_alive() && !child.is_alive());
    let run = &home.json(&format!("runs {id} --json"))[0];
    assert_eq!(run["error"], "elapsed 61s > limit 60s");
    assert_eq!(run["outcome"], "timed_out");
}

#[test]
fn higher_priority_and_then_age_decide() {
    let home = home_with(SLEEPER);
    let old = home.create("old --assignee alpha");
    home.advance(5);
    let urgent = home.create("urgent --assignee alpha --priority 9");
    let first = home.json("dispatch --json --max 1");
    assert_eq!(first["spawned"][0]["task_id"], json!(urgent));
    let second = home.json("dispatch --json --max 2");
    assert_eq!(second["spawned"][0]["task_id"], json!(old));
    for id in [&old, &urgent] {
        end(&worker(&home, id));
    }
}

#[test]
fn two_caps_bind_by_the_smaller_and_count_nobody_twice() {
    let mut home = home_with("");
    for _ in 0..6 {
        home.create("x --assignee alpha");
    }
    home.set_config("kanban:\n  max_spawn: 10\n  max_in_progress: 5\n");
    let board = home.board();
    for task in board
        .list(&Default::default(), Default::default())
        .unwrap()
        .iter()
        .take(3)
    {
        let request = ClaimRequest {
            lock: "testhost:1".into(),
            ttl: 900,
            host: None,
        };
        board.claim(&task.id, &request).unwrap();
    }
    let result = home.json("dispatch --dry-run --json");
    assert_eq!(result["spawned"].as_array().unwrap().len(), 2);
    let text = home.ok("dispatch --dry-run");
    assert!(
        text.contains("Waiting for a free place: 1 (3 running)"),
        "{text}"
    );
}

#[test]
fn a_git_worktree_is_made_on_its_own_branch_and_kept() {
    let home = home_with(SLEEPER);
    let repository = home.root().join("project");
    fs::create_dir_all(&repository).unwrap();
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-C"])
            .arg(&repository)
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        String::from_utf8(done.stdout).unwrap()
    };
    git(&["init", "-q", "-b", "main"]);
    fs::write(repository.join("file"), "1").unwrap();
    git(&["add", "file"]);
    git(&["commit", "-qm", "one"]);
    let id = home.create(&format!(
        "x --assignee alpha --workspace worktree:{}",
        repository.display()
    ));
    let result = dispatch(&home);
    let place = repository.join(".worktrees").join(&id);
    assert_eq!(result["spawned"][0]["workspace"], json!(place), "{result}");
    assert_eq!(fs::read_to_string(place.join("file")).unwrap(), "1");
    assert!(git(&["branch", "--list", &format!("wt/{id}")]).contains(&id));
    let file = place.join("pid");
    let process = eventually("the worker's start", || {
        Identity::of(fs::read_to_string(&file).ok()?.trim().parse().ok()?)
    });
    fs::write(place.join("work"), "precious").unwrap();
    home.ok(&format!("complete {id}"));
    assert!(!process.is_alive());
    assert_eq!(fs::read_to_string(place.join("work")).unwrap(), "precious");
    // Without a repository there is nothing to guess.
    let lost = home.create("x --assignee alpha --workspace worktree:/proc/nowhere");
    let result = home.json("dispatch --json --failure-limit 1");
    assert_eq!(result["auto_blocked"], json!([lost]));
    let error = home.json(&format!("runs {lost} --json"))[0]["error"].clone();
    assert!(
        error.as_str().unwrap().starts_with("workspace: "),
        "{error}"
    );
}

#[test]
fn logs_are_appended_to_and_rotated_before_a_start() {
    let mut home = home_with("echo attempt; exit 1");
    home.set_config("kanban:\n  worker_log_rotate_bytes: 10\n  failure_limit: 9\n");
    let id = home.create("x --assignee alpha");
    let log = |expected: &str| {
        eventually("the log", || {
            (home.kanban(&format!("log {id}")).out == expected).then_some(())
        });
    };
    dispatch(&home);
    log("attempt\n");
    home.advance(31);
    dispatch(&home);
    log("attempt\nattempt\n");
    home.advance(31);
    dispatch(&home);
    log("attempt\n");
    let older = home.root().join("kanban/logs").join(format!("{id}.log.1"));
    assert_eq!(fs::read_to_string(older).unwrap(), "attempt\nattempt\n");
}

/// Runs the loop until `enough` rounds were reported or `done` says so.
pub(super) fn run_daemon(
    home: &TestHome,
    mut done: impl FnMut() -> bool,
) -> (Ended, Vec<Value>, Vec<String>) {
    let config = home.context.config.clone();
    let daemon = Daemon {
        home: &home.context.home,
        environment: &home.context.environment,
        clock: &home.context.clock,
        host: &home.context.host,
        program: &home.context.program,
        start: &home.context.directory,
        board: None,
        interval: Some(Duration::from_millis(100)),
        max: None,
        failure_limit: None,
        once: false,
        config: &|| Ok::<Config, String>(config.clone()),
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut rounds = Vec::new();
    let mut remarks = Vec::new();
    let ended = daemon
        .run(&mut |report| {
            match report {
                Report::Round { result, .. } => rounds.push(result.to_json()),
                Report::Remark(text) => remarks.push(text),
            }
            assert!(
                Instant::now() < deadline,
                "the loop did not get there: {remarks:?}"
            );
            if done() {
                Err(std::io::ErrorKind::BrokenPipe.into())
            } else {
                Ok(())
            }
        })
        .unwrap();
    (ended, rounds, remarks)
}

#[test]
fn the_loop_hears_of_its_children_at_once_and_judges_them_by_their_exit() {
    let mut home = home_with(
        "case \"$(cat \"$HERMES_KANBAN_WORKSPACE/../../role-$HERMES_KANBAN_TASK\")\" in\n\
         quiet) echo last words; exit 0;; limited) exit 75;; term) exit 143;; *) exit 3;; esac",
    );
    home.set_config("kanban:\n  failure_limit: 1\n");
    let role = |role: &str| {
        let id = home.create(&format!("{role} --assignee alpha"));
        let directory = home.root().join("kanban");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(format!("role-{id}")), role).unwrap();
        id
    };
    let (quiet, limited, broken) = (role("quiet"), role("limited"), role("broken"));
    let board = home.board();
    let settled = |id: &str| {
        let view = board.view(&TaskId::new(id)).unwrap();
        view.runs.first().is_some_and(|run| run.ended_at.is_some())
    };
    let (ended, _, remarks) = run_daemon(&home, || {
        [&quiet, &limited, &broken].iter().all(|id| settled(id))
    });
    assert_eq!(ended, Ended::Unheard);
    assert!(
        remarks
            .iter()
            .any(|text| text.contains("by available memory")),
        "{remarks:?}"
    );
    let view = |id: &str| board.view(&TaskId::new(id)).unwrap();
    let quiet = view(&quiet);
    assert_eq!(quiet.task.status.as_str(), "blocked");
    let kinds: Vec<&str> = quiet
        .events
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(kinds[kinds.len() - 2..], ["protocol_violation", "gave_up"]);
    assert!(
        quiet
            .task
            .last_failure_error
            .unwrap()
            .ends_with("its log ends: last words")
    );
    let limited = view(&limited);
    assert_eq!(
        (
            limited.task.status.as_str(),
            limited.task.consecutive_failures
        ),
        ("ready", 0)
    );
    assert_eq!(limited.runs[0].outcome.as_deref(), Some("rate_limited"));
    assert_eq!(limited.runs.len(), 1, "it cools down first");
    let broken = view(&broken);
    let run = &broken.runs[0];
    assert_eq!(run.outcome.as_deref(), Some("crashed"));
    assert!(
        run.error
            .as_deref()
            .unwrap()
            .ends_with("exited with code 3")
    );
    assert_eq!(board.identity(run.id).unwrap().unwrap().exit_code, Some(3));
}

#[test]
fn a_worker_ended_from_outside_costs_its_task_nothing() {
    let home = home_with("exit 143");
    let id = TaskId::new(home.create("x --assignee alpha"));
    let board = home.board();
    let (_, _, _) = run_daemon(&home, || board.view(&id).unwrap().runs.len() > 1);
    let view = board.view(&id).unwrap();
    assert_eq!(view.runs[0].outcome.as_deref(), Some("reclaimed"));
    assert_eq!(view.task.consecutive_failures, 0);
}

#[test]
fn every_board_gets_its_rounds_and_a_broken_one_holds_nobody_up() {
    let home = home_with("exit 3");
    home.ok("boards create good");
    home.ok("boards create bad");
    let bad = home.root().join("kanban/boards/bad/kanban.db");
    hermes_kanban::store::Board::forget(&bad);
    fs::write(&bad, "this is no database, but it is long enough to have had a header of a hundred bytes, had it been one").unwrap();
    home.ok("--board good create x --assignee alpha");
    let mut rounds = 0;
    let (_, results, remarks) = run_daemon(&home, || {
        rounds += 1;
        rounds > 6
    });
    assert!(
        results
            .iter()
            .any(|r| !r["spawned"].as_array().unwrap().is_empty())
    );
    let complaints = remarks
        .iter()
        .filter(|text| text.contains("board 'bad'"))
        .count();
    assert_eq!(complaints, 1, "it is left alone for a while: {remarks:?}");
}

#[test]
fn there_is_one_loop_per_root() {
    let home = home_with("");
    let boards = Boards::locate(&home.context.home, &home.context.environment);
    let settings = Settings::read(&home.context.config, &home.context.environment);
    assert!(!is_someone_dispatching(
        &boards,
        &home.context.home,
        &settings
    ));
    run_daemon(&home, || {
        assert!(is_someone_dispatching(
            &boards,
            &home.context.home,
            &settings
        ));
        let second = home.kanban("daemon --once");
        assert_eq!(second.exit, 1);
        assert!(
            second.err.contains("another dispatcher is running"),
            "{}",
            second.err
        );
        true
    });
    assert_eq!(home.kanban("daemon --once").exit, 0);
    assert!((2..=8).contains(&memory_cap()));
    assert_ne!(Host::of_machine().name(), "");
}

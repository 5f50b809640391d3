//! What people do with boards beside the plain verbs: in a chat, in a shell that
//! completes, with planners, and against workers that will not go.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hermes_process::{Command as Spawn, WindowSize, spawn};
use hermes_testkit::model::{Gate, Reply};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::completion::bash_offers;
use super::kanban::Stage;
use super::support::{Ran, Stranger};

#[test]
fn bash_completes_tasks_and_boards() {
    let stage = Stage::new();
    let ready = stage.create("ready --assignee alpha");
    let rough = stage.create("rough --triage");
    stage.ok("boards create side");
    let aside = stage.json("--board side create aside --json")["id"].clone();
    let aside = aside.as_str().expect("an id");
    let offers = |line: &str| bash_offers(&stage.scratch, &line.split(' ').collect::<Vec<_>>());
    assert_eq!(
        offers("hermes kanban show t_"),
        [&ready, &rough].map(String::as_str)
    );
    assert_eq!(
        offers(&format!("hermes kanban show {}", &ready[..8])),
        [ready.as_str()]
    );
    assert_eq!(
        offers(&format!("hermes kanban link {ready} {rough}")),
        [rough.as_str()]
    );
    // Only what the verb can do something about.
    assert_eq!(offers("hermes kanban specify t_"), [rough.as_str()]);
    assert_eq!(offers("hermes kanban claim t_"), [ready.as_str()]);
    assert_eq!(
        offers(&format!("hermes kanban complete {ready} t_")),
        [ready.as_str()]
    );
    assert_eq!(
        offers("hermes kanban create x --parent t_"),
        [&ready, &rough].map(String::as_str)
    );
    assert_eq!(offers("hermes kanban --board side show t_"), [aside]);
    assert_eq!(offers("hermes kanban boards switch si"), ["side"]);
    assert_eq!(offers("hermes kanban --board d"), ["default"]);
    assert_eq!(
        offers(&format!("hermes kanban assign {ready} al")),
        ["alpha"]
    );
    assert_eq!(offers("hermes kanban list --assignee al"), ["alpha"]);
}

#[test]
fn completing_makes_no_board() {
    let stage = Stage::new();
    assert!(bash_offers(&stage.scratch, &["hermes", "kanban", "show", "t_"]).is_empty());
    assert!(!stage.scratch.exists("kanban.db"));
}

fn opened(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("it is ours");
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a directory").flatten() {
            opened(&entry.path());
        }
    }
}

/// A process of root's stands in for a worker that outlives every signal: whoever
/// asks is somebody else. Without root nobody but init could play that part.
#[test]
fn a_worker_that_cannot_be_ended_keeps_its_task() {
    let stage = Stage::new();
    let id = stage.create("stubborn --assignee alpha");
    stage.ok(&format!("claim {id}"));
    let mut standing = Command::new("sleep")
        .arg("300")
        .env("HERMES_KANBAN_TASK", &id)
        .env("HERMES_KANBAN_RUN_ID", "1")
        .stdin(Stdio::null())
        .spawn()
        .expect("a process");
    let pid = if nix::unistd::geteuid().is_root() {
        standing.id()
    } else {
        1
    };
    stage
        .database()
        .execute_batch(&format!(
            "UPDATE tasks SET worker_pid = {pid}; UPDATE task_runs SET worker_pid = {pid};"
        ))
        .expect("the board");
    opened(stage.scratch.user_home());
    let before = stage.json(&format!("show {id} --json"));
    let stranger = Stranger::new();
    let (scratch, id) = (&stage.scratch, id.as_str());
    let stranger = &stranger;
    std::thread::scope(|scope| {
        let asked: Vec<_> = ["reclaim", "block", "schedule", "archive", "complete"]
            .into_iter()
            .map(|verb| {
                (
                    verb,
                    scope.spawn(move || stranger.run(scratch, &["kanban", verb, id])),
                )
            })
            .collect();
        for (verb, asked) in asked {
            let Ran {
                code,
                stdout,
                stderr,
            } = asked.join().expect("it ends");
            assert_eq!((code, stdout.as_str()), (1, ""), "{verb}: {stderr}");
            assert!(
                stderr.contains(&format!(
                    "the worker of {id} (process {pid}) could not be ended, so nothing was changed"
                )),
                "{verb}: {stderr}"
            );
        }
    });
    assert_eq!(stage.json(&format!("show {id} --json")), before);
    standing.kill().expect("it runs");
    standing.wait().expect("it ends");
    if pid != 1 {
        stage.ok(&format!("reclaim {id}"));
        assert_eq!(stage.status(id), "ready");
    }
}

#[test]
fn a_profile_with_the_kanban_toolset_plans_and_stays_on_its_board() {
    let stage = Stage::with("toolsets: [hermes-cli, kanban]\n");
    stage.ok("boards create side");
    let gate = Gate::new();
    stage
        .server
        .push(
            Reply::tool_call(
                "kanban_create",
                json!({"title": "one", "assignee": "alpha"}),
            )
            .held_by(&gate),
        )
        .push(Reply::tool_call("kanban_list", json!({})))
        .push(Reply::text("handed out"));
    let chat = stage
        .scratch
        .command(["-z", "plan it"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    gate.wait_reached();
    // Somebody else's switch does not move a conversation that runs.
    stage.ok("boards switch side");
    gate.release();
    let output = chat.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "handed out\n");
    let requests = stage.server.requests();
    let tools: Vec<&str> = requests[0]
        .tool_names()
        .into_iter()
        .filter(|name| name.starts_with("kanban_"))
        .collect();
    assert_eq!(tools.len(), 9, "{tools:?}");
    let on = |board: &str| stage.json(&format!("--board {board} list --json"));
    assert_eq!(on("side"), json!([]));
    assert_eq!(on("default")[0]["title"], "one");
    let system = requests[0].messages()[0]["content"].to_string();
    assert!(!system.contains("You work on a board task"), "{system}");
}

/// Types lines into a chat on a terminal without a live area and gives back all it
/// printed.
fn chat(stage: &Stage, steps: &[(&str, &str)]) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let plain = stage.scratch.command(["chat"]);
        let mut command = Spawn::new(plain.get_program())
            .args(plain.get_args())
            .terminal(WindowSize {
                rows: 40,
                columns: 120,
            });
        for (name, value) in plain.get_envs() {
            command = match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command = command
            .env("TERM", "dumb")
            .directory(stage.scratch.user_home());
        let process = spawn(command).await.expect("the binary starts");
        let mut typed = process.take_stdin().expect("a terminal");
        let mut shown = process.take_stdout().expect("a terminal");
        let mut text = String::new();
        let mut from = 0;
        for (line, awaited) in steps {
            typed
                .write_all(format!("{line}\n").as_bytes())
                .await
                .expect("it reads");
            let found = tokio::time::timeout(Duration::from_secs(60), async {
                loop {
                    if let Some(at) = text[from..].find(awaited) {
                        break from + at + awaited.len();
                    }
                    let mut buffer = [0; 4096];
                    let count = shown.read(&mut buffer).await.unwrap_or(0);
                    assert_ne!(count, 0, "it ended: {text}");
                    text.push_str(&String::from_utf8_lossy(&buffer[..count]));
                }
            });
            from = found
                .await
                .unwrap_or_else(|_| panic!("no {awaited:?} after {line:?}"));
        }
        drop(typed);
        let _ = process.terminate(Duration::from_secs(5)).await;
        text
    })
}

#[test]
fn a_chat_speaks_to_its_board_and_refuses_what_never_ends() {
    let stage = Stage::new();
    stage.ok("boards create side");
    let id = stage.create("first --assignee alpha");
    let text = chat(
        &stage,
        &[
            (
                "/kanban create 'two words' --triage",
                "(triage, assignee=-)",
            ),
            (
                &format!("/kanban block {id} wait for me"),
                &format!("Blocked {id}: wait for me"),
            ),
            ("/kanban watch", "/kanban usage error"),
            ("/kanban daemon", "use it in a terminal"),
            ("/kanban create 'open", "a quote is not closed"),
            ("/kanban show t_00000000", "no such task: t_00000000"),
            ("/kanban boards switch side", "here 'default' stays in use"),
            ("/kanban create after --triage", "(triage, assignee=-)"),
        ],
    );
    let shown = stage.json(&format!("--board default show {id} --json"));
    assert_eq!(shown["task"]["status"], "blocked", "{text}");
    let titles = |board: &str| -> Vec<Value> {
        let listed = stage.json(&format!("--board {board} list --json"));
        let tasks = listed.as_array().expect("a list").iter();
        tasks.map(|task| task["title"].clone()).collect()
    };
    assert_eq!(titles("default"), ["first", "two words", "after"], "{text}");
    assert!(titles("side").is_empty());
}

#[test]
fn rounds_are_told_in_the_log() {
    let stage = Stage::new();
    let id = stage.create("x --assignee alpha");
    stage.server.push(Reply::tool_call(
        "kanban_complete",
        json!({"summary": "ok"}),
    ));
    stage.server.push(Reply::text("ok"));
    stage.ok("daemon --once");
    let log = stage.scratch.read("logs/agent.log");
    assert!(log.contains("kanban") && log.contains(&id), "{log}");
    stage.wait_for_status(&id, "done");
    stage.scratch.write("kanban.db", vec![b'x'; 8192]);
    assert_eq!(stage.run("daemon --once").code, 1);
    let errors = stage.scratch.read("logs/errors.log");
    assert!(errors.contains("file is not a database"), "{errors}");
}

/// Reads lines until one holds `awaited`.
fn read_until(reader: &mut impl std::io::BufRead, awaited: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(awaited) {
        let count = reader.read_line(&mut seen).expect("text");
        assert_ne!(count, 0, "it ended: {seen}");
    }
    seen
}

#[test]
fn events_are_followed_until_somebody_interrupts() {
    let stage = Stage::new();
    let id = stage.create("mine --assignee alpha --tenant t1");
    let other = stage.create("other --assignee beta");
    let follow = |words: &str| {
        let mut child = stage
            .command(words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let reader = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        (child, reader)
    };
    let end = |mut child: std::process::Child, mut reader: std::io::BufReader<_>| {
        let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it runs");
        read_until(&mut reader, "(stopped)");
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    };
    let (tail, mut reader) = follow(&format!("tail {id} --interval 0.1"));
    read_until(&mut reader, "created");
    stage.ok(&format!("comment {other} elsewhere"));
    stage.ok(&format!("comment {id} here"));
    let seen = read_until(&mut reader, "commented");
    assert!(seen.contains("\"len\": 4"), "{seen}");
    end(tail, reader);
    let narrow = "watch --interval 0.1 --kinds commented,blocked --assignee alpha --tenant t1";
    let (watch, mut reader) = follow(narrow);
    // It begins with what happens after its start, so this goes on until it is heard.
    let done = std::sync::atomic::AtomicBool::new(false);
    let heard = std::thread::scope(|scope| {
        let (done, stage, id, other) = (&done, &stage, &id, &other);
        scope.spawn(move || {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                stage.ok(&format!("comment {id} now"));
                stage.ok(&format!("comment {other} elsewhere"));
                stage.run(&format!("link {other} {id}"));
            }
        });
        let heard = read_until(&mut reader, "commented");
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        heard
    });
    assert!(heard.contains(&id) && !heard.contains(&other), "{heard}");
    end(watch, reader);
}

#[test]
fn a_loop_writes_its_number_and_tells_of_quiet_rounds_when_asked() {
    let stage = Stage::new();
    let file = stage.scratch.home().join("loop.pid");
    let mut command = stage.command("daemon --interval 0.1 --verbose --json --pidfile");
    let mut child = command
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut reader = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let line = read_until(&mut reader, "\n");
    let round: Value = serde_json::from_str(&line).expect("one JSON object per line");
    assert_eq!(
        (&round["board"], &round["spawned"]),
        (&json!("default"), &json!([]))
    );
    let number = std::fs::read_to_string(&file).expect("a pid");
    assert_eq!(number, format!("{}\n", child.id()));
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("it runs");
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
    assert!(!file.exists());
}

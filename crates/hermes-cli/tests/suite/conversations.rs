//! What a conversation is made of, through the binary: models, keys, fallbacks,
//! tools, subagents, names, dumps. Each test fails when nobody is wired.

use std::time::Duration;

use hermes_testkit::model::{Gate, ModelServer, Reply, Tokens};
use hermes_testkit::process::{Running, run_together};
use hermes_testkit::terminal::Terminal;
use nix::sys::signal::Signal;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::chat::Stage;
use super::support::Scratch;

fn key_of(request: &hermes_testkit::model::Recorded) -> String {
    request
        .header("authorization")
        .unwrap_or("")
        .trim_start_matches("Bearer ")
        .to_owned()
}

/// A window that a few long results fill.
fn narrow_window(stage: &Stage) {
    let config = stage
        .scratch
        .read("config.yaml")
        .replace("context_length: 200000", "context_length: 64000");
    stage.scratch.write("config.yaml", config);
}

#[test]
fn flags_and_variables_choose_the_model() {
    let stage = Stage::new();
    stage.server.fallback(|_| Reply::text("ok"));
    stage.run(&["-m", "another", "-z", "hi"]);
    stage.run(&["chat", "-Q", "-q", "hi", "-m", "third"]);
    let ran = stage.run(&["--provider", "no-such", "-m", "x", "-z", "hi"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(
        ran.stderr.contains("unknown provider \"no-such\""),
        "{ran:#?}"
    );
    let models: Vec<String> = stage
        .server
        .requests()
        .iter()
        .map(|request| request.model().to_owned())
        .collect();
    assert_eq!(models, ["another", "third"]);
}

/// A provider of the catalogue, its address turned to the scripted server.
fn keyed(server: &ModelServer) -> Scratch {
    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        format!(
            "model:\n  default: some-model\n  provider: huggingface\n  base_url: {}\n  context_length: 200000\n",
            server.url()
        ),
    );
    scratch
}

#[test]
fn a_key_that_was_added_is_used_and_one_without_money_is_left() {
    let server = ModelServer::start();
    let scratch = keyed(&server);
    let refused = scratch.run(["-z", "hi"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("hermes auth add huggingface"),
        "{refused:#?}"
    );
    scratch.ok([
        "auth",
        "add",
        "huggingface",
        "--api-key",
        "first-key-0123456789",
    ]);
    scratch.ok([
        "auth",
        "add",
        "huggingface",
        "--api-key",
        "second-key-012345678",
    ]);
    server.push(Reply::error(402, "insufficient credits"));
    server.push(Reply::text("paid by the second"));
    assert_eq!(scratch.ok(["-z", "hi"]), "paid by the second\n");
    let keys: Vec<String> = server.requests().iter().map(key_of).collect();
    assert_eq!(keys, ["first-key-0123456789", "second-key-012345678"]);
    let listed = scratch.ok(["auth", "list", "huggingface"]);
    assert!(listed.contains("exhausted"), "{listed}");
    // The next process knows, too.
    server.push(Reply::text("again"));
    scratch.ok(["-z", "hi"]);
    assert_eq!(key_of(&server.requests()[2]), "second-key-012345678");
}

#[test]
fn a_fallback_answers_where_the_model_is_refused_and_the_next_turn_asks_it_first() {
    let (stage, other) = (Stage::new(), ModelServer::start());
    stage.scratch.write(
        "config.yaml",
        format!(
            "{}fallback_providers:\n  - provider: custom\n    model: second\n    base_url: {}\n    api_key: k\n",
            stage.scratch.read("config.yaml"),
            other.url()
        ),
    );
    stage.server.push(Reply::error(401, "no"));
    other.push(Reply::text("from the second"));
    let ran = stage.run(&["chat", "-q", "hi"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.stdout.contains("from the second"), "{ran:#?}");
    assert!(ran.stdout.contains("switched to second"), "{ran:#?}");
    stage.server.push(Reply::text("from the first"));
    assert_eq!(
        stage.run(&["-c", "-z", "and now?"]).stdout,
        "from the first\n"
    );
    assert_eq!(
        (stage.server.requests().len(), other.requests().len()),
        (2, 1)
    );
    // The stand-in knows who it is; the first model reads the same bytes as before.
    let told = |request: &hermes_testkit::model::Recorded| {
        request.messages()[0]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first: Vec<String> = stage.server.requests().iter().map(told).collect();
    let stand_in = told(&other.requests()[0]);
    assert_eq!(first[0], first[1]);
    assert!(!first[0].contains("second (custom)"), "{}", first[0]);
    assert!(stand_in.starts_with(&first[0]), "{stand_in}");
    assert!(
        stand_in.contains("You are model second (custom) now"),
        "{stand_in}"
    );
    // Whoever resumes with another model is told too, in the same words every time.
    stage.server.push(Reply::text("a"));
    stage.server.push(Reply::text("b"));
    stage.run(&["-c", "-m", "third", "-z", "who?"]);
    stage.run(&["-c", "-m", "third", "-z", "who?"]);
    let third: Vec<String> = stage.server.requests()[2..].iter().map(told).collect();
    assert!(third[0].contains("You are model third (custom) now"));
    assert_eq!(third[0], third[1]);

    // Empty answers are no answers: the other model is asked in the end.
    stage.server.fallback(|_| Reply::text(""));
    other.push(Reply::text("not empty"));
    assert_eq!(stage.run(&["-z", "hi"]).stdout, "not empty\n");
}

#[test]
fn tools_that_were_turned_off_are_not_offered() {
    let stage = Stage::new();
    stage.server.fallback(|_| Reply::text("ok"));
    stage.run(&["-z", "hi"]);
    assert_eq!(
        stage.run(&["tools", "disable", "file", "delegation"]).code,
        0
    );
    stage.run(&["-z", "hi"]);
    assert_eq!(stage.run(&["tools", "enable", "file"]).code, 0);
    stage.run(&["-z", "hi"]);
    let offered: Vec<[bool; 3]> = stage
        .server
        .requests()
        .iter()
        .map(|request| {
            ["read_file", "delegate_task", "todo"].map(|name| request.tool_names().contains(&name))
        })
        .collect();
    assert_eq!(
        offered,
        [
            [true, true, true],
            [false, false, true],
            [true, false, true]
        ]
    );
}

#[test]
fn dangerous_commands_need_a_yes_that_only_yolo_gives_here() {
    let stage = Stage::new();
    let victim = stage.scratch.user_home().join("victim");
    for (flags, survives) in [(&[][..], true), (&["--yolo"][..], false)] {
        std::fs::create_dir_all(victim.join("deep")).unwrap();
        stage.server.push(Reply::tool_call(
            "terminal",
            json!({"command": "rm -rf victim"}),
        ));
        stage.server.push(Reply::text("ok"));
        let mut words = vec!["chat", "-Q", "-q", "clean up"];
        words.extend(flags);
        let ran = stage.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "ok\n"), "{ran:#?}");
        assert_eq!(victim.exists(), survives, "{flags:?}");
    }
}

/// The scripted parent delegates once; everything else is a child.
fn delegating(stage: &Stage, call: Value, child: impl Fn() -> Reply + Send + 'static) {
    stage.server.fallback(move |request| {
        let tools = request.tool_names();
        if !tools.contains(&"delegate_task") {
            return child();
        }
        match request.last_message()["role"].as_str() {
            Some("tool") => Reply::text("reported"),
            _ => Reply::tool_call("delegate_task", call.clone()),
        }
    });
}

#[test]
fn tasks_are_delegated_and_what_they_cost_counts() {
    let stage = Stage::with("budget:\n  per_turn: {tokens: 60000}\n");
    let spent = Tokens {
        prompt: 20_000,
        completion: 10,
        ..Default::default()
    };
    delegating(
        &stage,
        json!({"tasks": [{"goal": "count birds"}, {"goal": "count fish"}]}),
        move || Reply::text("seven").usage(spent),
    );
    let ran = stage.run(&["chat", "-Q", "-q", "go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "reported\n"),
        "{ran:#?}"
    );
    let requests = stage.server.requests();
    let report = requests.last().unwrap().last_message()["content"]
        .as_str()
        .unwrap()
        .to_owned();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["results"][0]["summary"], "seven");
    assert_eq!(report["results"][1]["status"], "completed");
    let goals: Vec<&str> = requests[1..3]
        .iter()
        .filter_map(|request| request.last_message()["content"].as_str())
        .collect();
    assert!(goals.contains(&"count birds") && goals.contains(&"count fish"));
    // Children are not listed, and the same again does not fit the turn's budget.
    assert_eq!(
        stage
            .run(&["sessions", "list"])
            .stdout
            .matches("cli")
            .count(),
        1
    );
    let spent = Tokens {
        prompt: 40_000,
        ..spent
    };
    delegating(
        &stage,
        json!({"tasks": [{"goal": "count birds"}, {"goal": "count fish"}]}),
        move || Reply::text("seven").usage(spent),
    );
    let ran = stage.run(&["chat", "-Q", "-q", "go"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(ran.stderr.contains("budget.per_turn"), "{ran:#?}");
}

#[test]
fn an_interrupt_ends_the_children_too() {
    let stage = Stage::new();
    let gate = Gate::new();
    let held = gate.clone();
    delegating(
        &stage,
        json!({"tasks": [{"goal": "one"}, {"goal": "two"}]}),
        move || Reply::text("never").held_by(&held),
    );
    let child = Running::start(stage.scratch.command(["chat", "-Q", "-q", "go"]));
    stage.server.wait_for_requests(3);
    child.signal(Signal::SIGINT);
    let finished = child.wait();
    assert_eq!(finished.status.code(), Some(130), "{finished:?}");
    // Both requests were given up, not only the parent's turn.
    stage.server.wait_for_abandoned(2);
    let listed = stage.run(&["sessions", "export", "-"]).stdout;
    for line in listed.lines() {
        let session: Value = serde_json::from_str(line).unwrap();
        assert!(!session["ended_at"].is_null(), "{session:#}");
    }
}

#[test]
fn sigterm_ends_a_run_with_143_and_its_command_with_it() {
    let stage = Stage::new();
    stage.server.push(Reply::tool_call(
        "terminal",
        json!({"command": "echo $$ > pid; exec sleep 600"}),
    ));
    let child = Running::start(stage.scratch.command(["chat", "-Q", "-q", "wait"]));
    let file = stage.scratch.user_home().join("pid");
    let deadline = std::time::Instant::now() + hermes_testkit::PATIENCE;
    let pid: u32 = loop {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if let Ok(pid) = text.trim().parse() {
            break pid;
        }
        assert!(
            std::time::Instant::now() < deadline,
            "the command never ran"
        );
        // Nobody else tells when another process has written its file.
        std::thread::sleep(Duration::from_millis(5));
    };
    child.signal(Signal::SIGTERM);
    let finished = child.wait();
    assert_eq!(finished.status.code(), Some(143), "{finished:?}");
    hermes_testkit::process::wait_until_gone(pid);
}

#[test]
fn processes_at_the_same_time_cannot_pass_a_daily_budget_together() {
    let stage = Stage::with("budget:\n  per_day: {tokens: 25000}\n");
    let tokens = Tokens {
        prompt: 9_000,
        completion: 10,
        ..Default::default()
    };
    stage
        .server
        .fallback(move |_| Reply::text("ok").usage(tokens));
    let ran = run_together((0..6).map(|n| stage.scratch.command(["-z", &format!("q{n}")])));
    let answered = ran.iter().filter(|one| one.status.success()).count();
    let refused = ran
        .iter()
        .filter(|one| one.stderr.contains("the budget for today"))
        .count();
    assert_eq!(answered + refused, 6, "{ran:#?}");
    // 9,010 each: two fit, and a third may start before they are counted in full.
    assert!((1..=4).contains(&answered), "{answered} of 25,000 tokens");
    assert_eq!(stage.server.requests().len(), answered);
    let before = stage.server.requests().len();
    stage.run(&["-z", "one more"]);
    assert!(stage.server.requests().len() <= before + 1);
}

#[test]
fn only_the_answer_is_on_stdout_whatever_happens() {
    // Odd configuration, an unknown toolset, a tool, a retry, a compression.
    let stage = Stage::with("base_url: http://nowhere\ncompression:\n  threshold: 0.1\n");
    narrow_window(&stage);
    std::fs::write(
        stage.scratch.user_home().join("long.txt"),
        "a line of some length to be read\n".repeat(400),
    )
    .unwrap();
    for quiet in [false, true] {
        let before = stage.server.requests().len();
        stage.server.push(Reply::empty().then_cut());
        for from in 0..8 {
            let reply = Reply::tool_call(
                "read_file",
                json!({"path": "long.txt", "offset": from * 40 + 1}),
            );
            stage.server.push(reply.usage(Tokens {
                prompt: if from == 7 { 60_000 } else { 1_000 },
                ..Default::default()
            }));
        }
        stage.server.push(Reply::text("a summary"));
        stage.server.push(Reply::text("the answer"));
        let mut words = vec!["-t", "file,bogus"];
        match quiet {
            true => words.extend(["chat", "-Q", "-q", "hi"]),
            false => words.extend(["-z", "hi"]),
        }
        let ran = stage.run(&words);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "the answer\n"),
            "{ran:#?}"
        );
        assert_eq!(stage.server.requests().len() - before, 11, "{ran:#?}");
        let told = "older messages were condensed: 17 became ";
        assert!(ran.stderr.contains(told), "{ran:#?}");
        if quiet {
            // The new session is named, and the old one kept every message.
            let id = stage.session(&ran);
            let listed = stage.run(&["sessions", "export", "-"]).stdout;
            let sessions: Vec<Value> = listed
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            let new = sessions.iter().find(|s| s["id"] == *id).unwrap();
            let parent = sessions
                .iter()
                .find(|s| s["id"] == new["parent_session_id"])
                .unwrap();
            assert_eq!(parent["end_reason"], "compression");
            assert_eq!(parent["messages"].as_array().unwrap().len(), 17);
            assert!(
                ran.stderr.contains("`base_url` stands at the top level"),
                "{ran:#?}"
            );
        } else {
            assert!(!ran.stderr.contains("top level"), "{ran:#?}");
        }
    }
}

#[test]
fn a_condensed_session_is_sent_on_unchanged_by_another_process() {
    let stage = Stage::with("compression:\n  threshold: 0.1\n");
    narrow_window(&stage);
    for n in 0..8 {
        stage.server.push(
            Reply::tool_call("terminal", json!({"command": format!("seq {n} 900")})).usage(
                Tokens {
                    prompt: if n == 7 { 60_000 } else { 1_000 },
                    ..Default::default()
                },
            ),
        );
    }
    stage.server.push(Reply::text("Goal: count."));
    stage.server.push(Reply::text("counted"));
    let task = "count to nine hundred, exactly as I say it here";
    let first = stage.run(&["chat", "-Q", "-q", task]);
    assert_eq!(first.code, 0, "{first:#?}");
    let id = stage.session(&first);
    stage.server.push(Reply::text("more"));
    stage.run(&["chat", "-Q", "-q", "go on", "--resume", &id]);
    let requests = stage.server.requests();
    let [.., summary, before, after] = &requests[..] else {
        panic!("{} requests", requests.len());
    };
    assert!(summary.tool_names().is_empty());
    let (before_messages, after_messages) = (before.messages(), after.messages());
    assert_eq!(after_messages[..before_messages.len()], before_messages[..]);
    assert_eq!(before.body["tools"], after.body["tools"]);
    let sent = serde_json::to_string(before_messages).unwrap();
    assert!(sent.contains("[CONTEXT SUMMARY]:") && sent.contains("Goal: count."));
    assert!(sent.contains(task), "the task stays word for word");
    stage.server.push(Reply::text("still more"));
    let shown = stage.run(&["chat", "-q", "and on", "--resume", &id]);
    // The task, `go on` and `and on`; a summary is nobody's question.
    assert!(shown.stdout.contains("(3 user, "), "{shown:#?}");
}

#[test]
fn a_session_whose_summary_was_killed_is_condensed_by_the_next_process_at_once() {
    let stage = Stage::with("compression:\n  threshold: 0.1\n");
    narrow_window(&stage);
    for n in 0..8 {
        let prompt = if n == 7 { 60_000 } else { 1_000 };
        stage.server.push(
            Reply::tool_call("terminal", json!({"command": format!("seq {n} 900")})).usage(
                Tokens {
                    prompt,
                    ..Default::default()
                },
            ),
        );
    }
    let gate = Gate::new();
    stage.server.push(Reply::text("never read").held_by(&gate));
    let child = Running::start(stage.scratch.command(["chat", "-Q", "-q", "count"]));
    stage.server.wait_for_requests(9);
    child.kill9();
    stage.server.push(Reply::error(
        400,
        "prompt is too long: 70000 tokens > 64000 maximum",
    ));
    stage.server.push(Reply::text("Goal: count."));
    stage.server.push(Reply::text("counted"));
    let ran = stage.run(&["chat", "-Q", "-q", "go on", "-c"]);
    assert_eq!(ran.stdout, "counted\n", "{ran:#?}");
    let last = stage.server.requests().pop().unwrap();
    assert!(last.body.to_string().contains("[CONTEXT SUMMARY]:"));
}

#[test]
fn a_request_that_is_refused_is_left_for_inspection() {
    let stage = Stage::new();
    stage.server.push(Reply::error(
        400,
        "what is that? key\\nsk-proj-abcdefghijklmnopqrst1234",
    ));
    let refused = stage.run(&["-z", "look at me"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("sk-pro...1234"), "{refused:#?}");
    assert!(!refused.stderr.contains("klmnop"), "{refused:#?}");
    let directory = stage.scratch.home().join("sessions");
    let mut names: Vec<String> = std::fs::read_dir(&directory)
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let name = names.pop().unwrap();
    assert!(name.starts_with("request_dump_") && name.ends_with(".json"));
    let dump = stage.scratch.read(&format!("sessions/{name}"));
    assert!(
        dump.contains("look at me") && dump.contains("what is that?"),
        "{dump}"
    );
    assert!(
        !dump.contains("test-key") && !dump.contains("klmnop"),
        "{dump}"
    );

    stage.server.push(Reply::text("fine"));
    let output = stage
        .scratch
        .command(["-z", "hi"])
        .env("HERMES_DUMP_REQUESTS", "1")
        .env("HERMES_DUMP_REQUEST_STDOUT", "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        printed.starts_with('{') && printed.ends_with("}\nfine\n"),
        "{printed}"
    );
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 2);
}

#[test]
fn a_conversation_on_a_terminal_gets_a_name_and_warnings() {
    let stage = Stage::with("auxiliary:\n  title_generation: {model: namer}\napi_key: x\n");
    stage
        .server
        .push_for("namer", Reply::text("\"Herons by the lake\""));
    stage.server.push(Reply::text("It is a heron."));
    let terminal = Terminal::start(stage.scratch.command(["chat"]));
    terminal.wait_for("`api_key` stands at the top level");
    terminal.type_line("what bird is that?");
    terminal.wait_for("It is a heron.");
    // Leaving waits a moment for the name; it should not have to.
    stage.server.wait_for_requests(2);
    terminal.type_line("/quit");
    terminal.wait_for("Title:     Herons by the lake");
    assert!(terminal.wait().success());
    // Found again by it.
    stage.server.push(Reply::text("yes"));
    let ran = stage.run(&["-z", "sure?", "--resume", "Herons by the lake"]);
    assert_eq!(ran.stdout, "yes\n", "{ran:#?}");
    assert_eq!(stage.server.requests().last().unwrap().messages().len(), 4);
}

#[test]
fn what_stands_before_and_after_a_conversation_is_sent_and_not_stored() {
    let stage = Stage::with("prefill_messages_file: opening.json\n");
    stage.scratch.write(
        "opening.json",
        r#"[{"role": "user", "content": "ping"}, {"role": "assistant", "content": "pong"}]"#,
    );
    stage.server.fallback(|_| Reply::text("ok"));
    let output = stage
        .scratch
        .command(["-z", "hi"])
        .env("HERMES_EPHEMERAL_SYSTEM_PROMPT", "Answer in Latin.")
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"ok\n");
    let request = stage.server.requests().pop().unwrap();
    let texts: Vec<&str> = request.messages()[1..]
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert_eq!(texts, ["ping", "pong", "hi"]);
    let system = request.messages()[0]["content"].as_str().unwrap();
    assert!(system.ends_with("Answer in Latin."), "{system}");
    let stored = stage.run(&["sessions", "export", "-"]).stdout;
    assert!(!stored.contains("pong") && !stored.contains("Latin"));
    // A file that cannot be read is told, and the conversation goes on.
    stage.scratch.write("opening.json", "pong");
    let ran = stage.run(&["chat", "-Q", "-q", "hi"]);
    assert_eq!(ran.stdout, "ok\n");
    assert!(ran.stderr.contains("opening.json) is left out"), "{ran:#?}");
}

#[test]
fn providers_that_take_no_key_say_so_and_what_to_use() {
    let scratch = Scratch::new();
    for (provider, instead) in [
        ("openai-codex", "openai-api"),
        ("gemini-cli", "gemini"),
        ("copilot", "openai-api"),
        ("bedrock", "anthropic"),
    ] {
        let ran = scratch.run(["--provider", provider, "-m", "x", "-z", "hi"]);
        assert_eq!(ran.code, 1, "{ran:#?}");
        let told = |text: &str| text.contains("not built yet") && text.contains(instead);
        assert!(told(&ran.stderr), "{provider}: {ran:#?}");
        let ran = scratch.run(["auth", "add", provider, "--api-key", "k"]);
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(told(&ran.stderr), "{provider}: {ran:#?}");
    }
    assert!(
        !scratch.exists("auth.json"),
        "nothing is stored that nothing uses"
    );
}

#[test]
fn subagents_think_as_long_as_they_are_told() {
    let stage =
        Stage::with("agent:\n  reasoning_effort: low\ndelegation:\n  reasoning_effort: high\n");
    let config = stage
        .scratch
        .read("config.yaml")
        .replace(
            "context_length: 200000",
            "context_length: 200000\n  api_mode: codex_responses",
        )
        .replace(ModelServer::DEFAULT_MODEL, "gpt-5");
    stage.scratch.write("config.yaml", config);
    stage.server.push(Reply::tool_call(
        "delegate_task",
        json!({"goal": "count birds"}),
    ));
    stage.server.push(Reply::text("seven"));
    stage.server.push(Reply::text("reported"));
    assert_eq!(stage.run(&["-z", "go"]).stdout, "reported\n");
    let efforts: Vec<Value> = stage
        .server
        .requests()
        .iter()
        .map(|request| request.body["reasoning"]["effort"].clone())
        .collect();
    assert_eq!(efforts, ["low", "high", "low"]);
}

#[test]
fn old_sessions_go_when_a_chat_starts_and_their_files_with_them() {
    let stage = Stage::new();
    stage.server.fallback(|_| Reply::text("ok"));
    let stored = || -> Vec<String> {
        stage
            .run(&["sessions", "export", "-"])
            .stdout
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter_map(|session| session["id"].as_str().map(str::to_owned))
            .collect()
    };
    stage.run(&["-z", "one"]);
    let old = stored();
    let dump = format!("sessions/request_dump_{}_x.json", old[0]);
    stage.scratch.write(&dump, "{}");
    stage.run(&["-z", "two"]);
    assert!(stored().contains(&old[0]), "off by default");
    let prune = [
        "--config=sessions.auto_prune=true",
        "--config=sessions.retention_days=0",
    ];
    stage.run(&[&["-z", "three"], &prune[..]].concat());
    assert_eq!(stored().len(), 1, "only the one that ran");
    assert!(!stage.scratch.exists(&dump));
    // Not again within the interval.
    stage.run(&[&["-z", "four"], &prune[..]].concat());
    assert_eq!(stored().len(), 2);
}

/// The smallest PNG.
pub(super) const PIXEL: [u8; 67] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0x0a, 0x49, 0x44, 0x41, 0x54,
    0x78, 0x9c, 0x63, 0, 1, 0, 0, 5, 0, 1, 0x0d, 0x0a, 0x2d, 0xb4, 0, 0, 0, 0, 0x49, 0x45, 0x4e,
    0x44, 0xae, 0x42, 0x60, 0x82,
];

#[test]
fn a_picture_that_the_model_cannot_see_is_left_out_and_the_rest_is_asked() {
    let stage = Stage::new();
    std::fs::write(stage.scratch.user_home().join("p.png"), PIXEL).unwrap();
    stage.server.push(Reply::error(
        400,
        "image input is not supported by this model",
    ));
    stage.server.push(Reply::text("I cannot see it."));
    let ran = stage.run(&["chat", "-Q", "-q", "what is this?", "--image", "p.png"]);
    assert_eq!(ran.stdout, "I cannot see it.\n", "{ran:#?}");
    let bodies: Vec<bool> = stage
        .server
        .requests()
        .iter()
        .map(|request| request.body.to_string().contains("data:image/png"))
        .collect();
    assert_eq!(bodies, [true, false]);
    // Who knows better says so, and nobody has to find out.
    stage.server.push(Reply::text("Still not."));
    let words = [
        "-c",
        "model.supports_vision=false",
        "chat",
        "-Q",
        "-q",
        "and now?",
        "--image",
        "p.png",
    ];
    assert_eq!(stage.run(&words).stdout, "Still not.\n");
    let requests = stage.server.requests();
    assert_eq!(requests.len(), 3);
    let sent = requests[2].body.to_string();
    assert!(
        !sent.contains("data:image/png") && sent.contains("picture left out"),
        "{sent}"
    );
}

#[test]
fn sets_that_are_called_not_built_are_not_offered_and_all_others_are() {
    use hermes_tools::toolsets::{CONFIGURABLE, NOT_BUILT, expand};
    let stage = Stage::new();
    stage.server.push(Reply::text("ok"));
    stage.run(&["-z", "hi"]);
    let requests = stage.server.requests();
    let offered = requests[0].tool_names();
    for set in CONFIGURABLE {
        let tools = expand(set.name).unwrap_or_default();
        let built = tools.iter().any(|tool| offered.contains(&tool.as_str()));
        assert_eq!(built, !NOT_BUILT.contains(&set.name), "{}", set.name);
    }
    let listed = stage.run(&["tools", "list"]);
    assert!(listed.stderr.contains("not built yet"), "{listed:#?}");
}

#[test]
fn a_process_that_outlived_its_hermes_is_taken_up_by_the_next_one() {
    let stage = Stage::new();
    let start = json!({"command": "echo up; sleep 300", "background": true});
    stage.server.push(Reply::tool_call("terminal", start));
    stage.server.push(Reply::text("started"));
    let started = stage.run(&["-z", "start it"]);
    assert_eq!(started.stdout, "started\n");
    assert!(started.stderr.contains("still running"), "{started:#?}");
    let answers = |requests: Vec<hermes_testkit::model::Recorded>| -> Value {
        let last = requests.last().expect("a request").last_message().clone();
        let text = last["content"].as_str().expect("a result");
        serde_json::from_str(text).expect("JSON")
    };
    let id = answers(stage.server.requests())["session_id"].clone();

    let list = json!({"action": "list"});
    stage.server.push(Reply::tool_call("process", list));
    let kill = json!({"action": "kill", "session_id": id});
    stage.server.push(Reply::tool_call("process", kill));
    stage.server.push(Reply::text("ended"));
    assert_eq!(stage.run(&["--continue", "-z", "end it"]).stdout, "ended\n");
    let requests = stage.server.requests();
    let listed = answers(requests[..requests.len() - 1].to_vec());
    assert_eq!(listed["processes"][0]["session_id"], id, "{listed:#}");
    let ended = answers(requests);
    assert_eq!(ended["status"], "killed", "{ended:#}");
}

#[test]
fn a_turn_is_told_in_the_log_and_a_failure_in_the_log_of_errors() {
    let stage = Stage::new();
    stage.server.push(Reply::tool_call("todo", json!({})));
    stage.server.push(Reply::text("ok"));
    stage.run(&["-z", "hi"]);
    let agent = stage.scratch.read("logs/agent.log");
    for part in [
        "a tool was called",
        "tool=todo",
        "a turn was answered",
        "calls=2",
    ] {
        assert!(agent.contains(part), "{part}: {agent}");
    }
    stage.server.push(Reply::error(401, "that key is no good"));
    stage.run(&["-z", "hi"]);
    let errors = stage.scratch.read("logs/errors.log");
    assert!(errors.contains("a turn ended early"), "{errors}");
    assert!(errors.contains("that key is no good"), "{errors}");
}

//! Conversations that run to their end by themselves, through the binary.

use std::process::Stdio;

use hermes_testkit::model::{Gate, ModelServer, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::{Ran, Scratch};

pub(super) struct Stage {
    pub(super) scratch: Scratch,
    pub(super) server: ModelServer,
}

impl Stage {
    pub(super) fn new() -> Self {
        Self::with("")
    }

    /// `more` is appended to the configuration.
    pub(super) fn with(more: &str) -> Self {
        let (scratch, server) = (Scratch::new(), ModelServer::start());
        scratch.write(
            "config.yaml",
            format!(
                "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: test-key\n  context_length: 200000\n{more}",
                ModelServer::DEFAULT_MODEL,
                server.url(),
            ),
        );
        Self { scratch, server }
    }

    pub(super) fn run(&self, words: &[&str]) -> Ran {
        let output = self
            .scratch
            .command(words)
            .stdin(Stdio::null())
            .output()
            .expect("the binary starts");
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub(super) fn session(&self, ran: &Ran) -> String {
        ran.stderr
            .lines()
            .find_map(|line| line.strip_prefix("session_id: "))
            .unwrap_or_else(|| panic!("{ran:#?}"))
            .to_owned()
    }
}

#[test]
fn one_shot_prints_the_answer_and_nothing_else() {
    let stage = Stage::new();
    stage.server.push(Reply::text("hello\n\nthere"));
    let ran = stage.run(&["-z", "hi"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "hello\n\nthere\n", "")
    );
    let requests = stage.server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].messages()[1],
        json!({"role": "user", "content": "hi"})
    );
    let tools = requests[0].tool_names();
    for tool in [
        "todo",
        "memory",
        "session_search",
        "skill_view",
        "delegate_task",
        "read_file",
    ] {
        assert!(tools.contains(&tool), "{tool} in {tools:?}");
    }
    assert!(tools.is_sorted(), "{tools:?}");
}

#[test]
fn a_failing_model_fails_every_form_and_says_why() {
    for words in [
        vec!["-z", "hi"],
        vec!["chat", "-q", "hi"],
        vec!["chat", "-Q", "-q", "hi"],
    ] {
        let stage = Stage::new();
        stage.server.push(Reply::error(401, "bad key"));
        let ran = stage.run(&words);
        assert_eq!(ran.code, 1, "{words:?} {ran:#?}");
        assert!(ran.stderr.contains("bad key"), "{ran:#?}");
        if words[0] == "-z" {
            assert_eq!(ran.stdout, "");
            assert!(ran.stderr.starts_with("hermes -z: "), "{ran:#?}");
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:#?}");
        }
    }
}

#[test]
fn nothing_configured_shows_three_ways_out() {
    let scratch = Scratch::new();
    for words in [
        vec!["-z", "hi"],
        vec!["chat", "-q", "hi"],
        vec!["chat", "-Q", "-q", "hi"],
    ] {
        let output = scratch
            .command(&words)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(stderr.matches("hint:").count(), 3, "{stderr}");
        assert!(stderr.contains("no model provider is set up"));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn the_demo_model_answers_without_any_setup() {
    let scratch = Scratch::new();
    let output = scratch
        .command(["--provider", "demo", "-z", "hello"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!output.stdout.is_empty());
}

#[test]
fn quiet_prints_the_answer_and_names_the_session() {
    let stage = Stage::new();
    stage.server.push(Reply::text("Noted."));
    let first = stage.run(&["chat", "-Q", "-q", "remember the word heron"]);
    assert_eq!((first.code, first.stdout.as_str()), (0, "Noted.\n"));
    let id = stage.session(&first);

    // Another process sends the same prefix.
    stage.server.push(Reply::text("heron"));
    let second = stage.run(&["chat", "-Q", "-q", "which word?", "--resume", &id]);
    assert_eq!(second.stdout, "heron\n");
    assert_eq!(stage.session(&second), id);
    // By the beginning of its id, and by being the newest.
    stage.server.push(Reply::text("h-e-r-o-n"));
    stage.run(&["chat", "-Q", "-q", "spell it", "--resume", &id[..18]]);
    stage.server.push(Reply::text("yes"));
    stage.run(&["-c", "-z", "sure?"]);
    let requests = stage.server.requests();
    for pair in requests.windows(2) {
        let (before, after) = (pair[0].messages(), pair[1].messages());
        assert_eq!(after[..before.len()], before[..]);
        assert_eq!(pair[0].body["tools"], pair[1].body["tools"]);
    }
    assert_eq!(requests[3].messages().len(), 8);
}

#[test]
fn an_unknown_session_is_said_and_fails() {
    let stage = Stage::new();
    let ran = stage.run(&["chat", "-Q", "-q", "x", "--resume", "nothing like it"]);
    assert_eq!(ran.code, 1);
    assert_eq!(
        ran.stderr.matches("hermes sessions list").count(),
        1,
        "{ran:#?}"
    );
    let ran = stage.run(&["-c", "-z", "x"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(stage.server.requests().is_empty());
}

#[test]
fn a_query_shows_its_tools_and_how_to_go_on() {
    let stage = Stage::new();
    stage.server.push(Reply::tool_call("todo", json!({})));
    stage.server.push(Reply::text("Nothing to do."));
    let ran = stage.run(&["chat", "-q", "what is open?"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    for part in [
        "Query: what is open?",
        "> todo",
        "< todo  ok",
        "Nothing to do.",
        "hermes --resume ",
        "Session:",
        "Messages:  4 (1 user, 1 tool calls)",
    ] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'));
}

#[test]
fn what_comes_through_a_pipe_is_the_question_or_its_appendix() {
    let stage = Stage::new();
    stage.server.push(Reply::text("one"));
    let ran = stage
        .scratch
        .run_with_input(["chat", "-Q"], "from a pipe\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\n"), "{ran:#?}");
    stage.server.push(Reply::text("two"));
    let ran = stage
        .scratch
        .run_with_input(["chat", "-Q", "-q", "explain"], "a log line\n");
    assert_eq!(ran.stdout, "two\n");
    stage.server.push(Reply::text("three"));
    let ran = stage.scratch.run_with_input(["-z", "-"], "piped prompt");
    assert_eq!(ran.stdout, "three\n");
    let asked: Vec<String> = stage
        .server
        .requests()
        .iter()
        .map(|request| {
            request.last_message()["content"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(
        asked,
        ["from a pipe", "explain\n\na log line", "piped prompt"]
    );
}

#[test]
fn wrong_words_are_usage_errors() {
    let stage = Stage::new();
    assert_eq!(stage.run(&["-z", "  "]).code, 2);
    assert_eq!(stage.run(&["--provider", "custom", "-z", "hi"]).code, 2);
    assert_eq!(stage.run(&["-t", "nonsense", "-z", "hi"]).code, 2);
    let ran = stage.run(&["-s", "nonsense", "-z", "hi"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("Unknown skill(s): nonsense"),
        "{ran:#?}"
    );
    assert!(stage.server.requests().is_empty());
}

#[test]
fn a_skill_that_cannot_be_loaded_says_why() {
    let stage = Stage::with("skills: {disabled: [known]}\n");
    let skill = "---\nname: known\ndescription: Known.\n---\nText.\n";
    stage.scratch.write("skills/known/SKILL.md", skill);
    let ran = stage.run(&["-s", "known", "-z", "hi"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("is disabled"), "{ran:#?}");
    assert!(stage.server.requests().is_empty());
}

#[test]
fn toolsets_and_skills_of_the_run_reach_the_model() {
    let stage = Stage::new();
    stage.scratch.write(
        "skills/greet/SKILL.md",
        "---\nname: greet\ndescription: How to greet.\n---\nAlways bow first.\n",
    );
    stage.server.push(Reply::text("ok"));
    let ran = stage.run(&["-t", "file,bogus", "-s", "greet", "-z", "hi"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.stderr.contains("unknown toolset \"bogus\""));
    let request = &stage.server.requests()[0];
    assert_eq!(
        request.tool_names(),
        ["patch", "read_file", "search_files", "write_file"]
    );
    assert!(
        request.messages()[0]["content"]
            .as_str()
            .unwrap()
            .contains("Always bow first.")
    );
}

#[test]
fn the_files_of_the_project_are_read_and_ignored_on_request() {
    let stage = Stage::new();
    std::fs::write(
        stage.scratch.user_home().join("AGENTS.md"),
        "Rule: be kind.",
    )
    .unwrap();
    for (words, expected) in [
        (vec!["-z", "hi"], true),
        (vec!["--ignore-rules", "-z", "hi"], false),
    ] {
        stage.server.push(Reply::text("ok"));
        stage.run(&words);
        let requests = stage.server.requests();
        let system = requests.last().unwrap().messages()[0]["content"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(system.contains("Rule: be kind."), expected);
    }
}

#[test]
fn an_interrupt_ends_the_run_with_130_and_a_resume_goes_on() {
    let stage = Stage::new();
    let gate = Gate::new();
    stage
        .server
        .push(Reply::text("as far as ").then_stall(&gate));
    let child = hermes_testkit::process::Running::start(
        stage.scratch.command(["chat", "-Q", "-q", "tell me"]),
    );
    stage.server.wait_for_requests(1);
    child.signal(nix::sys::signal::Signal::SIGINT);
    let finished = child.wait();
    assert_eq!(finished.status.code(), Some(130), "{finished:?}");
    stage.server.push(Reply::text("done"));
    let ran = stage.run(&["-c", "-z", "go on"]);
    assert_eq!(ran.stdout, "done\n", "{ran:#?}");
    let last = stage.server.requests().pop().unwrap();
    assert!(
        last.messages()[1]["content"]
            .as_str()
            .unwrap()
            .starts_with("tell me")
    );
}

#[test]
fn a_daily_budget_binds_across_processes() {
    let stage = Stage::with("budget:\n  per_day: {tokens: 30000}\n");
    let tokens = hermes_testkit::model::Tokens {
        prompt: 20_000,
        completion: 10,
        ..Default::default()
    };
    stage.server.push(Reply::text("one").usage(tokens));
    assert_eq!(stage.run(&["-z", "a"]).code, 0);
    stage.server.push(Reply::text("two").usage(tokens));
    assert_eq!(stage.run(&["-z", "b"]).code, 0);
    let ran = stage.run(&["-z", "c"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("the budget for today is used up"),
        "{ran:#?}"
    );
    assert_eq!(stage.server.requests().len(), 2);
}

#[test]
fn a_budget_that_one_call_would_pass_says_what_the_call_needs() {
    let stage = Stage::with("budget:\n  per_turn: {tokens: 10}\n");
    let ran = stage.run(&["-z", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:#?}");
    assert!(
        ran.stderr
            .contains("does not allow the next call, which needs about"),
        "{ran:#?}"
    );
    assert!(ran.stderr.contains("0 of 10 tokens spent"), "{ran:#?}");
    assert!(stage.server.requests().is_empty());
}

#[test]
fn a_budget_that_makes_no_sense_is_refused_by_its_name() {
    for (limit, named) in [
        ("{usd: -1}", "`budget.per_turn.usd`"),
        ("{usd: 0}", "`budget.per_turn.usd`"),
        ("{usd: .nan}", "`budget.per_turn.usd`"),
        ("{tokens: lots}", "`budget.per_turn.tokens`"),
    ] {
        let stage = Stage::with(&format!("budget:\n  per_turn: {limit}\n"));
        let ran = stage.run(&["-z", "hi"]);
        assert_ne!(ran.code, 0, "{ran:#?}");
        assert!(ran.stderr.contains(named), "{ran:#?}");
        assert!(stage.server.requests().is_empty());
    }
}

#[test]
fn a_budget_in_dollars_without_a_price_says_that_it_cannot_bind() {
    let stage = Stage::with("budget:\n  per_day: {usd: 5}\n");
    // A model far away, for which no price is known; the proxy plays it.
    let config = stage
        .scratch
        .read("config.yaml")
        .replace(&stage.server.url(), "http://models.invalid/v1");
    stage.scratch.write("config.yaml", config);
    stage.server.fallback(|_| Reply::text("ok"));
    let proxy = stage.server.origin();
    for (words, on) in [
        (&["-z", "hi"][..], "stderr"),
        (&["chat", "-Q", "-q", "hi"], "stderr"),
        (&["chat", "-q", "hi"], "stdout"),
    ] {
        let output = stage
            .scratch
            .command(words)
            .env("http_proxy", &proxy)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(match on {
            "stderr" => &output.stderr,
            _ => &output.stdout,
        })
        .into_owned();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            told.matches("no price is known").count(),
            1,
            "{words:?}: {output:?}"
        );
    }
}

#[test]
fn a_worktree_is_made_told_of_and_removed_when_nothing_would_be_lost() {
    let stage = Stage::new();
    let repository = stage.scratch.user_home().join("repo");
    std::fs::create_dir_all(&repository).unwrap();
    let git = |words: &[&str]| {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@t"])
            .args(words)
            .current_dir(&repository)
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
        String::from_utf8_lossy(&status.stdout).into_owned()
    };
    git(&["init", "-q"]);
    std::fs::write(repository.join("a.txt"), "a").unwrap();
    std::fs::write(repository.join("local.env"), "x=1").unwrap();
    std::fs::write(
        repository.join(".worktreeinclude"),
        "local.env\n../outside\n",
    )
    .unwrap();
    git(&["add", "a.txt"]);
    git(&["commit", "-qm", "first"]);
    let run = |words: &[&str]| {
        stage
            .scratch
            .command(words)
            .current_dir(&repository)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    stage.server.push(Reply::text("ok"));
    let output = run(&["-w", "-z", "hi"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let system = stage.server.requests()[0].messages()[0]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(system.contains("/.worktrees/hermes-"), "{system}");
    assert_eq!(
        std::fs::read_dir(repository.join(".worktrees"))
            .unwrap()
            .count(),
        0
    );
    assert!(!git(&["branch"]).contains("hermes/"));
    assert!(
        std::fs::read_to_string(repository.join(".gitignore"))
            .unwrap()
            .contains(".worktrees/")
    );

    // With something in it, it stays and that is said.
    stage.server.push(Reply::tool_call(
        "write_file",
        json!({"path": "new.txt", "content": "work"}),
    ));
    stage.server.push(Reply::text("written"));
    let output = run(&["-w", "-z", "write"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("stays: it has changes that are not committed"),
        "{stderr}"
    );
    let kept = std::fs::read_dir(repository.join(".worktrees"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(kept.path().join("new.txt")).unwrap(),
        "work"
    );
    assert!(!repository.join("new.txt").exists());

    let outside = stage.run(&["-w", "-z", "hi"]);
    assert_eq!(outside.code, 1, "{outside:#?}");

    // A run that never began leaves nothing, and an old branch without anything of
    // its own goes.
    git(&["branch", "hermes/hermes-00000000"]);
    let output = run(&["-w", "-s", "no-such-skill", "-z", "hi"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let left = std::fs::read_dir(repository.join(".worktrees")).unwrap();
    assert_eq!(left.count(), 1);
    let branches = git(&["branch"]);
    assert!(!branches.contains("hermes-00000000"), "{branches}");
    assert_eq!(branches.matches("hermes/").count(), 1, "{branches}");
}

#[test]
fn a_picture_in_front_of_the_question_is_attached() {
    let stage = Stage::new();
    let here = stage.scratch.user_home();
    std::fs::write(here.join("a.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
    std::fs::write(here.join("b.png"), "no picture").unwrap();
    for (query, pictures) in [("./a.png what is it?", 1), ("./b.png what is it?", 0)] {
        stage.server.push(Reply::text("seen"));
        let ran = stage.run(&["chat", "-Q", "-q", query]);
        assert_eq!(ran.stdout, "seen\n", "{ran:#?}");
        let asked = stage.server.requests().pop().unwrap();
        let text = asked.last_message()["content"].to_string();
        assert_eq!(text.matches("data:image/png").count(), pictures, "{text}");
        assert!(text.contains("what is it?"), "{text}");
    }
}

#[test]
fn a_key_that_is_misspelt_is_told_before_anything_runs() {
    let stage = Stage::with("terminal:\n  bakend: docker\nbudget:\n  per_trun: {usd: 1}\n");
    for words in [
        vec!["-z", "hi"],
        vec!["chat", "-q", "hi"],
        vec!["chat", "-Q", "-q", "hi"],
    ] {
        stage.server.push(Reply::text("done"));
        let ran = stage.run(&words);
        assert_eq!(ran.code, 0, "{ran:#?}");
        for (wrong, meant) in [
            ("terminal.bakend", "terminal.backend"),
            ("budget.per_trun", "budget.per_turn"),
        ] {
            let line = ran
                .stderr
                .lines()
                .find(|line| line.contains(wrong))
                .unwrap_or_else(|| panic!("{ran:#?}"));
            assert!(line.contains(meant) && line.contains("line "), "{line}");
        }
        assert!(!ran.stdout.contains("bakend"));
    }
    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        "model:\n  provder: demo\napprovals:\n  mod: off\n",
    );
    let said = scratch.run(["--provider", "demo", "-z", "hello"]).stderr;
    assert!(
        said.contains("`model.provider`") && said.contains("`approvals.mode`"),
        "{said}"
    );
}

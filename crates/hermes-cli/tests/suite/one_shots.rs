//! What a one-shot says besides its answer, and what the next one finds of it:
//! causes on stderr, budgets that bind, skills and places that stay.

use hermes_testkit::model::{Gate, ModelServer, Reply, Tokens};
use hermes_testkit::process::Running;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::chat::Stage;
use super::support::Scratch;

#[test]
fn skills_of_the_command_line_stay_when_the_session_goes_on() {
    let stage = Stage::new();
    for (name, rule) in [
        ("greet", "Always bow first."),
        ("part", "Always wave last."),
    ] {
        stage.scratch.write(
            &format!("skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: How to {name}.\n---\n{rule}\n"),
        );
    }
    stage.server.fallback(|_| Reply::text("ok"));
    stage.run(&["-z", "hi", "-s", "greet"]);
    stage.run(&["-z", "more", "-c"]);
    stage.run(&["-z", "more", "-c", "-s", "greet,part"]);
    stage.run(&["-z", "more", "-c"]);
    let systems: Vec<Value> = stage
        .server
        .requests()
        .iter()
        .map(|request| request.messages()[0].clone())
        .collect();
    assert!(
        systems[0]["content"]
            .as_str()
            .unwrap()
            .contains("Always bow first.")
    );
    assert_eq!(systems[0], systems[1]);
    let both = systems[2]["content"].as_str().unwrap();
    assert!(
        both.starts_with(systems[0]["content"].as_str().unwrap()),
        "{both}"
    );
    assert_eq!(both.matches("Always bow first.").count(), 1);
    assert_eq!(both.matches("Always wave last.").count(), 1);
    assert_eq!(systems[2], systems[3]);
}

#[test]
fn a_session_whose_directory_is_gone_says_so_once() {
    let stage = Stage::new();
    stage.server.fallback(|_| Reply::text("ok"));
    let place = stage.scratch.user_home().join("project");
    std::fs::create_dir(&place).unwrap();
    let mut command = stage.scratch.command(["-z", "hi"]);
    assert!(command.current_dir(&place).status().unwrap().success());
    std::fs::remove_dir(&place).unwrap();
    let ran = stage.run(&["-z", "more", "-c"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "ok\n"), "{ran:#?}");
    assert!(ran.stderr.contains("project is gone"), "{ran:#?}");
    let asked = stage.server.requests()[1].last_message()["content"].to_string();
    assert!(
        asked.contains("does not exist any more") && asked.contains("more"),
        "{asked}"
    );
    let again = stage.run(&["-z", "again", "-c"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""), "{again:#?}");
}

#[test]
fn an_answer_may_be_as_long_as_the_budget_has_tokens() {
    let stage = Stage::with("  max_tokens: 50000\nbudget:\n  per_day: {tokens: 20000}\n");
    let spent = |prompt| Tokens {
        prompt,
        completion: 10,
        ..Default::default()
    };
    stage.server.push(Reply::text("one").usage(spent(1000)));
    assert_eq!(stage.run(&["-z", "hi"]).stdout, "one\n");
    let cap = |n: usize| {
        stage.server.requests()[n].body["max_tokens"]
            .as_u64()
            .unwrap()
    };
    let first = cap(0);
    assert!((1024..20_000).contains(&first), "{first}");
    stage.server.push(Reply::text("two").usage(spent(18_000)));
    assert_eq!(stage.run(&["-z", "hi"]).stdout, "two\n");
    assert_eq!(cap(1), first - 1010, "what was spent is not there any more");
    let ran = stage.run(&["-z", "hi"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:#?}");
    assert!(ran.stderr.contains("budget.per_day"), "{ran:#?}");
    assert_eq!(stage.server.requests().len(), 2);
}

#[test]
fn a_unit_of_a_budget_that_is_null_has_no_limit() {
    let stage = Stage::with("budget:\n  per_session: {usd: null, tokens: 1}\n");
    let ran = stage.run(&["-z", "hi"]);
    assert!(ran.stderr.contains("budget.per_session"), "{ran:#?}");
    assert!(ran.stderr.contains("of 1 tokens"), "{ran:#?}");
}

#[test]
fn a_paid_provider_costs_money_behind_a_relay_too() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    scratch.write(
        "config.yaml",
        "model:\n  default: claude-sonnet-4-5\n  provider: anthropic\nbudget:\n  per_day: {usd: 0.0001}\n",
    );
    let output = scratch
        .command(["-z", "hi"])
        .env("ANTHROPIC_API_KEY", "sk-ant-api03-0123456789")
        .env("ANTHROPIC_BASE_URL", server.url())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("budget.per_day"), "{words}");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn why_an_answer_is_cut_is_on_stderr_only() {
    for words in [vec!["-z", "hi"], vec!["chat", "-Q", "-q", "hi"]] {
        let stage = Stage::new();
        stage
            .server
            .fallback(|_| Reply::text("abc ").finish("length"));
        let ran = stage.run(&words);
        assert_eq!(ran.code, 1, "{ran:#?}");
        assert!(ran.stdout.starts_with("abc"), "{ran:#?}");
        assert!(!ran.stdout.contains('['), "{ran:#?}");
        assert!(ran.stderr.contains("hermes"), "{ran:#?}");
    }
}

#[test]
fn the_end_of_the_rounds_is_told() {
    for words in [vec!["-z", "hi"], vec!["chat", "-Q", "-q", "hi"]] {
        let stage = Stage::with("agent:\n  max_turns: 1\n");
        stage
            .server
            .push(Reply::tool_call("terminal", json!({"command": "true"})))
            .push(Reply::text("half done"));
        let ran = stage.run(&words);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (0, "half done\n"),
            "{ran:#?}"
        );
        assert!(
            ran.stderr.contains("the limit of 1 rounds was reached"),
            "{ran:#?}"
        );
    }
}

/// Why every session but the conversation's own has ended.
fn children(stage: &Stage) -> Vec<Value> {
    let listed = stage.run(&["sessions", "export", "-"]).stdout;
    listed
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|session| !session["parent_session_id"].is_null())
        .map(|session| session["end_reason"].clone())
        .collect()
}

#[test]
fn sessions_of_subagents_end_with_the_process_that_ran_them() {
    let stage = Stage::new();
    let gate = Gate::new();
    let held = gate.clone();
    stage.server.fallback(move |request| {
        if !request.tool_names().contains(&"delegate_task") {
            return Reply::text("never").held_by(&held);
        }
        let asked = request.last_message()["content"].to_string();
        match asked.contains("delegate") {
            true => Reply::tool_call(
                "delegate_task",
                json!({"tasks": [{"goal": "one"}, {"goal": "two"}]}),
            ),
            false => Reply::text("on"),
        }
    });
    let child = Running::start(stage.scratch.command(["-z", "delegate"]));
    stage.server.wait_for_requests(3);
    child.kill9();
    assert_eq!(children(&stage), [Value::Null, Value::Null]);
    assert_eq!(stage.run(&["-z", "go on", "-c"]).stdout, "on\n");
    assert_eq!(children(&stage), ["delegation_failed", "delegation_failed"]);
}

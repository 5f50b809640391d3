//! Files through the tools of a conversation: long results, masks, checkpoints.

use hermes_testkit::model::Reply;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::stage::Stage;
use super::support::{Scratch, golden};

fn put(stage: &Stage, name: &str, text: impl AsRef<[u8]>) {
    let path = stage.scratch.user_home().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn text(stage: &Stage, name: &str) -> Option<String> {
    std::fs::read_to_string(stage.scratch.user_home().join(name)).ok()
}

#[test]
fn a_long_result_is_kept_in_a_file_that_the_tools_can_read() {
    let stage = Stage::new();
    let lines: String = (0..2000)
        .map(|n| format!("needle {n} {}\n", "x".repeat(80)))
        .collect();
    put(&stage, "hay.txt", &lines);
    stage
        .says(Reply::tool_call(
            "search_files",
            json!({"pattern": "needle", "path": "hay.txt", "limit": 5000}),
        ))
        .says(Reply::text("done"));
    stage.run(&["-z", "go"]);
    let result = stage.last_result();
    assert!(result.starts_with("<persisted-output>"), "{result}");
    assert!(result.len() < 3000, "{}", result.len());
    let path = result
        .split_whitespace()
        .map(|word| word.trim_end_matches(';'))
        .find(|word| word.starts_with('/'))
        .unwrap()
        .to_owned();
    assert!(
        path.starts_with(stage.scratch.home().to_str().unwrap()),
        "{path}"
    );
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Line by line, so that it can be paged and searched.
    stage.calls(
        "search_files",
        json!({"pattern": "needle 1999 ", "path": path}),
    );
    stage.run(&["-z", "go"]);
    let found = stage.last_result();
    assert!(
        found.contains("needle 1999") && !found.contains("needle 1998"),
        "{found}"
    );
}

#[test]
fn all_results_of_one_answer_have_one_budget() {
    let stage = Stage::new();
    for name in ["a", "b", "c"] {
        let lines: String = (0..450)
            .map(|n| format!("{name}{n} {}\n", "y".repeat(180)))
            .collect();
        put(&stage, &format!("{name}.txt"), &lines);
    }
    stage
        .says(
            Reply::tool_call("read_file", json!({"path": "a.txt"}))
                .then_call("read_file", json!({"path": "b.txt"}))
                .then_call("read_file", json!({"path": "c.txt"})),
        )
        .says(Reply::text("done"));
    stage.run(&["-z", "go"]);
    let results = stage.results();
    let total: usize = results.iter().map(|one| one.chars().count()).sum();
    assert!(total <= 200_000, "{total}");
    let kept = results
        .iter()
        .filter(|one| one.starts_with("<persisted-output>"));
    assert_eq!(kept.count(), 1);
}

#[test]
fn limits_of_reading_come_from_the_configuration() {
    let stage =
        Stage::with("file_read_max_chars: 50\ntool_output: {max_line_length: 10, max_lines: 3}\n");
    put(&stage, "long.txt", format!("{}\nb\nc\nd\n", "a".repeat(30)));
    stage.calls("read_file", json!({"path": "long.txt", "limit": 2000}));
    stage.run(&["-z", "go"]);
    let result = stage.last_result();
    assert!(
        result.contains("1|aaaaaaaaaa... [truncated]\\n2|b\\n3|c\"") && result.contains("offset=4"),
        "{result}"
    );
    put(&stage, "wide.txt", "a\n".repeat(3) + &"b".repeat(9));
    stage.configure("file_read_max_chars: 5\n");
    stage.calls("read_file", json!({"path": "wide.txt"}));
    stage.run(&["-z", "go"]);
    assert!(stage.last_result().contains("more than 5 characters"));
}

#[test]
fn secrets_are_masked_once_and_web_addresses_pass() {
    let token = "ghp_abcdefghijklmnopqrst";
    let url = "https://host/x?token=sk-abcdefghijklmnop3456";
    let script = format!("printf 'first\\n{token}\\n{url}\\nMY_TOKEN=abc\\nlast\\n'");
    let stage = Stage::new();
    put(&stage, "notes.txt", format!("first\n{token}\n{url}\n"));
    stage
        .says(
            Reply::tool_call("terminal", json!({"command": script}))
                .then_call("read_file", json!({"path": "notes.txt"}))
                .then_call(
                    "search_files",
                    json!({"pattern": "ghp", "path": "notes.txt"}),
                ),
        )
        .says(Reply::text("done"));
    let ran = stage.run(&["chat", "-v", "-q", "go"]);
    let results = stage.results();
    assert_eq!(results.len(), 3);
    for result in &results {
        assert!(!result.contains(token), "{result}");
        assert!(result.contains("ghp_ab...qrst"), "{result}");
    }
    assert!(results[0].contains("MY_TOKEN=***\\nlast"), "{}", results[0]);
    for result in &results[..2] {
        assert!(result.contains(url), "{result}");
    }
    // The screen shows what the model wrote as it is, and results masked.
    let shown = ran
        .stdout
        .replace(&script, "")
        .replace(&script.replace('\n', "\\n"), "");
    assert!(!shown.lines().any(|line| line.trim() == token), "{shown}");

    let open = Stage::with("security: {redact_secrets: false}\n");
    put(&open, "notes.txt", token);
    open.calls("read_file", json!({"path": "notes.txt"}));
    open.run(&["-z", "go"]);
    assert!(open.last_result().contains(token));
}

#[test]
fn a_script_reads_what_is_there_and_the_model_reads_it_afterwards() {
    let stage = Stage::with("approvals: {mode: off}\n");
    put(&stage, "a.txt", "one\n");
    let code = "from hermes_tools import read_file\nprint(read_file('a.txt')['content'], read_file('a.txt')['content'])";
    stage
        .says(Reply::tool_call("execute_code", json!({"code": code})))
        .calls("read_file", json!({"path": "a.txt"}));
    stage.run(&["-z", "go"]);
    let results = stage.results();
    assert!(results[0].contains("1|one 1|one"), "{}", results[0]);
    assert!(results[1].contains("1|one"), "{}", results[1]);
}

#[test]
fn execute_code_obeys_its_settings() {
    let stage = Stage::with(
        "approvals: {mode: off}\ncode_execution: {max_tool_calls: 1, timeout: 2, mode: strict}\n",
    );
    let code = "import os, hermes_tools\nprint(os.getcwd() == os.path.expanduser('~'))\nfor _ in range(2): print(hermes_tools.terminal('echo hi'))\nimport time\ntime.sleep(60)";
    stage.calls("execute_code", json!({"code": code}));
    stage.run(&["-z", "go"]);
    let result = stage.last_result();
    for part in ["False", "limit of 1 tool calls", "\"timeout\"", "after 2 s"] {
        assert!(result.contains(part), "{part}: {result}");
    }
}

#[test]
fn checkpoints_bring_files_back_from_the_chat() {
    let stage = Stage::with("checkpoints: {enabled: true}\napprovals: {mode: off}\n");
    put(&stage, "project/Makefile", "");
    put(&stage, "project/a.txt", "one\n");
    put(&stage, "project/b.txt", "two\n");
    stage
        .says(Reply::tool_call(
            "write_file",
            json!({"path": "project/a.txt", "content": "changed\n"}),
        ))
        .says(Reply::tool_call(
            "terminal",
            json!({"command": "cd project && rm b.txt && echo new > c.txt"}),
        ))
        .says(Reply::text("done"));
    let lines = [
        "change it",
        "/rollback",
        "/rollback diff 2",
        "/rollback 2 b.txt",
        "/rollback 9",
        "/rollback --patch",
        "/rollback 2 ../x",
        "/rollback 3 --clean",
        "/quit",
    ];
    let ran = stage.talk_in_two(
        &["chat"],
        &lines[..1],
        || stage.wait_for_rounds(3),
        &lines[1..],
    );
    let out = &ran.stdout;
    assert!(
        out.contains("before terminal: cd project && rm b.txt"),
        "{out}"
    );
    assert!(out.contains("before write_file"), "{out}");
    assert!(out.contains("-one\n+changed"), "{out}");
    assert!(out.contains("there is no checkpoint 9"), "{out}");
    assert!(out.contains("`--patch` is no checkpoint"), "{out}");
    assert!(out.contains("without `..`"), "{out}");
    assert!(out.contains("The last message is taken back"), "{out}");
    // No more is said than was done.
    assert!(
        out.contains("b.txt` is as it was at checkpoint 2")
            || out.contains("b.txt is as it was at checkpoint 2"),
        "{out}"
    );
    assert!(out.contains("do not hold what git ignores"), "{out}");
    assert!(!out.contains("project is as it was"), "{out}");
    assert_eq!(
        text(&stage, "project/a.txt").as_deref(),
        Some("one\n"),
        "{out}"
    );
    assert_eq!(text(&stage, "project/b.txt").as_deref(), Some("two\n"));
    assert_eq!(text(&stage, "project/c.txt"), None);

    let status = stage.scratch.ok(["checkpoints"]);
    assert!(
        status.contains("Projects:        1") && status.contains("live"),
        "{status}"
    );
    // Whatever the user's git is set to.
    assert!(stage.scratch.exists("checkpoints/store/HEAD"));
    std::fs::remove_dir_all(stage.scratch.user_home().join("project")).unwrap();
    assert!(stage.scratch.ok(["checkpoints", "list"]).contains("orphan"));
    let kept = stage.scratch.ok(["checkpoints", "prune", "--keep-orphans"]);
    assert!(kept.contains("Deleted orphan:  0"), "{kept}");
    let pruned = stage.scratch.ok(["checkpoints", "prune"]);
    assert!(pruned.contains("Deleted orphan:  1"), "{pruned}");
    let refused = stage.scratch.fails(1, ["checkpoints", "clear"]);
    assert!(refused.contains("--force"), "{refused}");
    stage.scratch.ok(["checkpoints", "clear", "--force"]);
    assert!(!stage.scratch.exists("checkpoints"));
    stage.scratch.ok(["checkpoints", "clear-legacy"]);
}

#[test]
fn checkpoints_are_off_by_default_on_by_flag_and_cover_patches_and_scripts() {
    let change = |stage: &Stage| {
        put(stage, "p/Makefile", "");
        put(stage, "p/a.txt", "one\n");
        stage.calls(
            "patch",
            json!({"mode": "patch", "patch": "*** Update File: p/a.txt\n-one\n+two\n"}),
        );
    };
    let off = Stage::new();
    change(&off);
    off.run(&["-z", "go"]);
    assert_eq!(text(&off, "p/a.txt").as_deref(), Some("two\n"));
    assert!(!off.scratch.exists("checkpoints/store"));
    let said = off.talk(&["chat"], &["/rollback", "/quit"]).stdout;
    assert!(said.contains("checkpoints.enabled"), "{said}");

    let on = Stage::with("approvals: {mode: off}\n");
    // Signing with a program that is not there must not matter.
    std::fs::write(
        on.scratch.user_home().join(".gitconfig"),
        "[commit]\n gpgsign = true\n[gpg]\n program = /nowhere\n[core]\n hooksPath = /nowhere\n",
    )
    .unwrap();
    change(&on);
    on.run(&["chat", "--checkpoints", "-q", "go"]);
    let code = "from hermes_tools import write_file\nwrite_file('p/a.txt', 'three\\n')";
    on.calls("execute_code", json!({"code": code}));
    on.run(&["chat", "--checkpoints", "-q", "go"]);
    assert_eq!(text(&on, "p/a.txt").as_deref(), Some("three\n"));
    let said = on.talk(
        &["chat", "--checkpoints"],
        &["/rollback 1 p/a.txt", "/quit"],
    );
    // In the home itself nothing is kept: it is no project.
    assert!(
        said.stdout.contains("there are no checkpoints"),
        "{said:#?}"
    );
    let status = on.scratch.ok(["checkpoints", "status", "--limit", "5"]);
    let row = status
        .lines()
        .find(|line| line.contains("/p "))
        .unwrap_or_else(|| panic!("{status}"));
    assert!(row.contains(" 2 "), "{row}");
}

#[test]
fn an_empty_store_is_told_as_the_reference_tells_it() {
    let scratch = Scratch::new();
    let told = scratch.ok(["checkpoints", "status"]);
    let expected = golden("checkpoints-status.txt")
        .replace("/home/user/.hermes", scratch.home().to_str().unwrap());
    assert_eq!(told, expected);
    assert!(!scratch.exists("checkpoints"));
}

#[test]
fn a_store_of_the_reference_is_read_and_used() {
    let stage = Stage::with("checkpoints: {enabled: true}\napprovals: {mode: off}\n");
    put(&stage, "p/Makefile", "");
    put(&stage, "p/a.txt", "ours\n");
    // As Python Hermes writes it: the same ref, index and file for the same path.
    let store = stage.scratch.home().join("checkpoints/store");
    let project = stage.scratch.user_home().canonicalize().unwrap().join("p");
    let hash = {
        let script = format!("printf %s '{}' | sha256sum | cut -c-16", project.display());
        let done = std::process::Command::new("sh")
            .args(["-c", &script])
            .output();
        String::from_utf8(done.unwrap().stdout)
            .unwrap()
            .trim()
            .to_owned()
    };
    let git = |words: &[&str]| {
        let done = std::process::Command::new("git")
            .args(words)
            .env("GIT_DIR", &store)
            .current_dir(&project)
            .env("GIT_INDEX_FILE", store.join("indexes").join(&hash))
            .env("GIT_AUTHOR_NAME", "x")
            .env("GIT_AUTHOR_EMAIL", "x")
            .env("GIT_COMMITTER_NAME", "x")
            .env("GIT_COMMITTER_EMAIL", "x")
            .output()
            .unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    std::fs::create_dir_all(store.join("indexes")).unwrap();
    std::fs::create_dir_all(store.join("projects")).unwrap();
    git(&["init", "--bare", "-q"]);
    git(&["--work-tree=.", "add", "-A"]);
    let tree = git(&["write-tree"]);
    let commit = git(&["commit-tree", &tree, "-m", "before write_file"]);
    git(&["update-ref", &format!("refs/hermes/{hash}"), &commit]);
    std::fs::write(
        store.join(format!("projects/{hash}.json")),
        format!(
            "{{\"workdir\": \"{}\", \"created_at\": 1794743099.2427273, \"last_touch\": 4794743103.675591}}",
            project.display()
        ),
    )
    .unwrap();
    let listed = stage.scratch.ok(["checkpoints"]);
    assert!(
        listed.contains("Projects:        1") && listed.contains("/p"),
        "{listed}"
    );

    put(&stage, "p/a.txt", "changed\n");
    stage.calls(
        "write_file",
        json!({"path": "p/a.txt", "content": "again\n"}),
    );
    stage.run(&["-z", "go"]);
    let log = git(&["log", "--format=%s", &format!("refs/hermes/{hash}")]);
    assert_eq!(log, "before write_file\nbefore write_file");
    let file = std::fs::read_to_string(store.join(format!("projects/{hash}.json"))).unwrap();
    assert!(file.contains("1794743099.2427273"), "{file}");
}

#[test]
fn a_script_sees_a_variable_only_when_a_skill_asked_for_it() {
    let stage = Stage::with("approvals: {mode: off}\n");
    let skill = "---\nname: mapper\ndescription: maps\nrequired_environment_variables: [MAPPER_TOKEN, OPENAI_API_KEY]\n---\nUse it.\n";
    stage.scratch.write("skills/mapper/SKILL.md", skill);
    let code = "import os\nprint('seen:', os.environ.get('MAPPER_TOKEN'), os.environ.get('OPENAI_API_KEY'))";
    for (tool, arguments) in [
        ("execute_code", json!({"code": code})),
        ("skill_view", json!({"name": "mapper"})),
        ("execute_code", json!({"code": code})),
    ] {
        stage.says(Reply::tool_call(tool, arguments));
    }
    stage.says(Reply::text("done"));
    let mut command = stage.command(&["-z", "go"]);
    command
        .env("MAPPER_TOKEN", "let-through")
        .env("OPENAI_API_KEY", "never");
    command.output().unwrap();
    let results = stage.results();
    assert!(results[0].contains("seen: None None"), "{}", results[0]);
    assert!(
        results[2].contains("seen: let-through None"),
        "{}",
        results[2]
    );
}

#[test]
fn what_a_subagent_wrote_is_told_unless_nobody_wants_to_know() {
    for (guard, told) in [("", true), ("1", false)] {
        let stage = Stage::new();
        let write =
            |text: &str| Reply::tool_call("write_file", json!({"path": "a.txt", "content": text}));
        stage
            .says(Reply::tool_call(
                "delegate_task",
                json!({"goal": "write it"}),
            ))
            .says(write("by the subagent\n"))
            .says(Reply::text("written"))
            .says(write("by the parent\n"))
            .says(Reply::text("done"));
        let mut command = stage.command(&["-z", "go"]);
        command.env("HERMES_DISABLE_FILE_STATE_GUARD", guard);
        assert!(command.status().expect("the binary starts").success());
        let result = stage.last_result();
        assert!(result.contains("bytes_written"), "{result}");
        assert_eq!(result.contains("another agent wrote"), told, "{result}");
    }
}

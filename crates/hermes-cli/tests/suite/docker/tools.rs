//! The tools of a conversation whose commands run in a container.

use hermes_sandbox::docker::Identity;
use hermes_testkit::docker::{self, BASH, PYTHON, Sweep};
use hermes_testkit::model::Reply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::suite::odd_files;
use crate::suite::stage::{Stage, assert_kept_in_a_file};

struct World {
    stage: Stage,
    _sweep: Sweep,
}

/// `more` are lines of the section `terminal`, then whatever follows it.
fn world(image: &'static str, more: &str) -> Option<World> {
    if !docker::available() {
        return None;
    }
    docker::image(image);
    let stage = Stage::new();
    stage.configure(&format!(
        "terminal:\n  backend: docker\n  docker_image: {image}\n  container_disk: 0\n  container_memory: 512\n{more}"
    ));
    let hash = Identity::new("default", "default", &stage.scratch.home()).home;
    Some(World {
        _sweep: Sweep::new(format!("hermes-home={hash}")),
        stage,
    })
}

impl World {
    /// The results of these calls, one after the other.
    fn results(&self, calls: &[(&str, Value)]) -> Vec<String> {
        for (tool, arguments) in calls {
            self.stage.says(Reply::tool_call(tool, arguments.clone()));
        }
        self.stage.says(Reply::text("done"));
        let mut command = self.stage.command(&["-z", "go"]);
        // The engine's client is on the caller's PATH.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let done = command.output().expect("the binary starts");
        assert!(done.status.success(), "{done:?}");
        self.stage.results()
    }
}

#[test]
fn docker_scripts_and_files_live_in_the_container() {
    let Some(world) = world(PYTHON, "code_execution: {timeout: 3}\n") else {
        return;
    };
    let code = "import os\nfrom hermes_tools import read_file, terminal\nprint(os.getcwd(), read_file('a.txt')['content'], terminal('hostname')['output'] == open('/etc/hostname').read().strip())\nos.chdir('/')";
    let long: String = (0..1500)
        .map(|n| format!("needle {n} {}\n", "y".repeat(90)))
        .collect();
    let results = world.results(&[
        (
            "terminal",
            json!({"command": "cd /tmp && mkdir -p w && cd w"}),
        ),
        ("write_file", json!({"path": "a.txt", "content": "one\n"})),
        ("execute_code", json!({"code": code})),
        ("terminal", json!({"command": "pwd; cat a.txt"})),
        ("execute_code", json!({"code": "while True: pass"})),
        ("write_file", json!({"path": "long.txt", "content": long})),
        (
            "search_files",
            json!({"pattern": "needle", "path": "long.txt", "limit": 5000}),
        ),
        (
            "terminal",
            json!({"command": "ls -l /tmp/hermes-results | tail -1; ps | grep -c '[p]ython3'; true"}),
        ),
        (
            "write_file",
            json!({"path": "/root/.hermes/memories/MEMORY.md", "content": "x"}),
        ),
    ]);
    assert!(results[2].contains("/tmp/w 1|one True"), "{}", results[2]);
    assert!(results[3].contains("/tmp/w\\none"), "{}", results[3]);
    assert!(results[4].contains("\"timeout\""), "{}", results[4]);
    assert_kept_in_a_file(&results[6]);
    assert!(results[7].contains("-rw-------"), "{}", results[7]);
    // The script that was ended is gone.
    assert!(results[7].contains("\\n0"), "{}", results[7]);
    assert!(results[8].contains("nothing reads"), "{}", results[8]);
    assert!(!world.stage.scratch.user_home().join("a.txt").exists());
}

#[test]
fn docker_odd_files_of_the_container() {
    let closed = tempfile::tempdir().unwrap();
    let closed = closed.path().canonicalize().unwrap();
    std::fs::write(closed.join("file.txt"), "old\n").unwrap();
    let lines = format!("  docker_volumes: [\"{}:/closed:ro\"]\n", closed.display());
    let Some(world) = world(BASH, &lines) else {
        return;
    };
    let mut calls = odd_files::calls("/tmp/odd");
    let odd = calls.len();
    let edit = json!({"mode": "replace", "path": "/closed/file.txt", "old_string": "old", "new_string": "b"});
    calls.extend([
        (
            "write_file",
            json!({"path": "/closed/new.txt", "content": "x"}),
        ),
        ("patch", edit),
    ]);
    let results = world.results(&calls);
    odd_files::check(&results);
    for refused in &results[odd..] {
        assert!(refused.contains("ead-only"), "{refused}");
    }
    assert_eq!(
        std::fs::read_to_string(closed.join("file.txt")).unwrap(),
        "old\n"
    );
    assert_eq!(std::fs::read_dir(&closed).unwrap().count(), 1);
}

/// `rg` and its libraries from this machine, as volumes.
fn ripgrep() -> String {
    let listed = std::process::Command::new("ldd")
        .arg("/usr/bin/rg")
        .output()
        .expect("ldd");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let libraries = listed
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    let volumes: Vec<String> = std::iter::once("/usr/bin/rg")
        .chain(libraries)
        .map(|path| format!("\"{path}:{path}:ro\""))
        .collect();
    format!("  docker_volumes: [{}]\n", volumes.join(", "))
}

#[test]
fn docker_searches_agree_with_and_without_ripgrep_and_with_this_machine() {
    let Some(plain) = world(BASH, "") else { return };
    let Some(with_rg) = world(BASH, &ripgrep()) else {
        return;
    };
    let tree = "mkdir -p /tmp/t/deep/out /tmp/t/.git && cd /tmp/t && printf '/deep/out/\\n*.log\\n!keep.log\\n' > .gitignore && for f in a.rs a.log keep.log deep/b.rs deep/out/c.rs .hidden.rs; do printf 'Item 17\\nother\\n' > $f; done; touch -d '2020-01-01 00:00:00' a.rs; command -v rg; true";
    let searches = [
        json!({"pattern": r"Item\s\d+", "context": 1}),
        json!({"pattern": "(?i)item", "file_glob": "*.{rs,log}", "output_mode": "count"}),
        json!({"pattern": "17", "file_glob": "deep/*", "output_mode": "files_only"}),
        json!({"pattern": ".rs", "target": "files"}),
        json!({"pattern": "*.log", "target": "files"}),
    ];
    let mut calls = vec![("terminal", json!({"command": tree}))];
    calls.extend(searches.map(|search| ("search_files", search)));
    let without = plain.results(&calls);
    let with = with_rg.results(&calls);
    assert!(with[0].contains("/usr/bin/rg"), "{}", with[0]);
    assert!(!without[0].contains("/rg"), "{}", without[0]);
    assert_eq!(without[1..], with[1..]);
    // The same tree in a directory that this machine reaches: the engine within.
    let shared = tempfile::tempdir().unwrap();
    let shared = shared.path().canonicalize().unwrap();
    let Some(reached) = world(
        BASH,
        &format!(
            "  docker_volumes: [\"{}:/tmp/t\"]\napprovals: {{mode: off}}\n",
            shared.display()
        ),
    ) else {
        return;
    };
    let embedded = reached.results(&calls);
    assert_eq!(without[1..], embedded[1..]);
    assert!(without[1].contains("\"total_count\":3"), "{}", without[1]);
    assert!(
        without[4].contains("a.rs") && !without[4].contains("c.rs"),
        "{}",
        without[4]
    );
}

#[test]
fn docker_without_an_interpreter_a_script_is_refused_with_advice() {
    let Some(world) = world(BASH, "") else { return };
    let results = world.results(&[("execute_code", json!({"code": "print(1)"}))]);
    assert!(
        results[0].contains("there is no python3 in the sandbox"),
        "{}",
        results[0]
    );
}

#[test]
fn docker_only_what_reaches_the_host_is_asked_about() {
    let shared = tempfile::tempdir().unwrap();
    let volume = shared.path().canonicalize().unwrap();
    let lines = format!("  docker_volumes: [\"{}:/shared\"]\n", volume.display());
    let Some(world) = world(BASH, &lines) else {
        return;
    };
    std::fs::write(volume.join("file"), "x").unwrap();
    let results = world.results(&[
        (
            "terminal",
            json!({"command": "mkdir -p /tmp/b && rm -rf /tmp/b && echo gone"}),
        ),
        ("terminal", json!({"command": "rm -rf /shared/file"})),
        ("terminal", json!({"command": "cd /shared && rm -rf file"})),
        ("terminal", json!({"command": "ln -s /shared /tmp/l; true"})),
        ("terminal", json!({"command": "rm -rf /tmp/l/file"})),
        ("execute_code", json!({"code": "print(1)"})),
        (
            "write_file",
            json!({"path": "/tmp/own.sh", "content": "mkdir -p /tmp/c\nrm -rf /tmp/c\necho gone\n"}),
        ),
        ("terminal", json!({"command": "sh /tmp/own.sh"})),
        (
            "write_file",
            json!({"path": "/tmp/x.sh", "content": "rm -rf /tmp/l/file\n"}),
        ),
        ("terminal", json!({"command": "sh /tmp/x.sh"})),
    ]);
    assert!(results[0].contains("gone"), "{}", results[0]);
    assert!(results[7].contains("gone"), "{}", results[7]);
    for blocked in [1, 2, 4, 5, 9] {
        assert!(
            results[blocked].contains("\"blocked\""),
            "{blocked}: {}",
            results[blocked]
        );
    }
    assert_eq!(std::fs::read_to_string(volume.join("file")).unwrap(), "x");

    world.stage.configure(&format!(
        "terminal:\n  backend: docker\n  docker_image: {BASH}\n  container_disk: 0\n  container_memory: 512\n{lines}approvals: {{trust_mounts: true}}\n"
    ));
    let results = world.results(&[("terminal", json!({"command": "rm -rf /shared/file"}))]);
    assert!(results[0].contains("\"exit_code\":0"), "{}", results[0]);
    assert!(!volume.join("file").exists());
}

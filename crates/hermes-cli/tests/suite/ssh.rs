//! A host behind ssh, through the binary, against a real `sshd` on loopback.

use std::process::Command;

use hermes_testkit::model::Reply;
use hermes_testkit::ssh::SshServer;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::odd_files;
use super::stage::{Stage, assert_kept_in_a_file};
use super::support::{Ran, ran};

struct World {
    server: SshServer,
    stage: Stage,
}

impl World {
    fn new(more: &str) -> Self {
        let server = SshServer::start();
        let stage = Stage::new();
        let world = Self { server, stage };
        world.configure(more);
        world
    }

    /// `more` are lines of the section `terminal`.
    fn configure(&self, more: &str) {
        self.stage.configure(&format!(
            "approvals: {{mode: off}}\nterminal:\n  backend: ssh\n  ssh_host: 127.0.0.1\n  ssh_user: {}\n  ssh_port: {}\n  ssh_key: {}\n{more}",
            self.server.user(),
            self.server.port(),
            self.server.key(),
        ));
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.stage.command(words);
        let path = std::env::var("PATH").unwrap_or_default();
        let clients = self.server.client_directory();
        command
            .env("PATH", format!("{}:{path}", clients.display()))
            .env("TMPDIR", self.server.path(""))
            .env("LET_THROUGH", "yes")
            .env("OPENAI_API_KEY", "never");
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        ran(self.command(words).output().expect("the binary starts"))
    }

    fn says(&self, script: &str) -> String {
        let ran = self.run(&["sandbox", "exec", "--", script]);
        assert_eq!(ran.code, 0, "{ran:#?}");
        ran.stdout
    }
}

#[test]
fn commands_run_over_there_with_files_of_the_home() {
    let world = World::new(
        "  env_passthrough: [LET_THROUGH, OPENAI_API_KEY]\n  credential_files: [token.json]\n",
    );
    world.stage.scratch.write(
        "skills/a/SKILL.md",
        "---\nname: a\ndescription: b\n---\none\n",
    );
    world.stage.scratch.write("token.json", "secret");
    let home = world.server.home();
    assert_eq!(
        world.says("pwd; echo $LET_THROUGH-$OPENAI_API_KEY; tail -1 ~/.hermes/skills/a/SKILL.md; cat ~/.hermes/token.json"),
        format!("{}\nyes-\none\nsecret", home.display())
    );
    // What is changed there comes back, unless it shall not.
    world.says("echo two > ~/.hermes/skills/a/new; echo x > ~/.hermes/token.json");
    assert_eq!(world.stage.scratch.read("skills/a/new"), "two\n");
    assert_eq!(world.stage.scratch.read("token.json"), "secret");
    world.configure("  ssh_sync_back: false\n");
    world.says("echo three > ~/.hermes/skills/a/new");
    assert_eq!(world.stage.scratch.read("skills/a/new"), "two\n");
}

#[test]
fn odd_files_of_the_host() {
    let world = World::new("");
    let root = world.server.path("odd");
    for (tool, arguments) in odd_files::calls(root.to_str().expect("UTF-8")) {
        world.stage.says(Reply::tool_call(tool, arguments));
    }
    world.stage.says(Reply::text("done"));
    let ran = world.run(&["-z", "go"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    odd_files::check(&world.stage.results());
}

#[test]
fn the_tools_work_on_the_hosts_files() {
    let world = World::new("");
    let home = world.server.home();
    std::fs::write(home.join("there.txt"), "needle\nother\n").unwrap();
    let code = "from hermes_tools import read_file\nimport os\nprint(os.getcwd(), read_file('there.txt')['content'])";
    let long: String = (0..1500)
        .map(|n| format!("needle {n} {}\n", "y".repeat(90)))
        .collect();
    std::fs::write(home.join("long.txt"), long).unwrap();
    let calls = [
        ("read_file", json!({"path": "there.txt"})),
        (
            "patch",
            json!({"mode": "replace", "path": "there.txt", "old_string": "other", "new_string": "patched"}),
        ),
        (
            "write_file",
            json!({"path": "new/file.txt", "content": "made\n"}),
        ),
        (
            "search_files",
            json!({"pattern": "need.e", "file_glob": "there*"}),
        ),
        ("execute_code", json!({"code": code})),
        (
            "write_file",
            json!({"path": "~/.ssh/authorized_keys", "content": "x"}),
        ),
        (
            "search_files",
            json!({"pattern": "needle", "path": "long.txt", "limit": 5000}),
        ),
        (
            "terminal",
            json!({"command": "rm -rf new", "background": false}),
        ),
    ];
    for (tool, arguments) in &calls {
        world.stage.says(Reply::tool_call(tool, arguments.clone()));
    }
    world.stage.says(Reply::text("done"));
    let ran = world.run(&["-z", "go"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    let results = world.stage.results();
    assert!(results[0].contains("1|needle\\n2|other"), "{}", results[0]);
    assert_eq!(
        std::fs::read_to_string(home.join("there.txt")).unwrap(),
        "needle\npatched\n",
        "{}",
        results[1]
    );
    assert!(
        results[2].contains("\"dirs_created\":true"),
        "{}",
        results[2]
    );
    assert!(
        results[3].contains("there.txt") && results[3].contains("needle"),
        "{}",
        results[3]
    );
    assert!(results[4].contains("1|needle"), "{}", results[4]);
    assert!(
        results[4].contains(home.to_str().unwrap()),
        "{}",
        results[4]
    );
    assert!(results[5].contains("Write denied"), "{}", results[5]);
    assert!(!home.join(".ssh").exists());
    assert_kept_in_a_file(&results[6]);
    assert!(!home.join("new").exists(), "{}", results[7]);
}

#[test]
fn a_host_that_is_gone_is_a_sentence() {
    let mut world = World::new("");
    world.server.stop();
    let ran = world.run(&["sandbox", "exec", "--", "true"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(ran.stderr.contains("SSH connection failed"), "{ran:#?}");
    world.stage.calls("terminal", json!({"command": "true"}));
    assert_eq!(world.run(&["-z", "go"]).code, 0);
    assert!(world.stage.last_result().contains("SSH connection failed"));
}

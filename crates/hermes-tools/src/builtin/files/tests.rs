//! The tools on this machine's files, and searches through a sandbox's own programs.

mod names;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_sandbox::local::LocalFiles;
use hermes_sandbox::{Files, MountMap, SandboxPath};
use hermes_types::SessionId;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::tool::{ToolContext, Unattended, Unheard};

/// A directory as a sandbox; `reachable` says whether this machine sees its files.
struct Folder {
    root: SandboxPath,
    reachable: bool,
    /// Where its programs are.
    programs: String,
}

impl Workspace for Folder {
    fn files(&self) -> BoxFuture<'_, Result<Arc<dyn Files>, String>> {
        Box::pin(async { Ok(Arc::new(LocalFiles) as Arc<dyn Files>) })
    }

    fn cwd<'a>(&'a self, _task: &'a str) -> BoxFuture<'a, Result<SandboxPath, String>> {
        Box::pin(async { Ok(self.root.clone()) })
    }

    fn user_home(&self) -> BoxFuture<'_, Result<SandboxPath, String>> {
        Box::pin(async { Ok(self.root.join("home")) })
    }

    fn mounts(&self) -> MountMap {
        if self.reachable {
            MountMap::same_machine()
        } else {
            MountMap::default()
        }
    }

    fn run_script(
        &self,
        script: String,
        timeout: Duration,
    ) -> BoxFuture<'_, Result<ScriptOutput, String>> {
        Box::pin(async move {
            let command = hermes_process::Command::new("/bin/sh")
                .arg("-c")
                .arg(script)
                .env("PATH", &self.programs);
            let limits = hermes_process::Limits::seconds(timeout.as_secs());
            let done = hermes_process::output(command, limits)
                .await
                .map_err(|e| e.to_string())?;
            let mut output = done.stdout;
            output.extend(done.stderr);
            Ok(ScriptOutput {
                exit_code: done.exit.shell_code(),
                output,
                cut: false,
            })
        })
    }
}

struct Bench {
    directory: tempfile::TempDir,
    registry: Registry,
}

/// A directory with nothing but these programs, all of them busybox if that is named.
fn programs(names: &[&str], busybox: bool) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in names {
        let program = if busybox { "busybox" } else { name };
        let found = ["/usr/bin", "/bin"]
            .iter()
            .map(|place| Path::new(place).join(program))
            .find(|path| path.exists())
            .unwrap_or_else(|| panic!("{program} is needed for this test"));
        std::os::unix::fs::symlink(found, directory.path().join(name)).unwrap();
    }
    directory
}

impl Bench {
    fn new(reachable: bool) -> Self {
        Self::with(reachable, std::env::var("PATH").unwrap())
    }

    fn with(reachable: bool, programs: String) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = SandboxPath::absolute(directory.path().to_str().unwrap()).unwrap();
        let policy = FilePolicy {
            hermes_homes: vec![root.join(".hermes")],
            active_home: Some(root.join(".hermes")),
            user_home: Some(root.join("home")),
            ..FilePolicy::default()
        };
        let workspace: Arc<dyn Workspace> = Arc::new(Folder {
            root,
            reachable,
            programs,
        });
        let mut registry = Registry::new();
        add_file_tools(
            &mut registry,
            &workspace,
            &Arc::new(policy),
            FileLimits::default(),
        );
        Self {
            directory,
            registry,
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.call_as("s", 1, tool, arguments).await
    }

    /// As one agent's call of this number.
    async fn call_as(&self, who: &str, round: u64, tool: &str, arguments: Value) -> Value {
        let context = ToolContext {
            session: SessionId::new(who),
            task: "default".into(),
            call_id: "c".into(),
            round,
            reader: crate::tool::Reader::Model,
            cancel: CancellationToken::new(),
            asker: Arc::new(Unattended),
            events: Arc::new(Unheard),
        };
        let output = self
            .registry
            .get(tool)
            .unwrap()
            .call(&context, arguments)
            .await;
        let mut values = serde_json::Deserializer::from_str(&output.text).into_iter::<Value>();
        let value = values.next().unwrap().unwrap();
        assert_eq!(output.failed, value.get("error").is_some(), "{value}");
        value
    }
}

fn failure(value: &Value) -> &str {
    value["error"]
        .as_str()
        .unwrap_or_else(|| panic!("no error in {value}"))
}

#[tokio::test]
async fn a_file_is_read_in_numbered_pieces() {
    let bench = Bench::new(true);
    bench.put("a.txt", "one\ntwo\nthree\n");
    let page = bench
        .call("read_file", json!({"path": "a.txt", "limit": 2}))
        .await;
    assert_eq!(page["content"], "1|one\n2|two");
    assert_eq!(
        (&page["total_lines"], &page["truncated"]),
        (&json!(3), &json!(true))
    );
    assert!(page["hint"].as_str().unwrap().contains("offset=3"));
    let rest = bench
        .call("read_file", json!({"path": "a.txt", "offset": 3}))
        .await;
    assert_eq!(
        (&rest["content"], &rest["truncated"]),
        (&json!("3|three"), &json!(false))
    );
}

#[tokio::test]
async fn an_unchanged_piece_is_not_sent_twice() {
    let bench = Bench::new(true);
    bench.put("a.txt", "one\n");
    let read = || bench.call("read_file", json!({"path": "a.txt"}));
    assert_eq!(read().await["content"], "1|one");
    assert_eq!(read().await["status"], "unchanged");
    assert!(failure(&read().await).starts_with("BLOCKED"));
    bench.put("a.txt", "changed\n");
    assert_eq!(read().await["content"], "1|changed");
}

#[tokio::test]
async fn a_piece_that_changes_all_the_time_is_refused_the_fourth_time_in_a_row() {
    let bench = Bench::new(true);
    let mut text = String::from("one\n");
    let mut read = async |round: u64| {
        text.push_str("more\n");
        bench.put("a.txt", &text);
        bench
            .call_as("s", round, "read_file", json!({"path": "a.txt"}))
            .await
    };
    assert_eq!(read(1).await["_warning"], Value::Null);
    assert_eq!(read(2).await["_warning"], Value::Null);
    let third = read(3).await;
    assert!(
        third["_warning"].as_str().unwrap().contains("three times"),
        "{third}"
    );
    assert!(third["content"].is_string());
    assert!(failure(&read(4).await).starts_with("BLOCKED"));
    assert!(failure(&read(5).await).starts_with("BLOCKED"));
    // Another call came in between.
    assert!(read(7).await["content"].is_string());
    for round in [9, 11, 13, 15] {
        assert_eq!(read(round).await["_warning"], Value::Null);
    }
}

#[tokio::test]
async fn a_search_is_refused_the_fourth_time_in_a_row() {
    let bench = Bench::new(true);
    bench.put("a.txt", "x\n");
    let search = async |round: u64| {
        bench
            .call_as("s", round, "search_files", json!({"pattern": "x"}))
            .await
    };
    for round in [1, 2] {
        assert_eq!(search(round).await["_warning"], Value::Null);
    }
    assert!(search(3).await["_warning"].is_string());
    assert!(failure(&search(4).await).starts_with("BLOCKED"));
    assert_eq!(search(6).await["total_count"], 1);
}

#[tokio::test]
async fn what_another_agent_wrote_is_told() {
    let bench = Bench::new(true);
    bench.put("a.txt", "one\n");
    let read = async |who: &str| {
        bench
            .call_as(who, 1, "read_file", json!({"path": "a.txt"}))
            .await
    };
    let write = async |who: &str, text: &str| {
        let arguments = json!({"path": "a.txt", "content": text});
        let done = bench.call_as(who, 2, "write_file", arguments).await;
        done["_warning"].as_str().unwrap_or_default().to_owned()
    };
    read("first").await;
    assert_eq!(write("second", "by the second\n").await, "");
    assert!(
        write("first", "one more\n")
            .await
            .contains("another agent wrote this file after")
    );
    assert!(
        write("third", "by the third\n")
            .await
            .contains("you have not read it")
    );
    assert_eq!(write("third", "again\n").await, "");
    bench.put("a.txt", "by somebody else altogether\n");
    assert!(
        write("third", "x\n")
            .await
            .contains("changed since you read it")
    );
}

#[tokio::test]
async fn only_new_errors_of_a_checker_are_told() {
    let bench = Bench::new(true);
    for (name, bad, other) in [
        ("a.py", "def f(:\n", "x = (\n"),
        ("a.toml", "a = \n", "b = [\n"),
        ("a.sh", "if true\n", "fi\n"),
    ] {
        let write = async |text: &str| {
            let arguments = json!({"path": name, "content": text});
            bench.call("write_file", arguments).await["lint"].clone()
        };
        let first = write(bad).await;
        assert_eq!(first["status"], "error", "{name}: {first}");
        let same = write(bad).await;
        assert_eq!(same["status"], "ok", "{name}: {same}");
        assert!(same["message"].as_str().unwrap().contains("nothing new"));
        let new = write(other).await;
        assert_eq!(new["status"], "error", "{name}: {new}");
        assert_ne!(new["output"], first["output"]);
        assert_eq!(write("").await["status"], "ok", "{name}");
    }
}

#[tokio::test]
async fn what_is_no_text_file_is_said_so() {
    let bench = Bench::new(true);
    bench.put("nul.txt", b"a\0b");
    bench.put("picture.png", b"x");
    bench.put("near.txt", "x");
    bench.put("dir/x", "x");
    assert!(failure(&bench.call("read_file", json!({"path": "nul.txt"})).await).contains("Binary"));
    assert_eq!(
        bench
            .call("read_file", json!({"path": "picture.png"}))
            .await["is_image"],
        true
    );
    assert!(failure(&bench.call("read_file", json!({"path": "dir"})).await).contains("directory"));
    let missing = bench.call("read_file", json!({"path": "neat.txt"})).await;
    assert!(
        missing["similar_files"][0]
            .as_str()
            .unwrap()
            .ends_with("near.txt"),
        "{missing}"
    );
    nix::unistd::mkfifo(&bench.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(failure(&bench.call("read_file", json!({"path": "pipe"})).await).contains("pipe"));
    assert!(
        failure(&bench.call("read_file", json!({"path": "/dev/zero"})).await).contains("device")
    );
}

#[tokio::test]
async fn key_files_are_refused_also_behind_links() {
    let bench = Bench::new(true);
    bench.put(".env", "A=1");
    std::os::unix::fs::symlink(bench.path(".env"), bench.path("link.txt")).unwrap();
    assert!(
        failure(&bench.call("read_file", json!({"path": "link.txt"})).await).contains("denied")
    );
}

#[tokio::test]
async fn new_files_have_ordinary_modes_and_old_ones_keep_theirs() {
    let bench = Bench::new(true);
    let made = bench
        .call("write_file", json!({"path": "x/y/new.txt", "content": "a"}))
        .await;
    assert_eq!(
        (&made["bytes_written"], &made["dirs_created"]),
        (&json!(1), &json!(true))
    );
    let mode = |name: &str| bench.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("x/y/new.txt") & 0o600, 0o600);
    assert_ne!(mode("x/y/new.txt") & 0o044, 0);
    bench.put("run.sh", "x");
    std::fs::set_permissions(bench.path("run.sh"), std::fs::Permissions::from_mode(0o751)).unwrap();
    std::os::unix::fs::symlink(bench.path("run.sh"), bench.path("link")).unwrap();
    bench
        .call("write_file", json!({"path": "link", "content": "true\n"}))
        .await;
    assert_eq!(
        (bench.text("run.sh").as_str(), mode("run.sh")),
        ("true\n", 0o751)
    );
    assert!(bench.path("link").is_symlink());
}

#[tokio::test]
async fn line_endings_and_the_mark_survive_a_write() {
    let bench = Bench::new(true);
    bench.put("a.txt", "\u{feff}one\r\ntwo\r\n");
    bench
        .call(
            "write_file",
            json!({"path": "a.txt", "content": "three\nfour\n"}),
        )
        .await;
    assert_eq!(bench.text("a.txt"), "\u{feff}three\r\nfour\r\n");
}

#[tokio::test]
async fn protected_files_are_not_written_under_any_name() {
    let bench = Bench::new(true);
    bench.put("home/.ssh/config", "x");
    std::os::unix::fs::symlink(bench.path("home/.ssh/config"), bench.path("innocent")).unwrap();
    for path in [
        "~/.ssh/config",
        "innocent",
        ".hermes/config.yaml",
        "/etc/hosts",
    ] {
        let refused = bench
            .call("write_file", json!({"path": path, "content": "y"}))
            .await;
        assert!(
            failure(&refused).starts_with("Write denied"),
            "{path}: {refused}"
        );
    }
    let moved = bench
        .call("patch", json!({"mode": "patch", "patch": "*** Add File: a\n+x\n*** Move File: innocent -> b\n"}))
        .await;
    assert!(failure(&moved).starts_with("Write denied"), "{moved}");
    assert!(!bench.path("a").exists());
}

#[tokio::test]
async fn an_edit_shows_its_diff_and_checks_the_file() {
    let bench = Bench::new(true);
    bench.put("a.json", "{\n  \"a\": 1\n}\n");
    let edit = |old: &str, new: &str| {
        bench.call(
            "patch",
            json!({"mode": "replace", "path": "a.json", "old_string": old, "new_string": new}),
        )
    };
    let good = edit("1", "2").await;
    assert_eq!(
        (&good["success"], &good["lint"]["status"]),
        (&json!(true), &json!("ok"))
    );
    assert!(good["diff"].as_str().unwrap().contains("+  \"a\": 2"));
    let bad = edit("2", "2,").await;
    assert_eq!(bad["lint"]["status"], "error");
    for _ in 0..2 {
        assert!(failure(&edit("nope", "x").await).starts_with("Could not find a match"));
    }
    assert!(
        edit("nope", "x").await["_hint"]
            .as_str()
            .unwrap()
            .contains("third")
    );
}

#[tokio::test]
async fn a_patch_of_several_files_is_all_or_nothing() {
    let bench = Bench::new(true);
    bench.put("a.txt", "one\n\ntwo\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n\n-two\n+TWO\n*** Add File: b.txt\n+new\n*** End Patch";
    let bad = format!("{patch}\n*** Delete File: missing.txt\n");
    let refused = bench
        .call("patch", json!({"mode": "patch", "patch": bad}))
        .await;
    assert!(failure(&refused).contains("no files were modified"));
    assert!(!bench.path("b.txt").exists());
    let done = bench
        .call("patch", json!({"mode": "patch", "patch": patch}))
        .await;
    assert_eq!(done["files_created"].as_array().unwrap().len(), 1, "{done}");
    assert_eq!(
        (bench.text("a.txt").as_str(), bench.text("b.txt").as_str()),
        ("one\n\nTWO\n", "new\n")
    );
}

#[tokio::test]
async fn searches_agree_wherever_they_run() {
    const NEEDED: &[&str] = &["sh", "grep", "find", "xargs", "stat", "head", "tr", "wc"];
    let gnu = programs(NEEDED, false);
    let small = programs(NEEDED, true);
    let rg = programs(&["rg"], false);
    let path = |directory: &tempfile::TempDir| directory.path().to_str().unwrap().to_owned();
    for (reachable, programs) in [
        (true, path(&rg)),
        (false, format!("{}:{}", path(&rg), path(&gnu))),
        (false, path(&gnu)),
        (false, path(&small)),
    ] {
        eprintln!("{reachable}, with {programs}");
        searches_agree(&Bench::with(reachable, programs)).await;
    }
}

async fn searches_agree(bench: &Bench) {
    bench.put("src/a.rs", "fn foo() {}\nfn bar() {}\nend\n");
    bench.put("src/b.txt", "foo|bar\r\n");
    bench.put("src/li\nne.md", "bar\n");
    bench.put(".hidden/c.rs", "foo\n");
    bench.put("src/.hidden.rs", "foo\n");
    bench.put("binary", b"foo\0bar\n");
    let old = std::time::SystemTime::now() - Duration::from_secs(1000);
    let file = std::fs::File::options()
        .write(true)
        .open(bench.path("src/a.rs"));
    file.unwrap().set_modified(old).unwrap();
    let root = bench.path("src");
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let search = |arguments: Value| bench.call("search_files", arguments);

    let hits = search(json!({"pattern": "foo|bar"})).await;
    let seen: Vec<(&str, u64, &str)> = hits["matches"]
        .as_array()
        .unwrap_or_else(|| panic!("{hits}"))
        .iter()
        .map(|hit| {
            (
                hit["path"].as_str().unwrap(),
                hit["line"].as_u64().unwrap(),
                hit["content"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (at("a.rs").as_str(), 1, "fn foo() {}"),
            (at("a.rs").as_str(), 2, "fn bar() {}"),
            (at("b.txt").as_str(), 1, "foo|bar"),
            (at("li\nne.md").as_str(), 1, "bar"),
        ]
    );
    assert_eq!(hits["total_count"], 4);
    let around = search(json!({"pattern": "bar\\(", "context": 1})).await;
    assert_eq!(around["matches"].as_array().unwrap().len(), 3, "{around}");
    assert_eq!(around["total_count"], 1);
    let glob = json!({"pattern": "foo", "output_mode": "count", "file_glob": "*.rs"});
    let counts = search(glob).await;
    assert_eq!(counts["counts"], json!({at("a.rs"): 1}), "{counts}");
    // What is named is searched, hidden or not.
    for (path, total) in [("src/.hidden.rs", 1), (".hidden", 1), ("src/b.txt", 1)] {
        let one = search(json!({"pattern": "foo", "path": path})).await;
        assert_eq!(one["total_count"], total, "{path}: {one}");
        let hit = one["matches"][0]["path"].as_str().unwrap();
        assert!(hit.starts_with(bench.path(path).to_str().unwrap()), "{one}");
    }
    let names = search(json!({"pattern": "*.*", "target": "files"})).await;
    let listed = names["files"].as_array().unwrap();
    assert_eq!(listed.len(), 3, "{names}");
    assert_eq!(listed[2], at("a.rs"), "newest first: {names}");
    let part = search(json!({"pattern": "ne.md", "target": "files"})).await;
    assert_eq!(part["files"], json!([at("li\nne.md")]));
    let none = search(json!({"pattern": "zzz"})).await;
    assert_eq!(none["total_count"], 0, "{none}");
    bench.put(
        "odd/first.txt",
        "\u{feff}first of all\n// café €\nfoobar foo\n",
    );
    for (pattern, line) in [
        ("^first", 1),
        (r"caf.\s", 2),
        (r"\<foo\>", 3),
        ("(?x) f o o b # comment", 3),
    ] {
        let odd = search(json!({"pattern": pattern, "path": "odd"})).await;
        assert_eq!(odd["total_count"], 1, "{pattern}: {odd}");
        assert_eq!(odd["matches"][0]["line"], line, "{pattern}: {odd}");
        let shown = odd["matches"][0]["content"].as_str().unwrap();
        assert!(!shown.starts_with('\u{feff}'), "{pattern}: {odd}");
    }
    std::fs::remove_dir_all(bench.path("odd")).unwrap();
    let broken = search(json!({"pattern": "("})).await;
    assert!(failure(&broken).starts_with("Search failed"), "{broken}");
    let missing = search(json!({"pattern": "a", "path": "nowhere"})).await;
    assert!(failure(&missing).starts_with("Path not found"));
    ignored_files_are_skipped(bench).await;
}

async fn ignored_files_are_skipped(bench: &Bench) {
    bench.put("repo/.git/info/exclude", "private.rs\n");
    bench.put(
        "repo/.gitignore",
        "/target/\n*.log\n!keep.log\n!.hidden.rs\n",
    );
    bench.put("repo/deep/.ignore", "gen*\n");
    for name in [
        "target/out.rs",
        "a.log",
        "keep.log",
        "private.rs",
        ".hidden.rs",
        "deep/target/mine.rs",
        "deep/gen*[x]/made.rs",
        "deep/code.rs",
    ] {
        bench.put(&format!("repo/{name}"), "Item 17 é\nother\n");
    }
    let root = bench.path("repo");
    let kept = |names: &[&str]| -> Vec<String> {
        let path = |name: &&str| root.join(name).to_str().unwrap().to_owned();
        names.iter().map(path).collect()
    };
    let search = |arguments: Value| bench.call("search_files", arguments);
    let all = kept(&["deep/code.rs", "deep/target/mine.rs", "keep.log"]);
    for pattern in [
        r"item\s+\d{2}?|Item \d+",
        r"(?i)\bITEM\b",
        r"[I-J]tem[^\]\w]",
        r"\p{Lu}\w+ \x31",
        "^Item .*?é$",
    ] {
        let found =
            search(json!({"pattern": pattern, "path": "repo", "output_mode": "files_only"}));
        assert_eq!(found.await["files"], json!(all), "{pattern}");
    }
    let around = search(json!({"pattern": r"\p{Lu}tem", "path": "repo", "context": 1})).await;
    assert_eq!(around["total_count"], 3, "{around}");
    assert_eq!(around["matches"].as_array().unwrap().len(), 6, "{around}");
    for (glob, expected) in [
        ("*.{rs,md}", &all[..2]),
        ("deep/*.rs", &all[..1]),
        ("[k]*.log", &all[2..]),
        ("*.log", &all[2..]),
    ] {
        let found = search(
            json!({"pattern": "17", "path": "repo", "file_glob": glob, "output_mode": "files_only"}),
        );
        assert_eq!(found.await["files"], json!(expected), "{glob}");
    }
    let names = search(json!({"pattern": "*.{rs,log}", "target": "files", "path": "repo"})).await;
    let mut found: Vec<&str> = Vec::new();
    found.extend(
        names["files"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str),
    );
    found.sort_unstable();
    assert_eq!(found, all, "{names}");
    // From within an ignored directory, and from one below the rules.
    let inside = search(json!({"pattern": "17", "path": "repo/target"})).await;
    assert_eq!(inside["total_count"], 1, "{inside}");
    let below = search(json!({"pattern": "17", "path": "repo/deep"})).await;
    assert_eq!(below["total_count"], 2, "{below}");
    let broken = search(json!({"pattern": "a\nb"})).await;
    assert!(failure(&broken).starts_with("Search failed"), "{broken}");
}

#[tokio::test]
async fn results_come_in_pages() {
    let bench = Bench::new(true);
    bench.put("a.txt", "x\n".repeat(7));
    let page = bench
        .call(
            "search_files",
            json!({"pattern": "x", "limit": 3, "offset": 3}),
        )
        .await;
    assert_eq!(
        (&page["matches"][0]["line"], &page["truncated"]),
        (&json!(4), &json!(true))
    );
}

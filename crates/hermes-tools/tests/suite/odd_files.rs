//! Files that are not what a tool expects, through every tool and both ways to reach
//! them: directly, and by scripts as in a container or on another host.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_sandbox::background::{Processes, ProcessesOptions};
use hermes_sandbox::local::{LocalFiles, LocalTarget};
use hermes_sandbox::session::SessionOptions;
use hermes_sandbox::settings::Backend;
use hermes_sandbox::{Files, MountMap, Sandbox, SandboxParts, SandboxPath, ShellFiles, Target};
use hermes_tools::builtin::files::{
    FileLimits, FilePolicy, SandboxWorkspace, Workspace, add_file_tools,
};
use hermes_tools::{Reader, Registry, ToolContext, Unattended, Unheard};
use hermes_types::SessionId;
use serde_json::{Value, json};

struct Bed {
    directory: tempfile::TempDir,
    tools: Registry,
}

impl Bed {
    fn both() -> [Self; 2] {
        [Self::new(true), Self::new(false)]
    }

    fn new(direct: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = std::env::var("PATH").unwrap();
        let root = directory.path().canonicalize().unwrap();
        let variables = [("PATH", path), ("HOME", root.to_str().unwrap().to_owned())]
            .map(|(name, value)| (name.to_owned(), value));
        let target: Arc<dyn Target> = Arc::new(LocalTarget::new("/tmp", variables.to_vec()));
        let files: Arc<dyn Files> = match direct {
            true => Arc::new(LocalFiles),
            false => Arc::new(ShellFiles::new(target.clone())),
        };
        let mounts = match direct {
            true => MountMap::same_machine(),
            false => MountMap::default(),
        };
        fs::create_dir(root.join("work")).unwrap();
        let sandbox = Sandbox::new(SandboxParts {
            backend: Backend::Local,
            target,
            files,
            mounts,
            session: SessionOptions::starting_in(root.join("work").to_str().unwrap()),
            processes: Processes::new(ProcessesOptions { checkpoint: None }),
        });
        let mut tools = Registry::new();
        let workspace: Arc<dyn Workspace> = Arc::new(SandboxWorkspace::new(sandbox));
        let policy = FilePolicy {
            user_home: SandboxPath::absolute(root.to_str().unwrap()),
            ..FilePolicy::default()
        };
        add_file_tools(
            &mut tools,
            &workspace,
            &Arc::new(policy),
            FileLimits::default(),
        );
        Self { directory, tools }
    }

    fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        let root = self.directory.path().canonicalize().unwrap();
        root.join("work").join(name)
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let context = ToolContext {
            session: SessionId::new(uuid::Uuid::new_v4().to_string()),
            task: "t".to_owned(),
            call_id: "c".to_owned(),
            round: 1,
            reader: Reader::Model,
            cancel: Default::default(),
            asker: Arc::new(Unattended),
            events: Arc::new(Unheard),
        };
        let tool = self.tools.get(tool).unwrap();
        let output = tool.call(&context, arguments).await;
        let mut values = serde_json::Deserializer::from_str(&output.text).into_iter::<Value>();
        values.next().unwrap().unwrap()
    }

    async fn refused(&self, tool: &str, arguments: Value) -> String {
        let value = self.call(tool, arguments.clone()).await;
        match value["error"].as_str() {
            Some(text) => text.to_owned(),
            None => panic!("{tool} {arguments}: {value}"),
        }
    }
}

#[tokio::test]
async fn pages_of_large_files_agree_however_they_are_reached() {
    let text: String = (1..=20_000)
        .map(|n| format!("{n:06} Zeile {n} ü\r\n"))
        .collect();
    let mut answers = Vec::new();
    for bed in Bed::both() {
        fs::write(bed.at("log"), format!("\u{feff}{text}ohne Ende")).unwrap();
        fs::write(bed.at("nul"), format!("{text}\0")).unwrap();
        fs::write(bed.at("control"), "\u{1}\u{2}a".repeat(90_000)).unwrap();
        let mut said = Vec::new();
        for (name, offset, limit) in [
            ("log", 1, 2),
            ("log", 19_999, 50),
            ("log", 20_001, 1),
            ("log", 30_000, 5),
            ("log", 7, 2_000),
            ("nul", 1, 1),
            ("control", 1, 1),
        ] {
            let arguments = json!({"path": name, "offset": offset, "limit": limit});
            let mut answer = bed.call("read_file", arguments).await.to_string();
            answer = answer.replace(bed.at("").to_str().unwrap(), "");
            said.push(answer);
        }
        answers.push(said);
    }
    assert!(answers[0][0].contains(r#""content":"1|000001 Zeile 1 ü\n2|000002 Zeile 2 ü""#));
    assert!(answers[0][0].contains(r#""total_lines":20001"#));
    assert!(answers[0][5].contains("Binary file"));
    assert!(answers[0][6].contains("Binary file"));
    assert_eq!(answers[0], answers[1]);
}

/// Such files say that they are empty, and give a page at a time.
#[tokio::test]
async fn files_of_the_kernel_are_read_to_their_end() {
    for bed in Bed::both() {
        let here = fs::read_to_string("/proc/filesystems").unwrap();
        let answer = bed
            .call("read_file", json!({"path": "/proc/filesystems"}))
            .await;
        assert_eq!(answer["total_lines"], here.lines().count(), "{answer}");
    }
}

#[tokio::test]
async fn what_has_no_end_or_no_reader_is_not_opened() {
    for bed in Bed::both() {
        nix::unistd::mkfifo(&bed.at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink("/dev/zero", bed.at("zero")).unwrap();
        symlink("/dev/tty", bed.at("deep")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(bed.at("socket")).unwrap();
        for name in [
            "pipe",
            "zero",
            "deep",
            "socket",
            "/dev/zero",
            "/dev/full",
            "/proc/self/environ",
        ] {
            for (tool, arguments) in [
                ("read_file", json!({"path": name})),
                (
                    "patch",
                    json!({"mode": "replace", "path": name, "old_string": "a", "new_string": "b"}),
                ),
                (
                    "patch",
                    json!({"mode": "patch", "patch": format!("*** Update File: {name}\n-a\n+b\n")}),
                ),
            ] {
                let error = bed.refused(tool, arguments).await;
                assert!(!error.is_empty(), "{name}");
            }
        }
        for name in ["pipe", "zero", "socket"] {
            let error = bed
                .refused("write_file", json!({"path": name, "content": "x"}))
                .await;
            assert!(error.contains("device, pipe or socket"), "{error}");
        }
        // A search passes over them, and over each other's links.
        symlink("..", bed.at("circle")).unwrap();
        fs::write(bed.at("plain"), "needle\n").unwrap();
        let found = bed.call("search_files", json!({"pattern": "needle"})).await;
        assert_eq!(found["total_count"], 1, "{found}");
    }
}

#[tokio::test]
async fn a_page_of_a_large_file_is_cheap() {
    let line = "0123456789 abcdefghij\n";
    for bed in Bed::both() {
        fs::write(bed.at("large.txt"), line.repeat(3_200_000)).unwrap();
        let read = json!({"path": "large.txt", "offset": 3_000_000, "limit": 2});
        let page = bed.call("read_file", read).await;
        let text = line.trim_end();
        assert_eq!(
            page["content"],
            format!("3000000|{text}\n3000001|{text}"),
            "{page}"
        );
        assert_eq!(page["total_lines"], 3_200_000);
        fs::remove_file(bed.at("large.txt")).unwrap();
    }
}

#[tokio::test]
async fn what_is_asked_for_beyond_a_file_and_what_is_cut_is_said() {
    for bed in Bed::both() {
        fs::write(bed.at("short"), "one\ntwo\n").unwrap();
        let page = bed
            .call("read_file", json!({"path": "short", "offset": 1e30}))
            .await;
        assert_eq!(
            (&page["content"], &page["total_lines"]),
            (&json!(""), &json!(2))
        );
        assert!(page["hint"].as_str().unwrap().contains("2 lines"), "{page}");
        fs::write(bed.at("wide"), "x".repeat(300_000)).unwrap();
        let page = bed.call("read_file", json!({"path": "wide"})).await;
        assert_eq!(page["truncated"], true);
        assert!(page["hint"].as_str().unwrap().contains("cut"), "{page}");
        symlink("nowhere", bed.at("dangling")).unwrap();
        let missing = bed.call("read_file", json!({"path": "dangling"})).await;
        assert_eq!(missing["similar_files"], Value::Null, "{missing}");
    }
}

#[tokio::test]
async fn files_of_the_kernel_without_an_end_are_left_alone() {
    for bed in Bed::both() {
        for path in ["/proc/kmsg", "/proc/self/mem", "/proc/1/task/1/mem"] {
            let error = bed.refused("read_file", json!({"path": path})).await;
            assert!(error.contains("Cannot read"), "{path}: {error}");
        }
        let version = bed
            .call("read_file", json!({"path": "/proc/version"}))
            .await;
        assert_eq!(version["total_lines"], 1, "{version}");
    }
}

#[tokio::test]
async fn a_file_of_two_gigabytes_is_told_by_its_size_and_costs_nothing() {
    for bed in Bed::both() {
        fs::File::create(bed.at("huge.txt"))
            .unwrap()
            .set_len(2 << 30)
            .unwrap();
        let error = bed.refused("read_file", json!({"path": "huge.txt"})).await;
        assert!(error.contains("2147483648 bytes"), "{error}");
        let edit =
            json!({"mode": "replace", "path": "huge.txt", "old_string": "a", "new_string": "b"});
        let error = bed.refused("patch", edit).await;
        assert!(error.contains("too many to edit"), "{error}");
        // Replaced as a whole, it may be.
        let done = bed
            .call(
                "write_file",
                json!({"path": "huge.txt", "content": "small\n"}),
            )
            .await;
        assert_eq!(done["bytes_written"], 6, "{done}");
    }
}

#[tokio::test]
async fn names_may_hold_anything() {
    for bed in Bed::both() {
        for name in [
            "line\nbreak.txt",
            "-rf",
            "$(touch pwned)",
            "quote'\"",
            " leading",
            "trailing ",
            "ünï😀",
        ] {
            let made = bed
                .call("write_file", json!({"path": name, "content": "one\n"}))
                .await;
            assert_eq!(made["bytes_written"], 4, "{name:?}: {made}");
            assert_eq!(
                fs::read_to_string(bed.at(name)).unwrap(),
                "one\n",
                "{name:?}"
            );
            let edit =
                json!({"mode": "replace", "path": name, "old_string": "one", "new_string": "two"});
            assert_eq!(bed.call("patch", edit).await["success"], true, "{name:?}");
            let page = bed.call("read_file", json!({"path": name})).await;
            assert_eq!(page["content"], "1|two", "{name:?}");
        }
        assert!(!bed.at("pwned").exists());
        // A name that is no text cannot be typed, but must not spoil what can.
        fs::write(bed.at(OsStr::from_bytes(b"not\xffutf8")), "two\n").unwrap();
        let found = bed
            .call(
                "search_files",
                json!({"pattern": "^two", "output_mode": "files_only", "limit": 50}),
            )
            .await;
        assert_eq!(found["total_count"], 8, "{found}");
        let names = bed
            .call(
                "search_files",
                json!({"pattern": "*", "target": "files", "limit": 50}),
            )
            .await;
        assert_eq!(names["total_count"], 8, "{names}");
        let error = bed
            .refused("read_file", json!({"path": "not\u{fffd}utf8"}))
            .await;
        assert!(error.starts_with("File not found"), "{error}");
        let error = bed
            .refused("read_file", json!({"path": "nul\u{0}byte"}))
            .await;
        assert!(error.contains("NUL"), "{error}");
    }
}

#[tokio::test]
async fn ways_out_of_the_directory_are_told_and_guarded() {
    for bed in Bed::both() {
        let outside = bed.directory.path().join("outside.txt");
        fs::write(&outside, "out\n").unwrap();
        let page = bed
            .call("read_file", json!({"path": "../outside.txt"}))
            .await;
        assert_eq!(page["content"], "1|out");
        assert!(
            page["_warning"].as_str().unwrap().contains("leads out"),
            "{page}"
        );
        // A link out of it ends at what the rules protect.
        fs::create_dir(bed.directory.path().join(".ssh")).unwrap();
        symlink("../.ssh", bed.at("innocent")).unwrap();
        symlink("../.bashrc", bed.at("dangling")).unwrap();
        for path in [
            "innocent/authorized_keys",
            "dangling",
            "../.ssh/config",
            "~/.ssh/id_rsa",
            "x/../../.netrc",
        ] {
            let error = bed
                .refused("write_file", json!({"path": path, "content": "x"}))
                .await;
            assert!(error.starts_with("Write denied"), "{path}: {error}");
        }
        let patch = "*** Move File: a -> ../.ssh/authorized_keys\n";
        fs::write(bed.at("a"), "key\n").unwrap();
        bed.refused("patch", json!({"mode": "patch", "patch": patch}))
            .await;
        let patch = "*** Move File: a -> innocent/authorized_keys\n";
        let error = bed
            .refused("patch", json!({"mode": "patch", "patch": patch}))
            .await;
        assert!(error.contains("Write denied"), "{error}");
        assert!(bed.at("a").exists());
        assert_eq!(
            fs::read_dir(bed.directory.path().join(".ssh"))
                .unwrap()
                .count(),
            0
        );
        let link = json!({"path": "link", "content": "new\n"});
        symlink("real", bed.at("link")).unwrap();
        fs::write(bed.at("real"), "old\n").unwrap();
        bed.call("write_file", link).await;
        assert_eq!(fs::read_to_string(bed.at("real")).unwrap(), "new\n");
        assert!(fs::symlink_metadata(bed.at("link")).unwrap().is_symlink());
    }
}

#[tokio::test]
async fn what_cannot_be_written_is_left_as_it_was() {
    // Root may write everywhere, except where nobody may.
    for bed in Bed::both() {
        let closed = Path::new("/proc/sys/kernel/hermes-test");
        let error = bed
            .refused("write_file", json!({"path": closed, "content": "x"}))
            .await;
        assert!(!error.is_empty());
        let edit =
            json!({"mode": "replace", "path": "missing.txt", "old_string": "a", "new_string": "b"});
        fs::write(bed.at("missing.text"), "a").unwrap();
        let value = bed.call("patch", edit).await;
        assert!(
            value["error"]
                .as_str()
                .unwrap()
                .starts_with("File not found"),
            "{value}"
        );
        assert!(
            value["similar_files"][0]
                .as_str()
                .unwrap()
                .ends_with("missing.text"),
            "{value}"
        );
        let patch = "*** Update File: missing.txt\n-a\n+b\n*** Add File: made.txt\n+x\n";
        let error = bed
            .refused("patch", json!({"mode": "patch", "patch": patch}))
            .await;
        assert!(error.contains("no files were modified"), "{error}");
        assert!(!bed.at("made.txt").exists());
        for name in [".", "/", "~"] {
            let error = bed
                .refused("write_file", json!({"path": name, "content": "x"}))
                .await;
            assert!(error.contains("directory"), "{name}: {error}");
        }
        let error = bed
            .refused(
                "write_file",
                json!({"path": "missing.text/below", "content": "x"}),
            )
            .await;
        assert!(!error.is_empty());
        assert_eq!(fs::read_to_string(bed.at("missing.text")).unwrap(), "a");
    }
}

#[tokio::test]
async fn a_read_only_file_system_is_said_and_leaves_nothing_behind() {
    let root = nix::unistd::geteuid().is_root();
    for bed in Bed::both() {
        let place = bed.at("mounted");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("file.txt"), "old\n").unwrap();
        let mounted = root && mount_read_only(&place);
        if !mounted {
            // Without the right to mount, a closed directory says the same to others.
            fs::set_permissions(&place, fs::Permissions::from_mode(0o555)).unwrap();
        }
        if mounted || !root {
            for (tool, arguments) in [
                (
                    "write_file",
                    json!({"path": "mounted/file.txt", "content": "new"}),
                ),
                (
                    "write_file",
                    json!({"path": "mounted/other.txt", "content": "new"}),
                ),
                (
                    "patch",
                    json!({"mode": "replace", "path": "mounted/file.txt", "old_string": "old", "new_string": "new"}),
                ),
            ] {
                let error = bed.refused(tool, arguments).await;
                let told = error.to_lowercase();
                assert!(
                    told.contains("read-only") || told.contains("denied"),
                    "{error}"
                );
            }
            assert_eq!(fs::read_to_string(place.join("file.txt")).unwrap(), "old\n");
            assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
        }
        if mounted {
            unmount(&place);
        }
    }
}

fn mount_read_only(place: &Path) -> bool {
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new("mount");
        command.args(words).arg(place);
        command.stderr(std::process::Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let name = place.to_str().unwrap();
    run(&["--bind", name]) && run(&["-o", "remount,bind,ro"])
}

fn unmount(place: &Path) {
    let done = std::process::Command::new("umount")
        .arg("-l")
        .arg(place)
        .status();
    assert!(done.unwrap().success());
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_read_gives_one_whole_answer() {
    use std::sync::atomic::{AtomicBool, Ordering};
    for bed in Bed::both() {
        let path = bed.at("busy.txt");
        let text = |letter: &str| format!("{}\n", letter.repeat(200)).repeat(300);
        fs::write(&path, text("a")).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let writer = std::thread::spawn(move || {
            let mut longer = false;
            while !flag.load(Ordering::Relaxed) {
                longer = !longer;
                // In place, not by renaming: a reader may see any mixture.
                let size = if longer { 60_000 } else { 30_000 };
                fs::write(&path, &text(if longer { "b" } else { "c" })[..size]).unwrap();
            }
        });
        for _ in 0..20 {
            let page = bed.call("read_file", json!({"path": "busy.txt"})).await;
            let told = page["error"].is_string() || page["content"].is_string();
            assert!(told, "{page}");
            // Either the edit is done as read, or somebody else's write is noticed.
            let edit = json!({"mode": "replace", "path": "busy.txt", "old_string": "zz", "new_string": "y"});
            assert!(bed.call("patch", edit).await["error"].is_string());
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
    }
}

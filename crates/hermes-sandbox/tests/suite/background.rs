//! Background processes, on this machine and as if inside another target.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hermes_sandbox::background::{
    Notice, Owner, ProcessError, ProcessStatus, Processes, ProcessesOptions, StartRequest,
    WaitOutcome,
};
use hermes_sandbox::local::LocalTarget;
use hermes_sandbox::session::{RunRequest, SessionOptions, ShellSession};
use hermes_sandbox::target::{Launch, LaunchError, PtySize, Running, Target};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use super::support::{SECOND, alive, eventually, path, unique_sleep};

/// This machine, but only by what any target can do.
struct Elsewhere(LocalTarget);

impl Target for Elsewhere {
    fn describe(&self) -> String {
        "elsewhere".to_owned()
    }

    fn temp_dir(&self) -> &str {
        self.0.temp_dir()
    }

    fn launch(&self, launch: Launch) -> BoxFuture<'_, Result<Running, LaunchError>> {
        self.0.launch(launch)
    }
}

struct Bed {
    processes: Arc<Processes>,
    session: Arc<ShellSession>,
    home: tempfile::TempDir,
    temp: tempfile::TempDir,
}

fn target(temp: &tempfile::TempDir, inside: bool) -> Arc<dyn Target> {
    let local = LocalTarget::new(
        temp.path().to_str().unwrap(),
        vec![("PATH".to_owned(), path())],
    );
    if inside {
        Arc::new(Elsewhere(local))
    } else {
        Arc::new(local)
    }
}

fn bed(inside: bool) -> Bed {
    let home = tempfile::tempdir().unwrap();
    let temp = tempfile::tempdir().unwrap();
    let options = SessionOptions::starting_in(home.path().to_str().unwrap());
    Bed {
        processes: Processes::new(ProcessesOptions {
            checkpoint: Some(home.path().join("processes.json")),
        }),
        session: Arc::new(ShellSession::new(target(&temp, inside), options)),
        home,
        temp,
    }
}

const TASK: &str = "default";

fn owner() -> Owner {
    Owner {
        task: TASK.to_owned(),
        session_key: "s1".to_owned(),
        ..Owner::default()
    }
}

impl Bed {
    fn request(&self, command: &str) -> StartRequest {
        StartRequest {
            session: self.session.clone(),
            command: command.to_owned(),
            workdir: None,
            terminal: None,
            notify_on_complete: false,
            watch_patterns: Vec::new(),
            owner: owner(),
        }
    }

    async fn start(&self, command: &str) -> String {
        self.processes
            .start(self.request(command))
            .await
            .unwrap()
            .id
    }

    async fn exit(&self, id: &str) -> (Option<i32>, String) {
        let outcome = self
            .processes
            .wait(id, TASK, 10 * SECOND, &CancellationToken::new())
            .await
            .unwrap();
        let WaitOutcome::Exited(view) = outcome else {
            panic!("{outcome:?}");
        };
        let ProcessStatus::Exited(code) = view.status else {
            panic!("{view:?}");
        };
        (code, view.output)
    }

    async fn output_contains(&self, id: &str, text: &str) {
        let deadline = Instant::now() + 10 * SECOND;
        loop {
            let view = self.processes.poll(id, TASK).await.unwrap();
            if view.output.contains(text) {
                return;
            }
            assert!(Instant::now() < deadline, "{view:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Command lines of all living processes that carry the number, shells included.
fn mentioning(number: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.unwrap().path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(number))
        .collect()
}

async fn for_both(check: impl AsyncFn(Bed)) {
    check(bed(false)).await;
    check(bed(true)).await;
}

#[tokio::test]
async fn a_start_returns_at_once_and_the_end_is_known() {
    for_both(async |bed| {
        bed.session
            .run(RunRequest::new(
                "export FROM_SESSION=yes; greet() { echo hi; }",
            ))
            .await
            .unwrap();
        let began = Instant::now();
        let id = bed
            .start("echo begun; greet; echo $FROM_SESSION; sleep 0.3; echo done; exit 7")
            .await;
        assert!(
            began.elapsed() < Duration::from_millis(300),
            "{:?}",
            began.elapsed()
        );
        assert!(id.starts_with("proc_") && id.len() == 17, "{id}");
        assert_eq!(bed.processes.list(TASK)[0].status, ProcessStatus::Running);
        assert_eq!(
            bed.exit(&id).await,
            (Some(7), "begun\nhi\nyes\ndone\n".to_owned())
        );
        eventually("its files are gone", 3 * SECOND, || {
            !std::fs::read_dir(bed.temp.path()).unwrap().any(|entry| {
                entry
                    .unwrap()
                    .file_name()
                    .to_string_lossy()
                    .contains("hermes_bg_")
            })
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn output_is_seen_while_the_process_runs() {
    for_both(async |bed| {
        let id = bed.start("echo one line; sleep 30").await;
        bed.output_contains(&id, "one line\n").await;
        bed.processes.kill(&id, TASK).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_watched_line_is_told_within_a_second() {
    for_both(async |bed| {
        let request = StartRequest {
            watch_patterns: vec!["listening".to_owned()],
            ..bed.request("sleep 0.2; echo now listening on 80; sleep 30")
        };
        let id = bed.processes.start(request).await.unwrap().id;
        let began = Instant::now();
        let notices = loop {
            let notices = bed.processes.take_notices(|_| true);
            if !notices.is_empty() {
                break notices;
            }
            tokio::time::timeout(5 * SECOND, bed.processes.notice_arrival()).await.unwrap();
        };
        assert!(began.elapsed() < Duration::from_millis(1200), "{:?}", began.elapsed());
        assert!(matches!(&notices[0], Notice::WatchMatch { pattern, output, .. } if pattern == "listening" && output == "now listening on 80"));
        bed.processes.kill(&id, TASK).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_completion_is_told_once_unless_it_was_seen() {
    for_both(async |bed| {
        let with_notice = |command: &str| StartRequest {
            notify_on_complete: true,
            ..bed.request(command)
        };
        let unseen = bed.processes.start(with_notice("echo bye; exit 3")).await.unwrap().id;
        tokio::time::timeout(5 * SECOND, async {
            while bed.processes.poll(&unseen, TASK).await.unwrap().status == ProcessStatus::Running {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .unwrap();
        let notices = bed.processes.take_notices(|owner| owner.session_key == "s1");
        assert!(matches!(&notices[..], [Notice::Completion { exit_code: Some(3), output, .. }] if output == "bye\n"), "{notices:?}");
        assert_eq!(bed.processes.take_notices(|_| true), vec![]);
        let seen = bed.processes.start(with_notice("exit 1")).await.unwrap().id;
        bed.exit(&seen).await;
        assert_eq!(bed.processes.take_notices(|_| true), vec![]);
        let killed = bed.processes.start(with_notice("sleep 30")).await.unwrap().id;
        bed.processes.kill(&killed, TASK).await.unwrap();
        assert_eq!(bed.processes.take_notices(|_| true), vec![]);
    })
    .await;
}

#[tokio::test]
async fn a_kill_leaves_nobody() {
    for_both(async |bed| {
        let number = unique_sleep();
        let id = bed.start(&format!("setsid sleep {number} & (sleep {number} &); trap '' TERM; sleep {number}; sleep {number}")).await;
        eventually("three sleep", 10 * SECOND, || alive(&number).len() == 3).await;
        bed.processes.kill(&id, TASK).await.unwrap();
        assert_eq!(mentioning(&number), Vec::<String>::new());
        assert_eq!(bed.exit(&id).await.0, Some(-15));
        assert_eq!(bed.processes.kill(&id, TASK).await, Err(ProcessError::Finished));
    })
    .await;
}

#[tokio::test]
async fn input_is_written_and_closed() {
    for_both(async |bed| {
        let id = bed
            .start("while read -r line; do echo \"got $line\"; done; echo end")
            .await;
        bed.processes
            .write(&id, TASK, Bytes::from_static(b"one\n"))
            .await
            .unwrap();
        bed.output_contains(&id, "got one\n").await;
        bed.processes
            .write(&id, TASK, Bytes::from_static(b"two\n"))
            .await
            .unwrap();
        bed.processes.close_input(&id, TASK).await.unwrap();
        assert_eq!(
            bed.exit(&id).await,
            (Some(0), "got one\ngot two\nend\n".to_owned())
        );
        assert_eq!(
            bed.processes
                .write(&id, TASK, Bytes::from_static(b"x"))
                .await,
            Err(ProcessError::Finished)
        );
    })
    .await;
}

#[tokio::test]
async fn processes_belong_to_their_task() {
    let bed = bed(false);
    let id = bed.start("sleep 30").await;
    assert_eq!(bed.processes.list("another").len(), 0);
    assert_eq!(
        bed.processes.kill(&id, "another").await,
        Err(ProcessError::NotFound(id.clone()))
    );
    assert_eq!(bed.processes.end_all().await, vec![]);
    assert_eq!(bed.exit(&id).await.0, Some(-15));
}

#[tokio::test]
async fn waiting_ends_with_the_time_or_the_interrupt() {
    let bed = bed(false);
    let id = bed.start("sleep 30").await;
    let cancel = CancellationToken::new();
    let outcome = bed
        .processes
        .wait(&id, TASK, Duration::from_millis(100), &cancel)
        .await
        .unwrap();
    assert!(matches!(outcome, WaitOutcome::TimedOut(_)));
    cancel.cancel();
    let outcome = bed
        .processes
        .wait(&id, TASK, 10 * SECOND, &cancel)
        .await
        .unwrap();
    assert!(matches!(outcome, WaitOutcome::Interrupted(_)));
    bed.processes.kill(&id, TASK).await.unwrap();
}

#[tokio::test]
async fn a_terminal_is_a_terminal() {
    let bed = bed(false);
    let request = StartRequest {
        terminal: Some(PtySize {
            rows: 30,
            columns: 120,
        }),
        ..bed.request("stty size; read -r line; echo \"typed $line\"; exit 4")
    };
    let id = bed.processes.start(request).await.unwrap().id;
    bed.output_contains(&id, "30 120").await;
    bed.processes
        .write(&id, TASK, Bytes::from_static(b"hello\n"))
        .await
        .unwrap();
    let (code, output) = bed.exit(&id).await;
    assert_eq!(code, Some(4));
    assert!(output.contains("typed hello"), "{output:?}");
}

#[tokio::test]
async fn at_most_sixty_four_are_remembered_and_running_ones_are_never_dropped() {
    let bed = bed(false);
    let running = bed.start("sleep 60").await;
    for _ in 0..64 {
        let id = bed.start("true").await;
        bed.exit(&id).await;
    }
    let list = bed.processes.list(TASK);
    assert_eq!(list.len(), 64);
    assert!(list.iter().any(|view| view.id == running));
    bed.processes.kill(&running, TASK).await.unwrap();
}

#[tokio::test]
async fn much_output_keeps_its_end_and_little_disk() {
    let bed = bed(false);
    let id = bed
        .start("head -c 60000000 /dev/zero | tr '\\0' x; echo; echo the end; sleep 30")
        .await;
    bed.output_contains(&id, "the end").await;
    let log = std::fs::read_dir(bed.temp.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("hermes_bg_"))
        .unwrap();
    let used = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&log).unwrap()) * 512;
    assert!(used < 20_000_000, "{used}");
    assert_eq!(
        bed.processes.poll(&id, TASK).await.unwrap().output.len(),
        200_000
    );
    bed.processes.kill(&id, TASK).await.unwrap();
}

#[tokio::test]
async fn another_hermes_takes_up_what_the_last_one_left() {
    for inside in [false, true] {
        let first = bed(inside);
        let number = unique_sleep();
        let id = first
            .start(&format!(
                "echo early; sleep 0.5; echo later; sleep {number}"
            ))
            .await;
        first.output_contains(&id, "early").await;
        let file: PathBuf = first.home.path().join("processes.json");
        // The one who wrote it is this test; make it somebody who is gone.
        let text = std::fs::read_to_string(&file).unwrap();
        let mut records: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            records[0]["pid_scope"],
            if inside { "sandbox" } else { "host" }
        );
        records[0]["owner"]["start_ticks"] = 1.into();
        std::fs::write(&file, records.to_string()).unwrap();

        let second = Processes::new(ProcessesOptions {
            checkpoint: Some(file.clone()),
        });
        assert_eq!(second.recover(Some(first.session.target()), None).await, 1);
        let view = &second.list(TASK)[0];
        assert!(view.detached && view.id == id, "{view:?}");
        let deadline = Instant::now() + 10 * SECOND;
        while !second
            .poll(&id, TASK)
            .await
            .unwrap()
            .output
            .contains("early\nlater\n")
        {
            assert!(Instant::now() < deadline);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        second.kill(&id, TASK).await.unwrap();
        assert_eq!(alive(&number), Vec::<i32>::new());
        eventually("the file is empty", 3 * SECOND, || {
            std::fs::read_to_string(&file).unwrap().trim() == "[]"
        })
        .await;
    }
}

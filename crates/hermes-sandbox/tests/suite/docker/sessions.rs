//! Sessions, files and background processes inside a container.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hermes_sandbox::background::{
    Notice, Owner, ProcessStatus, Processes, ProcessesOptions, StartRequest, WaitOutcome,
};
use hermes_sandbox::session::{RunRequest, SessionOptions, ShellSession};
use hermes_sandbox::{FileKind, Files, NewFileMode, SandboxPath, ShellFiles, Target};
use hermes_testkit::docker::{BASH, BUSYBOX, wait_until};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use super::CLIENT;
use super::support::{Setup, setup};

const TASK: &str = "default";

fn session(setup: &Setup) -> Arc<ShellSession> {
    let target: Arc<dyn Target> = Arc::new(setup.target());
    Arc::new(ShellSession::new(
        target,
        SessionOptions::starting_in("/root"),
    ))
}

async fn run(session: &ShellSession, command: &str) -> (String, i32) {
    let outcome = session.run(RunRequest::new(command)).await.unwrap();
    (outcome.output.joined(), outcome.ending.code())
}

async fn out(session: &ShellSession, command: &str) -> String {
    let (output, code) = run(session, command).await;
    assert_eq!(code, 0, "{command}: {output}");
    output
}

#[tokio::test]
async fn docker_keeps_the_state_of_a_session() {
    let Some(setup) = setup(BASH) else { return };
    let session = session(&setup);
    out(
        &session,
        "mkdir -p deep/er; cd deep/er; export A='x y'; f() { echo f; }; alias a='echo a'",
    )
    .await;
    assert_eq!(
        out(&session, "pwd; echo $A; f; a").await,
        "/root/deep/er\nx y\nf\na\n"
    );
    assert_eq!(out(&session, "printf exact").await, "exact");
    assert_eq!(run(&session, "exit 9").await, (String::new(), 9));
    out(&session, "rm -rf /root/deep").await;
    let moved = out(&session, "pwd").await;
    assert!(moved.ends_with("running in /root]\n/root\n"), "{moved}");
    let request = RunRequest {
        timeout: Duration::from_secs(1),
        ..RunRequest::new("echo begun; sleep 4711")
    };
    let outcome = session.run(request).await.unwrap();
    assert_eq!(
        (outcome.output.joined().as_str(), outcome.ending.code()),
        ("begun\n\n[Command timed out after 1s]", 124)
    );
    assert_eq!(out(&session, "echo $A").await, "x y\n");
}

#[tokio::test]
async fn docker_without_bash_still_keeps_variables_and_directory() {
    let Some(setup) = setup(BUSYBOX) else { return };
    let session = session(&setup);
    out(&session, "cd /tmp; export A=\"it's\"").await;
    assert_eq!(out(&session, "pwd; echo \"$A\"").await, "/tmp\nit's\n");
    assert_eq!(run(&session, "exit 3").await.1, 3);
}

#[tokio::test]
async fn docker_makes_a_new_state_when_the_container_was_restarted() {
    let Some(setup) = setup(BASH) else { return };
    let session = session(&setup);
    out(&session, "export A=1; cd /usr").await;
    for container in setup.sweep.containers() {
        CLIENT.run(&["restart", "-t", "0", &container]);
    }
    assert_eq!(
        out(
            &session,
            "echo \"[$A]\"; pwd; echo once >> /root/runs; cat /root/runs"
        )
        .await,
        "[]\n/usr\nonce\n"
    );
}

#[tokio::test]
async fn docker_files_are_read_and_written_without_a_shell_between() {
    for image in [BASH, BUSYBOX] {
        let Some(setup) = setup(image) else { return };
        let files = ShellFiles::new(Arc::new(setup.target()));
        let path = |text: &str| SandboxPath::absolute(text).unwrap();
        let bytes: Vec<u8> = (0..=255).cycle().take(500_000).collect();
        let odd = path("/root/a dir/it's $(odd)\n😀");
        files
            .write(&odd, bytes.clone(), NewFileMode::Private)
            .await
            .unwrap();
        assert_eq!(files.read(&odd, 0, u64::MAX).await.unwrap(), bytes);
        assert_eq!(
            files.read(&odd, 499_990, 100).await.unwrap(),
            bytes[499_990..]
        );
        let stat = files.stat(&odd).await.unwrap().unwrap();
        assert_eq!(
            (stat.kind, stat.size, stat.mode),
            (FileKind::File, 500_000, 0o600)
        );
        let names: Vec<String> = files
            .list(&path("/root/a dir"))
            .await
            .unwrap()
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        assert_eq!(names, ["it's $(odd)\n😀"]);
        assert_eq!(
            files
                .read(&path("/no/such"), 0, 1)
                .await
                .unwrap_err()
                .kind(),
            Some(ErrorKind::NotFound)
        );
        assert_eq!(
            files.resolve(&path("/root/../root/new/x")).await.unwrap(),
            path("/root/new/x")
        );
    }
}

fn request(session: &Arc<ShellSession>, command: &str) -> StartRequest {
    StartRequest {
        session: session.clone(),
        command: command.to_owned(),
        workdir: None,
        terminal: None,
        notify_on_complete: false,
        watch_patterns: Vec::new(),
        owner: Owner {
            task: TASK.to_owned(),
            ..Owner::default()
        },
    }
}

#[tokio::test]
async fn docker_background_processes_start_at_once_and_leave_nobody_when_killed() {
    let Some(setup) = setup(BASH) else { return };
    let session = session(&setup);
    out(&session, "export FROM_SESSION=yes").await;
    let registry = Processes::new(ProcessesOptions::default());
    let began = Instant::now();
    let script = "echo $FROM_SESSION; setsid sleep 4712 & (setsid sh -c 'sleep 4712 & exit' &); trap '' TERM; while :; do sleep 4712; done";
    let id = registry.start(request(&session, script)).await.unwrap().id;
    let took = began.elapsed();
    assert!(took < Duration::from_millis(500), "{took:?}");
    let began = Instant::now();
    out(&session, "true").await;
    assert!(
        began.elapsed() < Duration::from_millis(500),
        "the next call is unaffected"
    );
    let container = setup.sweep.containers()[0].clone();
    let sleepers = || {
        CLIENT
            .processes(&container)
            .iter()
            .filter(|line| line.contains("sleep 4712"))
            .count()
    };
    wait_until("three sleep", || sleepers() >= 3);
    assert_eq!(registry.poll(&id, TASK).await.unwrap().output, "yes\n");
    registry.kill(&id, TASK).await.unwrap();
    assert_eq!(sleepers(), 0);
    assert_eq!(
        registry.poll(&id, TASK).await.unwrap().status,
        ProcessStatus::Exited(Some(-15))
    );
}

#[tokio::test]
async fn docker_background_output_input_and_ends_are_followed() {
    let Some(setup) = setup(BASH) else { return };
    let session = session(&setup);
    let registry = Processes::new(ProcessesOptions::default());
    let wanted = StartRequest {
        watch_patterns: vec!["ready".to_owned()],
        ..request(
            &session,
            "sleep 0.3; echo server ready; read -r line; echo \"got $line\"; exit 7",
        )
    };
    let id = registry.start(wanted).await.unwrap().id;
    let began = Instant::now();
    let notices = loop {
        let notices = registry.take_notices(|_| true);
        if !notices.is_empty() {
            break notices;
        }
        tokio::time::timeout(Duration::from_secs(5), registry.notice_arrival())
            .await
            .unwrap();
    };
    assert!(matches!(&notices[0], Notice::WatchMatch { output, .. } if output == "server ready"));
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    registry
        .write(&id, TASK, Bytes::from_static(b"hello\n"))
        .await
        .unwrap();
    let outcome = registry
        .wait(
            &id,
            TASK,
            Duration::from_secs(10),
            &CancellationToken::new(),
        )
        .await
        .unwrap();
    let WaitOutcome::Exited(view) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(
        (view.status, view.output.as_str()),
        (ProcessStatus::Exited(Some(7)), "server ready\ngot hello\n")
    );
}

#[tokio::test]
async fn docker_background_processes_are_found_again_by_the_next_hermes() {
    let Some(setup) = setup(BASH) else { return };
    let file = setup.directory.path().join("processes.json");
    let id = {
        let session = session(&setup);
        let registry = Processes::new(ProcessesOptions {
            checkpoint: Some(file.clone()),
        });
        registry
            .start(request(
                &session,
                "echo early; sleep 1; echo late; sleep 4713",
            ))
            .await
            .unwrap()
            .id
    };
    // Who wrote the file is this test; make it somebody who is gone.
    let mut records: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    records[0]["owner"]["start_ticks"] = 1.into();
    std::fs::write(&file, records.to_string()).unwrap();
    let target: Arc<dyn Target> = Arc::new(setup.target());
    let registry = Processes::new(ProcessesOptions {
        checkpoint: Some(file),
    });
    assert_eq!(registry.recover(Some(&target), None).await, 1);
    let deadline = Instant::now() + Duration::from_secs(10);
    while registry.poll(&id, TASK).await.unwrap().output != "early\nlate\n" {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    registry.kill(&id, TASK).await.unwrap();
    let container = setup.sweep.containers()[0].clone();
    assert!(
        !CLIENT
            .processes(&container)
            .iter()
            .any(|line| line.contains("sleep 4713"))
    );
}

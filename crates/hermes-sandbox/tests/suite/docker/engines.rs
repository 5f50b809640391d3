//! Engines that misbehave: clients that refuse, daemons that do not answer.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hermes_sandbox::docker::DockerTarget;
use hermes_sandbox::{Exit, Launch, LaunchError, Shell, Target};
use hermes_testkit::docker::{BASH, wait_until};
use pretty_assertions::assert_eq;

use super::CLIENT;
use super::support::{Setup, environment, finish, run, says, setup, start};

/// A target whose client is this script; `exec docker "$@"` is the real one.
fn target_through(setup: &Setup, script: &str) -> DockerTarget {
    let path: PathBuf = setup.directory.path().join("client");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("write");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("mode");
    let mut environment = environment();
    environment.set("HERMES_DOCKER_BINARY", path.to_string_lossy());
    DockerTarget::new(setup.host_with(&environment), setup.plan.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_a_client_without_interactive_execs_runs_commands_one_by_one() {
    let Some(setup) = setup(BASH) else { return };
    let target = target_through(
        &setup,
        "case \"$1 $2\" in \"exec -i\") echo refused >&2; exit 1 ;; esac\nexec docker \"$@\"",
    );
    let mut launch = Launch::new("echo \"$SECRET\"; exit 5", Shell::Bash);
    launch.environment = vec![("SECRET".into(), "hunter2".into())];
    let running = target.launch(launch).await.expect("starts");
    assert_eq!(
        finish(running).await,
        (b"hunter2\n".to_vec(), Exit::Code(5))
    );
    let running = start(&target, "setsid sleep 3700 & sleep 3701")
        .await
        .expect("starts");
    let (id, _) = target.container().expect("attached");
    wait_until("it runs", || {
        CLIENT
            .processes(id.as_str())
            .iter()
            .any(|p| p.contains("3701"))
    });
    running
        .control
        .terminate(Duration::from_secs(1))
        .await
        .expect("ends");
    let left = CLIENT.processes(id.as_str());
    assert!(!left.iter().any(|p| p.contains("sleep 370")), "{left:?}");
}

#[tokio::test]
async fn docker_a_daemon_that_never_answers_is_told_within_seconds() {
    let Some(setup) = setup(BASH) else { return };
    let target = target_through(&setup, "exec sleep 1000");
    let began = Instant::now();
    let error = start(&target, "true").await.err().expect("hangs");
    assert!(matches!(error, LaunchError::TimedOut { .. }), "{error:?}");
    assert!(
        error.to_string().contains("did not answer within 5 s"),
        "{error}"
    );
    assert!(
        began.elapsed() < Duration::from_secs(7),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test]
async fn docker_a_daemon_that_hangs_later_leaves_no_call_waiting() {
    let Some(setup) = setup(BASH) else { return };
    let stuck = setup.directory.path().join("stuck");
    let script = format!(
        "[ -e {} ] && exec sleep 1000\nexec docker \"$@\"",
        stuck.display()
    );
    let target = target_through(&setup, &script);
    let running = start(&target, "sleep 3800").await.expect("starts");
    std::fs::write(&stuck, "").expect("write");
    // The warden is in already and needs no engine to end it.
    let (id, _) = target.container().expect("attached");
    let outcome = running.control.terminate(Duration::from_secs(1)).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    let left = CLIENT.processes(id.as_str());
    assert!(!left.iter().any(|p| p.contains("3800")), "{left:?}");
    // One call has the channel that is open; for the others none can be had.
    let holder = start(&target, "echo up; sleep 3801").await.expect("warm");
    let began = Instant::now();
    let calls = (0..3).map(|_| start(&target, "true"));
    for call in futures_util::future::join_all(calls).await {
        call.err().expect("no channel left");
    }
    drop(holder);
    assert!(
        began.elapsed() < Duration::from_secs(25),
        "{:?}",
        began.elapsed()
    );
    std::fs::remove_file(&stuck).expect("remove");
    assert_eq!(says(&target, "echo back").await, "back\n");
}

#[tokio::test]
async fn docker_no_secret_is_on_a_command_line_or_in_an_error() {
    let Some(mut setup) = setup(BASH) else { return };
    let log = setup.directory.path().join("argv");
    setup.plan.settings.environment = [
        ("TOKEN".to_owned(), "hunter2".to_owned()),
        ("HTTP_PROXY".to_owned(), "http://hunter2@x".to_owned()),
    ]
    .into();
    let script = format!("echo \"$@\" >> {}\nexec docker \"$@\"", log.display());
    let target = target_through(&setup, &script);
    let mut launch = Launch::new("echo $TOKEN $HTTP_PROXY $FORWARDED", Shell::Bash);
    launch.environment = vec![("FORWARDED".into(), "hunter2too".into())];
    let (output, _) = finish(target.launch(launch).await.expect("starts")).await;
    assert_eq!(output, b"hunter2 http://hunter2@x hunter2too\n");
    let (seen, _) = run(&target, "cat /proc/1/cmdline | tr '\\0' ' '").await;
    let argv = std::fs::read_to_string(&log).expect("a log");
    assert!(argv.contains("run -d") && argv.contains("exec -i"));
    assert!(!argv.contains("hunter2") && !seen.contains("hunter2"));
}

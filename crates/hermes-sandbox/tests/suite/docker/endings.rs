//! Timeouts and interrupts end the whole tree, inside the container too.

use std::time::{Duration, Instant};

use hermes_sandbox::Exit;
use hermes_sandbox::{Launch, Shell, Target};
use hermes_testkit::docker::{BASH, BUSYBOX, wait_until};

use super::CLIENT;
use super::support::{finish, says, setup, start};

const GRACE: Duration = Duration::from_millis(1000);

/// Everything that a command can do to escape.
const ESCAPES: &[(&str, &str)] = &[
    ("a child", "sleep 3001 & wait"),
    ("a session of its own", "setsid sleep 3002 & sleep 3003"),
    (
        "a second fork",
        "(setsid sh -c 'sleep 3004 & exec sleep 3005' &) ; sleep 3006",
    ),
    (
        "an empty environment",
        "(env -i setsid /bin/sleep 3007 &); sleep 3008",
    ),
    (
        "a stopped child",
        "sh -c 'kill -STOP $$; sleep 3009' & sleep 3010",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_ending_a_call_ends_whatever_came_from_it() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    says(&target, "true").await;
    let (id, _) = target.container().expect("attached");
    for (what, script) in ESCAPES {
        let running = start(&target, script).await.expect("starts");
        wait_until(what, || {
            CLIENT
                .processes(id.as_str())
                .iter()
                .any(|p| p.contains("sleep 30"))
        });
        let began = Instant::now();
        running.control.terminate(GRACE).await.expect(what);
        assert!(
            began.elapsed() < Duration::from_secs(1),
            "{what}: {:?}",
            began.elapsed()
        );
        let left = CLIENT.processes(id.as_str());
        assert!(
            !left.iter().any(|p| p.contains("sleep 30")),
            "{what}: {left:?}"
        );
        let (_, exit) = finish(running).await;
        assert!(matches!(exit, Exit::Code(143 | 137)), "{what}: {exit:?}");
    }
    assert_eq!(says(&target, "echo still here").await, "still here\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_a_trapped_term_is_killed_after_the_grace() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    // The inner shell speaks when both traps are set; only KILL ends it.
    let script = "trap 'echo no' TERM; (trap '' TERM; setsid sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1; done') & while :; do sleep 0.1; done";
    let mut running = start(&target, script).await.expect("starts");
    let mut said = Vec::new();
    while !said.ends_with(b"ready\n") {
        said.extend_from_slice(&running.output.recv().await.expect("output"));
    }
    let (id, _) = target.container().expect("attached");
    running
        .control
        .terminate(Duration::from_secs(2))
        .await
        .expect("ends");
    let left = CLIENT.processes(id.as_str());
    assert!(!left.iter().any(|p| p.contains("trap")), "{left:?}");
    // The shell may report its killed child before the trap speaks.
    while let Some(chunk) = running.output.recv().await {
        said.extend_from_slice(&chunk);
    }
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("no\n"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_a_sandbox_out_of_processes_can_still_be_ended() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    says(&target, "true").await;
    // Fills the limit of 256 and keeps trying.
    let bomb = "f() { while :; do sleep 3100 & done; }; f 2>/dev/null";
    let running = start(&target, bomb).await.expect("starts");
    let (id, _) = target.container().expect("attached");
    wait_until("the container is full", || {
        CLIENT.processes(id.as_str()).len() > 240
    });
    running.control.terminate(GRACE).await.expect("ends");
    let left = CLIENT.processes(id.as_str());
    assert!(
        !left.iter().any(|p| p.contains("3100")),
        "{} left",
        left.len()
    );
    drop(running);
    assert_eq!(says(&target, "echo room again").await, "room again\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_what_became_another_user_is_ended_too() {
    let Some(setup) = setup(BUSYBOX) else { return };
    let target = setup.target();
    // Without CAP_KILL, root in the container may not signal it.
    let script = "su -s /bin/sh nobody -c 'exec sleep 3200'";
    let running = target
        .launch(Launch::new(script, Shell::Sh))
        .await
        .expect("starts");
    let (id, _) = target.container().expect("attached");
    wait_until("the other user sleeps", || {
        CLIENT
            .processes(id.as_str())
            .iter()
            .any(|p| p == "sleep 3200" || p.ends_with(" sleep 3200"))
    });
    running
        .control
        .terminate(Duration::from_millis(100))
        .await
        .expect("ends");
    let left = CLIENT.processes(id.as_str());
    assert!(!left.iter().any(|p| p.contains("3200")), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_dropping_a_call_ends_it_and_background_processes_stay() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    says(&target, "setsid sleep 3300 </dev/null >/dev/null 2>&1 &").await;
    let running = start(&target, "sleep 3301").await.expect("starts");
    let (id, _) = target.container().expect("attached");
    drop(running);
    wait_until("the call is gone", || {
        !CLIENT
            .processes(id.as_str())
            .iter()
            .any(|p| p.contains("3301"))
    });
    assert!(
        CLIENT
            .processes(id.as_str())
            .iter()
            .any(|p| p.contains("3300"))
    );
    target.cleanup(false).await;
    drop(target);
    wait_until("our shells are gone", || {
        CLIENT.processes(id.as_str()).len() == 3
    });
    assert!(
        CLIENT
            .processes(id.as_str())
            .iter()
            .any(|p| p.contains("3300"))
    );
}

//! Containers that go away, between calls and during them.

use std::time::{Duration, Instant};

use hermes_sandbox::Exit;
use hermes_testkit::docker::{BASH, wait_until};
use pretty_assertions::assert_eq;

use super::CLIENT;
use super::support::{finish, run, says, setup, start};

/// Ways to lose a container, and whether it is the same one afterwards.
const LOSSES: &[(&[&str], bool)] = &[
    (&["rm", "-f"], false),
    (&["stop", "-t", "1"], true),
    (&["kill"], true),
    (&["pause"], true),
];

fn lose(how: &[&str], id: &str) {
    let mut words = how.to_vec();
    words.push(id);
    CLIENT.run(&words);
}

#[tokio::test]
async fn docker_a_container_lost_between_calls_is_healed_and_the_call_runs_once() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    for (how, same) in LOSSES {
        says(&target, "echo before >> /root/log; touch /marker").await;
        let (before, _) = target.container().expect("attached");
        lose(how, before.as_str());
        let began = Instant::now();
        assert_eq!(
            says(&target, "echo after >> /root/log; echo ok").await,
            "ok\n",
            "{how:?}"
        );
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{how:?}: {:?}",
            began.elapsed()
        );
        let (after, _) = target.container().expect("attached");
        assert_eq!(after == before, *same, "{how:?}");
        let (_, exit) = run(&target, "test -e /marker").await;
        assert_eq!(exit == Exit::Code(0), *same, "{how:?}: the layer");
        assert_eq!(
            says(&target, "cat /root/log; rm /root/log").await,
            "before\nafter\n",
            "{how:?}"
        );
        assert_eq!(setup.sweep.containers().len(), 1, "{how:?}");
    }
}

#[tokio::test]
async fn docker_a_container_lost_during_a_call_keeps_what_was_said_and_runs_nothing_twice() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    for (how, _) in &LOSSES[..3] {
        says(&target, "true").await;
        let mut running = start(&target, "echo run >> /root/runs; echo partial; sleep 60")
            .await
            .expect("starts");
        let first = running.output.recv().await.expect("output");
        assert_eq!(&first[..], b"partial\n");
        let (id, _) = target.container().expect("attached");
        let began = Instant::now();
        lose(how, id.as_str());
        let (_, exit) = finish(running).await;
        assert!(matches!(exit, Exit::Lost(_)), "{how:?}: {exit:?}");
        assert!(began.elapsed() < Duration::from_secs(10), "{how:?}");
        assert_eq!(
            says(&target, "cat /root/runs; rm /root/runs").await,
            "run\n",
            "{how:?}"
        );
        assert_eq!(setup.sweep.containers().len(), 1, "{how:?}");
    }
}

#[tokio::test]
async fn docker_a_paused_call_can_be_ended() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    let mut running = start(&target, "echo up; sleep 3400").await.expect("starts");
    running.output.recv().await.expect("output");
    let (id, _) = target.container().expect("attached");
    lose(&["pause"], id.as_str());
    let began = Instant::now();
    running
        .control
        .terminate(Duration::from_secs(1))
        .await
        .expect("ends");
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(says(&target, "echo on").await, "on\n");
}

#[tokio::test]
async fn docker_a_command_that_speaks_of_missing_containers_runs_once() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    let script = "echo x >> /root/once; echo 'Error: No such container: abc'; echo 'x is not running'; exit 1";
    let (output, exit) = run(&target, script).await;
    assert_eq!(exit, Exit::Code(1));
    assert!(output.contains("is not running"));
    assert_eq!(says(&target, "wc -l < /root/once").await, "1\n");
}

#[tokio::test]
async fn docker_many_calls_at_once_on_a_lost_container_make_one_new_one() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    let calls = (0..4).map(|_| says(&target, "true"));
    futures_util::future::join_all(calls).await;
    let (id, _) = target.container().expect("attached");
    lose(&["rm", "-f"], id.as_str());
    let calls = (0..6).map(|n| {
        let target = &target;
        async move { says(target, &format!("echo {n}")).await }
    });
    let said = futures_util::future::join_all(calls).await;
    assert_eq!(said, ["0\n", "1\n", "2\n", "3\n", "4\n", "5\n"]);
    assert_eq!(setup.sweep.containers().len(), 1);
    wait_until("the new one runs", || {
        CLIENT
            .run(&["ps", "-q", "--no-trunc"])
            .contains(&setup.sweep.containers()[0])
    });
}

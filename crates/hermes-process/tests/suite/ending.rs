//! Ending is real: nobody survives.

use std::time::{Duration, Instant};

use hermes_process::{Exit, OwnerDeath, Survivors, spawn};
use pretty_assertions::assert_eq;

use super::helpers::{alive, eventually, shell, unique_sleep};

const SECOND: Duration = Duration::from_secs(1);

/// Starts the script, waits until `count` sleepers run, ends the tree.
async fn end(
    script: &str,
    count: usize,
    grace: Duration,
) -> (Result<(), Survivors>, Duration, Vec<i32>) {
    let number = unique_sleep();
    let process = spawn(shell(script.replace("NUMBER", &number)))
        .await
        .unwrap();
    eventually("the sleepers run", 10 * SECOND, || {
        alive(&number).len() == count
    });
    let began = Instant::now();
    let outcome = process.terminate(grace).await;
    (outcome, began.elapsed(), alive(&number))
}

#[tokio::test]
async fn children_that_left_the_session_end_too() {
    let (outcome, took, left) = end("setsid sleep NUMBER & sleep NUMBER & wait", 2, SECOND).await;
    assert_eq!((outcome, left), (Ok(()), vec![]));
    assert!(took < SECOND / 2, "{took:?}");
}

#[tokio::test]
async fn double_forked_children_end_too() {
    let script =
        "(setsid bash -c 'sleep NUMBER & disown; exit' &) ; (sleep NUMBER &) ; sleep NUMBER";
    let (outcome, _, left) = end(script, 3, SECOND).await;
    assert_eq!((outcome, left), (Ok(()), vec![]));
}

#[tokio::test]
async fn children_that_forked_twice_left_the_session_and_cleared_everything_end_too() {
    let script = "(env -i /usr/bin/setsid /bin/bash -c 'exec </dev/null >/dev/null 2>&1; cd /; /bin/sleep NUMBER & exit' &); exec sleep NUMBER";
    // `/bin/sleep` shows the same name in neither place, so count by number alone.
    let number = unique_sleep();
    let process = spawn(shell(
        script
            .replace("NUMBER", &number)
            .replace("/bin/sleep", "exec -a sleep sleep"),
    ))
    .await
    .unwrap();
    eventually("both run", 10 * SECOND, || alive(&number).len() == 2);
    assert_eq!(process.terminate(SECOND).await, Ok(()));
    assert_eq!(alive(&number), Vec::<i32>::new());
}

#[tokio::test]
async fn a_tree_that_ignores_term_is_killed_after_the_grace() {
    let script = "trap '' TERM; setsid bash -c \"trap '' TERM; sleep NUMBER; sleep NUMBER\" & sleep NUMBER; sleep NUMBER";
    let (outcome, took, left) = end(script, 2, SECOND).await;
    assert_eq!((outcome, left), (Ok(()), vec![]));
    assert!(took >= SECOND && took < 2 * SECOND, "{took:?}");
}

#[tokio::test]
async fn a_stopped_process_ends_within_the_grace() {
    let number = unique_sleep();
    let process = spawn(shell(format!("sleep {number}; true"))).await.unwrap();
    eventually("it sleeps", 10 * SECOND, || alive(&number).len() == 1);
    let sleeper = nix::unistd::Pid::from_raw(alive(&number)[0]);
    nix::sys::signal::kill(sleeper, nix::sys::signal::Signal::SIGSTOP).unwrap();
    let began = Instant::now();
    assert_eq!(process.terminate(5 * SECOND).await, Ok(()));
    assert!(began.elapsed() < 2 * SECOND, "{:?}", began.elapsed());
}

#[tokio::test]
async fn term_lets_a_shell_clean_up() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace");
    let ready = directory.path().join("ready");
    let process = spawn(shell(format!(
        "trap 'echo cleaned > {}; exit 7' TERM; : > {}; while :; do sleep 0.05; done",
        trace.display(),
        ready.display()
    )))
    .await
    .unwrap();
    eventually("the trap is set", 10 * SECOND, || ready.exists());
    assert_eq!(process.terminate(5 * SECOND).await, Ok(()));
    assert_eq!(process.wait().await.unwrap(), Exit::Code(7));
    assert_eq!(std::fs::read_to_string(trace).unwrap(), "cleaned\n");
}

#[tokio::test]
async fn a_shell_does_not_go_on_to_its_next_command() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..20 {
        let number = unique_sleep();
        let next = directory.path().join("next");
        let process = spawn(shell(format!("sleep {number}; touch {}", next.display())))
            .await
            .unwrap();
        eventually("it sleeps", 10 * SECOND, || alive(&number).len() == 1);
        assert_eq!(process.terminate(SECOND).await, Ok(()));
        assert!(!next.exists());
    }
}

#[tokio::test]
async fn a_tree_that_keeps_forking_ends() {
    let number = unique_sleep();
    let process = spawn(shell(format!(
        "f() {{ while :; do setsid sleep {number} & sleep 0.01; done; }}; f & f & wait"
    )))
    .await
    .unwrap();
    eventually("some run", 10 * SECOND, || alive(&number).len() > 5);
    assert_eq!(process.terminate(Duration::ZERO).await, Ok(()));
    assert_eq!(alive(&number), Vec::<i32>::new());
}

#[tokio::test]
async fn ending_one_tree_leaves_its_neighbour_alone() {
    let (one, two) = (unique_sleep(), unique_sleep());
    let first = spawn(shell(format!("(setsid sleep {one} &); wait; sleep {one}")))
        .await
        .unwrap();
    let second = spawn(shell(format!("(setsid sleep {two} &); wait; sleep {two}")))
        .await
        .unwrap();
    eventually("all run", 10 * SECOND, || {
        alive(&one).len() == 2 && alive(&two).len() == 2
    });
    first.terminate(SECOND).await.unwrap();
    assert_eq!((alive(&one).len(), alive(&two).len()), (0, 2));
    second.terminate(SECOND).await.unwrap();
    assert_eq!(alive(&two).len(), 0);
}

#[tokio::test]
async fn dropping_the_guard_ends_the_tree_and_leaves_no_zombie() {
    let number = unique_sleep();
    let process = spawn(shell(format!("setsid sleep {number} & sleep {number}")))
        .await
        .unwrap();
    let pid = process.pid();
    eventually("both run", 10 * SECOND, || alive(&number).len() == 2);
    drop(process);
    eventually("none is left", 3 * SECOND, || {
        alive(&number).is_empty() && !std::path::Path::new(&format!("/proc/{pid}")).exists()
    });
}

#[tokio::test]
async fn a_process_left_running_survives_its_guard_and_is_reaped_when_it_ends() {
    let number = unique_sleep();
    let process =
        spawn(shell(format!("exec sleep {number}")).owner_death(OwnerDeath::LeaveRunning))
            .await
            .unwrap();
    let tree = process.tree().clone();
    eventually("it runs", 10 * SECOND, || alive(&number).len() == 1);
    drop(process);
    assert_eq!(alive(&number).len(), 1);
    assert_eq!(tree.members(), vec![tree.root.clone()]);
    tree.terminate(SECOND).await.unwrap();
    eventually("no zombie stays", 3 * SECOND, || {
        !std::path::Path::new(&format!("/proc/{}", tree.root.pid)).exists()
    });
}

#[tokio::test]
async fn what_a_client_started_elsewhere_outlives_it_and_its_session_does_not() {
    let (detached, near) = (unique_sleep(), unique_sleep());
    let script = format!("(setsid sleep {detached} &); sleep {near}; true");
    let client = spawn(shell(script).owner_death(OwnerDeath::KillChild))
        .await
        .unwrap();
    eventually("both run", 10 * SECOND, || {
        alive(&detached).len() == 1 && alive(&near).len() == 1
    });
    drop(client);
    eventually("its session ends", 10 * SECOND, || alive(&near).is_empty());
    let left = alive(&detached);
    assert_eq!(left.len(), 1);
    let pid = nix::unistd::Pid::from_raw(left[0]);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
}

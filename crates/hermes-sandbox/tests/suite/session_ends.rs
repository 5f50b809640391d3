//! Time limits and interrupts end the whole tree.

use std::time::{Duration, Instant};

use hermes_sandbox::session::{Ending, RunError, RunRequest};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use super::support::{Bed, SECOND, alive, bed, eventually, unique_sleep};

/// Runs with a limit of one second; how long it took and who is left.
async fn timed(bed: &Bed, script: &str) -> (String, i32, Duration, Vec<i32>) {
    bed.out("true").await;
    let number = unique_sleep();
    let request = RunRequest {
        timeout: SECOND,
        ..RunRequest::new(script.replace("NUMBER", &number))
    };
    let began = Instant::now();
    let outcome = bed.session.run(request).await.unwrap();
    (
        outcome.output.joined(),
        outcome.ending.code(),
        began.elapsed(),
        alive(&number),
    )
}

#[tokio::test]
async fn a_time_limit_ends_a_tree_with_sessions_and_double_forks() {
    let bed = bed();
    let script = "echo begun; setsid sleep NUMBER & (setsid bash -c 'sleep NUMBER & disown' &); (sleep NUMBER &); bash -c 'sleep NUMBER; true'";
    let (text, code, took, left) = timed(&bed, script).await;
    assert_eq!(
        (text.as_str(), code, left),
        ("begun\n\n[Command timed out after 1s]", 124, vec![])
    );
    assert!(took < 2 * SECOND, "{took:?}");
}

#[tokio::test]
async fn a_tree_that_traps_term_is_killed() {
    let bed = bed();
    let script = "trap '' TERM; setsid bash -c \"trap '' TERM; sleep NUMBER; sleep NUMBER\" & sleep NUMBER; sleep NUMBER";
    let (text, code, took, left) = timed(&bed, script).await;
    assert_eq!(
        (text.as_str(), code, left),
        ("[Command timed out after 1s]", 124, vec![])
    );
    assert!(took < 4 * SECOND, "{took:?}");
}

#[tokio::test]
async fn the_session_goes_on_after_a_time_limit() {
    let bed = bed();
    bed.out("export A=1").await;
    timed(&bed, "export A=2; cd /; sleep NUMBER").await;
    assert_eq!(
        bed.out("echo $A; pwd").await,
        format!("1\n{}\n", bed.directory())
    );
}

#[tokio::test]
async fn a_command_that_floods_its_output_is_ended_too() {
    let bed = bed();
    let (text, code, took, _) = timed(&bed, "yes").await;
    assert_eq!(code, 124);
    assert!(text.ends_with("\n[Command timed out after 1s]"));
    assert!(took < 2 * SECOND, "{took:?}");
}

#[tokio::test]
async fn an_interrupt_ends_one_command_and_leaves_its_neighbour() {
    let bed = bed();
    bed.out("true").await;
    let (one, two) = (unique_sleep(), unique_sleep());
    let cancel = CancellationToken::new();
    let first = {
        let session = bed.session.clone();
        let request = RunRequest {
            cancel: cancel.clone(),
            ..RunRequest::new(format!("echo partial; setsid sleep {one} & sleep {one}"))
        };
        tokio::spawn(async move { session.run(request).await.unwrap() })
    };
    let second = {
        let session = bed.session.clone();
        let request = RunRequest::new(format!("sleep {two}"));
        tokio::spawn(async move { session.run(request).await })
    };
    eventually("all run", 10 * SECOND, || {
        alive(&one).len() == 2 && alive(&two).len() == 1
    })
    .await;
    cancel.cancel();
    let outcome = first.await.unwrap();
    assert_eq!(outcome.ending, Ending::Interrupted { left: None });
    assert_eq!(
        (outcome.output.joined(), outcome.ending.code()),
        ("partial\n\n[Command interrupted]".to_owned(), 130)
    );
    assert_eq!((alive(&one).len(), alive(&two).len()), (0, 1));
    // Dropping the call ends its tree as well.
    second.abort();
    eventually("the neighbour is gone", 3 * SECOND, || {
        alive(&two).is_empty()
    })
    .await;
}

#[tokio::test]
async fn an_interrupt_before_the_start_runs_nothing() {
    let bed = bed();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let request = RunRequest {
        cancel,
        ..RunRequest::new("touch made")
    };
    let outcome = bed.session.run(request).await;
    match outcome {
        Err(error) => assert_eq!(error, RunError::Interrupted),
        Ok(outcome) => assert_eq!(outcome.ending.code(), 130),
    }
    assert!(!bed.work.path().join("made").exists());
}

#[tokio::test]
async fn a_command_with_a_nul_byte_is_refused() {
    assert_eq!(
        bed().session.run(RunRequest::new("echo \0")).await,
        Err(RunError::Nul)
    );
}

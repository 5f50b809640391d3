use std::time::{Duration, Instant};

use hermes_process::{Captured, Command, Exit, Limits, OutputError, output, output_blocking};
use pretty_assertions::assert_eq;

use super::helpers::{alive, unique_sleep};

fn bash(script: &str) -> Command {
    Command::new("bash").args(["-c", script])
}

#[test]
fn both_streams_and_the_code_are_captured_without_a_runtime() {
    let captured =
        output_blocking(bash("echo out; echo err >&2; exit 3"), Limits::seconds(10)).unwrap();
    assert_eq!(
        captured,
        Captured {
            exit: Exit::Code(3),
            stdout: b"out\n".to_vec(),
            stderr: b"err\n".to_vec(),
            truncated: false
        }
    );
}

#[tokio::test]
async fn input_larger_than_a_pipe_goes_through() {
    let bytes = vec![b'x'; 3 << 20];
    let captured = output(bash("cat").stdin_bytes(bytes.clone()), Limits::seconds(10))
        .await
        .unwrap();
    assert_eq!(captured.stdout.len(), bytes.len());
}

#[tokio::test]
async fn a_helper_that_ignores_its_input_is_no_error() {
    let captured = output(
        bash("exec <&-; sleep 0.1; echo done").stdin_bytes(vec![b'x'; 1 << 20]),
        Limits::seconds(10),
    )
    .await
    .unwrap();
    assert_eq!(captured.stdout, b"done\n");
}

#[tokio::test]
async fn more_than_the_limit_is_read_and_dropped() {
    let limits = Limits {
        timeout: Duration::from_secs(20),
        max_bytes: 1000,
    };
    let captured = output(bash("head -c 5000000 /dev/zero; exit 4"), limits)
        .await
        .unwrap();
    assert_eq!(
        (captured.exit, captured.stdout.len(), captured.truncated),
        (Exit::Code(4), 1000, true)
    );
}

#[tokio::test]
async fn a_helper_out_of_time_is_ended_with_its_tree() {
    let number = unique_sleep();
    let limits = Limits {
        timeout: Duration::from_millis(300),
        max_bytes: 1000,
    };
    let began = Instant::now();
    let error = output(
        bash(&format!(
            "echo partial; setsid sleep {number} & sleep {number}"
        )),
        limits,
    )
    .await
    .unwrap_err();
    let OutputError::Timeout { partial, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(partial.stdout, b"partial\n");
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(alive(&number), Vec::<i32>::new());
}

#[tokio::test]
async fn a_descendant_that_holds_the_pipe_does_not_hold_us() {
    let number = unique_sleep();
    let began = Instant::now();
    let captured = output(
        bash(&format!("setsid sleep {number} & echo $!")),
        Limits::seconds(10),
    )
    .await
    .unwrap();
    assert!(began.elapsed() < Duration::from_secs(2));
    let pid: i32 = captured.stdout_text().trim().parse().unwrap();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
}

#[tokio::test]
async fn a_missing_program_and_a_missing_directory_are_told_apart() {
    let missing = output(Command::new("no-such-program-here"), Limits::seconds(1))
        .await
        .unwrap_err();
    assert!(
        matches!(&missing, OutputError::Spawn(error) if error.is_not_found()),
        "{missing}"
    );
    let nowhere = output(bash("true").directory("/no/such/place"), Limits::seconds(1))
        .await
        .unwrap_err();
    assert!(nowhere.to_string().contains("/no/such/place"), "{nowhere}");
}

#[tokio::test]
async fn only_the_given_variables_reach_the_child() {
    let command = Command::new("/usr/bin/env")
        .only_env([("A", "1")])
        .env("B", "2");
    let captured = output(command, Limits::seconds(10)).await.unwrap();
    assert_eq!(captured.stdout_text(), "A=1\nB=2\n");
}

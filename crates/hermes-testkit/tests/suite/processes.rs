use std::process::Command;

use hermes_testkit::process::{Running, child_test, is_alive, run_together, wait_until_gone};

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn a_killed_child_leaves_what_it_had_printed() {
    let child = Running::start(shell("echo ready; exec sleep 1000"));
    child.wait_for_line("ready");
    let pid = child.pid();
    assert!(is_alive(pid));
    let finished = child.kill9();
    assert_eq!(finished.stdout, "ready\n");
    assert!(!finished.status.success());
    wait_until_gone(pid);
}

#[test]
fn commands_run_together_answer_in_order() {
    // Each waits for the other's file, so they end only if both run at once.
    let directory = tempfile::tempdir().unwrap();
    let meet = |mine: &str, other: &str| {
        let mut command = shell(&format!(
            "touch {mine}; while [ ! -e {other} ]; do :; done; echo {mine}"
        ));
        command.current_dir(directory.path());
        command
    };
    let finished = run_together([meet("a", "b"), meet("b", "a")]);
    assert_eq!(finished[0].stdout, "a\n");
    assert_eq!(finished[1].stdout, "b\n");
}

#[test]
fn child_test_role() {
    if let Ok(word) = std::env::var("TESTKIT_CHILD_SAYS") {
        println!("child says {word}");
    }
}

#[test]
fn a_test_can_run_another_test_as_a_process() {
    let child = Running::start(child_test(
        "suite::processes::child_test_role",
        &[("TESTKIT_CHILD_SAYS", "hello")],
    ));
    child.wait_for_line("child says hello");
    assert!(child.wait().status.success());
}

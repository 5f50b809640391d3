//! The owner is killed with SIGKILL; its children die with it, at any depth.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

use hermes_process::{OwnerDeath, spawn};
use pretty_assertions::assert_eq;

use super::helpers::{alive, eventually, shell, unique_sleep};

const ROLE: &str = "HERMES_PROCESS_TEST_OWNER";
const SCRIPT: &str = "(setsid sleep NUMBER &); trap '' TERM HUP; sleep NUMBER; sleep NUMBER";

/// Not a test of its own: what the process that gets killed does.
#[test]
fn play_the_owner() {
    let Ok(part) = std::env::var(ROLE) else {
        return;
    };
    let (how, number) = part.split_once(' ').unwrap();
    let owner_death = match how {
        "tree" => OwnerDeath::KillTree,
        "child" => OwnerDeath::KillChild,
        _ => OwnerDeath::LeaveRunning,
    };
    let script = if how == "child" {
        "exec sleep NUMBER"
    } else {
        SCRIPT
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        // Spawned from a worker that ends before the child does.
        let script = script.replace("NUMBER", number);
        let process = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let process = runtime
                .block_on(spawn(shell(script).owner_death(owner_death)))
                .unwrap();
            (runtime, process)
        })
        .join()
        .unwrap();
        println!("ready");
        // Killed while it waits; should the test be gone, its end of the pipe is too.
        let test_is_gone = || std::io::stdin().read_line(&mut String::new());
        let _ = tokio::task::spawn_blocking(test_is_gone).await;
        drop(process);
    });
}

fn owner(part: &str) -> std::process::Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["suite::owner::play_the_owner", "--exact", "--nocapture"])
        .env(ROLE, part)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert_ne!(
            output.read_line(&mut line).unwrap(),
            0,
            "the owner ended early"
        );
    }
    // Keep reading so that the owner never blocks on a full pipe.
    std::thread::spawn(move || {
        let _ = output.read_to_end(&mut Vec::new());
    });
    child
}

#[test]
fn a_whole_tree_dies_with_its_owner() {
    let number = unique_sleep();
    let mut owner = owner(&format!("tree {number}"));
    eventually("both sleep", Duration::from_secs(10), || {
        alive(&number).len() == 2
    });
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("nobody is left", Duration::from_secs(3), || {
        alive(&number).is_empty()
    });
}

#[test]
fn a_helper_dies_with_its_owner() {
    let number = unique_sleep();
    let mut owner = owner(&format!("child {number}"));
    eventually("it sleeps", Duration::from_secs(10), || {
        alive(&number).len() == 1
    });
    owner.kill().unwrap();
    owner.wait().unwrap();
    eventually("it is gone", Duration::from_secs(3), || {
        alive(&number).is_empty()
    });
}

#[test]
fn what_shall_stay_stays() {
    let number = unique_sleep();
    let mut owner = owner(&format!("leave {number}"));
    eventually("both sleep", Duration::from_secs(10), || {
        alive(&number).len() == 2
    });
    owner.kill().unwrap();
    owner.wait().unwrap();
    // Long enough for a guard, had there been one, to act.
    std::thread::sleep(Duration::from_millis(400));
    let left = alive(&number);
    for pid in &left {
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(*pid),
            nix::sys::signal::Signal::SIGKILL,
        )
        .unwrap();
    }
    assert_eq!(left.len(), 2);
}

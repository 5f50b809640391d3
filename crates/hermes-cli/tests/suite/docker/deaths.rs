//! Deaths of the owner, of the daemon, and of patience.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hermes_testkit::docker::{BASH, wait_until};
use hermes_testkit::process::Running;
use pretty_assertions::assert_eq;

use super::CLIENT;
use super::world::{World, world};

/// Moments, in milliseconds after the start, at which the owner is killed: while
/// it looks, creates, opens a channel, runs. The benchmark program takes twenty
/// random ones.
const MOMENTS: &[u64] = &[5, 40, 90, 150, 220, 300, 400, 700];

/// A program that stands in for the engine's client.
fn client(world: &World, script: &str) -> PathBuf {
    let path = world.scratch.user_home().join("client");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("write");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("mode");
    path
}

#[test]
fn docker_an_owner_killed_at_any_moment_leaks_and_doubles_nothing() {
    let Some(world) = world(BASH) else { return };
    for (round, moment) in MOMENTS.iter().enumerate() {
        // Every other time there is no container yet.
        if round % 2 == 0 {
            for id in world.sweep.containers() {
                CLIENT.discard(&id);
            }
        }
        let owner =
            Running::start(world.command(&["sandbox", "exec", "--", "echo up; sleep 4200"]));
        std::thread::sleep(Duration::from_millis(*moment));
        owner.kill9();
        assert_eq!(
            world.says("echo alive"),
            "alive\n",
            "killed after {moment} ms"
        );
        let id = world.one_container();
        if round % 2 == 0 {
            world.says("setsid sleep 4150 </dev/null >/dev/null 2>&1 &");
        }
        let running = CLIENT.processes(&id);
        assert!(
            running.iter().any(|line| line.ends_with("sleep 4150")),
            "the background process, killed after {moment} ms: {running:?}"
        );
        wait_until("the container runs", || {
            CLIENT.run(&["inspect", "--format", "{{.State.Status}}", &id]) == "running"
        });
    }
}

#[test]
fn docker_a_creation_whose_owner_died_is_waited_for_and_adopted() {
    let Some(world) = world(BASH) else { return };
    // A slow engine: the owner dies while its container is being made.
    let client = client(&world, "[ \"$1\" = run ] && sleep 1.5\nexec docker \"$@\"");
    let mut command = world.command(&["sandbox", "exec", "--", "sleep 4250"]);
    command.env("HERMES_DOCKER_BINARY", &client);
    let owner = Running::start(command);
    std::thread::sleep(Duration::from_millis(800));
    owner.kill9();
    assert!(world.sweep.containers().is_empty(), "not made yet");
    assert_eq!(world.says("echo adopted"), "adopted\n");
    world.one_container();
    // Whatever the dead one's client still does is done by now.
    std::thread::sleep(Duration::from_millis(1000));
    world.one_container();
}

#[test]
fn docker_what_a_killed_owner_was_running_ends_and_background_processes_stay() {
    let Some(world) = world(BASH) else { return };
    world.says("setsid sleep 4300 </dev/null >/dev/null 2>&1 &");
    let owner = Running::start(world.command(&[
        "sandbox",
        "exec",
        "--",
        "echo up; setsid sleep 4301 & sleep 4302",
    ]));
    owner.wait_for_line("up");
    // From its first second on a command is watched.
    std::thread::sleep(Duration::from_millis(1000));
    owner.kill9();
    let id = world.one_container();
    wait_until("its commands are gone", || {
        let running = CLIENT.processes(&id);
        !running
            .iter()
            .any(|p| p.contains("4301") || p.contains("4302"))
    });
    assert!(CLIENT.processes(&id).iter().any(|p| p.contains("4300")));
}

#[test]
fn docker_timeout_and_interrupt_end_the_tree_and_say_so() {
    let Some(world) = world(BASH) else { return };
    world.says("true");
    let id = world.one_container();
    let tree = "setsid sleep 4400 & (sh -c 'sleep 4401 &'); sleep 4402";
    let began = Instant::now();
    let timed_out = world.run(&["sandbox", "exec", "--timeout", "1", "--", tree]);
    assert_eq!(timed_out.code, 124, "{timed_out:#?}");
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    assert!(
        !CLIENT
            .processes(&id)
            .iter()
            .any(|p| p.contains("sleep 440"))
    );
    let running = Running::start(world.command(&["sandbox", "exec", "--", "echo up; sleep 4403"]));
    running.wait_for_line("up");
    running.signal(nix::sys::signal::Signal::SIGINT);
    let interrupted = running.wait();
    assert_eq!(interrupted.status.code(), Some(130), "{interrupted:#?}");
    assert!(
        !CLIENT
            .processes(&id)
            .iter()
            .any(|p| p.contains("sleep 440"))
    );
}

#[test]
fn docker_a_client_that_never_answers_is_told_in_time() {
    let Some(world) = world(BASH) else { return };
    let client = client(&world, "exec sleep 1000");
    for words in [&["sandbox", "exec", "--", "true"][..], &["sandbox", "ls"]] {
        let began = Instant::now();
        let mut command = world.command(words);
        command.env("HERMES_DOCKER_BINARY", &client);
        let ran = crate::suite::support::ran(command.output().expect("it starts"));
        assert_eq!(ran.code, 1, "{words:?}: {ran:#?}");
        assert!(ran.stderr.contains("did not answer"), "{words:?}: {ran:#?}");
        assert!(
            began.elapsed() < Duration::from_secs(7),
            "{words:?}: {:?}",
            began.elapsed()
        );
    }
}

#[test]
fn docker_no_engine_at_all_is_told_with_a_way_out() {
    let Some(world) = world(BASH) else { return };
    let mut command = world.command(&["sandbox", "exec", "--", "true"]);
    command.env("HERMES_DOCKER_BINARY", "no-such-engine");
    let ran = crate::suite::support::ran(command.output().expect("it starts"));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("`no-such-engine`"), "{ran:#?}");
}

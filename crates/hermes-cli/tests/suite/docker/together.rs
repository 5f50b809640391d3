//! Several processes, one container.

use hermes_testkit::docker::{BASH, wait_until};
use hermes_testkit::process::{Running, run_together};
use pretty_assertions::assert_eq;

use super::CLIENT;
use super::world::world;

/// Rounds of the loops; the benchmark program runs twenty.
const ROUNDS: usize = 4;

#[test]
fn docker_three_processes_that_start_together_share_one_container() {
    let Some(world) = world(BASH) else { return };
    for round in 0..ROUNDS {
        let commands = (0..3).map(|n| {
            let script = format!("echo {n}; hostname");
            world.command(&["sandbox", "exec", "--", &script])
        });
        let finished = run_together(commands);
        let hosts: Vec<&str> = finished
            .iter()
            .enumerate()
            .map(|(n, one)| {
                assert!(one.status.success(), "round {round}: {one:#?}");
                let mut lines = one.stdout.lines();
                assert_eq!(lines.next(), Some(n.to_string().as_str()));
                lines.next().expect("a host name")
            })
            .collect();
        assert!(hosts.iter().all(|host| *host == hosts[0]), "{hosts:?}");
        let id = world.one_container();
        CLIENT.discard(&id);
    }
}

#[test]
fn docker_state_and_background_processes_outlive_the_process() {
    let Some(world) = world(BASH) else { return };
    world.says("cd /tmp; export A='two words'; f() { echo f:$A; }; setsid sleep 4000 </dev/null >/dev/null 2>&1 &");
    assert_eq!(world.says("pwd; f"), "/tmp\nf:two words\n");
    assert_eq!(
        world.ok(&[
            "sandbox",
            "exec",
            "--session",
            "other",
            "--",
            "pwd; echo $A"
        ]),
        "/root\n\n"
    );
    let id = world.one_container();
    assert!(
        CLIENT
            .processes(&id)
            .iter()
            .any(|p| p.contains("sleep 4000"))
    );
    // Restarted, the container has an empty /tmp: the state begins anew.
    CLIENT.run(&["restart", "-t", "0", &id]);
    assert_eq!(world.says("echo again; ls -d /tmp"), "again\n/tmp\n");
    assert_eq!(world.one_container(), id);
}

#[test]
fn docker_the_lease_shows_who_uses_a_container_and_protects_it() {
    let Some(world) = world(BASH) else { return };
    world.says("true");
    let id = world.one_container();
    let user = Running::start(world.command(&["sandbox", "exec", "--", "echo up; sleep 4100"]));
    user.wait_for_line("up");
    let rows: serde_json::Value =
        serde_json::from_str(&world.ok(&["sandbox", "ls", "--json"])).expect("json");
    assert_eq!(rows[0]["leases"][0]["pid"], user.pid());
    assert!(
        rows[0]["leases"][0]["command"]
            .as_str()
            .expect("text")
            .contains("sandbox exec")
    );
    for verb in ["stop", "rm"] {
        let refused = world.run(&["sandbox", verb, &id[..6]]);
        assert_eq!(refused.code, 1, "{refused:#?}");
        assert!(refused.stderr.contains("is in use by pid"), "{refused:#?}");
        assert!(refused.stderr.contains("--force"), "{refused:#?}");
    }
    let refused = world.run(&["sandbox", "recreate"]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert_eq!(world.one_container(), id);
    world.ok(&["sandbox", "rm", "--force", &id[..6]]);
    assert_eq!(world.sweep.containers(), Vec::<String>::new());
    let lost = user.wait();
    assert_eq!(lost.status.code(), Some(1));
    assert!(lost.stderr.contains("may have had effects"), "{lost:#?}");
}

#[test]
fn docker_a_private_container_goes_with_its_process() {
    let Some(world) = world(BASH) else { return };
    world.configure("  docker_persist_across_processes: false\n");
    let one = Running::start(world.command(&["sandbox", "exec", "--", "hostname; sleep 1"]));
    let two = Running::start(world.command(&["sandbox", "exec", "--", "hostname; sleep 1"]));
    let (one, two) = (one.wait(), two.wait());
    assert_ne!(one.stdout, two.stdout);
    wait_until("both are gone", || world.sweep.containers().is_empty());
}

//! Side by side with Python Hermes 0.16.0 on one home: each takes up the container of
//! the other, and a background process lives throughout.
//!
//! Runs where `HERMES_TEST_REFERENCE` names that program, and nowhere else.

use std::path::PathBuf;
use std::process::Command;

use hermes_testkit::docker::{BASH, Sweep};
use hermes_testkit::model::ModelServer;
use pretty_assertions::assert_eq;

use super::CLIENT;
use super::talk::obedient_model;
use super::world::{World, world};
use crate::suite::support::ran;

/// Both programs on one home, with a model that does as it is told.
struct Pair {
    world: World,
    reference: PathBuf,
    server: ModelServer,
    /// The reference labels no home; its bind mount tells whose a container is.
    _sweep: Sweep,
}

fn pair() -> Option<Pair> {
    let reference = PathBuf::from(std::env::var_os("HERMES_TEST_REFERENCE")?);
    let world = world(BASH)?;
    let server = obedient_model(&world);
    // No other test leaves this profile on containers without a home.
    let profile = format!("interop-{}", std::process::id());
    let sweep = Sweep::on(CLIENT, format!("hermes-profile={profile}"));
    let config = world.scratch.read("config.yaml");
    world
        .scratch
        .write(&format!("profiles/{profile}/config.yaml"), config);
    world.scratch.write("active_profile", profile);
    Some(Pair {
        world,
        reference,
        server,
        _sweep: sweep,
    })
}

impl Pair {
    fn profile_home(&self) -> PathBuf {
        let home = self.world.scratch.home();
        home.join("profiles")
            .join(self.world.scratch.read("active_profile").trim())
    }

    fn theirs(&self, prompt: &str) -> String {
        let mut command = Command::new(&self.reference);
        command
            .args(["-z", prompt])
            .env("HERMES_HOME", self.profile_home())
            .env("HOME", self.world.scratch.user_home())
            .current_dir(self.world.scratch.user_home());
        let ran = ran(command.output().expect("the reference starts"));
        assert_eq!(ran.code, 0, "{prompt}: {ran:#?}");
        ran.stdout
    }

    fn ours(&self, words: &[&str]) -> String {
        let mut command = self.world.command(words);
        command.env("HERMES_HOME", self.profile_home());
        let ran = ran(command.output().expect("the binary starts"));
        assert_eq!(ran.code, 0, "{words:?}: {ran:#?}");
        ran.stdout
    }

    fn our_exec(&self, script: &str) -> String {
        self.ours(&["sandbox", "exec", "--", script])
    }

    fn the_container(&self) -> String {
        let all = self._sweep.containers();
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().expect("one")
    }

    fn assert_alive(&self, container: &str, what: &str, when: &str) {
        let running = CLIENT.processes(container);
        assert!(
            running.iter().any(|line| line.ends_with(what)),
            "{when}: {running:#?}"
        );
    }
}

#[test]
fn docker_a_container_of_the_reference_is_adopted_with_what_runs_in_it() {
    let Some(pair) = pair() else { return };
    // Its own background processes end with its one-shot run; this one does not.
    let started = pair.theirs("run sh -c 'sleep 5100 </dev/null >/dev/null 2>&1 &'; echo started");
    assert!(started.contains("started"), "{started}");
    let id = pair.the_container();
    pair.assert_alive(&id, "sleep 5100", "after the reference left");
    assert_eq!(pair.our_exec("hostname").trim(), &id[..12]);
    pair.our_exec("echo ours > /workspace/mark; touch /layer");
    assert_eq!(pair.the_container(), id);
    pair.assert_alive(&id, "sleep 5100", "after our commands");
    let rows = pair.ours(&["sandbox", "ls", "--json"]);
    let rows: serde_json::Value = serde_json::from_str(&rows).expect("json");
    assert_eq!(
        (&rows[0]["id"], &rows[0]["home_match"]),
        (&id.as_str().into(), &true.into())
    );
    let seen = pair.theirs("run cat /workspace/mark; ls /layer; hostname");
    assert!(
        seen.contains("ours") && seen.contains("/layer") && seen.contains(&id[..12]),
        "{seen}"
    );
    assert_eq!(pair.the_container(), id);
    pair.assert_alive(&id, "sleep 5100", "after the reference came back");
    assert!(pair.server.requests().len() >= 4);
}

#[test]
fn docker_a_container_of_ours_is_adopted_by_the_reference_with_what_runs_in_it() {
    let Some(pair) = pair() else { return };
    let started = pair.ours(&["--yolo", "-z", "background sleep 5200"]);
    assert!(started.contains("Background process started"), "{started}");
    let id = pair.the_container();
    pair.assert_alive(&id, "sleep 5200", "after we left");
    let seen = pair.theirs("run hostname; echo theirs > /root/mark");
    assert!(seen.contains(&id[..12]), "{seen}");
    assert_eq!(pair.the_container(), id);
    pair.assert_alive(&id, "sleep 5200", "after the reference left");
    assert_eq!(pair.our_exec("cat /root/mark"), "theirs\n");
    pair.assert_alive(&id, "sleep 5200", "after we came back");
    // Stopped by anybody, it is started again by either and keeps its files.
    CLIENT.run(&["stop", "-t", "1", &id]);
    assert!(pair.theirs("run cat /root/mark").contains("theirs"));
    assert_eq!(pair.the_container(), id);
    assert_eq!(pair.our_exec("hostname").trim(), &id[..12]);
}

//! A home whose commands run in docker, and its containers.

use std::process::Command;

use hermes_sandbox::docker::Identity;
use hermes_testkit::docker::Sweep;

use super::CLIENT;
use crate::suite::support::{Ran, Scratch, ran};

pub(super) struct World {
    pub(super) scratch: Scratch,
    pub(super) sweep: Sweep,
}

/// `None` where no engine is to be had and none is required.
pub(super) fn world(image: &'static str) -> Option<World> {
    if !CLIENT.available() {
        return None;
    }
    CLIENT.image(image);
    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        format!(
            "terminal:\n  backend: docker\n  docker_image: {image}\n  container_disk: 0\n  container_memory: 512\n"
        ),
    );
    let hash = Identity::new("default", "default", &scratch.home()).home;
    Some(World {
        sweep: Sweep::on(CLIENT, format!("hermes-home={hash}")),
        scratch,
    })
}

impl World {
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.scratch.command(words);
        // The engine's client is on the caller's PATH.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(CLIENT.environment());
        command
    }

    pub(super) fn run(&self, words: &[&str]) -> Ran {
        ran(self.command(words).output().expect("the binary starts"))
    }

    pub(super) fn exec(&self, script: &str) -> Ran {
        self.run(&["sandbox", "exec", "--", script])
    }

    /// Runs a command that must succeed and returns what it printed.
    pub(super) fn says(&self, script: &str) -> String {
        let ran = self.exec(script);
        assert_eq!(ran.code, 0, "{script}: {ran:#?}");
        ran.stdout
    }

    pub(super) fn ok(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:#?}");
        ran.stdout
    }

    /// Adds lines to the section `terminal`.
    pub(super) fn configure(&self, lines: &str) {
        let text = self.scratch.read("config.yaml");
        self.scratch.write("config.yaml", format!("{text}{lines}"));
    }

    pub(super) fn one_container(&self) -> String {
        let all = self.sweep.containers();
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().expect("one")
    }
}

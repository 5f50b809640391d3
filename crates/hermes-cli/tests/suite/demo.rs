//! `hermes demo`: the whole product in one command, and nothing left of it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use hermes_testkit::docker;
use hermes_testkit::process::Running;
use nix::sys::signal::Signal;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::Scratch;

/// A place for temporary files that can be looked at afterwards.
struct Room {
    scratch: Scratch,
    temporary: PathBuf,
}

impl Room {
    fn new() -> Self {
        let scratch = Scratch::new();
        let temporary = scratch.user_home().join("temporary");
        fs::create_dir(&temporary).expect("a directory");
        Self { scratch, temporary }
    }

    fn demo(&self, words: &[&str]) -> Command {
        let mut command = self.scratch.command(["demo"]);
        command.args(words).env("TMPDIR", &self.temporary);
        command
    }

    fn story(&self, words: &[&str]) -> Value {
        let output = self.demo(words).output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let story: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(output.status.code(), Some(0), "{story:#} {said}");
        story
    }

    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.temporary).expect("the directory is there");
        entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }
}

fn ends(story: &Value) -> Vec<&str> {
    let tasks = story["tasks"].as_object().expect("tasks");
    let mut ends: Vec<&str> = tasks.values().filter_map(Value::as_str).collect();
    ends.sort_unstable();
    ends
}

#[test]
fn the_story_is_played_on_this_machine_and_leaves_nothing() {
    let room = Room::new();
    let story = room.story(&["--json", "--local"]);
    assert_eq!(story["ok"], json!(true), "{story:#}");
    assert_eq!(story["backend"], json!("local"));
    assert_eq!(ends(&story), ["blocked", "done", "done", "done", "done"]);
    let report = story["report"].as_str().expect("a report");
    assert!(
        report.starts_with("It is ") && report.contains("Linux"),
        "{report}"
    );
    assert_eq!(room.left(), Vec::<String>::new());
    assert!(
        !room.scratch.exists("config.yaml"),
        "the real home is not touched"
    );
}

#[test]
fn it_can_be_read_by_a_person_and_kept() {
    let room = Room::new();
    let output = room
        .demo(&["--fast", "--local", "--keep"])
        .output()
        .expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for part in [
        "1. A conversation",
        "2. A board",
        "$ hermes",
        "What you saw",
        "hermes setup",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let left = room.left();
    assert_eq!(left.len(), 1, "{left:?}");
    let home = room.temporary.join(&left[0]).join("home");
    assert!(home.join("kanban.db").is_file(), "the board is kept");
    assert!(text.contains(&home.display().to_string()), "{text}");
}

#[test]
fn docker_the_container_of_the_story_outlives_its_processes_and_is_gone_afterwards() {
    if !docker::available() {
        return;
    }
    let image = docker::image(docker::BASH);
    let room = Room::new();
    let story = room.story(&["--json", "--image", image]);
    assert_eq!(story["backend"], json!("docker"), "{story:#}");
    assert_eq!(story["container"]["same"], json!(true), "{story:#}");
    let host = story["container"]["host"].as_str().expect("a host");
    assert_eq!(docker::try_docker(&["inspect", host]), None);
    assert!(
        docker::try_docker(&["image", "inspect", image]).is_some(),
        "not ours to remove"
    );
    assert_eq!(room.left(), Vec::<String>::new());
}

#[test]
fn docker_an_image_is_made_of_this_machine_when_there_is_none_and_removed() {
    if !docker::available() {
        return;
    }
    let room = Room::new();
    let story = room.story(&["--json"]);
    assert_eq!(story["backend"], json!("docker"), "{story:#}");
    let image = story["image"].as_str().expect("an image");
    if image.starts_with("hermes-demo:") {
        assert_eq!(docker::try_docker(&["image", "inspect", image]), None);
    }
    assert_eq!(room.left(), Vec::<String>::new());
}

#[test]
fn an_interrupt_clears_the_stage() {
    let room = Room::new();
    let running = Running::start(room.demo(&["--local"]));
    running.wait_for_line("1. A conversation");
    running.signal(Signal::SIGINT);
    let ended = running.wait();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert_eq!(room.left(), Vec::<String>::new());
}

#[test]
fn an_image_that_is_not_there_is_said() {
    if !docker::available() {
        return;
    }
    let room = Room::new();
    let story = room.story(&["--json", "--image", "no-such/image:1"]);
    assert_eq!(story["backend"], json!("local"));
    let why = story["why_local"].as_str().expect("a reason");
    assert!(why.contains("no-such/image:1"), "{why}");
}

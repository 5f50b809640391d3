//! Log files: written by verbs that do something, read by `hermes logs`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;

use super::support::Scratch;

/// A home in which `kanban list` has something to complain about.
fn complaining() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home().join("kanban.db.init.lock")).unwrap();
    scratch
}

#[test]
fn warnings_reach_both_logs_and_are_found_again() {
    let scratch = complaining();
    scratch.run(["kanban", "list"]);
    for name in ["agent", "errors"] {
        let text = scratch.ok(["logs", name, "--level", "warning", "--component", "cli"]);
        let mut lines = text.lines();
        assert_eq!(
            lines.next().unwrap(),
            format!("--- ~/.hermes/logs/{name}.log [level>=WARNING, component=cli] (last 50) ---")
        );
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("{name}.log is empty"));
        assert!(line.contains(" WARNING hermes_cli.kanban."), "{line}");
        let path = scratch.home().join(format!("logs/{name}.log"));
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[test]
fn the_level_and_the_size_of_the_log_are_settings() {
    let scratch = complaining();
    scratch.run(["kanban", "list", "-c", "logging.level=ERROR"]);
    assert!(!scratch.exists("logs/agent.log"));
    assert!(
        scratch.exists("logs/errors.log"),
        "warnings are always kept there"
    );

    scratch.write("logs/agent.log", "x".repeat(2 * 1024 * 1024));
    scratch.write("logs/agent.log.1", "older");
    scratch.run([
        "kanban",
        "list",
        "-c",
        "logging.max_size_mb=1",
        "-c",
        "logging.backup_count=1",
    ]);
    assert!(scratch.read("logs/agent.log").contains("WARNING"));
    assert!(scratch.read("logs/agent.log.1").starts_with("xxx"));
    assert!(!scratch.exists("logs/agent.log.2"));
}

#[test]
fn a_log_that_cannot_be_written_fails_no_command() {
    let scratch = complaining();
    for name in ["agent", "errors"] {
        fs::create_dir_all(scratch.home().join(format!("logs/{name}.log"))).unwrap();
    }
    let ran = scratch.run(["kanban", "list"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn wrong_names_levels_ages_and_components_get_a_sentence() {
    let scratch = Scratch::new();
    scratch.write("logs/agent.log", "");
    for (words, said) in [
        ("logs nosuch", "no log called \"nosuch\""),
        ("logs gui", "there is no ~/.hermes/logs/gui.log"),
        ("logs --level LOUD", "\"LOUD\" is not a level"),
        ("logs --since yesterday", "\"yesterday\" is not an age"),
        ("logs --since 99999999999999999d", "is not an age"),
        ("logs --component nosuch", "no component called \"nosuch\""),
    ] {
        let stderr = scratch.fails(1, words.split(' '));
        assert!(
            stderr.contains(said) && stderr.contains("hint: "),
            "{words}: {stderr}"
        );
    }
    scratch.fails(2, ["logs", "-n", "-3"]);
    scratch.fails(2, ["logs", "-n", "many"]);
}

#[test]
fn the_files_are_listed_with_their_sizes() {
    let scratch = Scratch::new();
    assert!(scratch.ok(["logs", "list"]).contains("No logs"));
    scratch.write("logs/agent.log", "x".repeat(2048));
    scratch.write("logs/notes.txt", "");
    let text = scratch.ok(["logs", "list"]);
    assert!(
        text.contains("agent.log") && text.contains("2.0KB"),
        "{text}"
    );
    assert!(!text.contains("notes"), "{text}");
}

#[test]
fn following_prints_what_is_appended_until_it_is_stopped() {
    use std::io::{BufRead, BufReader, Write};
    let scratch = Scratch::new();
    scratch.write("logs/agent.log", "2026-05-30 10:00:00,000 INFO a: first\n");
    let mut child = scratch
        .command(["logs", "-f"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().contains("Ctrl+C to stop"));
    assert!(next().ends_with("first"));
    let path = scratch.home().join("logs/agent.log");
    fs::rename(&path, scratch.home().join("logs/agent.log.1")).unwrap();
    let mut file = fs::File::create(&path).unwrap();
    writeln!(file, "2026-05-30 10:00:01,000 INFO a: second").unwrap();
    assert!(next().ends_with("second"));
    child.kill().unwrap();
    child.wait().unwrap();
}

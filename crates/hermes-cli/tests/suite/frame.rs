//! Parsing rules and exit codes that hold for every verb.

use super::support::{Scratch, ran};

#[test]
fn the_version_starts_with_one_line_in_the_references_notation() {
    let scratch = Scratch::new();
    let line = scratch.ok(["--version"]);
    let (version, date) = line.lines().next().unwrap().rsplit_once(' ').unwrap();
    assert_eq!(
        version,
        concat!("Hermes Agent v", env!("CARGO_PKG_VERSION"))
    );
    assert!(date.starts_with('(') && date.ends_with(')'), "{line}");
    assert_eq!(scratch.ok(["version"]), line);
    assert_eq!(scratch.ok(["-V", "kanban", "list"]), line);
    assert!(!scratch.home().exists(), "--version made a home");
}

#[test]
fn help_goes_to_stdout_and_wrong_words_to_stderr() {
    let scratch = Scratch::new();
    assert!(scratch.ok(["--help"]).contains("Usage: hermes"));
    for words in [
        vec!["frobnicate"],
        vec!["version", "--bogus"],
        vec!["--bogus"],
    ] {
        let ran = scratch.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}");
        assert!(ran.stderr.contains("Usage: hermes"), "{}", ran.stderr);
    }
}

#[test]
fn long_options_may_be_cut_to_a_unique_prefix() {
    let scratch = Scratch::new();
    assert!(scratch.ok(["--vers"]).starts_with("Hermes Agent v"));
    assert_eq!(
        scratch.run(["--pro", "x", "version"]).code,
        2,
        "--pro is two options"
    );
}

#[test]
fn a_verb_that_is_not_built_takes_any_arguments_and_says_one_sentence() {
    let scratch = Scratch::new();
    for words in [
        vec!["webhook"],
        vec!["webhook", "add", "--prompt", "x", "-y", "--help"],
    ] {
        let ran = scratch.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{words:?}");
        assert_eq!(ran.stderr, "error: `hermes webhook` is not built yet\n");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let scratch = Scratch::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = scratch
        .command(["--help"])
        .stdout(writer)
        .output()
        .expect("the binary starts");
    let ran = ran(output);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn a_config_option_without_a_value_is_a_usage_error() {
    let ran = Scratch::new().run(["--config", "nothing", "version"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("KEY=VALUE"), "{}", ran.stderr);
}

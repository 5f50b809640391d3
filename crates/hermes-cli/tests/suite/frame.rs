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
fn every_verb_of_the_reference_is_known_and_what_is_not_built_says_so_in_one_sentence() {
    let scratch = Scratch::new();
    let mut asked = 0;
    for (verb, below) in [
        ("acp", ""),
        ("auth", "spotify"),
        ("bundles", "list show create delete reload"),
        ("claw", "migrate cleanup"),
        ("computer-use", "install status"),
        (
            "cron",
            "list create edit pause resume run remove status tick",
        ),
        (
            "curator",
            "status run pause resume pin unpin restore list-archived archive prune backup rollback",
        ),
        ("dashboard", "register"),
        ("debug", "share delete"),
        ("desktop", ""),
        (
            "gateway",
            "run start stop restart status install uninstall list setup migrate-legacy",
        ),
        ("gui", ""),
        ("hooks", "list test revoke doctor"),
        ("kanban", "swarm"),
        ("login", ""),
        ("logout", ""),
        ("lsp", "status list install install-all restart which"),
        (
            "mcp",
            "serve add remove list test configure login picker catalog install",
        ),
        ("memory", "setup"),
        ("migrate", "xai"),
        ("pairing", "list approve revoke clear-pending"),
        ("plugins", "install update remove list enable disable"),
        ("portal", "login info status open tools"),
        ("postinstall", ""),
        ("profile", "install update"),
        ("proxy", "start status providers"),
        ("secrets", "bitwarden bw"),
        ("security", "audit"),
        ("send", ""),
        (
            "skills",
            "browse search install inspect check update audit uninstall reset opt-out opt-in repair-official publish snapshot tap config",
        ),
        ("slack", "manifest"),
        ("uninstall", ""),
        ("update", ""),
        ("webhook", "subscribe list remove test"),
        ("whatsapp", ""),
    ] {
        let mut names: Vec<&str> = below.split(' ').filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            names.push("--any");
        }
        for name in names {
            let ran = scratch.run([verb, name, "-x", "--help", "word"]);
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (2, ""),
                "{verb} {name}: {ran:#?}"
            );
            let whole = format!("error: `hermes {verb}` is not built yet\n");
            let part = format!("error: `hermes {verb} {name}` is not built yet\n");
            assert!(
                ran.stderr == whole || ran.stderr == part,
                "{verb} {name}: {ran:#?}"
            );
            asked += 1;
        }
    }
    assert!(asked > 90, "{asked}");
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

#[test]
fn a_config_key_can_be_set_for_one_run_on_any_verb() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "terminal:\n  backend: ssh\n");
    for words in [
        "status --json -c terminal.backend=docker",
        "-c terminal.backend=docker status --json",
        "status -cterminal.backend=docker --json",
        "status --json --config terminal.backend=docker",
        "status --json -c terminal.backend=local -c terminal.backend=docker",
    ] {
        let status: serde_json::Value =
            serde_json::from_str(&scratch.ok(words.split(' '))).unwrap();
        assert_eq!(status["terminal"]["backend"], "docker", "{words}");
    }
    let stderr = scratch.fails(1, ["status", "-c", "terminal.backed=docker"]);
    assert!(
        stderr.contains("terminal.backend"),
        "no suggestion: {stderr}"
    );
    let stderr = scratch.fails(1, ["status", "-c", "terminal.timeout=soon"]);
    assert!(stderr.contains("terminal.timeout"), "{stderr}");
    assert_eq!(scratch.read("config.yaml"), "terminal:\n  backend: ssh\n");
}

#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let scratch = Scratch::new();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let ran = ran(scratch.command(["--help"]).stdout(full).output().unwrap());
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("error: cannot write the output"),
        "{}",
        ran.stderr
    );
}

/// Every node of the tree that help shows, as the words that lead to it.
fn nodes(command: &clap::Command, path: &[String], found: &mut Vec<Vec<String>>) {
    found.push(path.to_vec());
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let path = [path, &[verb.get_name().to_owned()]].concat();
        nodes(verb, &path, found);
    }
}

#[test]
fn every_node_has_help_of_its_own() {
    let scratch = Scratch::new();
    let mut found = Vec::new();
    nodes(&hermes_cli::cli::command(), &[], &mut found);
    assert!(found.len() > 30, "only {} nodes", found.len());
    for path in found {
        let ran = scratch.run(path.iter().map(String::as_str).chain(["--help"]));
        let usage = format!(
            "Usage: {}",
            [&["hermes".to_owned()], &path[..]].concat().join(" ")
        );
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{path:?}");
        assert!(ran.stdout.contains(&usage), "{path:?}: {}", ran.stdout);
        assert!(
            !ran.stdout.starts_with("Usage"),
            "{path:?} does not say what it does"
        );
    }
    assert!(!scratch.home().exists(), "help made a home");
}

#[test]
fn a_group_without_a_verb_prints_its_help() {
    let text = Scratch::new().ok(["sessions"]);
    assert!(text.contains("Usage: hermes sessions"), "{text}");
}

#[test]
fn every_verb_of_the_reference_is_known() {
    let tree = hermes_cli::cli::command();
    let verbs = "acp auth backup bundles chat checkpoints claw completion computer-use config cron \
                 curator dashboard debug desktop doctor dump fallback gateway gui hooks import \
                 insights kanban login logout logs lsp mcp memory migrate model pairing plugins \
                 portal postinstall profile prompt-size proxy secrets security send sessions setup \
                 skills slack status tools uninstall update version webhook whatsapp";
    for verb in verbs.split_whitespace() {
        assert!(tree.find_subcommand(verb).is_some(), "{verb}");
    }
}

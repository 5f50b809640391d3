//! `hermes profile` and the choice of a profile, through the binary.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::support::{Scratch, golden, ran};

/// `Name: value` lines as a map.
fn facts(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

/// The words of each row; the marker of the current profile stands by itself.
fn rows(text: &str) -> Vec<Vec<String>> {
    text.replace('◆', "◆ ")
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.contains("───"))
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

#[test]
fn listing_agrees_with_the_reference() {
    let scratch = Scratch::with_reference_home();
    assert_eq!(
        rows(&scratch.ok(["profile", "list"])),
        rows(&golden("profile-list.txt"))
    );
}

#[test]
fn showing_agrees_with_the_reference_in_every_fact() {
    let scratch = Scratch::with_reference_home();
    let here = scratch.home().display().to_string();
    for (words, file) in [
        (vec!["profile"], "profile-no-args.txt"),
        (
            vec!["profile", "show", "default"],
            "profile-show-default.txt",
        ),
        (
            vec!["profile", "show", "builder"],
            "profile-show-builder.txt",
        ),
        (
            vec!["profile", "show", "reviewer"],
            "profile-show-reviewer.txt",
        ),
    ] {
        let ours = facts(&scratch.ok(&words));
        let theirs = facts(&golden(file).replace("/home/user/.hermes", &here));
        assert!(theirs.len() >= 5, "{file} has too few facts to compare");
        for (name, value) in theirs {
            assert_eq!(ours.get(&name), Some(&value), "{name} in {file}");
        }
    }
    let description = scratch.ok(["profile", "describe", "builder"]);
    assert_eq!(description, golden("profile-describe-builder.txt"));
}

#[test]
fn json_says_the_same_as_text() {
    let scratch = Scratch::with_reference_home();
    let list: Value = serde_json::from_str(&scratch.ok(["profile", "list", "--json"])).unwrap();
    let names: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["default", "builder", "reviewer"]);
    assert_eq!(list[0]["current"], true);
    assert_eq!(list[0]["skills"], 1);
    assert_eq!(
        list[1]["description"],
        "Writes and fixes code in small steps."
    );
    let one: Value =
        serde_json::from_str(&scratch.ok(["profile", "show", "reviewer", "--json"])).unwrap();
    assert_eq!(one, list[2]);
}

#[test]
fn the_whole_life_of_a_profile() {
    let scratch = Scratch::new();
    let created = scratch.ok([
        "profile",
        "create",
        "Tester",
        "--description",
        "Tests: things.",
    ]);
    assert!(created.contains("Profile tester created"), "{created}");
    let home = scratch.home().join("profiles/tester");
    assert_eq!(
        fs::metadata(&home).unwrap().permissions().mode() & 0o777,
        0o700
    );
    assert_eq!(
        scratch.ok(["profile", "describe", "tester"]),
        "Tests: things.\n"
    );
    assert!(scratch.user_home().join(".local/bin/tester").exists());

    assert_eq!(
        scratch.ok(["profile", "use", "tester"]),
        "Switched to: tester\n"
    );
    assert_eq!(facts(&scratch.ok(["profile"]))["Active profile"], "tester");
    assert_eq!(
        facts(&scratch.ok(["-p", "default", "profile"]))["Active profile"],
        "default"
    );

    scratch.ok(["profile", "rename", "tester", "checker"]);
    assert_eq!(scratch.read("active_profile"), "checker\n");
    assert!(scratch.user_home().join(".local/bin/checker").exists());
    assert!(!scratch.user_home().join(".local/bin/tester").exists());
    assert_eq!(
        facts(&scratch.ok(["profile", "show", "checker"]))["Alias"],
        "checker"
    );

    scratch.ok(["profile", "delete", "checker", "--yes"]);
    assert!(!home.exists());
    assert!(!scratch.exists("active_profile"));
    assert!(!scratch.user_home().join(".local/bin/checker").exists());
    assert_eq!(rows(&scratch.ok(["profile", "list"])).len(), 2);
}

#[test]
fn deleting_wants_the_name_typed() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "precious", "--no-alias"]);
    for answer in ["", "y\n", "yes\n", "default\n"] {
        let ran = scratch.run_with_input(["profile", "delete", "precious"], answer);
        assert_eq!(ran.code, 1, "{answer:?}");
        assert!(scratch.exists("profiles/precious/SOUL.md"));
    }
    let ran = scratch.run_with_input(["profile", "delete", "precious"], "precious\n");
    assert_eq!(ran.code, 0);
    assert!(!scratch.exists("profiles/precious"));
}

#[test]
fn deleting_stops_the_gateway_of_that_profile_and_no_other_process() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "a", "--no-alias"]);
    scratch.ok(["profile", "create", "b", "--no-alias"]);
    let sleep = || {
        std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap()
    };
    let (mut gateway, mut stranger) = (sleep(), sleep());
    let start = |pid: u32| -> u64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let after_name = stat.rsplit_once(") ").unwrap().1;
        after_name.split(' ').nth(19).unwrap().parse().unwrap()
    };
    let pid_file = |profile: &str, pid: u32, start: u64| {
        let text = format!(r#"{{"pid": {pid}, "kind": "hermes-gateway", "start_time": {start}}}"#);
        scratch.write(&format!("profiles/{profile}/gateway.pid"), text);
    };
    pid_file("a", gateway.id(), start(gateway.id()));
    // The pid was recycled: somebody else runs under it now.
    pid_file("b", stranger.id(), start(stranger.id()) - 1);

    let shown = scratch.ok(["profile", "show", "a"]);
    assert_eq!(
        facts(&shown)["Gateway"],
        format!("running (pid {})", gateway.id())
    );
    assert_eq!(
        facts(&scratch.ok(["profile", "show", "b"]))["Gateway"],
        "stopped"
    );
    // Reaps the child as soon as it dies, so that it does not linger as a zombie.
    let reaper = std::thread::spawn(move || gateway.wait().unwrap());
    let deleted = scratch.ok(["profile", "delete", "a", "-y"]);
    assert!(deleted.contains("Gateway stopped"), "{deleted}");
    assert!(!reaper.join().unwrap().success());
    scratch.ok(["profile", "delete", "b", "-y"]);
    assert_eq!(stranger.try_wait().unwrap(), None);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_full_clone_copies_databases_that_are_in_use() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "source", "--no-alias"]);
    let path = scratch.home().join("profiles/source/state.db");
    let live = rusqlite::Connection::open(&path).unwrap();
    live.pragma_update(None, "journal_mode", "wal").unwrap();
    live.execute_batch("CREATE TABLE t(x); INSERT INTO t VALUES (42);")
        .unwrap();
    // A reader keeps the rows in the log, where a copy of the file alone misses them.
    live.execute_batch("BEGIN; SELECT * FROM t;").unwrap();
    scratch.ok([
        "profile",
        "create",
        "copy",
        "--no-alias",
        "--clone-all",
        "--clone-from",
        "source",
    ]);
    let copy = rusqlite::Connection::open(scratch.home().join("profiles/copy/state.db")).unwrap();
    let value: i64 = copy
        .query_row("SELECT x FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(value, 42);
}

#[test]
fn names_that_would_leave_the_directory_are_refused() {
    let scratch = Scratch::new();
    for name in ["../up", "a/b", "a.b", "..", "-x", "é", "a b", ""] {
        for verb in ["create", "use", "show"] {
            let ran = scratch.run(["profile", verb, "--", name]);
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (1, ""),
                "{verb} {name:?}: {ran:?}"
            );
            assert!(
                ran.stderr.contains("invalid profile name"),
                "{}",
                ran.stderr
            );
        }
        let stderr = scratch.fails(1, [&format!("--profile={name}"), "profile"]);
        assert!(stderr.contains("invalid profile name"), "{stderr}");
    }
    let stderr = scratch.fails(1, ["-p", "../up", "profile"]);
    assert!(stderr.contains("invalid profile name"), "{stderr}");
    for name in ["hermes", "default", "test", "tmp", "root", "sudo"] {
        let stderr = scratch.fails(1, ["profile", "create", name]);
        assert!(stderr.contains("reserved"), "{stderr}");
    }
    assert!(!scratch.exists("profiles/hermes"));
}

#[test]
fn unknown_profiles_are_named_with_a_way_out() {
    let scratch = Scratch::new();
    for words in [
        vec!["-p", "ghost", "profile"],
        vec!["profile", "show", "ghost"],
        vec!["profile", "use", "ghost"],
        vec!["profile", "delete", "ghost", "-y"],
        vec!["profile", "rename", "ghost", "x"],
        vec!["profile", "alias", "ghost"],
        vec!["profile", "create", "x", "--clone-from", "ghost"],
    ] {
        let stderr = scratch.fails(1, &words);
        assert!(
            stderr.contains(r#"no profile called "ghost""#),
            "{words:?}: {stderr}"
        );
        assert!(stderr.contains("hint: `hermes profile list`"), "{stderr}");
    }
    assert!(!scratch.exists("profiles/x"));
}

#[test]
fn a_dangling_choice_can_be_mended_and_nothing_else_runs_on_it() {
    let scratch = Scratch::new();
    scratch.write("active_profile", "ghost\n");
    let ran = scratch.run(["profile", "list"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr
            .contains("warning: the default profile \"ghost\""),
        "{}",
        ran.stderr
    );
    assert_eq!(scratch.run(["--version"]).code, 0);
    assert_eq!(scratch.run(["version"]).code, 0);
    assert_eq!(scratch.run(["--help"]).code, 0);
    let stderr = scratch.fails(1, ["logs"]);
    assert!(stderr.contains("`hermes profile use default`"), "{stderr}");
    scratch.run(["profile", "use", "default"]);
    assert!(!scratch.exists("active_profile"));
    assert_eq!(scratch.run(["profile"]).stderr, "");
}

#[test]
fn a_child_stays_in_the_profile_of_its_parent() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "coder", "--no-alias"]);
    let inside = |home: &str| {
        let output = scratch
            .command(["profile"])
            .env("HERMES_HOME", home)
            .output()
            .unwrap();
        facts(&ran(output).stdout)["Active profile"].clone()
    };
    let root = scratch.home().display().to_string();
    assert_eq!(inside(&format!("{root}/profiles/coder")), "coder");
    scratch.ok(["profile", "use", "coder"]);
    // Service units set the root; the sticky choice still counts.
    assert_eq!(inside(&root), "coder");
}

#[test]
fn aliases_do_not_hide_other_commands() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "coder", "--no-alias"]);
    for (name, reason) in [
        ("sudo", "reserved"),
        ("kanban", "is a command"),
        ("sh", "would hide"),
    ] {
        let stderr = scratch.fails(1, ["profile", "alias", "coder", "--name", name]);
        assert!(stderr.contains(reason), "{stderr}");
    }
    scratch.ok(["profile", "alias", "coder", "--name", "mycoder"]);
    assert_eq!(
        facts(&scratch.ok(["profile", "show", "coder"]))["Alias"],
        "mycoder"
    );
    scratch.ok(["profile", "alias", "coder", "--remove"]);
    assert!(!scratch.user_home().join(".local/bin/mycoder").exists());
    scratch.fails(1, ["profile", "alias", "coder", "--remove"]);
    // Creating a profile whose name is taken makes the profile, not the command.
    let ran = scratch.run(["profile", "create", "sh"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("warning: no command was made"),
        "{}",
        ran.stderr
    );
}

#[test]
fn describing_keeps_unknown_keys_and_refuses_odd_combinations() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "a", "--no-alias"]);
    scratch.write("profiles/a/profile.yaml", "colour: red\ndescription: old\n");
    scratch.ok(["profile", "describe", "a", "--text", "new"]);
    assert_eq!(
        scratch.read("profiles/a/profile.yaml"),
        "colour: red\ndescription: new\ndescription_auto: false\n"
    );
    scratch.fails(2, ["profile", "describe", "a", "--text", "x", "--auto"]);
    scratch.fails(2, ["profile", "describe", "a", "--all"]);
    scratch.write("profiles/a/profile.yaml", "- a list\n");
    let stderr = scratch.fails(1, ["profile", "describe", "a", "--text", "x"]);
    assert!(stderr.contains("profile.yaml"), "{stderr}");
    assert_eq!(scratch.read("profiles/a/profile.yaml"), "- a list\n");
}

#[test]
fn a_broken_config_is_named_and_does_not_stop_the_listing() {
    let scratch = Scratch::with_reference_home();
    scratch.write("profiles/builder/config.yaml", "model: [unclosed\n");
    let ran = scratch.run(["profile", "list"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr.contains("profiles/builder/config.yaml:"),
        "{}",
        ran.stderr
    );
    assert_eq!(rows(&ran.stdout).len(), 4);
}

#[test]
fn a_file_in_the_place_of_the_profiles_is_an_error() {
    let scratch = Scratch::new();
    scratch.write("profiles", "not a directory");
    for words in [vec!["profile", "list"], vec!["profile", "create", "a"]] {
        let stderr = scratch.fails(1, &words);
        assert!(stderr.contains("profiles"), "{stderr}");
    }
    assert_eq!(scratch.read("profiles"), "not a directory");
}

#[test]
fn what_is_not_built_says_so() {
    let scratch = Scratch::new();
    for verb in ["install", "update"] {
        let stderr = scratch.fails(2, ["profile", verb, "x", "--anything"]);
        assert_eq!(
            stderr,
            format!("error: `hermes profile {verb}` is not built yet\n")
        );
    }
}

//! Homes that are not as they should be: each gets a sentence, an exit code, and
//! nothing half-written.

use std::fs;

use pretty_assertions::assert_eq;

use super::support::{Closed, Ran, Scratch, Stranger};

/// A failure with a sentence that names `what`.
fn refused(ran: &Ran, what: &str) {
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(ran.stderr.starts_with("error: "), "{ran:#?}");
    assert!(ran.stderr.contains(what), "{ran:#?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:#?}");
}

#[test]
fn a_file_in_the_place_of_the_home_is_named() {
    let scratch = Scratch::new();
    fs::write(scratch.home(), "not a directory").unwrap();
    for words in [
        vec!["profile", "create", "a"],
        vec!["profile", "use", "default"],
    ] {
        refused(&scratch.run(&words), ".hermes");
    }
    assert_eq!(scratch.run(["--version"]).code, 0);
    let ran = scratch.run(["doctor", "--offline"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.contains("~/.hermes is not a directory"),
        "{}",
        ran.stdout
    );
    assert_eq!(
        fs::read_to_string(scratch.home()).unwrap(),
        "not a directory"
    );
}

#[test]
fn a_directory_in_the_place_of_a_file_is_named() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "a", "--no-alias"]);
    fs::create_dir_all(scratch.home().join("active_profile/x")).unwrap();
    refused(&scratch.run(["profile", "use", "a"]), "active_profile");
    refused(
        &scratch.run(["profile", "use", "default"]),
        "active_profile",
    );
    // An unreadable choice chooses nothing.
    assert_eq!(scratch.run(["profile"]).code, 0);

    fs::create_dir_all(scratch.home().join("profiles/a/profile.yaml")).unwrap();
    refused(
        &scratch.run(["profile", "describe", "a", "--text", "x"]),
        "profile.yaml",
    );
    fs::create_dir_all(scratch.home().join("logs/agent.log")).unwrap();
    refused(&scratch.run(["logs"]), "agent.log");
    fs::create_dir_all(scratch.home().join("state.db")).unwrap();
    let ran = scratch.run(["doctor", "--offline"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("state.db"), "{}", ran.stdout);
}

#[test]
fn a_home_that_cannot_be_read_is_named() {
    let (scratch, stranger) = (Scratch::new(), Stranger::new());
    scratch.ok(["profile", "create", "a", "--no-alias"]);
    scratch.write("logs/agent.log", "");
    open_parents(&scratch);
    let _closed = Closed::new(scratch.home(), 0o000);
    for words in [
        &["profile", "list"][..],
        &["profile", "create", "b"],
        &["profile", "use", "default"],
    ] {
        refused(&stranger.run(&scratch, words), ".hermes");
    }
    assert_eq!(stranger.run(&scratch, &["--version"]).code, 0);
    let ran = stranger.run(&scratch, &["doctor", "--offline"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(ran.stdout.contains("cannot be written"), "{}", ran.stdout);
}

#[test]
fn a_home_that_cannot_be_written_can_still_be_looked_at() {
    let (scratch, stranger) = (Scratch::new(), Stranger::new());
    scratch.ok(["profile", "create", "a", "--no-alias"]);
    open_parents(&scratch);
    let _profile = Closed::new(scratch.home().join("profiles/a"), 0o555);
    let _profiles = Closed::new(scratch.home().join("profiles"), 0o555);
    let _closed = Closed::new(scratch.home(), 0o555);
    let listed = stranger.run(&scratch, &["profile", "list"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (0, ""));
    assert_eq!(stranger.run(&scratch, &["profile", "show", "a"]).code, 0);
    assert_eq!(stranger.run(&scratch, &["status"]).code, 0);
    for words in [
        &["profile", "create", "b"][..],
        &["profile", "delete", "a", "-y"],
        &["profile", "rename", "a", "b"],
        &["profile", "use", "a"],
        &["profile", "describe", "a", "--text", "x"],
    ] {
        let ran = stranger.run(&scratch, words);
        assert_eq!(ran.code, 1, "{words:?}: {ran:#?}");
        assert!(ran.stderr.contains("error: cannot "), "{words:?}: {ran:#?}");
    }
    assert!(scratch.exists("profiles/a/SOUL.md"));
    assert!(!scratch.exists("profiles/a/profile.yaml"));
}

/// Everybody may walk to the home, as in a real file system.
fn open_parents(scratch: &Scratch) {
    use std::os::unix::fs::PermissionsExt;
    let open = || fs::Permissions::from_mode(0o755);
    fs::set_permissions(scratch.user_home(), open()).unwrap();
    fs::set_permissions(scratch.user_home().parent().unwrap(), open()).unwrap();
}

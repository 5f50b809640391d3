use std::fs;

use hermes_home::profile::Wrappers;
use hermes_home::{Home, ProfileError, env};
use hermes_types::ProfileName;
use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::{environment, mode};

fn wrappers(directory: &TempDir, home: Option<&str>) -> Wrappers {
    let path = directory.path().join("bin").display().to_string();
    let mut variables = vec![(env::PATH, path.as_str())];
    variables.extend(home.map(|home| (env::HOME, home)));
    let environment = environment(directory.path(), &variables);
    Wrappers::new(&Home::locate(&environment), &environment)
}

fn name(text: &str) -> ProfileName {
    ProfileName::parse(text).unwrap()
}

#[test]
fn a_wrapper_is_two_lines_and_carries_a_root_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let plain = wrappers(&directory, None);
    let path = plain.create(&name("code"), &name("coder")).unwrap();
    assert_eq!(mode(&path), 0o755);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "#!/bin/sh\nexec hermes -p coder \"$@\"\n"
    );
    assert_eq!(plain.alias_of(&name("coder")).as_deref(), Some("code"));
    assert_eq!(plain.target_of(&name("code")).as_deref(), Some("coder"));

    let rooted = wrappers(&directory, Some("/opt/my data"));
    let path = rooted.create(&name("coder"), &name("coder")).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "#!/bin/sh\nexec env HERMES_HOME='/opt/my data' hermes -p coder \"$@\"\n"
    );
    assert_eq!(rooted.alias_of(&name("coder")).as_deref(), Some("coder"));
}

#[test]
fn a_wrapper_with_a_custom_root_really_passes_it() {
    let directory = tempfile::tempdir().unwrap();
    let rooted = wrappers(&directory, Some("/opt/it's data"));
    let wrapper = rooted.create(&name("coder"), &name("coder")).unwrap();
    let bin = directory.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let hermes = bin.join("hermes");
    hermes_home::write_atomic(
        &hermes,
        b"#!/bin/sh\necho \"$HERMES_HOME|$*\"\n",
        hermes_home::FileMode::Executable,
    )
    .unwrap();
    let search = std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap();
    let output = std::process::Command::new(wrapper)
        .args(["chat", "-q", "two words"])
        .env("PATH", search)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "/opt/it's data|-p coder chat -q two words\n"
    );
}

#[test]
fn names_of_other_commands_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let wrappers = wrappers(&directory, None);
    fs::create_dir(directory.path().join("bin")).unwrap();
    fs::write(directory.path().join("bin/git"), "").unwrap();
    let refused = |text: &str| {
        let error = wrappers
            .check(&name(text), &["chat".to_owned()])
            .unwrap_err();
        assert!(matches!(error, ProfileError::AliasTaken { .. }));
        error.to_string()
    };
    assert!(refused("sudo").contains("reserved"));
    assert!(refused("chat").contains("`hermes chat`"));
    assert!(refused("git").contains("bin/git"));
    wrappers.create(&name("mine"), &name("coder")).unwrap();
    wrappers.check(&name("mine"), &[]).unwrap();
    fs::write(wrappers.directory().join("theirs"), "#!/bin/sh\n").unwrap();
    assert!(refused("theirs").contains("not a wrapper"));
}

#[test]
fn only_our_own_wrappers_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let wrappers = wrappers(&directory, None);
    wrappers.create(&name("mine"), &name("coder")).unwrap();
    fs::write(wrappers.directory().join("theirs"), "#!/bin/sh\n").unwrap();
    assert!(wrappers.remove(&name("mine")).unwrap());
    assert!(!wrappers.remove(&name("mine")).unwrap());
    assert!(!wrappers.remove(&name("theirs")).unwrap());
    assert!(wrappers.directory().join("theirs").exists());
}

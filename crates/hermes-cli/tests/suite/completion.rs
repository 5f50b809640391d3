//! Completion as a shell does it.

use std::process::Command;

use pretty_assertions::assert_eq;

use super::support::Scratch;

/// What bash offers for a line whose words are given; the last is being typed.
pub(super) fn bash_offers(scratch: &Scratch, words: &[&str]) -> Vec<String> {
    let script = r#"
        eval "$(hermes completion bash)"
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        # No completion is under way in a script.
        compopt() { :; }
        _hermes
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_hermes"));
    let path = format!(
        "{}:{}",
        binary.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", script, "bash"])
        .args(words)
        .env_clear()
        .env("PATH", path)
        .env("HOME", scratch.user_home())
        .output()
        .expect("bash is there");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_verbs_options_and_profiles() {
    let scratch = Scratch::new();
    scratch.ok(["profile", "create", "coder", "--no-alias"]);
    assert_eq!(bash_offers(&scratch, &["hermes", "vers"]), ["version"]);
    assert_eq!(bash_offers(&scratch, &["hermes", "profile", "us"]), ["use"]);
    assert_eq!(
        bash_offers(&scratch, &["hermes", "profile", "use", "c"]),
        ["coder"]
    );
    assert_eq!(
        bash_offers(&scratch, &["hermes", "logs", "-p", "co"]),
        ["coder"]
    );
    assert_eq!(
        bash_offers(&scratch, &["hermes", "--profile", "=", "co"]),
        ["coder"]
    );
    assert_eq!(
        bash_offers(&scratch, &["hermes", "logs", "--fol"]),
        ["--follow"]
    );
}

#[test]
fn every_shell_has_its_script_and_the_default_is_the_users() {
    let scratch = Scratch::new();
    let zsh = scratch.ok(["completion", "zsh"]);
    assert!(zsh.starts_with("#compdef hermes\n"));
    assert!(
        scratch
            .ok(["completion", "fish"])
            .contains("complete -c hermes")
    );
    assert!(
        scratch
            .ok(["completion"])
            .contains("complete -o bashdefault")
    );
    let output = scratch
        .command(["completion"])
        .env("SHELL", "/usr/bin/zsh")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), zsh);
    scratch.fails(2, ["completion", "tcsh"]);
}

#[test]
fn zsh_and_fish_get_descriptions() {
    let scratch = Scratch::new();
    let about = "Print the version";
    let words = ["1", "--", "hermes", "vers"];
    assert_eq!(
        scratch.ok(["__complete", "zsh"].iter().chain(&words)),
        format!("version:{about}\n")
    );
    assert_eq!(
        scratch.ok(["__complete", "fish"].iter().chain(&words)),
        format!("version\t{about}\n")
    );
}

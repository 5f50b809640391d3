//! What a child process sees.

use hermes_config::{ChildOf, Config, child_environment};
use hermes_home::{Environment, Home};
use pretty_assertions::assert_eq;

fn child(config: &str, dotenv: &str, process: &[(&str, &str)], of: ChildOf) -> Environment {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("config.yaml"), config).unwrap();
    std::fs::write(directory.path().join(".env"), dotenv).unwrap();
    let home = Home::at(directory.path(), directory.path());
    let process: Environment = process
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let config = Config::load(&home, &process, &[]).unwrap();
    let environment = child_environment(&config, &home, of);
    assert_eq!(
        environment.get("HERMES_HOME"),
        Some(directory.path().to_str().unwrap())
    );
    environment
}

#[test]
fn the_terminal_section_arrives_as_variables() {
    let seen = child(
        "terminal:\n  backend: docker\n  docker_volumes: [/a:/b]\n  docker_extra_args: [--gpus, all]\n  container_cpu: 2\n  docker_run_as_host_user: yes\n  modal_mode: direct\n",
        "",
        &[("TERMINAL_ENV", "ssh"), ("OTHER", "x")],
        ChildOf::Chat,
    );
    for (name, value) in [
        ("TERMINAL_ENV", "docker"),
        ("TERMINAL_DOCKER_VOLUMES", "[\"/a:/b\"]"),
        ("TERMINAL_DOCKER_EXTRA_ARGS", "[\"--gpus\",\"all\"]"),
        ("TERMINAL_DOCKER_ENV", "{}"),
        ("TERMINAL_CONTAINER_CPU", "2"),
        ("TERMINAL_CONTAINER_MEMORY", "5120"),
        ("TERMINAL_DOCKER_RUN_AS_HOST_USER", "true"),
        ("TERMINAL_MODAL_MODE", "direct"),
        ("TERMINAL_TIMEOUT", "180"),
        ("HERMES_REDACT_SECRETS", "true"),
        ("OTHER", "x"),
    ] {
        assert_eq!(seen.get(name), Some(value), "{name}");
    }
    for absent in [
        "TERMINAL_CWD",
        "TERMINAL_SSH_HOST",
        "SUDO_PASSWORD",
        "HERMES_MAX_ITERATIONS",
        "HOME",
    ] {
        assert_eq!(seen.get(absent), None, "{absent}");
    }
}

#[test]
fn the_env_file_overrules_the_shell() {
    let seen = child(
        "",
        "OPENROUTER_API_KEY=new\n",
        &[("OPENROUTER_API_KEY", "stale")],
        ChildOf::Chat,
    );
    assert_eq!(seen.get("OPENROUTER_API_KEY"), Some("new"));
}

#[test]
fn the_gateway_passes_on_more() {
    let text = "agent:\n  max_turns: 7\nMY_SETTING: 5\nTAKEN: no\nLD_PRELOAD: /x.so\nnested: {a: 1}\nauxiliary:\n  vision:\n    model: seer\n";
    let seen = child(text, "", &[("TAKEN", "yes")], ChildOf::Gateway);
    assert_eq!(seen.get("HERMES_MAX_ITERATIONS"), Some("7"));
    assert_eq!(seen.get("MY_SETTING"), Some("5"));
    assert_eq!(seen.get("TAKEN"), Some("yes"));
    assert_eq!(seen.get("LD_PRELOAD"), None);
    assert_eq!(seen.get("nested"), None);
    assert_eq!(seen.get("AUXILIARY_VISION_MODEL"), Some("seer"));
    assert_eq!(seen.get("AUXILIARY_VISION_PROVIDER"), None);
    assert_eq!(child(text, "", &[], ChildOf::Chat).get("MY_SETTING"), None);
}

#[test]
fn placeholders_are_no_directories() {
    for cwd in [".", "auto", "cwd"] {
        let text = format!("terminal:\n  cwd: '{cwd}'\n");
        assert_eq!(
            child(&text, "", &[("TERMINAL_CWD", "/stale")], ChildOf::Chat).get("TERMINAL_CWD"),
            None
        );
    }
    let seen = child("terminal:\n  cwd: /srv/work\n", "", &[], ChildOf::Chat);
    assert_eq!(seen.get("TERMINAL_CWD"), Some("/srv/work"));
}

#[test]
fn a_profile_with_a_home_of_its_own_lends_it_to_its_children() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("home")).unwrap();
    let home = Home::at(directory.path(), directory.path());
    let seen = child_environment(&Config::defaults(), &home, ChildOf::Chat);
    assert_eq!(seen.get("HOME"), directory.path().join("home").to_str());
}

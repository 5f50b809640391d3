//! Precedence, provenance and typed reading.

use hermes_config::{Config, ConfigError, Source};
use hermes_home::{Environment, Home};
use serde_json::json;

fn environment(pairs: &[(&str, &str)]) -> Environment {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new(config: &str, dotenv: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config.yaml"), config).unwrap();
        std::fs::write(directory.path().join(".env"), dotenv).unwrap();
        Self { directory }
    }

    fn load(&self, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let home = Home::at(self.directory.path(), self.directory.path());
        let flags: Vec<(String, String)> = flags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Config::load(&home, &environment(env), &flags)
    }
}

#[test]
fn each_layer_overrules_the_one_below_it_for_that_key_only() {
    let home = Fixture::new(
        "terminal:\n  backend: docker\nagent:\n  max_turns: 5\n",
        "TERMINAL_TIMEOUT=33\nTERMINAL_ENV=ssh\n",
    );
    let config = home
        .load(
            &[
                ("TERMINAL_TIMEOUT", "44"),
                ("TERMINAL_DOCKER_IMAGE", "alpine"),
            ],
            &[("agent.max_turns", "7")],
        )
        .unwrap();
    assert_eq!(config.string("terminal.backend").unwrap(), "docker");
    assert_eq!(config.source("terminal.backend"), Source::File { line: 2 });
    assert_eq!(config.integer("terminal.timeout").unwrap(), 33);
    assert_eq!(
        config.source("terminal.timeout"),
        Source::DotEnv {
            name: "TERMINAL_TIMEOUT".into()
        }
    );
    assert_eq!(config.string("terminal.docker_image").unwrap(), "alpine");
    assert_eq!(
        config.source("terminal.docker_image"),
        Source::Environment {
            name: "TERMINAL_DOCKER_IMAGE".into()
        }
    );
    assert_eq!(config.integer("agent.max_turns").unwrap(), 7);
    assert_eq!(config.source("agent.max_turns"), Source::Flag);
    assert_eq!(config.source("agent.api_max_retries"), Source::Default);
    assert_eq!(config.environment().get("TERMINAL_TIMEOUT"), Some("33"));
}

#[test]
fn a_wrong_type_names_key_value_place_and_expectation() {
    let home = Fixture::new("terminal:\n  timeout: soon\n", "");
    let error = home
        .load(&[], &[])
        .unwrap()
        .integer("terminal.timeout")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`terminal.timeout` is `soon` (config.yaml line 2), but must be a whole number"
    );
    let home = Fixture::new("terminal: docker\n", "");
    let error = home
        .load(&[], &[])
        .unwrap()
        .string("terminal.backend")
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`terminal` is `docker` (config.yaml line 1), but must be a section with keys such as `terminal.backend`"
    );
    let home = Fixture::new("terminal:\n  backend: dokcer\n", "");
    assert!(
        home.load(&[], &[])
            .unwrap()
            .string("terminal.backend")
            .is_err()
    );
}

#[test]
fn broken_files_are_errors_with_a_place() {
    for (text, line, column, part) in [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, 2, "flow sequence"),
        ("- a\n- b\n", 1, 1, "a list"),
        ("just text\n", 1, 1, "a single value"),
        ("a: *nowhere\n", 1, 4, "no anchor"),
        ("a: 1\n\tb: 2\n", 2, 1, "tab"),
        ("a: !ruby/object x\n", 1, 4, "unknown tag"),
        ("a: [!,]\n", 1, 1, "not valid"),
        ("a: \u{1}\n", 1, 4, "control"),
    ] {
        match Config::from_yaml(text).unwrap_err() {
            ConfigError::Broken {
                line: at,
                column: column_at,
                reason,
                ..
            } => {
                assert_eq!((at, column_at), (line, column), "{text} {reason}");
                assert!(reason.contains(part), "{text}: {reason}");
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn older_spellings_arrive_where_readers_look() {
    let config = Config::from_yaml(
        "model: some/model\nprovider: openrouter\nmax_turns: 12\nterminal:\n  env_type: docker\n",
    )
    .unwrap();
    assert_eq!(config.string("model.default").unwrap(), "some/model");
    assert_eq!(config.source("model.default"), Source::File { line: 1 });
    assert_eq!(config.string("model.provider").unwrap(), "openrouter");
    assert_eq!(config.integer("agent.max_turns").unwrap(), 12);
    assert_eq!(config.source("agent.max_turns"), Source::File { line: 3 });
    assert_eq!(config.string("terminal.backend").unwrap(), "docker");
}

#[test]
fn off_is_a_word_where_the_key_has_it_as_a_choice() {
    let config =
        Config::from_yaml("display:\n  tool_progress: off\napprovals:\n  mode: off\n").unwrap();
    assert_eq!(config.string("display.tool_progress").unwrap(), "off");
    assert_eq!(config.string("approvals.mode").unwrap(), "off");
}

#[test]
fn lists_and_maps_may_be_json_text() {
    let config = Config::from_yaml("terminal:\n  docker_volumes: '[\"/a:/b\"]'\n").unwrap();
    assert_eq!(
        config.strings("terminal.docker_volumes").unwrap(),
        ["/a:/b"]
    );
    let config = Config::from_yaml("terminal:\n  docker_volumes: /a:/b\n").unwrap();
    assert!(config.strings("terminal.docker_volumes").is_err());
}

#[test]
fn an_empty_section_hides_nothing() {
    let config = Config::from_yaml("terminal:\nagent: ~\n").unwrap();
    assert_eq!(config.string("terminal.backend").unwrap(), "local");
    assert_eq!(config.get("agent.max_turns"), Some(&json!(90)));
}

#[test]
fn a_flag_that_nothing_reads_is_refused() {
    let home = Fixture::new("", "");
    let error = home
        .load(&[], &[("terminal.bakend", "docker")])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown key `terminal.bakend`; did you mean `terminal.backend`?"
    );
    assert!(home.load(&[], &[("terminal.timeout", "x")]).is_err());
    let config = home.load(&[], &[("model", "m")]).unwrap();
    assert_eq!(config.string("model.default").unwrap(), "m");
    let config = home
        .load(&[], &[("terminal.docker_env", "{\"A\": \"b\"}")])
        .unwrap();
    assert_eq!(config.section("terminal.docker_env"), json!({"A": "b"}));
}

//! `hermes config` from outside.

use std::os::unix::fs::{PermissionsExt, symlink};

use hermes_config::yaml;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::support::{Scratch, fixture, golden};

fn tree(text: &str) -> Value {
    yaml::parse(text).unwrap().value().unwrap()
}

/// `label value` lines of a summary, by label.
fn facts(text: &str) -> Vec<(String, String)> {
    text.lines()
        .filter_map(|line| {
            let line = line.strip_prefix("  ")?;
            let (label, value) = line
                .split_once(": ")
                .or_else(|| line.split_once("  "))
                .or_else(|| line.split_once(' '))?;
            Some((
                label.trim_end_matches(':').to_owned(),
                value.trim().to_owned(),
            ))
        })
        .collect()
}

#[test]
fn show_agrees_with_the_reference_in_every_fact() {
    let scratch = Scratch::with_reference_home();
    let ours = scratch.ok(["config", "show"]);
    assert_eq!(ours, scratch.ok(["config"]));
    let theirs = golden("config-show.txt")
        .replace("/home/user/.hermes", &scratch.home().display().to_string());
    let mut compared = 0;
    for (label, value) in facts(&theirs) {
        // The model is four lines here, with its key masked; the way to our binary is
        // our own; the last lines are advice.
        if ["Model", "Install", "hermes"].contains(&label.as_str()) || label.starts_with("hermes") {
            continue;
        }
        let (label, value) = match label.as_str() {
            "OpenAI" => ("OpenAI (STT/TTS)".to_owned(), "(not set)".to_owned()),
            _ => (label, value),
        };
        let line = ours.lines().find(|line| {
            line.trim_start().starts_with(&format!("{label}:")) && line.ends_with(&value)
        });
        assert!(line.is_some(), "{label}: {value} is missing in\n{ours}");
        compared += 1;
    }
    assert!(compared >= 25, "{compared} facts compared");
    for fact in [
        "fake-model",
        "custom",
        "http://127.0.0.1:8090/v1",
        "60",
        "sk-l...0000",
    ] {
        assert!(ours.contains(fact), "{fact}");
    }
    assert!(!ours.contains("sk-local-0000"));
}

#[test]
fn paths_are_one_line_each() {
    let scratch = Scratch::with_reference_home();
    let home = scratch.home().display().to_string();
    for (name, words) in [
        ("config-path.txt", &["config", "path"][..]),
        ("config-env-path.txt", &["config", "env-path"]),
        (
            "config-path-builder.txt",
            &["-p", "builder", "config", "path"],
        ),
    ] {
        assert_eq!(
            scratch.ok(words),
            golden(name).replace("/home/user/.hermes", &home)
        );
    }
}

#[test]
fn check_lists_the_same_variables_as_the_reference() {
    let scratch = Scratch::with_reference_home();
    let ours = scratch.ok(["config", "check", "--all"]);
    let lines = |text: &str, marks: &[char]| -> Vec<String> {
        text.lines()
            .filter(|line| line.trim_start().starts_with(marks))
            .map(|line| line.trim().to_owned())
            .collect()
    };
    assert_eq!(
        lines(&ours, &['○', '✓']),
        lines(&golden("config-check.txt"), &['○', '✓'])
    );
    assert!(ours.contains("Config version: 0 → 27"), "{ours}");
    assert!(ours.contains("nothing reads `quick`"), "{ours}");
}

/// Splits a recorded command line as the shell did that it was typed into.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[test]
fn the_recorded_sequence_of_sets_ends_in_the_same_settings() {
    let scratch = Scratch::with_reference_home();
    let commands = std::fs::read_to_string(fixture("config-transcript.commands")).unwrap();
    for line in commands.lines() {
        let call = words(line);
        if call.len() < 4 {
            scratch.fails(2, &call);
            continue;
        }
        // Where we refuse or answer differently on purpose.
        let ran = scratch.run(&call);
        assert_eq!(ran.code, 0, "{line}: {ran:#?}");
    }
    let mut theirs =
        tree(&std::fs::read_to_string(fixture("config-transcript.after.yaml")).unwrap());
    // A map keeps its other keys when the model is set; a minus makes a number; JSON
    // is read where the key holds a list or a map.
    theirs["model"] = json!({
        "default": "openrouter/some-model", "provider": "custom",
        "base_url": "http://127.0.0.1:8090/v1", "api_key": "sk-local-0000",
    });
    theirs["probe"]["v9"] = json!(-5);
    theirs["terminal"]["docker_env"] = json!({"A": "b"});
    let after = scratch.read("config.yaml");
    assert_eq!(tree(&after), theirs);
    for comment in [
        "# my settings",
        "# looks",
        "# enough for most jobs",
        "# board",
        "# end of file",
    ] {
        assert!(after.contains(comment), "{comment} is gone from\n{after}");
    }
    let env = std::fs::read_to_string(fixture("config-transcript.after.env")).unwrap();
    assert_eq!(
        scratch.read(".env"),
        env.replace("{\"A\": \"b\"}", "{\"A\":\"b\"}")
    );
}

#[test]
fn a_fresh_home_gets_exactly_the_key_and_a_private_file() {
    let scratch = Scratch::new();
    let mut command = scratch.command(["config", "set", "a.b", "1"]);
    let output = command.output().unwrap();
    assert!(output.status.success());
    assert_eq!(scratch.read("config.yaml"), "a:\n  b: 1\n");
    let mode = std::fs::metadata(scratch.home().join("config.yaml"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let line = String::from_utf8(output.stdout).unwrap();
    let file = scratch.home().join("config.yaml");
    assert_eq!(line, format!("✓ Set a.b = 1 in {}\n", file.display()));
}

#[test]
fn a_symlinked_file_stays_a_symlink() {
    let scratch = Scratch::new();
    scratch.write("elsewhere.yaml", "# mine\nagent:\n  max_turns: 5\n");
    symlink(
        scratch.home().join("elsewhere.yaml"),
        scratch.home().join("config.yaml"),
    )
    .unwrap();
    scratch.ok(["config", "set", "agent.max_turns", "6"]);
    assert!(
        scratch
            .home()
            .join("config.yaml")
            .symlink_metadata()
            .unwrap()
            .is_symlink()
    );
    assert_eq!(
        scratch.read("elsewhere.yaml"),
        "# mine\nagent:\n  max_turns: 6\n"
    );
}

#[test]
fn a_broken_file_is_said_kept_and_never_written() {
    for (text, place) in [
        (&b"agent:\n  max_turns: [5\nx: 1\n"[..], "config.yaml:3:2:"),
        (b"- a\n- b\n", "config.yaml:1:1: the file holds a list"),
        (
            b"agent:\n  name: \xff\xfe\n",
            "config.yaml:2:9: the file is not UTF-8",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.write("config.yaml", text);
        for looking in [
            &["config", "show"][..],
            &["config", "check"],
            &["config", "path"],
            &["config", "show", "--sources"],
            &["config", "get", "agent.max_turns"],
        ] {
            let ran = scratch.run(looking);
            assert_eq!(ran.code, 0, "{ran:#?}");
            if looking[1] != "path" {
                assert!(
                    format!("{}{}", ran.stdout, ran.stderr).contains(place),
                    "{ran:#?}"
                );
            }
        }
        for changing in [
            &["config", "set", "a", "1"][..],
            &["config", "unset", "a"],
            &["config", "migrate"],
        ] {
            let stderr = scratch.fails(1, changing);
            assert!(stderr.contains(place), "{stderr}");
        }
        assert_eq!(
            std::fs::read(scratch.home().join("config.yaml")).unwrap(),
            text
        );
        let copies = std::fs::read_dir(scratch.home())
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().contains(".corrupt."))
            .count();
        assert_eq!(copies, 1);
    }
}

#[test]
fn a_directory_in_the_place_of_a_file_is_said() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.home().join("config.yaml")).unwrap();
    let stderr = scratch.fails(1, ["config", "set", "a", "1"]);
    assert!(
        stderr.contains("cannot read") && stderr.contains("config.yaml"),
        "{stderr}"
    );
    assert_eq!(scratch.run(["config", "show"]).code, 0);

    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.home().join(".env")).unwrap();
    let stderr = scratch.fails(1, ["config", "set", "OPENAI_API_KEY", "sk-1"]);
    assert!(stderr.contains(".env"), "{stderr}");
    assert_eq!(scratch.run(["config", "show"]).code, 0);
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
    let scratch = Scratch::new();
    scratch.write("note", "");
    let made = std::process::Command::new("mkfifo")
        .arg(scratch.home().join("config.yaml"))
        .status()
        .unwrap();
    assert!(made.success());
    let stderr = scratch.fails(1, ["config", "set", "a", "1"]);
    assert!(stderr.contains("it is a pipe"), "{stderr}");
    assert_eq!(scratch.run(["config", "show"]).code, 0);
}

#[test]
fn keys_that_nothing_reads_are_set_and_flagged() {
    let scratch = Scratch::new();
    let ran = scratch.run(["config", "set", "terminal.bakend", "docker"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stderr
            .contains("nothing reads `terminal.bakend`; did you mean `terminal.backend`?"),
        "{ran:#?}"
    );
    assert_eq!(scratch.read("config.yaml"), "terminal:\n  bakend: docker\n");
    let check = scratch.ok(["config", "check"]);
    assert!(
        check.contains("did you mean `terminal.backend`?"),
        "{check}"
    );
    // It survives every later write.
    scratch.ok(["config", "set", "terminal.timeout", "5"]);
    assert!(scratch.read("config.yaml").contains("bakend: docker"));
}

#[test]
fn values_of_the_wrong_type_are_refused_with_a_sentence() {
    let scratch = Scratch::new();
    for (key, value, part) in [
        ("terminal.timeout", "soon", "must be a whole number"),
        ("terminal.backend", "dokcer", "one of local, docker"),
        ("display.compact", "perhaps", "true or false"),
        (
            "terminal.docker_volumes",
            "/a:/b",
            "a list, written as JSON",
        ),
        ("terminal.docker_env", "A=b", "a map, written as JSON"),
        ("terminal", "docker", "terminal.backend"),
        ("a..b", "1", "empty part"),
    ] {
        let stderr = scratch.fails(1, ["config", "set", key, value]);
        assert!(stderr.contains(part), "{key}: {stderr}");
    }
    assert!(!scratch.exists("config.yaml"));
    scratch.write("config.yaml", "custom_providers:\n- name: a\n");
    let stderr = scratch.fails(1, ["config", "set", "custom_providers.3.name", "x"]);
    assert!(stderr.contains("list of 1"), "{stderr}");
    scratch.ok(["config", "set", "custom_providers.0.name", "x"]);
    assert_eq!(
        scratch.read("config.yaml"),
        "custom_providers:\n- name: x\n"
    );
}

#[test]
fn a_wrong_type_in_the_file_names_the_line() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "terminal:\n  timeout: soon\n");
    let ran = scratch.run(["config", "show"]);
    assert_eq!(ran.code, 0);
    let sentence = "`terminal.timeout` is `soon` (config.yaml line 2), but must be a whole number";
    assert!(ran.stderr.contains(sentence), "{ran:#?}");
    assert!(scratch.ok(["config", "check"]).contains(sentence));
}

#[test]
fn credentials_go_to_the_env_file_and_stay_masked() {
    let scratch = Scratch::new();
    scratch.write(".env", "# mine\nexport  GITHUB_TOKEN='old'\nOTHER=1\n");
    let line = scratch.ok(["config", "set", "github_token", "ghp_0123456789abcdef"]);
    assert!(!line.contains("ghp_"), "{line}");
    assert_eq!(
        scratch.read(".env"),
        "# mine\nGITHUB_TOKEN=ghp_0123456789abcdef\nOTHER=1\n"
    );
    assert_eq!(
        scratch.ok(["config", "get", "GITHUB_TOKEN"]),
        "ghp_...cdef\n"
    );
    assert_eq!(
        scratch.ok(["config", "get", "--reveal", "GITHUB_TOKEN"]),
        "ghp_0123456789abcdef\n"
    );
    scratch.ok(["config", "unset", "GITHUB_TOKEN"]);
    assert_eq!(scratch.read(".env"), "# mine\nOTHER=1\n");
    scratch.fails(1, ["config", "unset", "GITHUB_TOKEN"]);

    let ran = scratch.run(["config", "set", "OPENAI_API_KEY", "sk-аbc"]);
    assert!(ran.stderr.contains("outside ASCII"), "{ran:#?}");
    assert!(scratch.read(".env").ends_with("OPENAI_API_KEY=sk-bc\n"));
    let json: Value = serde_json::from_str(&scratch.ok(["config", "show", "--json"])).unwrap();
    assert_eq!(json["config"]["terminal"]["backend"], json!("local"));
}

#[test]
fn an_env_file_is_read_as_python_dotenv_reads_it() {
    let scratch = Scratch::new();
    scratch.write(
        ".env",
        "\u{feff}TERMINAL_TIMEOUT=\"7\" # short\r\nexport TERMINAL_ENV='docker'\r\nTERMINAL_ENV=ssh\r\nGLM_API_KEY=aOPENAI_BASE_URL=b\r\n",
    );
    let get = |key: &str| scratch.ok(["config", "get", "--source", key]);
    assert_eq!(
        get("terminal.timeout"),
        "7  (.env variable TERMINAL_TIMEOUT)\n"
    );
    assert_eq!(
        get("terminal.backend"),
        "ssh  (.env variable TERMINAL_ENV)\n"
    );
    assert_eq!(get("OPENAI_BASE_URL"), "b  (.env)\n");
    assert!(
        scratch
            .read(".env")
            .contains("GLM_API_KEY=a\nOPENAI_BASE_URL=b"),
        "{}",
        scratch.read(".env")
    );
}

#[test]
fn templates_survive_writes_and_are_expanded_for_readers() {
    let scratch = Scratch::new();
    let text = "model:\n  default: m\n  api_key: ${MY_KEY}\n  base_url: http://${NOWHERE}/v1\n";
    scratch.write("config.yaml", text);
    scratch.write(".env", "MY_KEY=sk-0123456789abcdef\n");
    assert_eq!(
        scratch.ok(["config", "get", "--reveal", "model.api_key"]),
        "sk-0123456789abcdef\n"
    );
    assert_eq!(
        scratch.ok(["config", "get", "model.base_url"]),
        "http://${NOWHERE}/v1\n"
    );
    scratch.ok(["config", "set", "model.default", "other"]);
    // Saving what the template yields keeps the template.
    scratch.ok(["config", "set", "model.api_key", "sk-0123456789abcdef"]);
    assert_eq!(
        scratch.read("config.yaml"),
        text.replace("default: m", "default: other")
    );
}

#[test]
fn a_flag_overrules_the_file_for_one_run() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "terminal:\n  backend: docker\n");
    let get =
        |flag: &str| scratch.run(["config", "get", "--source", "terminal.backend", "-c", flag]);
    assert_eq!(get("terminal.backend=ssh").stdout, "ssh  (command line)\n");
    let ran = get("terminal.bakend=ssh");
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("did you mean `terminal.backend`?"),
        "{ran:#?}"
    );
    assert_eq!(
        scratch.read("config.yaml"),
        "terminal:\n  backend: docker\n"
    );
}

#[test]
fn unset_gives_the_default_back() {
    let scratch = Scratch::new();
    scratch.ok(["config", "set", "terminal.timeout", "33"]);
    scratch.ok(["config", "set", "agent.max_turns", "5"]);
    assert_eq!(scratch.read(".env"), "TERMINAL_TIMEOUT=33\n");
    scratch.ok(["config", "unset", "terminal.timeout"]);
    assert_eq!(scratch.read(".env"), "");
    assert_eq!(scratch.read("config.yaml"), "agent:\n  max_turns: 5\n");
    assert_eq!(
        scratch.ok(["config", "get", "--source", "terminal.timeout"]),
        "180  (default)\n"
    );
    let stderr = scratch.fails(1, ["config", "unset", "terminal.timeout"]);
    assert!(stderr.contains("is not set"), "{stderr}");
}

#[test]
fn get_of_a_key_that_does_not_exist_fails_with_a_hint() {
    let scratch = Scratch::new();
    let stderr = scratch.fails(1, ["config", "get", "terminal.bakend"]);
    assert!(
        stderr.contains("did you mean `terminal.backend`?"),
        "{stderr}"
    );
    assert_eq!(
        scratch.ok(["config", "get", "cron.max_parallel_jobs", "--json"]),
        "null\n"
    );
}

#[test]
fn migrating_writes_the_version_and_nothing_else() {
    let scratch = Scratch::with_reference_home();
    let before = scratch.read("config.yaml");
    scratch.ok(["config", "migrate"]);
    let after = scratch.read("config.yaml");
    assert_eq!(after.replace("_config_version: 27\n", ""), before);
    assert!(scratch.ok(["config", "migrate"]).contains("up to date"));
    assert!(
        scratch
            .ok(["config", "check"])
            .contains("Config version: 27 ✓")
    );

    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        "_config_version: 20\nmodel_catalog:\n  ttl_hours: 24 # was\n",
    );
    scratch.write("plugins/weather/plugin.yaml", "name: weather\n");
    scratch.write("plugins/old/plugin.yaml", "name: old\n");
    scratch.ok(["config", "set", "plugins.disabled", "[\"old\"]"]);
    scratch.ok(["config", "migrate"]);
    assert_eq!(
        scratch.read("config.yaml"),
        "_config_version: 27\nmodel_catalog:\n  ttl_hours: 1 # was\nplugins:\n  disabled: [old]\n  enabled: [weather]\n"
    );
}

#[test]
fn a_managed_installation_refuses_every_write() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "a: 1\n");
    for words in [
        &["config", "set", "a", "2"][..],
        &["config", "set", "OPENAI_API_KEY", "x"],
        &["config", "unset", "a"],
        &["config", "migrate"],
    ] {
        let output = scratch
            .command(words)
            .env("HERMES_MANAGED", "brew")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("Homebrew"));
    }
    assert_eq!(scratch.read("config.yaml"), "a: 1\n");
    assert!(!scratch.exists(".env"));
}

#[test]
fn names_that_would_run_code_are_refused() {
    let scratch = Scratch::new();
    // Only credentials go to .env by name, and none of these is one.
    let ran = scratch.run(["config", "set", "LD_PRELOAD", "/x.so"]);
    assert_eq!(ran.code, 0);
    assert!(!scratch.exists(".env"));
    let stderr = scratch.fails(1, ["config", "set", "MY-X_API_KEY", "x"]);
    assert!(
        stderr.contains("letters, digits and underscores"),
        "{stderr}"
    );
}

#[test]
fn edit_opens_the_file_and_says_what_is_wrong_with_it() {
    let scratch = Scratch::new();
    let editor = scratch.home().join("editor.sh");
    scratch.write("editor.sh", "#!/bin/sh\nprintf 'agent: [\\n' > \"$2\"\n");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = scratch
        .command(["config", "edit"])
        .env("EDITOR", format!("{} --wait", editor.display()))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("config.yaml:2:1:"), "{stderr}");
    assert_eq!(scratch.read("config.yaml"), "agent: [\n");
    let output = scratch
        .command(["config", "edit"])
        .env("EDITOR", "false")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn two_writers_at_once_lose_nothing() {
    let scratch = Scratch::new();
    let children: Vec<_> = (0..8)
        .map(|n| {
            let key = format!("probe.k{n}");
            scratch
                .command(["config", "set", key.as_str(), "1"])
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let tree = tree(&scratch.read("config.yaml"));
    assert_eq!(tree["probe"].as_object().unwrap().len(), 8);
}

#[test]
fn a_section_that_is_none_is_said_by_check_and_not_covered_by_a_flag() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "terminal: docker\n");
    let check = scratch.ok(["config", "check"]);
    let lines = check
        .lines()
        .filter(|line| line.contains("`terminal` is `docker`"));
    assert_eq!(lines.count(), 1, "{check}");
    let ran = scratch.run([
        "config",
        "get",
        "terminal.timeout",
        "-c",
        "terminal.timeout=5",
    ]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(ran.stderr.contains("`terminal`"), "{ran:#?}");
}

#[test]
fn an_env_file_in_an_older_encoding_keeps_its_bytes() {
    let scratch = Scratch::new();
    scratch.write(".env", b"NAME=caf\xe9\n");
    scratch.ok(["config", "set", "HF_TOKEN", "hf_0123456789"]);
    let bytes = std::fs::read(scratch.home().join(".env")).unwrap();
    assert_eq!(bytes, b"NAME=caf\xe9\nHF_TOKEN=hf_0123456789\n");
}

#[test]
fn a_home_that_cannot_be_written_is_said() {
    let scratch = Scratch::new();
    let output = scratch
        .command(["config", "set", "a", "1"])
        .env("HERMES_HOME", "/proc/hermes-home")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("cannot write /proc/hermes-home"),
        "{stderr}"
    );
}

#[test]
fn a_pasted_look_alike_letter_is_dropped_and_said() {
    let scratch = Scratch::new();
    scratch.write(".env", "FAL_KEY=к0123456789abcdef\n");
    let ran = scratch.run(["config", "show"]);
    assert!(ran.stdout.contains("0123...cdef"), "{ran:#?}");
    assert!(
        ran.stderr.contains("`FAL_KEY`") && ran.stderr.contains("outside ASCII"),
        "{ran:#?}"
    );
}

#[test]
fn set_can_be_quiet_and_sure() {
    let scratch = Scratch::new();
    let said = scratch.run(["config", "set", "--quiet", "agent.max_turns", "7"]);
    assert_eq!(
        (said.code, said.stdout.as_str(), said.stderr.as_str()),
        (0, "", "")
    );
    let said = scratch.run(["config", "set", "--quiet", "agent.max_trns", "7"]);
    assert!(said.stderr.contains("nothing reads"), "{said:#?}");
    let said = scratch.run(["config", "set", "-q", "--force", "agent.max_trns", "7"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    assert_eq!(scratch.ok(["config", "get", "agent.max_turns"]), "7\n");
}

//! `hermes status` and `hermes doctor`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::support::Scratch;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The findings in one state, as one text.
fn findings(report: &Value, state: &str) -> String {
    let checks = report["checks"].as_array().unwrap();
    let texts = checks.iter().filter(|check| check["state"] == state);
    texts
        .map(|check| format!("{}\n", check["text"].as_str().unwrap()))
        .collect()
}

fn doctor(scratch: &Scratch, more: &[&str]) -> (i32, Value) {
    let words = [&["doctor", "--json", "--offline"], more].concat();
    let ran = scratch.run(words);
    (ran.code, json(&ran.stdout))
}

#[test]
fn status_knows_what_the_reference_set_up() {
    let scratch = Scratch::with_reference_home();
    scratch.write(
        "cron/jobs.json",
        r#"{"jobs": [{"enabled": true}, {"enabled": false}]}"#,
    );
    let status = json(&scratch.ok(["status", "--json"]));
    assert_eq!(status["profile"], "default");
    assert_eq!(status["model"], "fake-model");
    assert_eq!(status["provider"], "custom");
    assert_eq!(status["gateway"]["running"], false);
    assert_eq!(status["jobs"], serde_json::json!({"active": 1, "total": 2}));
    assert_eq!(status["terminal"]["backend"], "local");
    let text = scratch.ok(["status"]);
    for fact in [
        "fake-model",
        "custom",
        "OPENROUTER_API_KEY",
        "telegram",
        "1 active, 2 total",
    ] {
        assert!(text.contains(fact), "{fact} is missing:\n{text}");
    }
}

#[test]
fn status_never_shows_a_whole_key_and_none_of_it_when_shared() {
    let scratch = Scratch::new();
    let key = "sk-or-v1-0123456789abcdef0123456789abcdef";
    scratch.write(
        ".env",
        format!("OPENROUTER_API_KEY={key}\nTELEGRAM_BOT_TOKEN=1:x\nTELEGRAM_HOME_CHANNEL=4711\n"),
    );
    let text = scratch.ok(["status"]);
    assert!(text.contains("sk-or-...cdef"), "{text}");
    assert!(!text.contains("0123456789"), "{text}");
    for words in [vec!["status", "--all"], vec!["status", "--all", "--json"]] {
        let text = scratch.ok(&words);
        assert!(text.contains("OPENROUTER_API_KEY"), "{text}");
        assert!(!text.contains("cdef") && !text.contains("4711"), "{text}");
    }
}

#[test]
fn status_makes_nothing_and_carries_on_with_a_broken_config() {
    let scratch = Scratch::new();
    scratch.ok(["status"]);
    assert!(!scratch.home().exists());
    scratch.write("config.yaml", "a: [1\n");
    let ran = scratch.run(["status"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("config.yaml:"), "{}", ran.stderr);
    // Nothing is claimed that only the file knows.
    let shown = ran.stdout + &scratch.run(["dump"]).stdout;
    for untrue in [
        "not configured\n    Provider",
        "Backend              local",
        "(not set)",
        "terminal:         local",
    ] {
        assert!(!shown.contains(untrue), "{shown}");
    }
    assert!(shown.contains("cannot be read"), "{shown}");
    let (_, report) = doctor(&scratch, &[]);
    assert!(
        findings(&report, "warning").contains("were not looked at"),
        "{report}"
    );
    assert!(
        !findings(&report, "good").contains("terminal backend"),
        "{report}"
    );
    scratch.write("config.yaml", "{}\n");
    scratch.write("state.db", "this is no database, by far and by large");
    assert!(scratch.ok(["status"]).contains("state.db cannot be read"));
    let toolsets = || {
        let dump = scratch.ok(["dump"]);
        let line = dump.lines().find(|line| line.starts_with("  toolsets:"));
        line.expect("what is on").to_owned()
    };
    assert!(toolsets().contains("memory"), "{}", toolsets());
    scratch.ok(["tools", "disable", "memory"]);
    assert!(!toolsets().contains("memory"), "{}", toolsets());
}

#[test]
fn the_doctor_tries_the_host_behind_ssh() {
    let scratch = Scratch::new();
    // Nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    scratch.write(
        "config.yaml",
        format!(
            "terminal: {{backend: ssh, ssh_host: 127.0.0.1, ssh_user: nobody, ssh_port: {port}}}\n"
        ),
    );
    let path = std::env::var("PATH").unwrap();
    let doctor = |words: &[&str]| {
        let mut command = scratch.command(words);
        let ran = command.env("PATH", &path).output().unwrap();
        let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
        (ran.status.code(), report)
    };
    let (code, report) = doctor(&["doctor", "--json"]);
    assert_eq!(code, Some(1), "{report}");
    assert!(
        findings(&report, "bad").contains("ssh to 127.0.0.1 fails"),
        "{report}"
    );
    let (_, report) = doctor(&["doctor", "--json", "--offline"]);
    assert!(
        findings(&report, "good").contains("(not tried)"),
        "{report}"
    );
}

#[test]
fn deep_status_asks_the_configured_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        format!("model:\n  default: m\n  base_url: http://{address}/v1\n"),
    );
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let status = json(&scratch.ok(["status", "--deep", "--json"]));
    assert_eq!(status["endpoint"]["status"], 401);
    let request = server.join().unwrap();
    assert!(request.starts_with("GET /v1/models "), "{request}");
    // Nobody listens any more.
    let ran = scratch.run(["doctor", "--json"]);
    assert_eq!(ran.code, 1);
    let broken = findings(&json(&ran.stdout), "bad");
    assert!(
        broken.contains("does not answer: Connection refused"),
        "{broken}"
    );
}

#[test]
fn the_doctor_makes_a_home_complete_and_private() {
    let scratch = Scratch::new();
    scratch.write(".env", "A=b\n");
    fs::set_permissions(scratch.home(), fs::Permissions::from_mode(0o755)).unwrap();
    let (code, report) = doctor(&scratch, &[]);
    assert_eq!(code, 0, "warnings are no failure");
    assert!(findings(&report, "warning").contains("missing directories"));
    assert!(!scratch.exists("logs"), "it only looked");
    let (_, report) = doctor(&scratch, &["--fix"]);
    assert!(findings(&report, "fixed").contains("missing directories"));
    assert!(scratch.exists("logs/curator") && scratch.exists("SOUL.md"));
    let (_, report) = doctor(&scratch, &[]);
    assert!(!findings(&report, "warning").contains("missing"));
}

#[test]
fn the_doctor_mends_a_dangling_choice_and_a_stale_variable() {
    let scratch = Scratch::new();
    scratch.ok(["doctor", "--fix", "--offline"]);
    scratch.write("active_profile", "ghost\n");
    scratch.write("config.yaml", "agent:\n  max_turns: 90\n");
    scratch.write(".env", "# keep\nHERMES_MAX_ITERATIONS=3\nOTHER=x\n");
    let (code, report) = doctor(&scratch, &[]);
    assert_eq!(code, 1);
    assert!(findings(&report, "bad").contains("ghost"));
    assert!(findings(&report, "warning").contains("HERMES_MAX_ITERATIONS=3"));
    let (code, _) = doctor(&scratch, &["--fix"]);
    assert_eq!(code, 0);
    assert!(!scratch.exists("active_profile"));
    assert_eq!(scratch.read(".env"), "# keep\nOTHER=x\n");
}

#[test]
fn the_doctor_migrates_the_config_and_keeps_the_rest_of_it() {
    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        "# mine\n_config_version: 24\nmodel_catalog:\n  ttl_hours: 24 # hours\n",
    );
    let (_, report) = doctor(&scratch, &["--fix"]);
    assert!(
        findings(&report, "fixed").contains("layout of version 24"),
        "{report}"
    );
    assert_eq!(
        scratch.read("config.yaml"),
        "# mine\n_config_version: 27\nmodel_catalog:\n  ttl_hours: 1 # hours\n"
    );
    scratch.write(
        "config.yaml",
        "_config_version: 99\ncustom_providers:\n  a: b\n",
    );
    let (_, report) = doctor(&scratch, &["--fix"]);
    let warnings = findings(&report, "warning");
    assert!(
        warnings.contains("newer version") && warnings.contains("custom_providers"),
        "{warnings}"
    );
}

#[test]
fn the_doctor_finds_broken_files() {
    for (file, content, said) in [
        ("config.yaml", &b"model: [1\n"[..], "config.yaml:"),
        ("config.yaml", b"- a list\n", "a list"),
        (
            "config.yaml",
            b"agent:\n  max_turns: many\n",
            "agent.max_turns",
        ),
        (
            "config.yaml",
            b"terminal:\n  backend: ssh\n",
            "terminal.ssh_host",
        ),
        (
            "state.db",
            b"this is no database, by far and by large",
            "state.db",
        ),
        ("profiles", b"", "profiles"),
    ] {
        let scratch = Scratch::new();
        scratch.write(file, content);
        let (code, report) = doctor(&scratch, &[]);
        let broken = findings(&report, "bad");
        assert_eq!(code, 1, "{file}: {report}");
        assert!(broken.contains(said), "{file}: {broken}");
        let path = scratch.home().join(file);
        assert_eq!(fs::read(path).unwrap(), content, "{file} was touched");
    }
}

#[test]
fn a_database_of_the_reference_is_sound() {
    let scratch = Scratch::new();
    scratch.write("logs/x", "");
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../hermes-store/tests/fixtures/state-0.16.0.db"
    );
    fs::copy(fixture, scratch.home().join("state.db")).unwrap();
    let (_, report) = doctor(&scratch, &[]);
    assert!(
        findings(&report, "good").contains("state.db is sound"),
        "{report}"
    );
}

#[test]
fn an_unknown_notice_cannot_be_acknowledged() {
    let stderr = Scratch::new().fails(2, ["doctor", "--ack", "HA-0"]);
    assert!(stderr.contains("no security notice \"HA-0\""), "{stderr}");
}

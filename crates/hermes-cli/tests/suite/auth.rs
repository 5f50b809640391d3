//! `hermes auth` through the binary.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use hermes_testkit::model::{ModelServer, Reply};
use pretty_assertions::assert_eq;

use super::support::{Scratch, ran};

#[test]
fn keys_are_added_listed_used_up_and_removed() {
    let scratch = Scratch::new();
    assert_eq!(
        scratch.ok([
            "auth",
            "add",
            "or",
            "--api-key",
            "sk-or-1",
            "--label",
            "work"
        ]),
        "Added openrouter credential #1: \"work\"\n"
    );
    let typed = scratch.run_with_input(["auth", "add", "openrouter"], "sk-or-2\n");
    assert_eq!(
        (typed.code, typed.stdout.as_str()),
        (0, "Added openrouter credential #2: \"api-key-2\"\n")
    );
    assert_eq!(
        scratch.ok(["auth", "list", "openrouter"]),
        "openrouter (2 credentials):\n  #1  work                 api_key manual ←\n  #2  api-key-2            api_key manual\n\n"
    );
    assert_eq!(
        scratch.ok(["auth", "status", "openrouter"]),
        "openrouter: logged in (work, manual)\n"
    );
    assert_eq!(
        scratch.ok(["auth", "reset", "openrouter"]),
        "Reset status on 0 openrouter credentials\n"
    );
    assert_eq!(
        scratch.ok(["auth", "remove", "openrouter", "2"]),
        "Removed openrouter credential #2 (api-key-2)\n"
    );
    assert_eq!(
        scratch.ok(["auth", "status", "anthropic"]),
        "anthropic: logged out\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&scratch.ok(["auth", "list", "--json"])).unwrap();
    assert_eq!(json["openrouter"][0]["label"], "work");
    assert!(!scratch.ok(["auth", "list"]).contains("sk-or"));
}

#[test]
fn what_does_not_exist_is_named() {
    let scratch = Scratch::new();
    assert_eq!(
        scratch.fails(1, ["auth", "add", "opnrouter", "--api-key", "x"]),
        "error: unknown provider \"opnrouter\"\nhint: did you mean `openrouter`?\n"
    );
    assert_eq!(
        scratch.fails(1, ["auth", "remove", "openrouter", "9"]),
        "error: no credential #9 for provider openrouter\nhint: `hermes auth list openrouter` shows what is there\n"
    );
    assert_eq!(
        scratch.fails(1, ["auth", "add", "openrouter", "--api-key", " "]),
        "error: the key is empty\n"
    );
    assert!(!scratch.exists(".hermes/auth.json") && !scratch.exists("auth.json"));
    assert_eq!(
        scratch.fails(2, ["auth", "add", "nous", "--type", "oauth"]),
        "error: signing in to nous in a browser is not built yet\nhint: `hermes auth add nous` stores an API key\n"
    );
    assert!(
        scratch
            .fails(2, ["auth", "add", "codex", "--type", "oauth"])
            .contains("hint: use `--provider openai-api` with an API key")
    );
}

#[test]
fn a_home_of_the_reference_lists_the_same_keys() {
    let scratch = Scratch::with_reference_home();
    let listed = scratch.ok(["auth", "list"]);
    for line in [
        "anthropic (1 credentials):",
        "  #1  main                 api_key manual ←",
        "openrouter (3 credentials):",
        "  #1  OPENROUTER_API_KEY   api_key env:OPENROUTER_API_KEY ←",
        "  #2  work                 api_key manual",
        "  #3  spare                api_key manual",
    ] {
        assert!(listed.contains(line), "{line:?} is not in\n{listed}");
    }
    let removed = scratch.ok(["auth", "remove", "openrouter", "OPENROUTER_API_KEY"]);
    assert!(removed.contains("ignored"), "{removed}");
    assert!(!scratch.ok(["auth", "list"]).contains("OPENROUTER_API_KEY"));
}

#[test]
fn logging_out_forgets_what_is_stored_and_names_what_still_counts() {
    let scratch = Scratch::new();
    scratch.ok(["auth", "add", "deepseek", "--api-key", "sk-1"]);
    scratch.ok([
        "auth",
        "add",
        "deepseek",
        "--api-key",
        "sk-2",
        "--type",
        "api_key",
    ]);
    scratch.ok(["auth", "add", "zai", "--api-key", "sk-3"]);
    scratch.write(".env", "DEEPSEEK_API_KEY=sk-4\n");
    assert_eq!(
        scratch.ok(["auth", "logout", "deepseek"]),
        "Logged out of deepseek: 2 credentials are forgotten.\n  DEEPSEEK_API_KEY is set and still counts; `hermes auth remove deepseek DEEPSEEK_API_KEY` has it ignored\n"
    );
    let stored = scratch.read("auth.json");
    assert!(
        !stored.contains("sk-1") && !stored.contains("sk-2"),
        "{stored}"
    );
    assert!(stored.contains("sk-3"), "{stored}");
    scratch.ok(["auth", "logout", "zai"]);
    assert_eq!(
        scratch.ok(["auth", "logout", "zai"]),
        "Logged out of zai: nothing was stored.\n"
    );
    assert_eq!(
        scratch.fails(1, ["auth", "logout", "zia"]),
        "error: unknown provider \"zia\"\nhint: did you mean `z-ai`?\n"
    );
}

#[test]
fn a_login_that_the_reference_made_can_be_forgotten() {
    let scratch = Scratch::new();
    scratch.write(
        "auth.json",
        r#"{"version": 1, "active_provider": "nous", "future": 1,
            "providers": {"nous": {"refresh_token": "r"}, "other": {}},
            "credential_pool": {"nous": [{"id": "aaaaaa", "label": "dc", "auth_type": "oauth",
              "priority": 0, "source": "device_code", "access_token": "t", "refresh_token": "r"}]}}"#,
    );
    // It is not used, and whoever needs it is told so.
    let asked = scratch.run(["-z", "hi", "--provider", "nous", "-m", "m"]);
    assert_eq!(asked.code, 1);
    assert!(
        asked
            .stderr
            .contains("the login that Python Hermes stored is not used"),
        "{asked:#?}"
    );
    scratch.ok(["auth", "logout", "nous-portal"]);
    let stored: serde_json::Value = serde_json::from_str(&scratch.read("auth.json")).unwrap();
    assert_eq!(
        (
            &stored["active_provider"],
            &stored["providers"],
            &stored["credential_pool"],
            &stored["future"]
        ),
        (
            &serde_json::Value::Null,
            &serde_json::json!({"other": {}}),
            &serde_json::json!({}),
            &serde_json::json!(1)
        )
    );
}

#[test]
fn a_variable_that_was_removed_counts_again_after_a_key_is_added() {
    let scratch = Scratch::new();
    scratch.write(".env", "DEEPSEEK_API_KEY=sk-variable\n");
    let removed = scratch.ok(["auth", "remove", "deepseek", "1"]);
    assert!(removed.contains("`hermes auth add deepseek`"), "{removed}");
    assert_eq!(
        scratch.ok(["auth", "status", "deepseek"]),
        "deepseek: logged out\n"
    );
    scratch.ok(["auth", "add", "deepseek", "--api-key", "sk-own"]);
    let listed: serde_json::Value =
        serde_json::from_str(&scratch.ok(["auth", "list", "deepseek", "--json"])).unwrap();
    let sources: Vec<&str> = listed["deepseek"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["source"].as_str())
        .collect();
    assert_eq!(sources, ["env:DEEPSEEK_API_KEY", "manual"]);
    // The key of a variable is never written down.
    assert!(!scratch.read("auth.json").contains("sk-variable"));
}

/// Everything below a directory that belongs to others too.
fn open_to_others(directory: &std::path::Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        if meta.is_dir() {
            open_to_others(&entry.path(), found);
        } else if meta.permissions().mode() & 0o077 != 0 {
            found.push(entry.path().display().to_string());
        }
    }
}

#[test]
fn no_key_is_shown_logged_or_readable_by_others() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    let key = "sk-proj-0123456789abcdefghijklmnop";
    let typed = scratch.run_with_input(["auth", "add", "deepseek"], &format!("{key}\n"));
    let mut shown = typed.stdout + &typed.stderr;
    for words in [
        &["auth", "list"][..],
        &["auth", "list", "--json"],
        &["auth", "status", "deepseek", "--json"],
        &["status"],
        &["dump"],
    ] {
        let ran = scratch.run(words);
        shown += &ran.stdout;
        shown += &ran.stderr;
    }
    server.fallback(|_| Reply::error(401, "incorrect API key sk-proj-0123456789abcdefghijklmnop"));
    let mut asked = scratch.command(["-z", "hi", "--provider", "deepseek", "-m", "deepseek-chat"]);
    asked
        .env("DEEPSEEK_BASE_URL", server.url())
        .env("HERMES_DUMP_REQUESTS", "1");
    let ran = ran(asked.output().unwrap());
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some(&*format!("Bearer {key}"))
    );
    shown += &ran.stdout;
    shown += &ran.stderr;
    assert!(!shown.contains(key), "{shown}");
    let mut readable = Vec::new();
    open_to_others(&scratch.home(), &mut readable);
    let leaks: Vec<String> = readable
        .into_iter()
        .filter(|path| {
            let bytes = std::fs::read(path).unwrap();
            String::from_utf8_lossy(&bytes).contains(key)
        })
        .collect();
    assert_eq!(leaks, Vec::<String>::new());
    let mode = std::fs::metadata(scratch.home().join("auth.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // Beside auth.json nobody holds it, not even privately.
    let logs = scratch.home().join("logs");
    for entry in std::fs::read_dir(logs).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            let text = std::fs::read_to_string(entry.path()).unwrap();
            assert!(!text.contains(key), "{}", entry.path().display());
        }
    }
}

#[test]
fn many_processes_change_the_file_at_once_and_nothing_is_lost() {
    let (scratch, server) = (Scratch::new(), ModelServer::start());
    scratch.ok([
        "auth",
        "add",
        "deepseek",
        "--api-key",
        "sk-poor",
        "--label",
        "poor",
    ]);
    scratch.ok([
        "auth",
        "add",
        "deepseek",
        "--api-key",
        "sk-rich",
        "--label",
        "rich",
    ]);
    server.fallback(|request| {
        if request.header("authorization") == Some("Bearer sk-poor") {
            Reply::error(402, "insufficient credits")
        } else {
            Reply::text("ok")
        }
    });
    let mut children = Vec::new();
    for n in 0..8 {
        let (key, label) = (format!("sk-{n}"), format!("label-{n}"));
        let words = [
            "auth",
            "add",
            "deepseek",
            "--api-key",
            &key,
            "--label",
            &label,
        ];
        children.push(scratch.command(words).spawn().unwrap());
    }
    for _ in 0..4 {
        // Conversations that write down which key is used up.
        let words = ["-z", "hi", "--provider", "deepseek", "-m", "deepseek-chat"];
        let mut command = scratch.command(words);
        command
            .env("DEEPSEEK_BASE_URL", server.url())
            .stdout(Stdio::null());
        children.push(command.spawn().unwrap());
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let listed: serde_json::Value =
        serde_json::from_str(&scratch.ok(["auth", "list", "--json"])).unwrap();
    let rows = listed["deepseek"].as_array().unwrap();
    let mut labels: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["label"].as_str())
        .collect();
    labels.sort_unstable();
    assert_eq!(
        labels,
        [
            "label-0", "label-1", "label-2", "label-3", "label-4", "label-5", "label-6", "label-7",
            "poor", "rich"
        ]
    );
    let poor = rows.iter().find(|row| row["label"] == "poor").unwrap();
    assert_eq!(poor["status"], "exhausted");
    assert!(poor["rests_for_seconds"].as_f64().unwrap() > 3000.0);
    assert_eq!(rows.iter().filter(|row| row["next"] == true).count(), 1);
}

#[test]
fn a_file_of_keys_that_cannot_be_read_is_told_and_kept() {
    let scratch = Scratch::new();
    scratch.write("auth.json", "{ half a file");
    let listed = scratch.run(["auth", "list"]);
    assert_eq!(listed.code, 0, "{listed:#?}");
    let told = "auth.json cannot be read, so its keys are not used; what it held is kept in ~/.hermes/auth.json.corrupt";
    assert_eq!(listed.stderr.matches(told).count(), 1, "{listed:#?}");
    assert_eq!(scratch.read("auth.json.corrupt"), "{ half a file");
    let added = scratch.run(["auth", "add", "openrouter", "--api-key", "sk-or-1"]);
    assert!(added.stderr.contains(told), "{added:#?}");
    // The file is whole again.
    let listed = scratch.run(["auth", "list"]);
    assert!(!listed.stderr.contains("cannot be read"), "{listed:#?}");
    assert_eq!(scratch.read("auth.json.corrupt"), "{ half a file");
}

#[test]
fn a_variable_is_removed_from_where_it_is() {
    let scratch = Scratch::new();
    let mut command = scratch.command(["auth", "remove", "openrouter", "1"]);
    command.env("OPENROUTER_API_KEY", "sk-or-1");
    let removed = ran(command.output().unwrap());
    assert!(
        removed
            .stdout
            .contains("comes from where `hermes` was started")
            && !removed.stdout.contains(".env"),
        "{removed:#?}"
    );
    let scratch = Scratch::new();
    scratch.write(".env", "OPENROUTER_API_KEY=sk-or-1\n");
    let removed = scratch.ok(["auth", "remove", "openrouter", "1"]);
    assert!(
        removed.contains("remove it from ~/.hermes/.env"),
        "{removed}"
    );
}

//! `hermes auth` through the binary.

use super::support::Scratch;

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
    assert!(
        scratch
            .fails(2, ["auth", "add", "nous", "--type", "oauth"])
            .contains("not built yet")
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

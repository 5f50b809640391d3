//! `hermes fallback` through the binary.

use super::support::Scratch;

#[test]
fn the_chain_is_shown_extended_and_shortened() {
    let scratch = Scratch::new();
    scratch.write(
        "config.yaml",
        "# mine\nmodel: m # main\nfallback_model: {provider: anthropic, model: old, api_key: '${K}'}\n",
    );
    assert_eq!(scratch.ok(["fallback"]), "1. anthropic  old\n");
    let added = scratch.run(["fallback", "add", "openrouter", "new"]);
    assert_eq!(added.code, 0, "{added:#?}");
    assert!(
        added.stderr.contains("OPENROUTER_API_KEY"),
        "{}",
        added.stderr
    );
    scratch.ok([
        "fallback",
        "add",
        "custom",
        "local",
        "--base-url",
        "http://127.0.0.1:1/v1",
    ]);
    assert_eq!(
        scratch.ok(["fallback", "list"]),
        "1. openrouter  new\n2. custom  local  http://127.0.0.1:1/v1\n3. anthropic  old\n"
    );
    scratch.ok(["fallback", "rm", "1"]);
    assert_eq!(
        scratch.ok(["fallback", "list"]),
        "1. custom  local  http://127.0.0.1:1/v1\n2. anthropic  old\n"
    );
    let file = scratch.read("config.yaml");
    assert!(
        file.starts_with("# mine\nmodel: m # main\n") && file.contains("${K}"),
        "{file}"
    );
    scratch.ok(["fallback", "clear"]);
    assert!(
        scratch
            .ok(["fallback"])
            .starts_with("No fallback providers configured.")
    );
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let scratch = Scratch::new();
    scratch.write("config.yaml", "model: m\n");
    assert!(
        scratch
            .fails(1, ["fallback", "add", "nosuch", "m"])
            .contains("unknown provider \"nosuch\"")
    );
    assert!(
        scratch
            .fails(1, ["fallback", "remove", "4"])
            .contains("there is no fallback number 4")
    );
    assert_eq!(scratch.read("config.yaml"), "model: m\n");
    scratch.ok([
        "fallback",
        "add",
        "custom",
        "x",
        "--base-url",
        "http://127.0.0.1:1/v1",
    ]);
    let again = [
        "fallback",
        "add",
        "custom",
        "x",
        "--base-url",
        "http://127.0.0.1:1/v1",
    ];
    assert!(scratch.fails(1, again).contains("already"));
}

//! The checked-in reference pages say what the program says.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;

/// Set to write the pages instead of comparing them.
const UPDATE: &str = "UPDATE_REFERENCE";

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(name)
}

fn check(name: &str, expected: &str) {
    let path = page(name);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    // The first difference says enough; two whole pages say nothing.
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (written, expected) = (lines(&written), lines(expected));
    let same = written
        .iter()
        .zip(&expected)
        .take_while(|(left, right)| left == right)
        .count();
    assert_eq!(
        (written.get(same), written.len()),
        (expected.get(same), expected.len()),
        "docs/reference/{name} is stale from line {}: run `{UPDATE}=1 cargo test -p hermes-cli --test all reference`",
        same + 1
    );
}

#[test]
fn the_page_of_commands_is_current() {
    check("cli.md", &hermes_cli::reference::cli_page());
}

#[test]
fn the_page_of_the_chats_commands_is_current() {
    check("chat.md", &hermes_cli::reference::chat_page());
}

#[test]
fn the_page_of_variables_is_current() {
    check("env.md", &hermes_cli::reference::env_page());
}

#[test]
fn the_page_of_keys_is_current() {
    check("config.md", &hermes_config::keys::page());
}

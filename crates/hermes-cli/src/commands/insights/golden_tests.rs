//! What Python Hermes 0.16.0 printed over its own home, at the moment it did. Tools
//! with equal counts come there in no fixed order.

use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;

use super::{Args, run};
use crate::test_support::{captured, with_reference_state};

fn printed(source: Option<&str>, json: bool) -> String {
    let (_home, context) = with_reference_state();
    let (mut out, stdout) = captured();
    let args = Args {
        days: 30,
        source: source.map(str::to_owned),
        json,
    };
    run(&args, &context, &mut out).unwrap();
    stdout.text()
}

/// Without the order of what is equal: the tools that were called once.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    let start = lines.iter().position(|line| line.contains("Top Tools"));
    if let Some(start) = start {
        let from = start + 3;
        let length = lines[from..]
            .iter()
            .take_while(|line| !line.is_empty())
            .count();
        lines[from..from + length].sort();
    }
    lines
}

fn golden(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/golden")
        .join(name);
    let text = fs::read_to_string(path).unwrap();
    // The first two lines are the command and its exit code.
    text.lines()
        .skip(2)
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn the_page_agrees_with_the_reference() {
    assert_eq!(lines(&printed(None, false)), lines(&golden("insights.txt")));
    assert_eq!(
        lines(&printed(Some("telegram"), false)),
        lines(&golden("insights-telegram.txt"))
    );
}

#[test]
fn a_platform_without_sessions_gets_a_sentence() {
    assert_eq!(
        printed(Some("matrix"), false),
        "No sessions of matrix in the last 30 days.\n"
    );
}

#[test]
fn json_has_the_same_figures() {
    let figures: serde_json::Value = serde_json::from_str(&printed(None, true)).unwrap();
    assert_eq!(figures["sessions"], 20);
    assert_eq!(figures["total_tokens"], 900_296);
    assert_eq!(figures["skills"][0]["edits"], 2);
}

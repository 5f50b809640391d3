//! What Python Hermes 0.16.0 printed over its own home, at the moment it did.
//! Columns are padded by terminal cells here and by characters there, so lines
//! are compared with runs of spaces as one.

use std::fs;
use std::path::Path;

use clap::{Args as _, Command, FromArgMatches};
use pretty_assertions::assert_eq;

use super::{Args, run};
use crate::test_support::{captured, with_reference_state};

fn printed(words: &[&str]) -> Vec<String> {
    let (_home, context) = with_reference_state();
    let (mut out, stdout) = captured();
    let matches = Args::augment_args(Command::new("sessions"))
        .try_get_matches_from([&["sessions"], words].concat())
        .unwrap();
    run(
        Args::from_arg_matches(&matches).unwrap(),
        &context,
        &mut out,
    )
    .unwrap();
    let text = stdout.text();
    text.lines().map(squeezed).collect()
}

fn golden(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/golden")
        .join(name);
    // The first two lines are the command and its exit code.
    let text = fs::read_to_string(path).unwrap();
    text.lines().skip(2).map(squeezed).collect()
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn lists_agree_with_the_reference() {
    assert_eq!(printed(&["list"]), golden("sessions-list.txt"));
    assert_eq!(
        printed(&["list", "--source", "telegram"]),
        golden("sessions-list-telegram.txt")
    );
    assert_eq!(
        printed(&["list", "--source", "nope"]),
        golden("sessions-list-none.txt")
    );
    let without_rule = |lines: Vec<String>| -> Vec<String> {
        lines
            .into_iter()
            .filter(|line| !line.starts_with('─'))
            .collect()
    };
    assert_eq!(
        without_rule(printed(&["list", "--limit", "3"])),
        without_rule(golden("sessions-list-limit3.txt"))
    );
}

#[test]
fn stats_say_all_that_the_reference_says() {
    let ours = printed(&["stats"]);
    let theirs = golden("sessions-stats.txt");
    assert_eq!(theirs.len(), 5);
    for line in theirs {
        assert!(ours.contains(&line), "{line:?} is not in {ours:#?}");
    }
    // The reference leaves out the sources it does not know.
    assert!(ours.contains(&"cron: 2 sessions".to_owned()), "{ours:#?}");
}

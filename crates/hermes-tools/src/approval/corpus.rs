//! Our own corpus: every class of the table in several dresses, and harmless
//! commands of a working day. Lines are `key<TAB>command`; `-` means harmless.

use proptest::prelude::*;

use super::shell::Known;
use super::{Findings, examine, examine_knowing};

const DANGEROUS: &str = include_str!("corpus/dangerous.tsv");
const HARMLESS: &str = include_str!("corpus/harmless.txt");

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("## "))
}

/// As in a project of somebody's.
fn found(command: &str) -> Findings {
    let known = Known {
        place: Some("/srv/work/project".to_owned()),
        ..Known::default()
    };
    examine_knowing(&command.replace("\\n", "\n"), &known)
}

#[test]
fn every_dangerous_line_is_caught_under_its_key() {
    let mut missed = Vec::new();
    let mut count = 0;
    for line in lines(DANGEROUS) {
        let (key, command) = line.split_once('\t').expect("key, tab, command");
        let found = found(command);
        let caught = match key.strip_prefix("hardline: ") {
            Some(text) => found.hardline == Some(text),
            None => found.dangerous.contains(&key),
        };
        if !caught {
            missed.push(format!("{key}: {command}\n    found {found:?}"));
        }
        count += 1;
    }
    assert!(count >= 200, "only {count} lines");
    assert!(
        missed.is_empty(),
        "{} of {count} missed:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

#[test]
fn the_working_directory_completes_what_is_named() {
    for command in [
        "rm -rf ../../../etc",
        "rm -rf $PWD/../../../../../../etc",
        "cd ../../.. && rm -rf usr",
    ] {
        let text = Some("recursive delete of system directory");
        assert_eq!(found(command).hardline, text, "{command}");
    }
    assert_eq!(found("rm -rf ../etc").hardline, None);
    assert_eq!(found("(cd /; ls); rm -rf etc").hardline, None);
}

#[test]
fn harmless_commands_raise_at_most_two_alarms_in_a_hundred() {
    let mut alarms = Vec::new();
    let mut count = 0;
    for command in lines(HARMLESS) {
        let found = found(command);
        assert_eq!(
            found.hardline, None,
            "a harmless command is blocked for good: {command}"
        );
        if !found.is_clean() {
            alarms.push(format!("{command}: {:?}", found.dangerous));
        }
        count += 1;
    }
    assert!(count >= 200, "only {count} lines");
    assert!(
        alarms.len() * 50 <= count,
        "{} of {count}:\n{}",
        alarms.len(),
        alarms.join("\n")
    );
}

proptest! {
    #[test]
    fn any_line_is_examined(
        line in "(rm|dd|mkfs|sed|git|awk|echo|read|alias|-rf|--|=|/|\\$|\"|'|`|<<<|<\\(|\\||;|>|!|e |s/|\\(\\)|\\{|\\}| |\n|\\PC){0,60}"
    ) {
        examine(&line);
    }
}

/// Guesses within guesses are bounded: this ends at once and not in a week.
#[test]
fn texts_within_texts_do_not_multiply_without_end() {
    let mut line = "rm -rf /srv/x".to_owned();
    for depth in 0..9 {
        let quote = if depth % 2 == 0 { '"' } else { '\'' };
        let piece = line.clone();
        line = format!("x a=b=c= system( {quote}{piece}{quote} = {quote}{piece}{quote} )");
    }
    examine(&line);
    examine(&format!(
        "vim {}",
        format!("'{}' ", line.replace('\'', "\"")).repeat(20)
    ));
}

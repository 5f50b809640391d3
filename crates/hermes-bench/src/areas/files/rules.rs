//! The rules for commands over our own corpus: what is missed, and what is flagged
//! without need.

use hermes_tools::approval::examine;

use super::at_most;
use crate::report::{Row, Unit};

/// `key<TAB>command`
const DANGEROUS: &str = include_str!("../../../../hermes-tools/src/approval/corpus/dangerous.tsv");
const HARMLESS: &str = include_str!("../../../../hermes-tools/src/approval/corpus/harmless.txt");

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("## "))
}

pub(super) fn run() -> Vec<Row> {
    let dangerous: Vec<(&str, &str)> = lines(DANGEROUS)
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let missed = dangerous.iter().filter(|(key, command)| {
        let found = examine(&command.replace("\\n", "\n"));
        match key.strip_prefix("hardline: ") {
            Some(text) => found.hardline != Some(text),
            None => !found.dangerous.contains(key),
        }
    });
    let harmless: Vec<&str> = lines(HARMLESS).collect();
    let alarms = harmless
        .iter()
        .filter(|command| !examine(&command.replace("\\n", "\n")).is_clean())
        .count();
    let share = 100.0 * alarms as f64 / harmless.len().max(1) as f64;
    let title = format!(
        "approvals: dangerous commands missed, of {}",
        dangerous.len()
    );
    let alarm_title = format!("approvals: false alarms, of {}", harmless.len());
    [
        at_most(&title, Unit::Count, 0.0, vec![missed.count() as f64]),
        at_most(&alarm_title, Unit::Percent, 2.0, vec![share]),
    ]
    .into_iter()
    .flatten()
    .collect()
}

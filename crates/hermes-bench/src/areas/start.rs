//! How long short verbs take in an empty home, and how much memory `--version` needs.

use anyhow::Result;

use crate::measure::{Bench, Invocation};
use crate::report::{Bar, Row, Unit};
use crate::stats::Stats;

const AREA: &str = "start";

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    // The reference freezes its defaults into the home it runs on, so each has its own.
    let ours = tempfile::tempdir()?;
    let theirs = tempfile::tempdir()?;
    let mut rows = Vec::new();
    for (arguments, bar) in [
        (&["--version"][..], 8.0),
        (&["--help"], 15.0),
        (&["config", "show"], 15.0),
        (&["profile", "list"], 15.0),
    ] {
        let pair = bench.alternate(
            &Invocation::new(ours.path(), arguments),
            Some(&Invocation::new(theirs.path(), arguments)),
        )?;
        let verb = format!("hermes {}", arguments.join(" "));
        rows.extend(Row::at_most(
            AREA,
            format!("`{verb}`"),
            Unit::Ms,
            bar,
            pair.wall(),
        ));
        if arguments == ["--version"] {
            rows.extend(Row::at_most(
                AREA,
                format!("`{verb}` peak memory"),
                Unit::MiB,
                12.0,
                pair.peak(),
            ));
        }
    }
    let size = std::fs::metadata(&bench.candidate)?.len() as f64 / 1e6;
    rows.push(Row {
        area: AREA,
        measure: "size of the binary".to_owned(),
        unit: Unit::MB,
        // The bar of the first parts was 15 MB; the whole product has 22 (scripts/budgets).
        bar: Some(Bar::AtMost(23.0)),
        candidate: Stats::once(size),
        reference: None,
    });
    Ok(rows)
}

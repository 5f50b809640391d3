//! `search_files` over 100,000 files beside `rg`, in turn.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::places::Place;
use super::{AREA, ms};
use crate::measure::Bench;
use crate::report::{Bar, Row, Unit};
use crate::stats::Stats;

const DIRECTORIES: usize = 500;
const FILES_EACH: usize = 200;

/// In one file of a hundred.
const NEEDLE: &str = "needle_[0-9]+";

pub(super) async fn run(bench: &Bench) -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let root = directory.path().join("tree");
    fill(&root)?;
    let place = Place::new(directory.path(), "{}\n")?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    // The first of each reads the disk.
    for round in 0..=bench.rounds {
        let began = Instant::now();
        let arguments = json!({"pattern": NEEDLE, "path": root, "limit": 50});
        let found = place.call("search_files", arguments).await?;
        let took = ms(began);
        ensure!(
            found["total_count"] == DIRECTORIES * FILES_EACH / 100,
            "{}",
            found["total_count"]
        );
        let began = Instant::now();
        let status = Command::new("rg")
            .args(["-n", "--no-heading", NEEDLE])
            .arg(&root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .context("this measure needs `rg`")?;
        ensure!(status.success(), "rg ended with {status}");
        if round > 0 {
            ours.push(took);
            theirs.push(ms(began));
        }
    }
    place.sandboxes.close().await;
    let (Some(ours), Some(theirs)) = (Stats::of(ours), Stats::of(theirs)) else {
        return Ok(Vec::new());
    };
    let row = |measure: &str, unit, bar, candidate, reference| Row {
        area: AREA,
        measure: measure.to_owned(),
        unit,
        bar,
        candidate,
        reference,
    };
    Ok(vec![
        row(
            "search_files, 100,000 files, local: time beside `rg`",
            Unit::Factor,
            Some(Bar::AtMost(1.3)),
            Stats::once(ours.median / theirs.median),
            None,
        ),
        row(
            "search_files, 100,000 files (beside it: `rg`)",
            Unit::Ms,
            None,
            ours,
            Some(theirs),
        ),
    ])
}

fn fill(root: &Path) -> Result<()> {
    for directory in 0..DIRECTORIES {
        let path = root.join(format!("group-{}/part-{directory}", directory % 20));
        std::fs::create_dir_all(&path)?;
        for file in 0..FILES_EACH {
            let number = directory * FILES_EACH + file;
            let mut text: String = (0..12)
                .map(|line| format!("line {line} of file {number}: some words to look through\n"))
                .collect();
            if number % 100 == 7 {
                text.push_str(&format!("here is needle_{number} at last\n"));
            }
            std::fs::write(path.join(format!("file-{file}.txt")), text)?;
        }
    }
    Ok(())
}

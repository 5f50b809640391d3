//! Processes killed at random: how much of what they acknowledged is missing.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use hermes_testkit::faults::{Dice, KillPoint, Together, killed_turn, talk_together};

use super::AREA;
use crate::measure::Bench;
use crate::report::{Row, Unit};
use crate::stats::Stats;

const POINTS: usize = 50;
/// Requests of the turn that is killed: twenty calls and the answer.
const REQUESTS: u64 = 21;

/// One turn of twenty calls after the other, each killed somewhere else.
pub(super) fn turns(bench: &Bench) -> Result<Option<Row>> {
    let mut dice = Dice::new(seed());
    let mut failures = 0;
    for _ in 0..POINTS {
        let point = KillPoint {
            request: 1 + dice.below(REQUESTS) as usize,
            after: Duration::from_micros(dice.below(12_000)),
        };
        if let Err(lost) = killed_turn(&bench.candidate, point) {
            eprintln!("{lost}");
            failures += 1;
        }
    }
    Ok(Row::at_most(
        AREA,
        format!(
            "turns of 20 calls killed at {POINTS} random points: steps lost or sessions that do not go on"
        ),
        Unit::Count,
        0.0,
        (Some(Stats::once(f64::from(failures))), None),
    ))
}

/// Eight conversations in eight processes on one database.
pub(super) fn together(bench: &Bench) -> Result<Option<Row>> {
    let plan = Together {
        conversations: 8,
        turns: 100,
        kill_one_of: 8,
        seed: seed(),
    };
    let report = talk_together(&bench.candidate, &plan);
    for line in report.lost.iter().chain(&report.faults) {
        eprintln!("seed {}: {line}", plan.seed);
    }
    let wrong = (report.lost.len() + report.faults.len()) as f64;
    Ok(Row::at_most(
        AREA,
        format!(
            "{} processes on one database, {} turns each, {} kills, {} acknowledged messages: lost",
            plan.conversations, plan.turns, report.kills, report.acknowledged
        ),
        Unit::Count,
        0.0,
        (Some(Stats::once(wrong)), None),
    ))
}

fn seed() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(1, |since| since.as_nanos() as u64)
}

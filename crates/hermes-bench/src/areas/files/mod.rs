//! Files, code and safety: what reading, searching, editing and running a script
//! cost through the tools that a model calls, on this machine, in a container and on
//! a host behind ssh; and what the edits and the rules for commands get right.

mod edits;
mod places;
mod rules;
mod search;
mod ssh;

use std::time::Instant;

use anyhow::Result;

use crate::measure::Bench;
use crate::report::{Bar, Row, Unit};
use crate::stats::Stats;

const AREA: &str = "files";

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut rows = rules::run();
        // Each takes a while: say what is waited for.
        let next = |what: &str| eprintln!("measuring: files: {what}");
        next("code");
        rows.extend(places::local(bench).await?);
        next("docker");
        rows.extend(places::docker(bench).await?);
        next("ssh");
        rows.extend(ssh::run(bench).await?);
        next("edits");
        rows.extend(edits::run().await?);
        next("search");
        rows.extend(search::run(bench).await?);
        Ok(rows)
    })
}

fn at_most(measure: &str, unit: Unit, bar: f64, samples: Vec<f64>) -> Option<Row> {
    Stats::of(samples).map(|candidate| Row {
        area: AREA,
        measure: measure.to_owned(),
        unit,
        bar: Some(Bar::AtMost(bar)),
        candidate,
        reference: None,
    })
}

fn ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1000.0
}

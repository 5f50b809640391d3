//! The loops that a shared container must survive, in full length: processes that
//! start at the same instant, and owners that are killed at any moment.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use hermes_sandbox::docker::Identity;
use hermes_testkit::docker::{Sweep, processes};
use hermes_testkit::process::{Running, run_together};

use super::sandbox::{AREA, hermes};
use crate::measure::Bench;
use crate::report::{Row, Unit};
use crate::stats::Stats;

const ROUNDS: usize = 20;

/// Owners are killed within this time after their start.
const WITHIN_MS: u128 = 700;

/// What a killed owner was running must be gone by then.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn run(bench: &Bench, home: &Path) -> Result<Vec<Row>> {
    let identity = Identity::new("default", "default", home);
    let sweep = Sweep::new(format!("hermes-home={}", identity.home));
    let mut rows = together(bench, home, &sweep)?;
    rows.extend(killed(bench, home, &sweep)?);
    Ok(rows)
}

fn count(measure: &str, value: usize) -> Option<Row> {
    let stats = Stats::once(value as f64);
    Row::at_most(AREA, measure, Unit::Count, 0.0, (Some(stats), None))
}

fn remove_all(bench: &Bench, home: &Path) -> Result<()> {
    hermes(bench, home, &["sandbox", "rm", "--force", "--all"]).output()?;
    Ok(())
}

fn exec(bench: &Bench, home: &Path, script: &str) -> std::process::Command {
    hermes(bench, home, &["sandbox", "exec", "--", script])
}

/// Rounds of three first starts that did not end with one container and three answers.
fn together(bench: &Bench, home: &Path, sweep: &Sweep) -> Result<Vec<Row>> {
    let mut bad = 0;
    for _ in 0..ROUNDS {
        remove_all(bench, home)?;
        let finished = run_together((0..3).map(|_| exec(bench, home, "hostname")));
        let answered = finished.iter().all(|one| one.status.success());
        let same = finished.iter().all(|one| one.stdout == finished[0].stdout);
        if !(answered && same && sweep.containers().len() == 1) {
            bad += 1;
        }
    }
    let measure =
        "three processes at the same instant, 20 rounds: rounds without exactly one container";
    Ok(count(measure, bad).into_iter().collect())
}

/// kill -9 of the owner at random moments, every fourth time before there is a container.
fn killed(bench: &Bench, home: &Path, sweep: &Sweep) -> Result<Vec<Row>> {
    let (mut wrong, mut lost, mut left) = (0, 0, 0);
    for round in 0..ROUNDS {
        if round % 4 == 0 {
            remove_all(bench, home)?;
        }
        let owner = Running::start(exec(bench, home, "sleep 4701"));
        std::thread::sleep(Duration::from_millis(
            u64::try_from(random(WITHIN_MS)).unwrap_or(0),
        ));
        owner.kill9();
        let status = exec(bench, home, "true").status()?;
        ensure!(status.success(), "the next call ended with {status}");
        let all = sweep.containers();
        if all.len() != 1 {
            wrong += 1;
        }
        let container = all.first().context("no container is there")?;
        if round % 4 == 0 {
            let start = "setsid sleep 4700 </dev/null >/dev/null 2>&1 &";
            exec(bench, home, start).status()?;
        }
        let runs = |what: &str| processes(container).iter().any(|line| line.ends_with(what));
        if !runs("sleep 4700") {
            lost += 1;
        }
        let deadline = Instant::now() + PATIENCE;
        while runs("sleep 4701") && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        if runs("sleep 4701") {
            left += 1;
            let kill = "for d in /proc/[0-9]*; do \
                case $(tr '\\0' ' ' <$d/cmdline) in 'sleep 4701 ') kill ${d#/proc/} ;; esac; done";
            exec(bench, home, kill).output()?;
        }
    }
    Ok([
        count(
            "owner killed at 20 random points: containers too many or too few",
            wrong,
        ),
        count(
            "owner killed at 20 random points: background processes lost",
            lost,
        ),
        count(
            "owner killed at 20 random points: its command lives on",
            left,
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// Below `limit`. The clock is random enough for moments to be killed at.
fn random(limit: u128) -> u128 {
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_nanos());
    (nanos / 1000).wrapping_mul(2_654_435_761) % limit
}

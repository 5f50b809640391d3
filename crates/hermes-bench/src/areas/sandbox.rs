//! Commands in the shared container. Those on this machine are the area `terminal`.
//!
//! What a long-lived process sees (a warm call) is measured inside this program over
//! the same crate that the binary uses; what a new process sees is measured through
//! the binary. Plain `docker exec` into the same container runs in turn with ours.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use futures_util::future::join_all;
use hermes_config::Config;
use hermes_home::{Clock, Environment, Home};
use hermes_sandbox::background::{Owner, StartRequest};
use hermes_sandbox::docker::HostUser;
use hermes_sandbox::session::{RunRequest, ShellSession};
use hermes_sandbox::settings::FrontEnd;
use hermes_sandbox::{Sandboxes, SandboxesPlan};
use hermes_testkit::docker::{self, BASH};

use super::survival;
use crate::measure::{Bench, Invocation};
use crate::report::{Bar, Row, Unit};
use crate::stats::Stats;

pub(super) const AREA: &str = "sandbox";
const GIGABYTE: &str = "head -c 1000000000 /dev/zero";

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    ensure!(
        docker::available(),
        "no container engine answers: this area needs one"
    );
    let image = docker::image(BASH);
    let directory = tempfile::tempdir()?;
    // Seen by the engine, which may not see a private /tmp; and without shell start-up files.
    let home = directory.path().canonicalize()?;
    let yaml = format!(
        "terminal:\n  backend: docker\n  docker_image: {image}\n  auto_source_bashrc: false\n  timeout: 600\n"
    );
    std::fs::write(home.join("config.yaml"), yaml)?;
    let cleaner = Cleaner { bench, home: &home };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let mut rows = new_processes(bench, &home)?;
    let docker = sandboxes(&home)?;
    rows.extend(runtime.block_on(warm_docker(bench, &docker, &home))?);
    rows.extend(endings(bench, &home)?);
    rows.extend(large_output(bench, &home)?);
    rows.extend(survival::run(bench, &home)?);
    drop(cleaner);
    Ok(rows)
}

/// Removes the container of this home, whatever happened.
struct Cleaner<'a> {
    bench: &'a Bench,
    home: &'a Path,
}

impl Drop for Cleaner<'_> {
    fn drop(&mut self) {
        let words = ["sandbox", "rm", "--force", "--all"];
        let _ = hermes(self.bench, self.home, &words).output();
    }
}

pub(super) fn hermes(bench: &Bench, home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(&bench.candidate);
    command
        .args(words)
        .env("HERMES_HOME", home)
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

fn sandboxes(home: &Path) -> Result<Arc<Sandboxes>> {
    let mut environment = Environment::of_process();
    environment.set("HERMES_HOME", home.to_string_lossy());
    let place = Home::at(home, home);
    let config = Config::load(&place, &environment, &[])?;
    Ok(Sandboxes::new(SandboxesPlan {
        config: Arc::new(config),
        home: place,
        environment,
        front_end: FrontEnd::Terminal,
        launched_in: Some(home.to_owned()),
        user: HostUser {
            uid: nix::unistd::getuid().as_raw(),
            gid: nix::unistd::getgid().as_raw(),
        },
        clock: Clock::System,
        notify: Arc::new(|text| eprintln!("sandbox: {text}")),
    }))
}

async fn timed(session: &ShellSession, command: &str) -> Result<f64> {
    let started = Instant::now();
    let outcome = session.run(RunRequest::new(command)).await?;
    let wall = started.elapsed().as_secs_f64() * 1e3;
    ensure!(
        outcome.ending.code() == 0,
        "`{command}` ended with {}: {}",
        outcome.ending.code(),
        outcome.output.joined()
    );
    Ok(wall)
}

/// Cold start, and attaching to the container that is there.
fn new_processes(bench: &Bench, home: &Path) -> Result<Vec<Row>> {
    let mut invocation = Invocation::new(home, &["sandbox", "exec", "--", "true"]);
    invocation.directory = Some(home.to_owned());
    let mut cold = Vec::new();
    for _ in 0..bench.rounds.div_ceil(3) {
        let words = ["sandbox", "rm", "--force", "--all"];
        hermes(bench, home, &words).output()?;
        cold.push(bench.sample(&bench.candidate, &invocation)?.wall_ms);
    }
    let attach = bench.alternate(&invocation, None)?;
    let cold = (Stats::of(cold), None);
    Ok([
        Row::at_most(AREA, "cold start to first result", Unit::Ms, 400.0, cold),
        Row::at_most(
            AREA,
            "new process, running container, first result",
            Unit::Ms,
            100.0,
            attach.wall(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

fn container(bench: &Bench, home: &Path) -> Result<String> {
    let output = hermes(bench, home, &["sandbox", "ls", "--json"]).output()?;
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let id = rows[0]["id"].as_str().context("no container is there")?;
    Ok(id.to_owned())
}

fn plain(container: &str, script: &str) -> Result<f64> {
    let started = Instant::now();
    let status = Command::new("docker")
        .args(["exec", container, "sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    ensure!(status.success(), "docker exec ended with {status}");
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

async fn warm_docker(bench: &Bench, sandboxes: &Arc<Sandboxes>, home: &Path) -> Result<Vec<Row>> {
    let sandbox = sandboxes.get("bench")?;
    let session = sandbox.session("bench");
    timed(&session, "true").await?;
    let container = container(bench, home)?;

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        for _ in 0..4 {
            ours.push(timed(&session, "true").await?);
        }
        theirs.push(plain(&container, "true")?);
    }
    let (ours, theirs) = (Stats::of(ours), Stats::of(theirs));
    let mut rows = Vec::new();
    if let (Some(ours), Some(theirs)) = (&ours, &theirs) {
        rows.push(Row {
            area: AREA,
            measure: "docker `true`, warm: times faster than plain `docker exec`".to_owned(),
            unit: Unit::Factor,
            bar: Some(Bar::AtLeast(10.0)),
            candidate: Stats::once(theirs.median / ours.median),
            reference: None,
        });
    }
    let measure = "docker `true`, warm (beside it: plain `docker exec`)";
    rows.extend(Row::at_most(AREA, measure, Unit::Ms, 6.0, (ours, theirs)));

    let owner = Owner {
        task: "bench".to_owned(),
        ..Owner::default()
    };
    let (mut starts, mut next) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let started = Instant::now();
        let process = sandbox
            .processes()
            .start(StartRequest::new(
                session.clone(),
                "sleep 300",
                owner.clone(),
            ))
            .await?;
        starts.push(started.elapsed().as_secs_f64() * 1e3);
        next.push(timed(&session, "true").await?);
        sandbox.processes().kill(&process.id, "bench").await?;
    }
    rows.extend(Row::at_most(
        AREA,
        "background start, docker",
        Unit::Ms,
        100.0,
        (Stats::of(starts), None),
    ));
    rows.extend(Row::at_most(
        AREA,
        "the call after a background start",
        Unit::Ms,
        6.0,
        (Stats::of(next), None),
    ));
    rows.extend(together(sandboxes).await?);
    sandbox.close().await;
    Ok(rows)
}

/// Sixteen sessions at once, the first time and again.
async fn together(sandboxes: &Arc<Sandboxes>) -> Result<Vec<Row>> {
    let sandbox = sandboxes.get("bench")?;
    let sessions: Vec<_> = (0..16)
        .map(|number| sandbox.session(&format!("bench-{number}")))
        .collect();
    let mut rows = Vec::new();
    for (measure, bar) in [
        ("16 × `sleep 0.2` at once, first time", 1500.0),
        ("16 × `sleep 0.2` at once, warm", 400.0),
    ] {
        let started = Instant::now();
        for wall in join_all(sessions.iter().map(|session| timed(session, "sleep 0.2"))).await {
            wall?;
        }
        let wall = started.elapsed().as_secs_f64() * 1e3;
        let stats = (Some(Stats::once(wall)), None);
        rows.extend(Row::at_most(AREA, measure, Unit::Ms, bar, stats));
    }
    Ok(rows)
}

/// Time-outs of trees that do not want to end, and what is left of them.
fn endings(bench: &Bench, home: &Path) -> Result<Vec<Row>> {
    let container = container(bench, home)?;
    let mut rows = Vec::new();
    let mut survivors = 0.0;
    for (measure, bar, script) in [
        (
            "timeout 1 s, tree with `setsid` and a double fork",
            2000.0,
            "setsid sleep 4711 & (sleep 4711 & ) ; sleep 4711",
        ),
        (
            "timeout 1 s, tree that traps TERM",
            4000.0,
            "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 4711; sleep 4711' & sleep 4711; sleep 4711",
        ),
    ] {
        let mut times = Vec::new();
        for _ in 0..3 {
            let started = Instant::now();
            let words = ["sandbox", "exec", "--timeout", "1", "--", script];
            let status = hermes(bench, home, &words)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            times.push(started.elapsed().as_secs_f64() * 1e3);
            ensure!(status.code() == Some(124), "a time-out ended with {status}");
            let listed = docker::processes(&container);
            survivors += listed.iter().filter(|line| line.contains("4711")).count() as f64;
        }
        let stats = (Stats::of(times), None);
        rows.extend(Row::at_most(AREA, measure, Unit::Ms, bar, stats));
    }
    rows.extend(Row::at_most(
        AREA,
        "processes that survived those time-outs",
        Unit::Count,
        0.0,
        (Some(Stats::once(survivors)), None),
    ));
    Ok(rows)
}

/// A gigabyte through the binary, beside plain `docker exec`.
fn large_output(bench: &Bench, home: &Path) -> Result<Vec<Row>> {
    let container = container(bench, home)?;
    let invocation = |script: &str| {
        let mut invocation = Invocation::new(home, &["sandbox", "exec", "--", script]);
        invocation.directory = Some(home.to_owned());
        invocation
    };
    let idle = bench.sample(&bench.candidate, &invocation("true"))?;
    let theirs = plain(&container, GIGABYTE)?;
    let ours = bench.sample(&bench.candidate, &invocation(GIGABYTE))?;
    Ok([
        Row::at_most(
            AREA,
            "1 GB of output: growth of peak memory",
            Unit::MiB,
            16.0,
            (Some(Stats::once(ours.peak_mib - idle.peak_mib)), None),
        ),
        Row::at_most(
            AREA,
            "1 GB of output: time beside plain `docker exec`",
            Unit::Factor,
            2.0,
            (Some(Stats::once(ours.wall_ms / theirs)), None),
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

//! Commands on this machine through the tool that a model calls, in this process:
//! what one costs, how trees end, and how much memory a gigabyte of output takes.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures_util::future::BoxFuture;
use hermes_config::Config;
use hermes_home::{Clock, Environment, Home};
use hermes_sandbox::docker::HostUser;
use hermes_sandbox::settings::FrontEnd;
use hermes_sandbox::{Sandbox, Sandboxes, SandboxesPlan};
use hermes_tools::approval::{Admission, Gate};
use hermes_tools::terminal::{ProcessTool, TerminalTool};
use hermes_tools::{Tool, ToolContext, Unattended, Unheard};
use hermes_types::SessionId;
use serde_json::{Value, json};

use crate::measure::Bench;
use crate::report::{Bar, Row, Unit};
use crate::stats::Stats;

const AREA: &str = "terminal";

/// Commands per round of the quick measures.
const CALLS_EACH: usize = 20;
const GIGABYTE: usize = 1_000_000_000;

/// A state of about 8 KB: 60 variables, 25 functions, two aliases.
const STATE: &str = r#"for i in {1..60}; do export "BENCH_$i=value-$i-abcdefghijklmnopqrstuvwxyz"; done
for i in {1..25}; do eval "bench_$i() { local a=\$1; if [[ -n \$a ]]; then echo \"hello \$a\"; else for x in 1 2 3; do echo \$x; done; fi; }"; done
alias bench_a='ls -l' bench_b='git status'"#;

const TREE: &str = "setsid sleep NUMBER & (setsid bash -c 'sleep NUMBER & disown' &); (sleep NUMBER &); bash -c 'sleep NUMBER; true'";
const STUBBORN: &str = "trap '' TERM; setsid bash -c \"trap '' TERM; sleep NUMBER; sleep NUMBER\" & sleep NUMBER; sleep NUMBER";

/// Looks at every command as the real gate does and lets it pass.
struct Open;

impl Gate for Open {
    fn admit<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Sandbox,
        _: &'a str,
        command: &'a str,
    ) -> BoxFuture<'a, Admission> {
        std::hint::black_box(hermes_tools::approval::examine(command));
        Box::pin(async { Admission::Allowed { note: None } })
    }

    fn admit_script<'a>(
        &'a self,
        _: &'a ToolContext,
        _: &'a Sandbox,
        _: &'a str,
    ) -> BoxFuture<'a, Admission> {
        Box::pin(async { Admission::Allowed { note: None } })
    }
}

struct Desk {
    terminal: TerminalTool,
    process: ProcessTool,
    context: ToolContext,
    sandboxes: Arc<Sandboxes>,
    _directory: tempfile::TempDir,
}

impl Desk {
    fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let environment = Environment::of_process();
        let home = Home::at(directory.path(), directory.path());
        let config = Config::load(&home, &environment, &[])?;
        let sandboxes = Sandboxes::new(SandboxesPlan {
            config: Arc::new(config),
            home,
            environment,
            front_end: FrontEnd::Terminal,
            launched_in: Some(PathBuf::from("/")),
            user: HostUser { uid: 0, gid: 0 },
            clock: Clock::System,
            notify: Arc::new(|_| {}),
        });
        Ok(Self {
            terminal: TerminalTool::new(sandboxes.clone(), Arc::new(Open)),
            process: ProcessTool::new(sandboxes.clone()),
            context: ToolContext {
                session: SessionId::new("bench"),
                task: "default".to_owned(),
                call_id: "bench".to_owned(),
                round: 1,
                reader: hermes_tools::Reader::Model,
                cancel: Default::default(),
                asker: Arc::new(Unattended),
                events: Arc::new(Unheard),
            },
            sandboxes,
            _directory: directory,
        })
    }

    async fn call(&self, arguments: Value) -> Result<Value> {
        let output = self.terminal.call(&self.context, arguments).await;
        serde_json::from_str(&output.text).context("a result that is JSON")
    }

    async fn run(&self, command: &str) -> Result<Value> {
        self.call(json!({ "command": command })).await
    }
}

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let desk = Desk::new()?;
        let mut rows = quick(bench, &desk).await?;
        rows.extend(background(bench, &desk).await?);
        rows.extend(endings(&desk).await?);
        rows.extend(gigabyte(&desk).await?);
        desk.sandboxes.close().await;
        Ok(rows)
    })
}

fn row(measure: &str, unit: Unit, bar: Option<Bar>, samples: Vec<f64>) -> Option<Row> {
    Stats::of(samples).map(|candidate| Row {
        area: AREA,
        measure: measure.to_owned(),
        unit,
        bar,
        candidate,
        reference: None,
    })
}

fn ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1000.0
}

async fn quick(bench: &Bench, desk: &Desk) -> Result<Vec<Row>> {
    desk.run(STATE).await?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds * CALLS_EACH {
        let began = Instant::now();
        let result = desk.run("true").await?;
        ours.push(ms(began));
        ensure!(result["exit_code"] == 0, "{result}");
        let began = Instant::now();
        let status = Command::new("bash").args(["-c", "true"]).status()?;
        bare.push(ms(began));
        ensure!(status.success(), "bash failed");
    }
    Ok([
        row(
            "`true` through the tool, shell state 8 KB",
            Unit::Ms,
            Some(Bar::AtMost(5.0)),
            ours,
        ),
        row("a bare `bash -c true` beside it", Unit::Ms, None, bare),
    ]
    .into_iter()
    .flatten()
    .collect())
}

async fn background(bench: &Bench, desk: &Desk) -> Result<Vec<Row>> {
    let mut starts = Vec::new();
    for _ in 0..bench.rounds {
        let began = Instant::now();
        let started = desk
            .call(json!({"command": "sleep 60", "background": true}))
            .await?;
        starts.push(ms(began));
        let kill = json!({"action": "kill", "session_id": started["session_id"]});
        desk.process.call(&desk.context, kill).await;
    }
    Ok(row(
        "background start",
        Unit::Ms,
        Some(Bar::AtMost(100.0)),
        starts,
    )
    .into_iter()
    .collect())
}

/// A tree must be gone when the call returns.
async fn endings(desk: &Desk) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, script, limit) in [
        ("timeout 1 s: setsid and double fork", TREE, 2000.0),
        ("timeout 1 s: TERM trapped", STUBBORN, 4000.0),
    ] {
        let (mut times, mut left) = (Vec::new(), Vec::new());
        for round in 0..3 {
            let number = format!("5{}.{round}{}", std::process::id(), limit as u32);
            let began = Instant::now();
            let command = script.replace("NUMBER", &number);
            let result = desk
                .terminal_without_guard(&command, Duration::from_secs(1))
                .await?;
            times.push(ms(began));
            ensure!(result == 124, "code {result}");
            left.push(sleepers(&number) as f64);
        }
        rows.extend(row(name, Unit::Ms, Some(Bar::AtMost(limit)), times));
        rows.extend(row(
            &format!("{name}: survivors"),
            Unit::Count,
            Some(Bar::AtMost(0.0)),
            left,
        ));
    }
    Ok(rows)
}

impl Desk {
    /// The guard of the tool refuses `&`, which these scripts are about; below it
    /// the way is the same.
    async fn terminal_without_guard(&self, command: &str, timeout: Duration) -> Result<i32> {
        let sandbox = self.sandboxes.get("default")?;
        let request = hermes_sandbox::session::RunRequest {
            timeout,
            ..hermes_sandbox::session::RunRequest::new(command)
        };
        Ok(sandbox.session("default").run(request).await?.ending.code())
    }
}

fn sleepers(number: &str) -> usize {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return 0;
    };
    entries
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| {
            line.starts_with(b"sleep\0") && String::from_utf8_lossy(line).contains(number)
        })
        .count()
}

async fn gigabyte(desk: &Desk) -> Result<Vec<Row>> {
    let script = format!("head -c {GIGABYTE} /dev/zero | tr '\\0' x");
    let before = peak_mib()?;
    let began = Instant::now();
    let result = desk.run(&script).await?;
    let ours = ms(began);
    let growth = peak_mib()? - before;
    ensure!(result["exit_code"] == 0, "{}", result["exit_code"]);
    let began = Instant::now();
    let mut plain = Command::new("bash")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut output = plain.stdout.take().context("a pipe")?;
    std::io::copy(&mut output, &mut std::io::sink())?;
    plain.wait()?;
    let theirs = ms(began);
    Ok([
        row(
            "1 GB of output: growth of memory",
            Unit::MiB,
            Some(Bar::AtMost(16.0)),
            vec![growth],
        ),
        row("1 GB of output: time", Unit::Ms, None, vec![ours]),
        row(
            "1 GB of output: against a plain pipe",
            Unit::Factor,
            Some(Bar::AtMost(2.0)),
            vec![ours / theirs],
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

fn peak_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .context("VmHWM")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}

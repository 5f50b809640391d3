//! The conversation in the terminal, on a pseudo-terminal of its own, with a
//! scripted model: how soon it is there, what it costs while nothing happens, and
//! how fast bytes and keys come through.

mod screen;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hermes_testkit::model::{Gate, ModelServer, Reply};

use crate::data::{StateSize, fill_state};
use crate::measure::Bench;
use crate::report::{Row, Unit};
use crate::stats::Stats;
use screen::Screen;

const AREA: &str = "chat";
const PROMPT: &str = "❯";
/// How long an idle chat is watched.
const WATCHED: Duration = Duration::from_secs(5);
/// Pieces of an answer whose way to the screen is timed.
const PIECES: usize = 300;
/// The flood: a portion every ten milliseconds, one token per event.
const PORTIONS: usize = 800;
const TOKENS_EACH: usize = 50;
/// Keys pressed meanwhile.
const KEYS: usize = 200;
/// About 10 MB of text.
const TRANSCRIPT: StateSize = StateSize {
    sessions: 1,
    messages: 2_000,
    words_per_message: 760,
};

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let server = ModelServer::start();
    server.fallback(|_| Reply::text("A name"));
    let ours = home(&server)?;
    let theirs = home(&server)?;
    let mut rows = Vec::new();
    rows.extend(until_prompt(bench, ours.path(), theirs.path())?);
    rows.extend(idle(bench, ours.path(), theirs.path())?);
    rows.extend(to_the_screen(bench, &server, ours.path())?);
    rows.extend(under_load(bench, &server, ours.path())?);
    rows.extend(resumed(bench, &server)?);
    Ok(rows)
}

fn home(server: &ModelServer) -> Result<tempfile::TempDir> {
    let directory = tempfile::tempdir()?;
    let config = format!(
        "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: bench-key\n  context_length: 20000000\n\
         terminal:\n  backend: local\n",
        ModelServer::DEFAULT_MODEL,
        server.url()
    );
    std::fs::write(directory.path().join("config.yaml"), config)?;
    Ok(directory)
}

fn until_prompt(bench: &Bench, ours: &Path, theirs: &Path) -> Result<Option<Row>> {
    let once = |program: &Path, home: &Path| -> Result<f64> {
        let screen = Screen::start(program, home, &["chat"])?;
        let (seen, _) = screen.seen(PROMPT, 0)?;
        Ok(millis(seen - screen.started))
    };
    // One run of each is thrown away: caches are warm in real use too.
    once(&bench.candidate, ours)?;
    let (mut candidate, mut reference) = (Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        candidate.push(once(&bench.candidate, ours)?);
        if let Some(program) = bench.reference.as_deref().filter(|_| round % 5 == 0) {
            reference.push(once(program, theirs)?);
        }
    }
    Ok(Row::at_most(
        AREA,
        "start to the prompt",
        Unit::Ms,
        80.0,
        (Stats::of(candidate), Stats::of(reference)),
    ))
}

/// Memory, and how often any thread of it was put on a processor.
struct Idle {
    resident_mib: f64,
    wake_ups: f64,
}

fn idle(bench: &Bench, ours: &Path, theirs: &Path) -> Result<Vec<Row>> {
    let once = |program: &Path, home: &Path| -> Result<Idle> {
        let screen = Screen::start(program, home, &["chat"])?;
        let (_, end) = screen.seen(PROMPT, 0)?;
        // A key and its echo: from here on nothing is left to be opened.
        screen.press("Q")?;
        screen.seen("Q", end)?;
        std::thread::sleep(Duration::from_secs(3));
        let before = switches(screen.pid())?;
        std::thread::sleep(WATCHED);
        let after = switches(screen.pid())?;
        Ok(Idle {
            resident_mib: resident_mib(screen.pid())?,
            wake_ups: after.saturating_sub(before) as f64 / WATCHED.as_secs_f64(),
        })
    };
    let candidate = once(&bench.candidate, ours)?;
    let reference = match &bench.reference {
        Some(program) => Some(once(program, theirs)?),
        None => None,
    };
    let both = |of: fn(&Idle) -> f64| {
        (
            Some(Stats::once(of(&candidate))),
            reference.as_ref().map(|idle| Stats::once(of(idle))),
        )
    };
    Ok([
        Row::at_most(
            AREA,
            "memory of an idle chat",
            Unit::MiB,
            25.0,
            both(|idle| idle.resident_mib),
        ),
        Row::at_most(
            AREA,
            "wake-ups per second of an idle chat",
            Unit::Count,
            0.0,
            both(|idle| idle.wake_ups),
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// Times all threads were put to sleep or set aside since they began.
fn switches(pid: u32) -> Result<u64> {
    let mut total = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let status = std::fs::read_to_string(task?.path().join("status"))?;
        total += status
            .lines()
            .filter(|line| line.contains("ctxt_switches"))
            .filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok())
            .sum::<u64>();
    }
    Ok(total)
}

fn resident_mib(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib: f64 = status
        .lines()
        .find_map(|line| {
            let rest = line.strip_prefix("VmRSS:")?;
            rest.split_whitespace().next()?.parse().ok()
        })
        .context("no VmRSS")?;
    Ok(kib / 1024.0)
}

/// From the moment the server is told to send a piece to its arrival on the screen.
fn to_the_screen(bench: &Bench, server: &ModelServer, home: &Path) -> Result<Option<Row>> {
    let gates: Vec<Gate> = (0..PIECES).map(|_| Gate::new()).collect();
    let mut reply = Reply::text("begin ");
    for (number, gate) in gates.iter().enumerate() {
        // Paragraphs end now and then, as they do.
        let end = if number % 40 == 39 { "\n\n" } else { " " };
        reply = reply
            .then_stall(gate)
            .then_text(format!("piece{number:04}{end}"));
    }
    server.push_for(ModelServer::DEFAULT_MODEL, reply);
    let screen = Screen::start(&bench.candidate, home, &["chat"])?;
    screen.seen(PROMPT, 0)?;
    screen.press("go\r")?;
    let mut samples = Vec::with_capacity(PIECES);
    for (number, gate) in gates.iter().enumerate() {
        gate.wait_reached();
        // Pieces come at any moment between two frames.
        std::thread::sleep(Duration::from_millis(number as u64 * 7 % 23));
        let position = screen.position();
        let sent = Instant::now();
        gate.release();
        let (seen, _) = screen.seen(&format!("piece{number:04}"), position)?;
        samples.push(millis(seen.saturating_duration_since(sent)));
    }
    Ok(at_p99(
        "byte from the model to the terminal, p99",
        20.0,
        samples,
    ))
}

/// Key presses while an answer of 5,000 tokens per second streams in.
fn under_load(bench: &Bench, server: &ModelServer, home: &Path) -> Result<Option<Row>> {
    let gates: Vec<Gate> = (0..PORTIONS).map(|_| Gate::new()).collect();
    let mut reply = Reply::text("begin ").in_pieces(4);
    for (number, gate) in gates.iter().enumerate() {
        let mut portion = "tok ".repeat(TOKENS_EACH - 1);
        portion.push_str(if number % 12 == 11 { "to\n\n" } else { "tok " });
        reply = reply.then_stall(gate).then_text(portion);
    }
    server.push_for(ModelServer::DEFAULT_MODEL, reply);
    let screen = Screen::start(&bench.candidate, home, &["chat"])?;
    screen.seen(PROMPT, 0)?;
    screen.press("go\r")?;
    gates[0].wait_reached();
    let flood = std::thread::spawn(move || {
        let began = Instant::now();
        for (number, gate) in gates.iter().enumerate() {
            let due = began + Duration::from_millis(10 * number as u64);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            gate.release();
        }
    });
    let mut samples = Vec::with_capacity(KEYS);
    let mut typed = String::new();
    for number in 0..KEYS {
        if typed.len() == 20 {
            let position = screen.position();
            screen.press("\x15")?;
            typed.clear();
            // The empty input shows what Enter does.
            screen.seen("Ctrl+C stops", position)?;
        }
        // Letters that nothing else on the screen has.
        typed.push(['Q', 'X', 'Z', 'J', 'K'][number % 5]);
        std::thread::sleep(Duration::from_millis(20 + number as u64 * 7 % 13));
        let position = screen.position();
        let pressed = screen.press(&typed[typed.len() - 1..])?;
        let (seen, _) = screen.seen(&typed, position)?;
        samples.push(millis(seen.saturating_duration_since(pressed)));
    }
    // The rest of the answer is of no interest.
    drop(screen);
    flood
        .join()
        .map_err(|_| anyhow::anyhow!("the flood broke off"))?;
    Ok(at_p99(
        "key to echo while 5,000 tokens per second stream in, p99",
        16.0,
        samples,
    ))
}

/// Until what was said last stands above the prompt.
fn resumed(bench: &Bench, server: &ModelServer) -> Result<Option<Row>> {
    let home = home(server)?;
    drop(fill_state(&home.path().join("state.db"), TRANSCRIPT)?);
    let mut samples = Vec::new();
    for round in 0..bench.rounds.min(10) + 1 {
        let words = ["--resume", "session_000000"];
        let screen = Screen::start(&bench.candidate, home.path(), &words)?;
        let (_, end) = screen.seen("resumed session", 0)?;
        let (seen, _) = screen.seen(PROMPT, end)?;
        if round > 0 {
            samples.push(millis(seen - screen.started));
        }
    }
    Ok(Row::at_most(
        AREA,
        "10 MB transcript resumed, to the prompt below its last exchanges",
        Unit::Ms,
        200.0,
        (Stats::of(samples), None),
    ))
}

fn at_p99(measure: &str, limit: f64, samples: Vec<f64>) -> Option<Row> {
    let stats = Stats::of(samples)?;
    Row::at_most(
        AREA,
        measure,
        Unit::Ms,
        limit,
        (
            Some(Stats {
                median: stats.p99,
                ..stats
            }),
            None,
        ),
    )
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

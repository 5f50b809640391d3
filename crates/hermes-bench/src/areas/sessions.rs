//! Lists and search over a large `state.db`, and appending to one file from eight
//! processes of which half are killed at a random moment.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use hermes_home::Clock;
use hermes_store::{NewSession, StateDb};
use hermes_types::{Message, SessionId};

use crate::data::{self, StateSize};
use crate::measure::{Bench, Invocation};
use crate::report::{Bar, Row, Unit};
use crate::stats::Stats;

const AREA: &str = "sessions";
pub(super) const APPEND: &str = "__append";
pub(super) const FILL: &str = "__fill-state";

const WRITERS: usize = 8;
const MESSAGES_EACH: usize = 200;
const KILL_ROUNDS: usize = 20;

pub(crate) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let ours = tempfile::tempdir()?;
    let database = ours.path().join("state.db");
    eprintln!("making {:?}", StateSize::FULL);
    // A copy for the other one: each may leave its own log beside the file.
    let theirs = tempfile::tempdir()?;
    data::fill_state(&database, StateSize::FULL)?
        .database()
        .copy_to(&theirs.path().join("state.db"))?;

    let mut rows = Vec::new();
    let list = ["sessions", "list"];
    let pair = bench.alternate(
        &Invocation::new(ours.path(), &list),
        Some(&Invocation::new(theirs.path(), &list)),
    )?;
    let (candidate, reference) = pair.wall();
    rows.extend(row(
        "`sessions list`, 5,000 stored",
        20.0,
        candidate,
        reference,
    ));
    let (candidate, reference) = pair.peak();
    rows.extend(candidate.map(|candidate| Row {
        area: AREA,
        measure: "`sessions list` peak memory".to_owned(),
        unit: Unit::MiB,
        bar: Some(Bar::AtMost(15.0)),
        candidate,
        reference,
    }));
    for (measure, bar, query, newest) in [
        (
            "`sessions search`, two words, 100,000 messages",
            25.0,
            data::TWO_WORDS,
            false,
        ),
        (
            "common word, newest first, 100,000 messages",
            40.0,
            data::COMMON_WORD,
            true,
        ),
    ] {
        let mut words = vec!["sessions", "search", query];
        if newest {
            words.push("--newest");
        }
        // The other one has no such verb; its figure is taken inside its process.
        let pair = bench.alternate(&Invocation::new(ours.path(), &words), None)?;
        let reference = search_in_python(bench, &theirs.path().join("state.db"), query, newest)?;
        rows.extend(row(measure, bar, pair.wall().0, reference));
    }
    rows.push(kill_rounds(bench)?);
    Ok(rows)
}

fn row(measure: &str, bar: f64, candidate: Option<Stats>, reference: Option<Stats>) -> Option<Row> {
    Some(Row {
        area: AREA,
        measure: measure.to_owned(),
        unit: Unit::Ms,
        bar: Some(Bar::AtMost(bar)),
        candidate: candidate?,
        reference,
    })
}

const PYTHON_SEARCH: &str = "\
import sys, time
from pathlib import Path
from hermes_state import SessionDB
path, query, sort, rounds = sys.argv[1:5]
db = SessionDB(Path(path))
for _ in range(int(rounds)):
    start = time.perf_counter()
    db.search_messages(query, sort=sort or None, limit=20)
    print((time.perf_counter() - start) * 1000)
";

fn search_in_python(
    bench: &Bench,
    database: &Path,
    query: &str,
    newest: bool,
) -> Result<Option<Stats>> {
    let Some(python) = &bench.reference_python else {
        return Ok(None);
    };
    let home = database.parent().context("the database has a directory")?;
    let output = Command::new(python)
        .args(["-c", PYTHON_SEARCH])
        .arg(database)
        .args([query, if newest { "newest" } else { "" }, "5"])
        .env("HERMES_HOME", home)
        .output()?;
    ensure!(
        output.status.success(),
        "the search in Python failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let samples = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::parse)
        .collect::<Result<Vec<f64>, _>>()?;
    Ok(Stats::of(samples))
}

/// How many acknowledged messages are missing afterwards, over all rounds.
fn kill_rounds(bench: &Bench) -> Result<Row> {
    let mut lost = 0;
    let mut acknowledged = 0;
    for round in 0..KILL_ROUNDS {
        let directory = tempfile::tempdir()?;
        let database = directory.path().join("state.db");
        let known = kill_round(&bench.own, &database, round)?;
        acknowledged += known.len();
        let db = StateDb::open(&database, Clock::System)?;
        db.database().integrity_check()?;
        let mut stored = HashSet::new();
        for id in db.export_ids(None)? {
            stored.extend(db.messages(&id)?.into_iter().map(|message| message.id));
        }
        lost += known.difference(&stored).count();
    }
    eprintln!("{acknowledged} messages were acknowledged in {KILL_ROUNDS} rounds");
    Ok(Row {
        area: AREA,
        measure: format!(
            "acknowledged messages lost, {WRITERS} processes × {MESSAGES_EACH}, half killed, {KILL_ROUNDS} rounds"
        ),
        unit: Unit::Count,
        bar: Some(Bar::AtMost(0.0)),
        candidate: Stats::once(lost as f64),
        reference: None,
    })
}

fn kill_round(own: &Path, database: &Path, round: usize) -> Result<HashSet<i64>> {
    let mut readers = Vec::new();
    for writer in 0..WRITERS {
        let mut child = Command::new(own)
            .arg(APPEND)
            .arg(database)
            .arg(format!("writer_{writer}"))
            .arg(MESSAGES_EACH.to_string())
            .stdout(Stdio::piped())
            .spawn()?;
        let lines = BufReader::new(child.stdout.take().context("stdout is piped")?);
        // Half of them die after a number of messages that differs every time.
        let dies_after = (writer % 2 == 0).then(|| (round * 37 + writer * 53) % MESSAGES_EACH + 1);
        readers.push(thread::spawn(move || {
            read_until_death(&mut child, lines, dies_after)
        }));
    }
    let mut acknowledged = HashSet::new();
    for reader in readers {
        let ids = reader
            .join()
            .map_err(|_| anyhow::anyhow!("a reader panicked"))??;
        acknowledged.extend(ids);
    }
    Ok(acknowledged)
}

fn read_until_death(
    child: &mut Child,
    lines: impl BufRead,
    dies_after: Option<usize>,
) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    for line in lines.lines() {
        ids.push(line?.parse()?);
        if Some(ids.len()) == dies_after {
            child.kill()?;
        }
    }
    let status = child.wait()?;
    ensure!(
        dies_after.is_some() || (status.success() && ids.len() == MESSAGES_EACH),
        "a writer that nobody killed ended with {status} after {} messages",
        ids.len()
    );
    Ok(ids)
}

/// `__append DATABASE SESSION COUNT`: prints the id of every message once it is stored.
pub(super) fn append(words: &[OsString]) -> Result<ExitCode> {
    let [_, database, session, count] = words else {
        anyhow::bail!("usage: {APPEND} DATABASE SESSION COUNT");
    };
    let db = StateDb::open(&PathBuf::from(database), Clock::System)?;
    let session = SessionId::new(session.to_string_lossy());
    db.create_session(&NewSession::new(&session, "bench"))?;
    let count: usize = count.to_string_lossy().parse()?;
    let mut stdout = std::io::stdout().lock();
    for number in 0..count {
        let id = db.append(
            &session,
            Message::user(format!("message {number} of {session}")),
        )?;
        writeln!(stdout, "{id}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `__fill-state DATABASE`: the data of this area, to look at by hand.
pub(super) fn fill(words: &[OsString]) -> Result<ExitCode> {
    let [_, database] = words else {
        anyhow::bail!("usage: {FILL} DATABASE");
    };
    data::fill_state(&PathBuf::from(database), StateSize::FULL)?;
    Ok(ExitCode::SUCCESS)
}

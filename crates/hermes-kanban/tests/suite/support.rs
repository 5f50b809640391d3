//! Homes, boards and commands for tests.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Local, NaiveDateTime, TimeZone, Utc};
use clap::Parser;
use hermes_config::Config;
use hermes_home::{Clock, Environment, Home};
use hermes_kanban::Host;
use hermes_kanban::command::{self, Args, Context, Failure, Output, Sink};
use hermes_kanban::store::{Board, OpenOptions};
use hermes_store::rusqlite::Connection;
use hermes_store::rusqlite::types::Value;
use tempfile::TempDir;

/// The moment at which the goldens were recorded.
pub(crate) const GOLDEN_NOW: i64 = 1_780_228_800;

#[derive(Parser)]
#[command(name = "kanban")]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// What a command printed and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) exit: u8,
}

#[derive(Default)]
struct Recorder {
    out: Vec<u8>,
    err: String,
}

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Recorder {
    fn remark(&mut self, text: &str) {
        self.err.push_str(text);
        self.err.push('\n');
    }
}

pub(crate) struct TestHome {
    _directory: TempDir,
    pub(crate) context: Context,
}

impl TestHome {
    /// An empty home whose clock stands still.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let context = Context {
            home: Home::at(&root, &root),
            environment: Environment::default(),
            config: Config::defaults(),
            overrides: Vec::new(),
            clock: Clock::fixed(DateTime::from_timestamp(GOLDEN_NOW, 0).unwrap()),
            host: Host::named("testhost"),
            directory: root.clone(),
            program: PathBuf::from("/nonexistent/hermes"),
            assistant: None,
        };
        Self {
            _directory: directory,
            context,
        }
    }

    /// A copy of the home that the reference left.
    pub(crate) fn recorded() -> Self {
        let mut home = Self::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/home");
        copy(&source, home.root());
        home.context.config =
            Config::load(&home.context.home, &Environment::default(), &[]).unwrap();
        home
    }

    pub(crate) fn root(&self) -> &Path {
        self.context.home.root()
    }

    pub(crate) fn set_config(&mut self, yaml: &str) {
        self.context.config = Config::from_yaml(yaml).unwrap();
    }

    pub(crate) fn add_profile(&self, name: &str) {
        fs::create_dir_all(self.root().join("profiles").join(name)).unwrap();
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.context
            .clock
            .advance(chrono::Duration::seconds(seconds));
    }

    pub(crate) fn board(&self) -> Board {
        let options = OpenOptions {
            clock: self.context.clock.clone(),
            ..OpenOptions::default()
        };
        Board::open(&self.root().join("kanban.db"), &options).unwrap()
    }

    pub(crate) fn kanban(&self, words: &str) -> Outcome {
        let words: Vec<String> = shell_words(words);
        self.run(words.iter().map(String::as_str))
    }

    pub(crate) fn run<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Outcome {
        let line = Line::try_parse_from(std::iter::once("kanban").chain(words));
        let args = match line {
            Ok(line) => line.args,
            Err(error) => {
                return Outcome {
                    out: String::new(),
                    err: error.to_string(),
                    exit: 2,
                };
            }
        };
        let mut recorder = Recorder::default();
        let ended = command::run(args, &self.context, &mut Output::to(&mut recorder));
        let exit = match ended {
            Ok(()) => 0,
            Err(Failure::Said { message, exit }) => {
                if !message.is_empty() {
                    recorder.remark(&message);
                }
                exit
            }
            Err(Failure::Output(error)) => panic!("output failed: {error}"),
        };
        Outcome {
            out: String::from_utf8(recorder.out).unwrap(),
            err: recorder.err,
            exit,
        }
    }

    /// Standard output of a command that must succeed.
    pub(crate) fn ok(&self, words: &str) -> String {
        let outcome = self.kanban(words);
        assert_eq!(outcome.exit, 0, "`kanban {words}` failed: {}", outcome.err);
        outcome.out
    }

    pub(crate) fn json(&self, words: &str) -> serde_json::Value {
        serde_json::from_str(&self.ok(words)).unwrap()
    }

    /// Makes a task and gives back its id.
    pub(crate) fn create(&self, words: &str) -> String {
        self.json(&format!("create {words} --json"))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// The same on another board.
    pub(crate) fn create_on(&self, board: &str, words: &str) -> String {
        self.json(&format!("--board {board} create {words} --json"))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// What another program does to the board.
    pub(crate) fn sql(&self, statements: &str) {
        let connection = Connection::open(self.root().join("kanban.db")).unwrap();
        connection.execute_batch(statements).unwrap();
    }

    /// What another program reads from a named board, as text.
    pub(crate) fn sql_on(&self, board: &str, question: &str) -> String {
        let path = self.root().join("kanban/boards").join(board);
        let connection = Connection::open(path.join("kanban.db")).unwrap();
        connection
            .query_row(question, [], |row| row.get::<_, Value>(0))
            .map(|value| match value {
                Value::Integer(number) => number.to_string(),
                Value::Text(text) => text,
                other => format!("{other:?}"),
            })
            .unwrap()
    }

    pub(crate) fn status(&self, id: &str) -> String {
        self.json(&format!("show {id} --json"))["task"]["status"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    pub(crate) fn event_kinds(&self, id: &str) -> Vec<String> {
        self.json(&format!("show {id} --json"))["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["kind"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Words separated by spaces, `'…'` keeps them together.
fn shell_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in text.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Turns `2026-05-29 09:42` of a golden, which was recorded in UTC, into the
/// machine's own time zone, which is what commands print.
pub(crate) fn in_local_time(text: &str) -> String {
    let bytes: Vec<char> = text.chars().collect();
    let mut out = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let window: String = bytes[at..].iter().take(16).collect();
        let shape = window
            .chars()
            .map(|c| if c.is_ascii_digit() { '0' } else { c });
        let exact = shape.eq("0000-00-00 00:00".chars());
        match NaiveDateTime::parse_from_str(&window, "%Y-%m-%d %H:%M") {
            Ok(moment) if exact => {
                let local = Utc.from_utc_datetime(&moment).with_timezone(&Local);
                out.push_str(&local.format("%Y-%m-%d %H:%M").to_string());
                at += 16;
            }
            _ => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    out
}

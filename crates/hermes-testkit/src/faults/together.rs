//! Several conversations in as many processes on one home, killed again and again:
//! nothing that was acknowledged may be missing afterwards.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Dice, stored_messages};
use crate::model::{ModelServer, Recorded, Reply};
use crate::terminal::Terminal;
use crate::{PATIENCE, TestHome};

#[derive(Clone, Copy, Debug)]
pub struct Together {
    pub conversations: usize,
    pub turns: usize,
    /// One of so many turns is killed.
    pub kill_one_of: u64,
    pub seed: u64,
}

#[derive(Clone, Debug, Default)]
pub struct TogetherReport {
    pub kills: usize,
    pub acknowledged: usize,
    /// What was acknowledged and is not stored.
    pub lost: Vec<String>,
    /// Anything else that must not happen.
    pub faults: Vec<String>,
}

/// What somebody outside has seen: messages in requests, answers on a screen.
type Seen = Arc<Mutex<BTreeSet<String>>>;

pub fn talk_together(program: &Path, plan: &Together) -> TogetherReport {
    let (home, server) = (TestHome::new(), ModelServer::start());
    home.config_for(&server, "  context_length: 200000\n");
    let seen = Seen::default();
    let record = Arc::clone(&seen);
    server.fallback(move |request| answer(request, &record));
    server.remember_nothing();
    let parts: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let talks: Vec<_> = (0..plan.conversations)
            .map(|number| {
                let (home, seen) = (&home, Arc::clone(&seen));
                scope.spawn(move || talk(program, home, plan, number, &seen))
            })
            .collect();
        talks
            .into_iter()
            .map(|talk| talk.join().expect("a conversation does not panic"))
            .collect()
    });
    let mut report = TogetherReport::default();
    for (kills, faults) in parts {
        report.kills += kills;
        report.faults.extend(faults);
    }
    let mut stored = BTreeSet::new();
    for number in 0..plan.conversations {
        match stored_messages(program, &home, &source(number)) {
            Ok(sessions) => {
                for message in sessions.iter().flat_map(|(_, messages)| messages) {
                    stored.extend(marks(message));
                }
            }
            Err(error) => report.faults.push(error),
        }
    }
    let seen = seen.lock().unwrap();
    report.acknowledged = seen.len();
    report.lost = seen.difference(&stored).cloned().collect();
    report
}

fn source(number: usize) -> String {
    format!("talk{number}")
}

/// One conversation to its end, started again after every kill.
fn talk(
    program: &Path,
    home: &TestHome,
    plan: &Together,
    number: usize,
    seen: &Seen,
) -> (usize, Vec<String>) {
    let mut dice = Dice::new(plan.seed.wrapping_add(number as u64 * 7919));
    let mut faults = Vec::new();
    let mut kills = 0;
    let start = |session: Option<String>| {
        let mut command = home.command(program);
        command.args(["chat", "--source", &source(number), "-t", "todo"]);
        if let Some(id) = session {
            command.args(["--resume", &id]);
        }
        Terminal::start(command)
    };
    let mut terminal = start(None);
    for turn in 0..plan.turns {
        let name = format!("c{number}t{turn}.");
        terminal.type_line(&format!("question {name}"));
        if dice.below(plan.kill_one_of) == 0 {
            std::thread::sleep(Duration::from_micros(dice.below(60_000)));
            let printed = terminal.kill9();
            kills += 1;
            if printed.contains(&given(&name)) {
                acknowledge(seen, format!("answer {name}"));
            }
            let session = match stored_messages(program, home, &source(number)) {
                Ok(mut sessions) => sessions.pop().map(|(id, _)| id),
                Err(error) => {
                    faults.push(error);
                    None
                }
            };
            terminal = start(session);
        } else if terminal.shows(&given(&name), PATIENCE) {
            acknowledge(seen, format!("answer {name}"));
            terminal.forget();
        } else {
            let printed = terminal.kill9();
            faults.push(format!("{name} was never answered; the screen: {printed}"));
            terminal = start(None);
        }
    }
    terminal.type_line("/quit");
    if !terminal.wait().success() {
        faults.push(format!("conversation {number} did not end well"));
    }
    (kills, faults)
}

/// A whole answer with the prompt for the next question below it. A text that is
/// still being written may yet be taken back; once the program asks for more, it
/// stands.
fn given(name: &str) -> String {
    format!("answer {name}\r\n> ")
}

fn acknowledge(seen: &Seen, what: String) {
    seen.lock().unwrap().insert(what);
}

/// A call of `todo` for every question, then an answer that names the question.
fn answer(request: &Recorded, seen: &Seen) -> Reply {
    if request.tool_names().is_empty() {
        return Reply::text("A name");
    }
    let mut seen = seen.lock().unwrap();
    seen.extend(request.messages().iter().flat_map(marks));
    let question = request
        .messages()
        .iter()
        .rev()
        .find(|message| message["role"] == "user")
        .and_then(|message| message["content"].as_str())
        .and_then(|text| text.rsplit("question ").next())
        .unwrap_or("nothing")
        .trim()
        .to_owned();
    if request.last_message()["role"] == "tool" {
        Reply::text(format!("answer {question}"))
    } else {
        Reply::empty().then_call_with_id(
            format!("call_{question}"),
            "todo",
            json!({"merge": false}).to_string(),
        )
    }
}

/// What of a message can be found again: questions, results by their call, answers.
fn marks(message: &Value) -> Vec<String> {
    let text = message["content"].as_str().unwrap_or("");
    match message["role"].as_str() {
        // Questions that were not answered are sent as one message with the next.
        Some("user") => text
            .split_whitespace()
            .filter(|word| word.starts_with('c') && word.ends_with('.'))
            .map(|word| format!("question {word}"))
            .collect(),
        Some("tool") => vec![format!(
            "result {}",
            message["tool_call_id"].as_str().unwrap_or("")
        )],
        Some("assistant") if text.starts_with("answer ") => vec![text.trim().to_owned()],
        _ => Vec::new(),
    }
}

//! Work on a kanban board: reading it, putting a card on it, and what a worker
//! does with its card.
//!
//! A card's text is a request like any other. The planner does what it understands
//! of it and reports to the board; a card that it does not understand, or that
//! fails, is blocked with the reason, as an honest worker does.

use serde_json::{Value, json};

use super::answer::{self, Call, fenced, field};
use super::request::{Task, split_last, understand, unquoted};

const WORK: &str = "work kanban task ";
const CARDS: &[&str] = &["create a task ", "create task ", "add a task ", "add task "];
const LOOKS: &[&str] = &[
    "show the board",
    "show board",
    "list the board",
    "list tasks",
    "show the tasks",
];

/// The task of a sentence that is about the board.
pub(super) fn shape(sentence: &str, lower: &str) -> Option<Task> {
    if lower.starts_with(WORK) {
        let id = sentence[WORK.len()..].split_whitespace().next()?;
        return Some(Task::Work { id: id.to_owned() });
    }
    if LOOKS.contains(&lower) {
        return Some(Task::Board);
    }
    let verb = CARDS.iter().find(|verb| lower.starts_with(**verb))?;
    let rest = &sentence[verb.len()..];
    let (rest, body) = match rest.split_once(": ") {
        Some((rest, body)) => (rest, Some(body.trim().to_owned())),
        None => (rest, None),
    };
    let (title, assignee) = split_last(rest, " for ");
    Some(Task::Card {
        title: unquoted(title),
        assignee: unquoted(assignee?),
        body,
    })
}

pub(super) fn next_call(task: &Task, results: &[Value]) -> Option<Call> {
    match (task, results) {
        (Task::Board, []) => Some(("kanban_list", json!({}))),
        (
            Task::Card {
                title,
                assignee,
                body,
            },
            [],
        ) => Some((
            "kanban_create",
            json!({ "title": title, "assignee": assignee, "body": body }),
        )),
        (Task::Work { id }, []) => Some(("kanban_show", json!({ "task_id": id }))),
        (Task::Work { .. }, [shown, done @ ..]) => carry_on(shown, done),
        _ => None,
    }
}

/// Goes through the requests of the card `shown` with the results so far, to the
/// call that is due: `None` when the report is made too.
fn carry_on(shown: &Value, mut done: &[Value]) -> Option<Call> {
    if shown.get("error").and_then(Value::as_str).is_some() {
        return None;
    }
    let card = &shown["task"];
    let text = match field(card, "body") {
        "" => field(card, "title"),
        body => body,
    };
    // A card that sends its worker to a card would never end.
    let requests: Vec<Task> = understand(text)
        .into_iter()
        .filter(|request| !matches!(request, Task::Work { .. } | Task::Help))
        .collect();
    if requests.is_empty() {
        let reason = "the demo model is not a language model and does not understand this card; \
                      set a real model with `hermes setup`, or write it as `run ls` or `read FILE`";
        return reported(done, || ("kanban_block", json!({ "reason": reason })));
    }
    let mut said = Vec::new();
    for request in &requests {
        let mut own = Vec::new();
        while let Some(call) = answer::next_call(request, &own) {
            let Some((first, rest)) = done.split_first() else {
                return Some(call);
            };
            own.push(first.clone());
            done = rest;
        }
        if let Some(reason) = own.last().and_then(failure) {
            return reported(done, || ("kanban_block", json!({ "reason": reason })));
        }
        said.push(in_short(request));
    }
    let summary = format!("{} (by the demo model)", said.join(", then "));
    reported(done, || ("kanban_complete", json!({ "summary": summary })))
}

/// The report, unless it has been made: whatever came back is its answer.
fn reported(done: &[Value], report: impl FnOnce() -> Call) -> Option<Call> {
    done.is_empty().then(report)
}

fn failure(result: &Value) -> Option<String> {
    if let Some(error) = result.get("error").and_then(Value::as_str) {
        return Some(error.to_owned());
    }
    let code = result.get("exit_code").and_then(Value::as_i64)?;
    let last = field(result, "output").trim_end().lines().last();
    (code != 0).then(|| format!("exit code {code}: {}", last.unwrap_or("no output")))
}

fn in_short(request: &Task) -> String {
    match request {
        Task::List { path } => format!("listed {path}"),
        Task::Read { path } => format!("read {path}"),
        Task::Run { command } => format!("ran {command}"),
        Task::Start { command } => format!("started {command}"),
        Task::Search { text, .. } => format!("searched for {text}"),
        Task::Replace { path, .. } => format!("edited {path}"),
        Task::Write { path, .. } => format!("wrote {path}"),
        Task::Remember { .. } => "remembered a fact".to_owned(),
        Task::Work { id } => format!("worked on {id}"),
        Task::Board => "looked at the board".to_owned(),
        Task::Card { title, .. } => format!("created the card {title}"),
        Task::Notice { .. } => "heard of a process".to_owned(),
        Task::Help => "said what it is".to_owned(),
    }
}

pub(super) fn report(task: &Task, results: &[Value]) -> String {
    let last = results.last().cloned().unwrap_or(Value::Null);
    match task {
        Task::Board => {
            let cards = last.get("tasks").and_then(Value::as_array);
            let lines: Vec<String> = cards.into_iter().flatten().map(line).collect();
            let shown = match lines.as_slice() {
                [] => "The board is empty.\n".to_owned(),
                lines => format!("On the board:\n\n{}", fenced("", &lines.join("\n"))),
            };
            format!("{shown}\nBy hand: `hermes kanban list`\n")
        }
        Task::Card {
            title, assignee, ..
        } => format!(
            "I put `{}` on the board for `{assignee}`.\n\nBy hand: `hermes kanban create {} --assignee {assignee}`\n",
            field(&last, "task_id"),
            answer::quoted(title),
        ),
        Task::Work { id } => format!(
            "I did what card `{id}` asks, as far as I understand it, and told the board.\n\nBy hand: `hermes kanban show {id}`\n"
        ),
        _ => String::new(),
    }
}

fn line(card: &Value) -> String {
    format!(
        "{}  {:<8}  {:<12}  {}",
        field(card, "id"),
        field(card, "status"),
        field(card, "assignee"),
        field(card, "title")
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn card(body: &str) -> Value {
        json!({"task": {"id": "t_1", "title": "a card", "body": body, "status": "running"}})
    }

    fn work() -> Task {
        Task::Work {
            id: "t_1".to_owned(),
        }
    }

    #[test]
    fn shapes_about_the_board() {
        assert_eq!(understand("work kanban task t_1"), [work()]);
        assert_eq!(understand("Show the board."), [Task::Board]);
        assert_eq!(
            understand("create a task \"count files\" for writer: run `ls | wc -l`"),
            [Task::Card {
                title: "count files".to_owned(),
                assignee: "writer".to_owned(),
                body: Some("run `ls | wc -l`".to_owned()),
            }]
        );
    }

    #[test]
    fn a_worker_reads_its_card_does_it_and_reports() {
        let mut results = vec![];
        let mut calls = vec![];
        let answers = [
            card("run `date` then read a.txt"),
            json!({"output": "now", "exit_code": 0}),
            json!({"content": "1|a", "total_lines": 1}),
            json!({"ok": true}),
        ];
        for answer in answers {
            calls.push(next_call(&work(), &results).expect("one more call"));
            results.push(answer);
        }
        assert_eq!(next_call(&work(), &results), None);
        let names: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            ["kanban_show", "terminal", "read_file", "kanban_complete"]
        );
        assert_eq!(
            calls[3].1,
            json!({"summary": "ran date, then read a.txt (by the demo model)"})
        );
    }

    #[test]
    fn a_failed_step_blocks_with_what_went_wrong() {
        let results = [
            card("run false then run true"),
            json!({"output": "no such thing\n", "exit_code": 3}),
        ];
        let call = next_call(&work(), &results);
        let reason = json!({"reason": "exit code 3: no such thing"});
        assert_eq!(call, Some(("kanban_block", reason)));
    }

    #[test]
    fn a_card_that_is_not_understood_is_blocked_and_says_why() {
        let (name, arguments) = next_call(&work(), &[card("invent a slogan")]).expect("a report");
        assert_eq!(name, "kanban_block");
        assert!(field(&arguments, "reason").contains("not a language model"));
    }

    #[test]
    fn a_card_that_cannot_be_read_is_nobodys_work() {
        let results = [json!({"error": "there is no task t_1"})];
        assert_eq!(next_call(&work(), &results), None);
    }
}

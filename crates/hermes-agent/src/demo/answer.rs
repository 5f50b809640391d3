//! What the planner does for a task and what it says about it afterwards.

use serde_json::{Value, json};

use super::request::Task;
use super::{board, notice};

/// A call to make: the tool's name and its arguments.
pub(super) type Call = (&'static str, Value);

/// The next call of a task after `results`, or none when it is done.
pub(super) fn next_call(task: &Task, results: &[Value]) -> Option<Call> {
    match (task, results) {
        (Task::List { path }, []) => Some((
            "terminal",
            json!({ "command": format!("ls -la -- {}", quoted(path)) }),
        )),
        (Task::Read { path }, []) => Some(("read_file", json!({ "path": path }))),
        (Task::Run { command }, []) => Some(("terminal", json!({ "command": command }))),
        (Task::Start { command }, []) => Some((
            "terminal",
            json!({ "command": command, "background": true, "notify_on_complete": true }),
        )),
        // Watching it once shows that it lives; it may run for hours.
        (Task::Start { .. }, [started]) => {
            let id = started.get("session_id")?.as_str()?;
            Some((
                "process",
                json!({ "action": "wait", "session_id": id, "timeout": 1 }),
            ))
        }
        (Task::Search { text, path }, []) => Some((
            "search_files",
            json!({ "pattern": escaped(text), "path": path }),
        )),
        (Task::Replace { old, new, path }, []) => Some((
            "patch",
            json!({ "mode": "replace", "path": path, "old_string": old, "new_string": new }),
        )),
        (Task::Write { path, content }, []) => {
            Some(("write_file", json!({ "path": path, "content": content })))
        }
        (Task::Remember { fact }, []) => Some((
            "memory",
            json!({ "action": "add", "target": "user", "content": fact }),
        )),
        (Task::Work { .. } | Task::Board | Task::Card { .. }, _) => board::next_call(task, results),
        _ => None,
    }
}

/// What happened, in words, with the command that does the same by hand.
pub(super) fn report(task: &Task, results: &[Value]) -> String {
    let last = results.last().cloned().unwrap_or(Value::Null);
    if last.get("user_consent") == Some(&Value::Bool(false)) {
        return denied(&last);
    }
    if let Some(error) = last.get("error").and_then(Value::as_str) {
        return format!("That did not work: {error}\n");
    }
    match task {
        Task::Help => help(),
        Task::Notice { text } => notice::answer(text),
        Task::Work { .. } | Task::Board | Task::Card { .. } => board::report(task, results),
        Task::List { path } => format!(
            "These are the files in `{path}`:\n\n{}\nBy hand: `ls -la {path}`\n",
            fenced("", field(&last, "output"))
        ),
        Task::Read { path } => {
            let lines = last.get("total_lines").and_then(Value::as_u64).unwrap_or(0);
            format!(
                "`{path}` has {lines} line{}:\n\n{}\nBy hand: `cat -n {path}`\n",
                if lines == 1 { "" } else { "s" },
                fenced("", &excerpt(field(&last, "content"), 40))
            )
        }
        Task::Run { command } => {
            let code = last.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
            format!(
                "`{command}` ended with exit code {code}:\n\n{}\nBy hand: `{command}`, or `hermes sandbox exec -- …` in the same sandbox\n",
                fenced("", &excerpt(field(&last, "output"), 40))
            )
        }
        Task::Start { command } => started(command, results),
        Task::Search { text, path } => {
            let hits = last.get("matches").and_then(Value::as_array).cloned().unwrap_or_default();
            let lines: Vec<String> = hits.iter().take(20).map(hit).collect();
            let total = last.get("total_count").and_then(Value::as_u64).unwrap_or(hits.len() as u64);
            let found = match total {
                0 => format!("`{text}` stands nowhere in `{path}`.\n"),
                1 => format!("`{text}` stands in one place:\n\n{}", fenced("", &lines.join("\n"))),
                _ => format!("`{text}` stands in {total} places:\n\n{}", fenced("", &lines.join("\n"))),
            };
            format!("{found}\nBy hand: `rg {} {path}`\n", quoted(text))
        }
        Task::Replace { path, .. } => format!(
            "I changed `{path}`:\n\n{}\nBy hand: open it in your editor, or `sed -i`. After `hermes chat --checkpoints`, `/rollback` takes it back\n",
            fenced("diff", field(&last, "diff"))
        ),
        Task::Write { path, .. } => {
            format!("I wrote `{path}`.\n\nBy hand: `cat > {path}`, then type and press Ctrl-D\n")
        }
        Task::Remember { .. } => {
            "I wrote it into my memory of you; it will be in the prompt of every new session.\n\n\
             By hand: edit `memories/USER.md` in the home directory (`hermes config path` says where that is)\n"
                .to_owned()
        }
    }
}

/// What the tool says of it is meant for a model.
fn denied(result: &Value) -> String {
    let (what, on) = match field(result, "outcome") {
        "timeout" => ("Nobody answered the question", ASK_AGAIN),
        _ if field(result, "error").contains("nobody can be asked") => (
            "That needs somebody's leave and nobody can be asked here",
            "In a chat (`hermes`) you are asked",
        ),
        _ => ("That was not allowed", ASK_AGAIN),
    };
    format!(
        "{what}, so I left it alone. {on}; `approvals.mode` in `config.yaml` says who decides.\n"
    )
}

const ASK_AGAIN: &str = "Tell me once more to be asked once more";

fn started(command: &str, results: &[Value]) -> String {
    let id = results
        .first()
        .map(|first| field(first, "session_id"))
        .unwrap_or_default();
    let seen = results.get(1).cloned().unwrap_or(Value::Null);
    let status = match seen.get("status").and_then(Value::as_str) {
        Some("exited") => {
            let code = seen.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
            format!("It has ended already, with exit code {code}.")
        }
        _ => "It is still running.".to_owned(),
    };
    let output = match field(&seen, "output") {
        "" => String::new(),
        text => format!("\nSo far it printed:\n\n{}", fenced("", &excerpt(text, 20))),
    };
    format!(
        "I started `{command}` in the background as `{id}`. {status}\n{output}\nBy hand: `{command} &`, then `jobs`\n"
    )
}

/// What the planner is, and what it understands.
pub(super) fn help() -> String {
    "I am the demo model: a small planner built into Hermes, **not a language model**. I need no key and no \
     network, and I understand only requests like these:\n\n\
     - `list files in src`\n\
     - `read README.md`\n\
     - `run uname -a`\n\
     - `search for TODO in src`\n\
     - `create notes.txt with hello`\n\
     - `replace hello with goodbye in notes.txt`\n\
     - `start \"for i in 1 2 3; do echo $i; sleep 1; done\" in the background`\n\
     - `remember that I prefer short answers`\n\
     - `show the board`\n\
     - `create a task \"count files\" for writer: run ls`\n\
     - `work kanban task ID`, which is how a dispatcher asks\n\n\
     Join several with *then*. The tools I use are the real ones, in the real sandbox. For a real model: \
     `hermes setup`.\n"
        .to_owned()
}

pub(super) fn field<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn hit(value: &Value) -> String {
    let line = value.get("line").and_then(Value::as_u64).unwrap_or(0);
    format!(
        "{}:{line}: {}",
        field(value, "path"),
        field(value, "content").trim()
    )
}

pub(super) fn fenced(language: &str, text: &str) -> String {
    // A fence longer than any inside the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let text = text.trim_end();
    format!("{fence}{language}\n{text}\n{fence}\n")
}

pub(super) fn excerpt(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    if lines.len() <= most {
        return lines.join("\n");
    }
    format!(
        "{}\n… {} more lines",
        lines[..most].join("\n"),
        lines.len() - most
    )
}

/// One shell word.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-~+=:,@".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The pattern that matches the text itself.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

//! The chat on a terminal that can only print lines: the same conversation and
//! the same commands, without a live area.

use std::io::{self, BufRead, Write};
use std::path::Path;

use hermes_agent::slash::{self, By};
use hermes_tui::{
    App, Chat, Completer, History, Host, Outcome, Preferences, Status, Switch, Theme, Then,
};
use hermes_types::{Answer, ApprovalChoice, Ask, AskKind, Asked, Content, SessionId, TurnEvent};

use super::host::ChatHost;
use crate::{CommandError, Out};

pub(super) async fn run(
    host: &mut ChatHost<'_>,
    out: &mut Out,
) -> Result<Option<SessionId>, CommandError> {
    let mut chat = match host.open().await {
        Ok(chat) => chat,
        Err(text) => return Err(host.failure().unwrap_or_else(|| CommandError::user(text))),
    };
    writeln!(
        out,
        "Hermes {} · {} · /help shows what can be typed",
        env!("CARGO_PKG_VERSION"),
        host.model_name()
    )?;
    greet(&mut chat, out)?;
    loop {
        let Some(line) = read_line("> ", out).await? else {
            break;
        };
        let line = line.trim().to_owned();
        if line.is_empty() {
            continue;
        }
        let next = match slash::split(&line) {
            None => Some(line),
            Some((name, arguments)) => {
                match command(host, &mut chat, name, arguments, out).await? {
                    Next::Leave => break,
                    Next::Read => None,
                    Next::Send(text) => Some(text),
                }
            }
        };
        if let Some(text) = next {
            turn(host, &mut chat, text, out).await?;
        }
    }
    Ok(chat.conversation.close(Some("cli_close")).await)
}

enum Next {
    Read,
    Send(String),
    Leave,
}

async fn command(
    host: &mut ChatHost<'_>,
    chat: &mut Chat,
    name: &str,
    arguments: &str,
    out: &mut Out,
) -> Result<Next, CommandError> {
    let command = match slash::find(name) {
        Ok(command) => command,
        Err(error) => {
            writeln!(out, "{error}")?;
            return Ok(Next::Read);
        }
    };
    match (command.name, command.by) {
        ("quit", _) => return Ok(Next::Leave),
        ("help", _) => {
            for command in slash::CATALOGUE {
                writeln!(out, "/{:<12} {}", command.name, command.summary)?;
            }
        }
        ("queue" | "steer", _) if !arguments.is_empty() => {
            return Ok(Next::Send(arguments.to_owned()));
        }
        (_, By::FrontEnd) => writeln!(out, "This terminal cannot do that.")?,
        (name, _) => {
            let mut app = bare_app(out.width());
            let outcome = host
                .command(&mut app, &chat.conversation, name, arguments.to_owned())
                .await;
            return show(chat, outcome, out).await;
        }
    }
    Ok(Next::Read)
}

async fn show(chat: &mut Chat, outcome: Outcome, out: &mut Out) -> Result<Next, CommandError> {
    match outcome {
        Outcome::Say(text) | Outcome::Output(text) => writeln!(out, "{}", text.trim_end())?,
        Outcome::Pick(picker) => {
            for (value, label) in picker.choices() {
                writeln!(out, "  {value}  {label}")?;
            }
            writeln!(out, "Type `/{} VALUE`.", picker.command())?;
        }
        Outcome::Switch(switch) => {
            let Switch {
                chat: next,
                ended,
                message,
                then,
            } = switch;
            let old = std::mem::replace(chat, next);
            old.conversation.close(ended).await;
            greet(chat, out)?;
            writeln!(out, "{message}")?;
            return Ok(match then {
                Then::Nothing => Next::Read,
                Then::Draft(text) => {
                    writeln!(out, "It was: {text}")?;
                    Next::Read
                }
                Then::Send(text) => Next::Send(text),
            });
        }
        Outcome::Draft(text) => writeln!(out, "{text}")?,
        Outcome::Send(text) => return Ok(Next::Send(text)),
        Outcome::Quit => return Ok(Next::Leave),
    }
    Ok(Next::Read)
}

async fn turn(
    host: &mut ChatHost<'_>,
    chat: &mut Chat,
    text: String,
    out: &mut Out,
) -> Result<(), CommandError> {
    let (content, remarks) = host.prepare(Content::Text(text)).await;
    for remark in remarks {
        out.warning(&remark);
    }
    chat.conversation
        .send(content)
        .map_err(CommandError::user)?;
    let mut streamed = false;
    while let Some(event) = chat.events.recv().await {
        match event {
            TurnEvent::Text { delta } => {
                streamed = true;
                write!(out, "{delta}")?;
            }
            TurnEvent::ToolStarted { name, preview, .. } => {
                writeln!(out, "\n  > {name}  {preview}")?;
            }
            TurnEvent::ToolFinished {
                diff: Some(diff), ..
            } => writeln!(out, "{diff}")?,
            TurnEvent::Notice { text } => writeln!(out, "\n  * {text}")?,
            TurnEvent::Ask { ask } => {
                let answer = answer(&ask, out).await?;
                chat.conversation.answer(Asked { id: ask.id, answer });
            }
            TurnEvent::Finished { outcome } => {
                if !streamed {
                    write!(out, "{}", outcome.answer)?;
                }
                writeln!(out)?;
                if let Some(error) = outcome.error {
                    out.warning(&error);
                }
                break;
            }
            _ => {}
        }
        out.flush()?;
    }
    out.flush()?;
    Ok(())
}

async fn answer(ask: &Ask, out: &mut Out) -> Result<Answer, CommandError> {
    Ok(match &ask.kind {
        AskKind::Approval {
            command, reason, ..
        } => {
            writeln!(out, "\nMay this command run? ({reason})\n  {command}")?;
            let text =
                read_line("o(nce), s(ession), a(lways), anything else denies: ", out).await?;
            let choice = match text.as_deref().map(str::trim) {
                Some("o" | "once") => ApprovalChoice::Once,
                Some("s" | "session") => ApprovalChoice::Session,
                Some("a" | "always") => ApprovalChoice::Always,
                _ => ApprovalChoice::Deny,
            };
            Answer::Approval { choice }
        }
        AskKind::Clarify { question, choices } => {
            writeln!(out, "\n{question}")?;
            for (index, choice) in choices.iter().enumerate() {
                writeln!(out, "  {}  {choice}", index + 1)?;
            }
            let text = read_line("? ", out).await?.unwrap_or_default();
            let text = text.trim();
            let picked = text
                .parse::<usize>()
                .ok()
                .and_then(|number| choices.get(number.checked_sub(1)?).cloned());
            match picked {
                Some(text) => Answer::Text { text },
                None if text.is_empty() => Answer::None,
                None => Answer::Text {
                    text: text.to_owned(),
                },
            }
        }
        // What is typed here would be seen.
        AskKind::Sudo { .. } | AskKind::Secret { .. } => Answer::None,
    })
}

fn greet(chat: &mut Chat, out: &mut Out) -> Result<(), CommandError> {
    for line in chat.greeting.drain(..) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(())
}

/// `None` at the end of the input.
async fn read_line(prompt: &str, out: &mut Out) -> Result<Option<String>, CommandError> {
    write!(out, "{prompt}")?;
    out.flush()?;
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line)?;
        Ok::<_, io::Error>((count > 0).then_some(line))
    });
    Ok(read.await.map_err(CommandError::internal)??)
}

struct NoWords;

impl Completer for NoWords {
    fn arguments(&self, _: &str) -> Vec<(String, String)> {
        Vec::new()
    }

    fn directory(&self) -> &Path {
        Path::new(".")
    }

    fn user_home(&self) -> &Path {
        Path::new(".")
    }
}

/// Commands are carried out beside a screen; here nobody sees it.
fn bare_app(width: usize) -> App {
    let preferences = Preferences {
        theme: Theme::plain(),
        ..Preferences::default()
    };
    let mut app = App::new(
        preferences,
        History::default(),
        Box::new(NoWords),
        Status::new("", "", ""),
    );
    app.resize(width, 24);
    app
}

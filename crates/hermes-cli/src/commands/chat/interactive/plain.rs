//! The chat on a terminal that can only print lines: the same conversation and
//! the same commands, without a live area. What is typed while Hermes works is
//! the next message.

use std::collections::VecDeque;
use std::io::{self, BufRead, Write};

use hermes_agent::slash::{self, By, LookupError};
use hermes_tui::{Chat, Host, Incoming, Outcome, Switch, Then};
use hermes_types::{
    Answer, ApprovalChoice, Ask, AskId, AskKind, Asked, Content, Interrupt, Part, SessionId,
    StopReason, TurnEvent, TurnOutcome,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::host::ChatHost;
use crate::commands::auth::Silent;
use crate::{CommandError, Out};

/// Typed lines that may wait.
const LINES: usize = 64;

pub(super) async fn run(
    host: &mut ChatHost,
    pictures: Vec<Part>,
    out: &mut Out,
) -> Result<Option<SessionId>, CommandError> {
    let mut chat = match host.open().await {
        Ok(chat) => chat,
        Err(text) => return Err(host.failure().unwrap_or_else(|| CommandError::user(text))),
    };
    let mut table = Table {
        lines: typed_lines()?,
        interrupts: signal(SignalKind::interrupt())?,
        waiting: VecDeque::new(),
        pictures,
        out,
    };
    for line in super::greeting(host, true) {
        table.say(&line.to_string())?;
    }
    table.greet(&mut chat)?;
    loop {
        let Some(line) = table.next_line(host).await? else {
            break;
        };
        let line = line.trim().to_owned();
        if line.is_empty() {
            continue;
        }
        let next = match slash::split(&line) {
            None => Next::Send(line),
            Some((name, arguments)) => table.command(host, &mut chat, name, arguments).await?,
        };
        match next {
            Next::Leave => break,
            Next::Read => {}
            Next::Send(text) => table.turn(host, &mut chat, text).await?,
        }
    }
    Ok(chat.conversation.close(Some("cli_close")).await)
}

enum Next {
    Read,
    Send(String),
    Leave,
}

struct Table<'o> {
    lines: mpsc::Receiver<String>,
    interrupts: Signal,
    /// Messages that a turn left to be sent.
    waiting: VecDeque<String>,
    /// For the first message.
    pictures: Vec<Part>,
    out: &'o mut Out,
}

impl Table<'_> {
    fn say(&mut self, text: &str) -> Result<(), CommandError> {
        writeln!(self.out, "{text}")?;
        Ok(self.out.flush()?)
    }

    fn greet(&mut self, chat: &mut Chat) -> Result<(), CommandError> {
        for line in chat.greeting.drain(..) {
            writeln!(self.out, "{line}")?;
        }
        Ok(self.out.flush()?)
    }

    /// What is to be done next; `None` at the end of the input and after Ctrl+C.
    async fn next_line(&mut self, host: &mut ChatHost) -> Result<Option<String>, CommandError> {
        if let Some(text) = self.waiting.pop_front() {
            return Ok(Some(text));
        }
        write!(self.out, "> ")?;
        self.out.flush()?;
        loop {
            let news = tokio::select! {
                line = self.lines.recv() => return Ok(line),
                _ = self.interrupts.recv() => {
                    self.say("")?;
                    return Ok(None);
                }
                news = host.incoming(true) => news,
            };
            match news {
                Incoming::Message(text) => {
                    self.say(&format!("\n{text}"))?;
                    return Ok(Some(text));
                }
                Incoming::Remark(text) | Incoming::Text(text) => self.say(&format!("\n{text}"))?,
            }
            write!(self.out, "> ")?;
            self.out.flush()?;
        }
    }

    async fn command(
        &mut self,
        host: &mut ChatHost,
        chat: &mut Chat,
        name: &str,
        arguments: &str,
    ) -> Result<Next, CommandError> {
        let command = match slash::find(name) {
            Ok(command) => command,
            Err(LookupError::Unknown(name) | LookupError::Ambiguous { name, .. }) => {
                let words = format!("{name} {arguments}");
                let width = self.out.width();
                let outcome = host
                    .command(&chat.conversation, slash::OWN, words, width)
                    .await;
                return self.show(chat, outcome).await;
            }
            Err(error) => {
                self.say(&error.to_string())?;
                return Ok(Next::Read);
            }
        };
        match (command.name, command.by) {
            ("help", _) => {
                for command in slash::CATALOGUE {
                    writeln!(self.out, "/{:<12} {}", command.name, command.summary)?;
                }
                self.out.flush()?;
            }
            ("queue" | "steer", _) if !arguments.is_empty() => {
                return Ok(Next::Send(arguments.to_owned()));
            }
            (_, By::FrontEnd) => self.say("This terminal cannot do that.")?,
            (name, _) => {
                let width = self.out.width();
                let outcome = host
                    .command(&chat.conversation, name, arguments.to_owned(), width)
                    .await;
                return self.show(chat, outcome).await;
            }
        }
        Ok(Next::Read)
    }

    async fn show(&mut self, chat: &mut Chat, outcome: Outcome) -> Result<Next, CommandError> {
        match outcome {
            Outcome::Say(text) | Outcome::Output(text) | Outcome::ShowReasoning(_, text) => {
                self.say(text.trim_end())?;
            }
            Outcome::Pick(picker) => {
                for (value, label) in picker.choices() {
                    writeln!(self.out, "  {value}  {label}")?;
                }
                self.say(&format!("Type `/{} VALUE`.", picker.command()))?;
            }
            Outcome::Switch(switch) => {
                let Switch {
                    chat: next,
                    ended,
                    message,
                    clear: _,
                    then,
                } = switch;
                let old = std::mem::replace(chat, next);
                old.conversation.close(ended).await;
                self.greet(chat)?;
                self.say(&message)?;
                match then {
                    Then::Nothing => {}
                    Then::Draft(text) => self.say(&format!("It was: {text}"))?,
                    Then::Send(text) => return Ok(Next::Send(text)),
                }
            }
            Outcome::Draft(text) => self.say(&text)?,
            Outcome::Send(text) => return Ok(Next::Send(text)),
            Outcome::Again(text) => self.waiting.push_front(text),
            Outcome::Quit => return Ok(Next::Leave),
        }
        Ok(Next::Read)
    }

    async fn turn(
        &mut self,
        host: &mut ChatHost,
        chat: &mut Chat,
        text: String,
    ) -> Result<(), CommandError> {
        let content = match self.pictures.is_empty() {
            true => Content::Text(text),
            false => {
                let mut parts = vec![Part::Text { text }];
                parts.append(&mut self.pictures);
                Content::Parts(parts)
            }
        };
        let (content, remarks) = host.prepare(content).await;
        for remark in remarks {
            self.out.warning(&remark);
        }
        chat.conversation
            .send(content)
            .map_err(CommandError::user)?;
        let mut streamed = false;
        loop {
            let event = tokio::select! {
                event = chat.events.recv() => event,
                _ = self.interrupts.recv() => {
                    chat.conversation.interrupt(Interrupt::User);
                    continue;
                }
            };
            let Some(event) = event else {
                return Err(CommandError::internal("the conversation broke off inside"));
            };
            match event {
                TurnEvent::Text { delta } => {
                    streamed = true;
                    write!(self.out, "{delta}")?;
                }
                TurnEvent::TextDiscarded => writeln!(self.out, "\n  * asked again")?,
                TurnEvent::ToolStarted { name, preview, .. } => {
                    streamed = false;
                    writeln!(self.out, "\n  > {name}  {preview}")?;
                }
                TurnEvent::ToolFinished {
                    name,
                    failed,
                    summary,
                    diff,
                    ..
                } => {
                    if failed {
                        writeln!(self.out, "  < {name}  failed: {summary}")?;
                    }
                    if let Some(diff) = diff {
                        writeln!(self.out, "{diff}")?;
                    }
                }
                TurnEvent::Notice { text } | TurnEvent::Warning { text } => {
                    writeln!(self.out, "\n  * {text}")?;
                }
                TurnEvent::Steered { text } => writeln!(self.out, "\n  » {text}")?,
                TurnEvent::Ask { ask } => {
                    if let Some(answer) = self.answer(&ask, chat).await? {
                        chat.conversation.answer(Asked { id: ask.id, answer });
                    }
                }
                TurnEvent::Finished { outcome } => {
                    host.after_turn(outcome.clone(), !self.waiting.is_empty());
                    return self.finished(outcome, streamed);
                }
                _ => {}
            }
            self.out.flush()?;
        }
    }

    fn finished(&mut self, outcome: TurnOutcome, streamed: bool) -> Result<(), CommandError> {
        if !streamed {
            write!(self.out, "{}", outcome.answer)?;
        }
        writeln!(self.out)?;
        match (outcome.reason, outcome.error) {
            (StopReason::Interrupted, _) => writeln!(self.out, "  * stopped")?,
            (_, Some(error)) => self.out.warning(&error),
            _ => {}
        }
        self.waiting.extend(outcome.pending_steer);
        Ok(self.out.flush()?)
    }

    /// The person's answer; `None` when the question was closed meanwhile.
    async fn answer(&mut self, ask: &Ask, chat: &mut Chat) -> Result<Option<Answer>, CommandError> {
        let seconds = ask.timeout_seconds;
        let prompt = match &ask.kind {
            AskKind::Approval {
                command, reason, ..
            } => {
                self.say(&format!(
                    "\nMay this command run? ({reason}; {seconds} s)\n  {command}"
                ))?;
                "o(nce), s(ession), a(lways), anything else denies: "
            }
            AskKind::Clarify { question, choices } => {
                self.say(&format!("\n{question}"))?;
                for (index, choice) in choices.iter().enumerate() {
                    writeln!(self.out, "  {}  {choice}", index + 1)?;
                }
                "? "
            }
            AskKind::Sudo { command } => {
                self.say(&format!("\nsudo needs your password: {command}"))?;
                "Password (not shown; Enter goes on without): "
            }
            AskKind::Secret { name, prompt } => {
                self.say(&format!("\n{name}: {prompt}"))?;
                "Secret (not shown; it goes to .env): "
            }
        };
        write!(self.out, "{prompt}")?;
        self.out.flush()?;
        let hidden = match ask.kind {
            AskKind::Sudo { .. } | AskKind::Secret { .. } => Some(Silent::new()?),
            _ => None,
        };
        let text = self.line_unless_closed(ask.id, chat).await;
        if hidden.is_some() {
            drop(hidden);
            self.say("")?;
        }
        Ok(text.map(|text| understood(&ask.kind, &text)))
    }

    async fn line_unless_closed(&mut self, id: AskId, chat: &mut Chat) -> Option<String> {
        loop {
            tokio::select! {
                line = self.lines.recv() => return Some(line.unwrap_or_default()),
                _ = self.interrupts.recv() => return Some(String::new()),
                event = chat.events.recv() => match event {
                    Some(TurnEvent::AskClosed { id: closed }) if closed == id => return None,
                    Some(_) => {}
                    None => return None,
                },
            }
        }
    }
}

fn understood(kind: &AskKind, text: &str) -> Answer {
    let text = text.trim();
    match kind {
        AskKind::Approval { permanent, .. } => Answer::Approval {
            choice: match text {
                "o" | "once" => ApprovalChoice::Once,
                "s" | "session" => ApprovalChoice::Session,
                "a" | "always" if *permanent => ApprovalChoice::Always,
                _ => ApprovalChoice::Deny,
            },
        },
        _ if text.is_empty() => Answer::None,
        AskKind::Clarify { choices, .. } => {
            let picked = text
                .parse::<usize>()
                .ok()
                .and_then(|number| choices.get(number.checked_sub(1)?).cloned());
            Answer::Text {
                text: picked.unwrap_or_else(|| text.to_owned()),
            }
        }
        AskKind::Sudo { .. } | AskKind::Secret { .. } => Answer::Text {
            text: text.to_owned(),
        },
    }
}

/// A thread of its own reads, because a terminal cannot be read in two ways.
fn typed_lines() -> io::Result<mpsc::Receiver<String>> {
    let (sender, lines) = mpsc::channel(LINES);
    std::thread::Builder::new()
        .name("typed lines".to_owned())
        .spawn(move || {
            for line in io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
    Ok(lines)
}

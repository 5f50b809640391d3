//! The chat on a terminal that can only print lines: the same conversation and
//! the same commands, without a live area. What is typed while Hermes works is
//! the next message.

mod asking;
mod choosing;

use std::collections::VecDeque;
use std::io::{self, BufRead, Write};

use hermes_agent::slash::{self, By, LookupError, SlashCommand};
use hermes_tui::{Call, Chat, Ended, Host, Incoming, Outcome, Preferences, Signals, Switch, Then};
use hermes_types::{Asked, Content, Interrupt, Part, StopReason, TurnEvent, TurnOutcome};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use self::choosing::{Chosen, Offer};
use super::host::ChatHost;
use crate::{CommandError, Out};

/// Typed lines that may wait.
const LINES: usize = 64;

pub(super) async fn run(
    host: &mut ChatHost,
    preferences: &Preferences,
    pictures: Vec<Part>,
    out: &mut Out,
) -> Result<Ended, CommandError> {
    let mut chat = match host.open().await {
        Ok(chat) => chat,
        Err(text) => return Err(host.failure().unwrap_or_else(|| CommandError::user(text))),
    };
    let mut table = Table {
        lines: typed_lines()?,
        interrupts: signal(SignalKind::interrupt())?,
        ends: Signals::new()?,
        leaving: false,
        waiting: VecDeque::new(),
        held: VecDeque::new(),
        offered: None,
        streaming: preferences.streaming,
        confirm: preferences.confirm,
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
        let next = match (table.chosen(&line)?, slash::split(&line)) {
            (Chosen::Value(name, value), _) => {
                table.carry_out(host, &mut chat, name, value).await?
            }
            (Chosen::Listed, _) => Next::Read,
            (Chosen::Nothing, None) => Next::Send(line),
            (Chosen::Nothing, Some((name, arguments))) => {
                table.command(host, &mut chat, name, arguments).await?
            }
        };
        match next {
            Next::Leave => break,
            Next::Read => {}
            Next::Send(text) => table.turn(host, &mut chat, text).await?,
        }
        if table.leaving {
            break;
        }
    }
    drop(chat.events);
    let signal = table.ends.received();
    Ok(Ended {
        session: chat.conversation.close(Some("cli_close")).await,
        signal,
    })
}

enum Next {
    Read,
    Send(String),
    Leave,
}

struct Table<'o> {
    lines: mpsc::Receiver<String>,
    interrupts: Signal,
    ends: Signals,
    leaving: bool,
    /// What happened while a question was open.
    held: VecDeque<TurnEvent>,
    /// The list that the next line may choose from.
    offered: Option<Offer>,
    streaming: bool,
    /// Whether to ask before something is thrown away.
    confirm: bool,
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
                () = self.ends.arrived() => return Ok(None),
                news = host.incoming(true) => news,
            };
            match news {
                Incoming::Message(text) => {
                    self.say(&format!("\n{text}"))?;
                    return Ok(Some(text));
                }
                Incoming::Notice { line, message } => {
                    self.say(&format!("\n{line}"))?;
                    return Ok(Some(message));
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
            Ok(command) if command.is_called(name) => command,
            Err(error @ LookupError::NotBuilt(_)) => {
                self.say(&error.to_string())?;
                return Ok(Next::Read);
            }
            // The program's own commands come before beginnings of ours.
            _ => {
                let words = format!("{name} {arguments}");
                return self.carry_out(host, chat, slash::OWN, words).await;
            }
        };
        let (arguments, consented) = match command.confirmed {
            true => slash::without_consent(arguments),
            false => (arguments.to_owned(), false),
        };
        if command.confirmed && self.confirm && !consented && !self.is_meant(command).await? {
            self.say("Nothing was done.")?;
            return Ok(Next::Read);
        }
        match (command.name, command.by) {
            ("help", _) => {
                for command in slash::CATALOGUE {
                    writeln!(self.out, "/{:<14} {}", command.name, command.summary)?;
                }
                self.out.flush()?;
            }
            ("queue" | "steer", _) if !arguments.is_empty() => return Ok(Next::Send(arguments)),
            ("image", _) => match hermes_agent::picture(&host.cwd().join(&arguments)) {
                Ok(part) => {
                    self.pictures.push(part);
                    self.say("It goes with the next message.")?;
                }
                Err(reason) => self.say(&reason)?,
            },
            (_, By::FrontEnd) => self.say("This terminal cannot do that.")?,
            (name, _) => return self.carry_out(host, chat, name, arguments).await,
        }
        Ok(Next::Read)
    }

    async fn carry_out(
        &mut self,
        host: &mut ChatHost,
        chat: &mut Chat,
        name: &'static str,
        arguments: String,
    ) -> Result<Next, CommandError> {
        let call = Call {
            name,
            arguments,
            width: self.out.width(),
            working: false,
        };
        let outcome = host.command(&chat.conversation, call).await;
        self.show(chat, outcome).await
    }

    /// Whether a command that throws something away is meant.
    async fn is_meant(&mut self, command: &SlashCommand) -> Result<bool, CommandError> {
        write!(
            self.out,
            "Really /{}? y(es), anything else leaves it: ",
            command.name
        )?;
        self.out.flush()?;
        let line = tokio::select! {
            line = self.lines.recv() => line.unwrap_or_default(),
            _ = self.interrupts.recv() => String::new(),
        };
        Ok(matches!(line.trim(), "y" | "yes"))
    }

    /// The terminal is gone, or somebody wants the end.
    fn leave(&mut self, chat: &Chat) {
        self.leaving = true;
        chat.conversation.interrupt(Interrupt::Shutdown);
    }

    async fn show(&mut self, chat: &mut Chat, outcome: Outcome) -> Result<Next, CommandError> {
        match outcome {
            Outcome::Say(text)
            | Outcome::Output(text)
            | Outcome::ShowReasoning(_, text)
            | Outcome::Later { say: text, .. } => {
                self.say(text.trim_end())?;
            }
            Outcome::Pick(picker) => {
                self.offer(picker, "")?;
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
                drop(old.events);
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
                event = next_event(&mut self.held, chat) => event,
                () = self.ends.arrived() => {
                    self.leave(chat);
                    continue;
                }
                _ = self.interrupts.recv() => {
                    chat.conversation.interrupt(Interrupt::User);
                    continue;
                }
            };
            let Some(event) = event else {
                return Err(CommandError::internal("the conversation broke off inside"));
            };
            match event {
                TurnEvent::Text { delta } if self.streaming => {
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
}

/// What was held back comes first.
async fn next_event(held: &mut VecDeque<TurnEvent>, chat: &mut Chat) -> Option<TurnEvent> {
    match held.pop_front() {
        Some(event) => Some(event),
        None => chat.events.recv().await,
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

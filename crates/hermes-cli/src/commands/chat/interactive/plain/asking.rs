//! Questions to the person, one line each.

use std::io::Write as _;

use hermes_tui::Chat;
use hermes_types::{Answer, ApprovalChoice, Ask, AskId, AskKind, TurnEvent};

use super::Table;
use crate::CommandError;
use crate::commands::ask::Silent;

impl Table<'_> {
    /// The person's answer; `None` when the question was closed meanwhile.
    pub(super) async fn answer(
        &mut self,
        ask: &Ask,
        chat: &mut Chat,
    ) -> Result<Option<Answer>, CommandError> {
        if self.was_closed(ask.id) {
            return Ok(None);
        }
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
        if text.is_none() {
            self.say("\n  * nobody answered in time; going on without")?;
        }
        Ok(text.map(|text| understood(&ask.kind, &text)))
    }

    /// Whether a question that waited for its turn was closed meanwhile.
    fn was_closed(&mut self, asked: AskId) -> bool {
        let is_it =
            |event: &TurnEvent| matches!(event, TurnEvent::AskClosed { id } if *id == asked);
        match self.held.iter().position(is_it) {
            Some(at) => self.held.remove(at).is_some(),
            None => false,
        }
    }

    /// What is typed; `None` when the question was closed. What else happens
    /// meanwhile is kept for afterwards: other questions, too.
    async fn line_unless_closed(&mut self, id: AskId, chat: &mut Chat) -> Option<String> {
        loop {
            tokio::select! {
                line = self.lines.recv() => return Some(line.unwrap_or_default()),
                _ = self.interrupts.recv() => return Some(String::new()),
                () = self.ends.arrived() => {
                    self.leave(chat);
                    return None;
                }
                event = chat.events.recv() => match event {
                    Some(TurnEvent::AskClosed { id: closed }) if closed == id => return None,
                    Some(event) => self.held.push_back(event),
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
        _ if text.is_empty() => Answer::Cancelled,
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

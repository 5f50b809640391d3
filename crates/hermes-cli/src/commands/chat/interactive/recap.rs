//! What was said before, in short, when a session goes on.

use hermes_config::{Config, ConfigError};
use hermes_store::StoredMessage;
use hermes_types::Role;
use ratatui::text::Line;

/// `display.resume_*`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecapLimits {
    full: bool,
    exchanges: usize,
    user_chars: usize,
    answer_chars: usize,
    answer_lines: usize,
    skip_tool_only: bool,
}

impl RecapLimits {
    /// How many exchanges are shown; `None` shows nothing at all.
    pub(super) fn exchanges(&self) -> Option<usize> {
        (self.full && self.exchanges > 0).then_some(self.exchanges)
    }

    pub(super) fn read(config: &Config) -> Result<Self, ConfigError> {
        let size = |key: &str| -> Result<usize, ConfigError> {
            Ok(usize::try_from(config.integer(key)?).unwrap_or(0))
        };
        Ok(Self {
            full: config.string("display.resume_display")? != "minimal",
            exchanges: size("display.resume_exchanges")?,
            user_chars: size("display.resume_max_user_chars")?,
            answer_chars: size("display.resume_max_assistant_chars")?,
            answer_lines: size("display.resume_max_assistant_lines")?,
            skip_tool_only: config.bool("display.resume_skip_tool_only")?,
        })
    }
}

/// One line per thing said; the last answer in full. `earlier` messages are left out.
pub(super) fn recap(
    messages: &[StoredMessage],
    earlier: usize,
    limits: &RecapLimits,
) -> Vec<Line<'static>> {
    let said: Vec<&StoredMessage> = messages
        .iter()
        .filter(|stored| match stored.message.role {
            Role::User => true,
            Role::Assistant => {
                !limits.skip_tool_only || !stored.message.content.text().trim().is_empty()
            }
            _ => false,
        })
        .collect();
    let last_answer = said
        .iter()
        .rposition(|stored| stored.message.role == Role::Assistant);
    let mut lines = vec![Line::from("Previous Conversation")];
    if earlier > 0 {
        lines.push(Line::from(format!("  ... {earlier} earlier messages ...")));
    }
    for (at, stored) in said.iter().enumerate() {
        let text = stored.message.content.text();
        let (label, text) = match stored.message.role {
            Role::User => ("● You: ", cut(&text, limits.user_chars, usize::MAX)),
            _ if Some(at) == last_answer => ("◆ Hermes: ", text),
            _ if text.trim().is_empty() => ("◆ Hermes: ", tools(stored)),
            _ => (
                "◆ Hermes: ",
                cut(&text, limits.answer_chars, limits.answer_lines),
            ),
        };
        for (index, line) in text.trim().lines().enumerate() {
            let lead = if index == 0 { label } else { "    " };
            lines.push(Line::from(format!("  {lead}{line}")));
        }
    }
    lines.push(Line::default());
    lines
}

fn tools(stored: &StoredMessage) -> String {
    let names: Vec<&str> = stored
        .message
        .tool_calls
        .iter()
        .map(|call| call.name.as_str())
        .collect();
    format!("({})", names.join(", "))
}

fn cut(text: &str, chars: usize, lines: usize) -> String {
    let mut kept: String = text
        .trim()
        .lines()
        .take(lines.max(1))
        .collect::<Vec<_>>()
        .join("\n");
    let mut shorter = kept.len() < text.trim().len();
    if chars > 0 && kept.chars().count() > chars {
        kept = kept.chars().take(chars).collect();
        shorter = true;
    }
    if shorter {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use hermes_types::{Content, Message, SessionId};
    use pretty_assertions::assert_eq;

    use super::*;

    fn stored(role: Role, text: &str) -> StoredMessage {
        let mut message = Message::user(text);
        message.role = role;
        message.content = Content::Text(text.to_owned());
        StoredMessage {
            id: 0,
            session_id: SessionId::new("s"),
            message,
            timestamp: 0.0,
            token_count: None,
            platform_message_id: None,
            observed: false,
            active: true,
            reasoning_content: None,
            codex_reasoning_items: None,
            codex_message_items: None,
        }
    }

    #[test]
    fn the_last_exchanges_are_shown_and_the_last_answer_in_full() {
        let messages = [
            stored(Role::User, "a question that is long"),
            stored(Role::Assistant, ""),
            stored(Role::Tool, "output"),
            stored(Role::Assistant, "middle\nof\nthe answer"),
            stored(Role::User, "last"),
            stored(Role::Assistant, "the whole\nanswer is shown"),
        ];
        let limits = RecapLimits {
            full: true,
            exchanges: 2,
            user_chars: 10,
            answer_chars: 200,
            answer_lines: 2,
            skip_tool_only: true,
        };
        let lines: Vec<String> = recap(&messages, 2, &limits)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            lines,
            [
                "Previous Conversation",
                "  ... 2 earlier messages ...",
                "  ● You: a question…",
                "  ◆ Hermes: middle",
                "      of…",
                "  ● You: last",
                "  ◆ Hermes: the whole",
                "      answer is shown",
                "",
            ]
        );
    }
}

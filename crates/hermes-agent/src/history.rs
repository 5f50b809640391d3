//! The conversation in memory: exactly what the next request sends. The full
//! transcript is on disk; this list is bounded by compression.

use std::sync::Arc;

use hermes_types::{Content, Message, Part, Role};

use crate::repair;

/// What an image weighs in an estimate, in characters.
const IMAGE_CHARACTERS: usize = 6_000;

/// One message and the row it came from, when it is on disk.
#[derive(Clone, Debug)]
struct Entry {
    message: Arc<Message>,
    row: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<Entry>,
    /// Sent after the others and never stored: requests to go on, nudges.
    transient: Vec<Arc<Message>>,
    characters: usize,
}

impl History {
    /// From stored messages, mended.
    pub fn from_stored(stored: Vec<Message>) -> Self {
        let mut history = Self::default();
        for message in repair::mend(stored) {
            history.push_entry(message, None);
        }
        history
    }

    /// From messages that were just stored in these rows, already mended.
    pub fn from_rows(messages: Vec<Message>, rows: &[i64]) -> Self {
        let mut history = Self::default();
        for (index, message) in messages.into_iter().enumerate() {
            history.push_entry(message, rows.get(index).copied());
        }
        history
    }

    /// Appends a message in its wire form.
    pub fn push(&mut self, message: Message, row: Option<i64>) {
        let message = repair::wire(message);
        if message.role == Role::User
            && let Some(last) = self.entries.last_mut()
            && last.message.role == Role::User
        {
            let mut merged = vec![Message::clone(&last.message)];
            self.characters -= weight(&last.message);
            repair::push_user(&mut merged, message);
            if let Some(message) = merged.pop() {
                self.characters += weight(&message);
                last.message = Arc::new(message);
                last.row = None;
            }
            return;
        }
        self.push_entry(message, row);
    }

    fn push_entry(&mut self, message: Message, row: Option<i64>) {
        self.characters += weight(&message);
        self.entries.push(Entry {
            message: Arc::new(message),
            row,
        });
    }

    pub fn push_transient(&mut self, message: Message) {
        self.transient.push(Arc::new(repair::wire(message)));
    }

    pub fn clear_transient(&mut self) {
        self.transient.clear();
    }

    /// What a request sends: pointers, not copies.
    pub fn request(&self) -> Vec<Arc<Message>> {
        self.entries
            .iter()
            .map(|entry| Arc::clone(&entry.message))
            .chain(self.transient.iter().map(Arc::clone))
            .collect()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many calls the model has made.
    pub(crate) fn calls(&self) -> u64 {
        let calls = self.messages().map(|message| message.tool_calls.len());
        calls.sum::<usize>() as u64
    }

    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.entries.iter().map(|entry| entry.message.as_ref())
    }

    /// Adds text to the newest message when it is a tool result; returns what must
    /// be stored again, or `None` when the newest message is something else.
    pub fn append_to_last_result(&mut self, text: &str) -> Option<(Option<i64>, Content)> {
        let last = self.entries.last_mut()?;
        if last.message.role != Role::Tool {
            return None;
        }
        let message = Arc::make_mut(&mut last.message);
        append(&mut message.content, text);
        self.characters += text.len();
        Some((last.row, message.content.clone()))
    }

    /// Replaces the content of the `index`-th message.
    pub fn set_content(&mut self, index: usize, content: Content) -> Option<i64> {
        let entry = self.entries.get_mut(index)?;
        self.characters -= weight(&entry.message);
        Arc::make_mut(&mut entry.message).content = content;
        self.characters += weight(&entry.message);
        entry.row
    }

    /// A rough count, four characters to a token.
    pub fn estimated_tokens(&self) -> u64 {
        (self.characters / 4) as u64
    }
}

pub(crate) fn append(content: &mut Content, text: &str) {
    match content {
        Content::Text(existing) => existing.push_str(text),
        Content::Parts(parts) => match parts.iter_mut().rev().find_map(|part| match part {
            Part::Text { text } => Some(text),
            Part::Image { .. } => None,
        }) {
            Some(existing) => existing.push_str(text),
            None => parts.push(Part::Text {
                text: text.trim_start().to_owned(),
            }),
        },
    }
}

/// Characters of a message as far as a model reads them.
pub(crate) fn weight(message: &Message) -> usize {
    let content = match &message.content {
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => text.len(),
                Part::Image { .. } => IMAGE_CHARACTERS,
            })
            .sum(),
    };
    let calls: usize = message
        .tool_calls
        .iter()
        .map(|call| call.name.len() + call.arguments.len() + 40)
        .sum();
    content + calls + message.reasoning.as_ref().map_or(0, String::len) + 12
}

//! One question outside of a chat: a list with a filter, an answer, and the
//! terminal as it was.

use std::io;
use std::time::Instant;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt as _;

use crate::app::{App, Completer, Effect, PickItem, Picker, Preferences, Status};
use crate::history::History;
use crate::paint::{Live, Painter};
use crate::terminal::RawTerminal;

struct NoWords;

impl Completer for NoWords {
    fn arguments(&self, _: &str) -> Vec<(String, String)> {
        Vec::new()
    }

    fn directory(&self) -> &std::path::Path {
        std::path::Path::new(".")
    }

    fn user_home(&self) -> &std::path::Path {
        std::path::Path::new(".")
    }
}

/// How a person answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picked {
    /// The value of what was chosen.
    Chosen(String),
    /// Escape: this question is left, nothing else.
    Left,
    /// Ctrl+C: everything is left.
    Interrupted,
}

/// Asks one question.
pub async fn pick(title: &str, items: Vec<PickItem>) -> io::Result<Picked> {
    let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
    let preferences = Preferences {
        show_status: false,
        ..Preferences::default()
    };
    let status = Status::new("", "", "");
    let mut app = App::new(preferences, History::default(), Box::new(NoWords), status);
    app.resize(width.into(), height.into());
    app.pick(Picker::new(title, "", items));
    let _terminal = RawTerminal::enter()?;
    let mut painter = Painter::new(io::stdout(), width.into());
    let mut input = EventStream::new();
    let chosen = loop {
        let live: Live = app.live(Instant::now());
        painter.frame(&[], &live)?;
        let effects = match input.next().await {
            Some(Ok(Event::Key(key))) if is_interrupt(key) => break Picked::Interrupted,
            Some(Ok(Event::Key(key))) => app.key(key, Instant::now()),
            Some(Ok(Event::Paste(text))) => app.paste(&text, Instant::now()),
            Some(Ok(Event::Resize(width, height))) => {
                painter.set_width(width.into());
                app.resize(width.into(), height.into());
                Vec::new()
            }
            Some(Ok(_)) => Vec::new(),
            Some(Err(error)) => return Err(error),
            // The terminal is gone.
            None => break Picked::Interrupted,
        };
        let value = effects.into_iter().find_map(|effect| match effect {
            Effect::Command { arguments, .. } => Some(arguments),
            _ => None,
        });
        match value {
            Some(value) => break Picked::Chosen(value),
            None if !app.is_picking() => break Picked::Left,
            None => {}
        }
    };
    painter.finish()?;
    Ok(chosen)
}

fn is_interrupt(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL)
}

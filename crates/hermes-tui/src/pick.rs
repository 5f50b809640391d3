//! One question outside of a chat: a list with a filter, an answer, and the
//! terminal as it was.

use std::io;
use std::time::Instant;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

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
///
/// Reads without an `EventStream`: dropping one leaves a wake-up behind in crossterm,
/// and the chat that follows would miss the keys that were there before it.
pub fn pick(title: &str, items: Vec<PickItem>) -> io::Result<Picked> {
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
    let chosen = loop {
        let live: Live = app.live(Instant::now());
        painter.frame(&[], &live)?;
        let effects = match crossterm::event::read() {
            Ok(Event::Key(key)) if is_interrupt(key) => break Picked::Interrupted,
            Ok(Event::Key(key)) => app.key(key, Instant::now()),
            Ok(Event::Paste(text)) => app.paste(&text, Instant::now()),
            Ok(Event::Resize(width, height)) => {
                painter.set_width(width.into());
                app.resize(width.into(), height.into());
                Vec::new()
            }
            Ok(_) => Vec::new(),
            Err(error) => return Err(error),
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

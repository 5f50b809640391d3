//! Keys that arrive at once. Terminals without paste marks type a paste: so many
//! lines at once that nobody has typed them are one, and no line of it is sent.

use std::io;
use std::task::Poll;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use futures_util::StreamExt as _;

use super::{Screen, terminal_event};
use crate::app::Effect;

/// Events taken in at once.
const MOST: usize = 8_192;
/// What follows a paste this soon belongs to it: terminals hand long ones over in
/// pieces.
const SAME_PASTE: Duration = Duration::from_millis(20);

impl Screen<'_> {
    /// Takes in what was typed, and all that arrived with it.
    pub(super) async fn typed(&mut self, first: Event) -> io::Result<Vec<Effect>> {
        let mut events = vec![first];
        while events.len() < MOST {
            // Asked with the waker of the loop: a stream that is asked with none
            // never wakes anybody again.
            let next = std::future::poll_fn(|context| {
                Poll::Ready(match self.input.poll_next_unpin(context) {
                    Poll::Ready(Some(Ok(event))) => Some(event),
                    _ => None,
                })
            });
            match next.await {
                Some(event) => events.push(event),
                None => break,
            }
        }
        let lines = self.app.preferences().burst_lines;
        let goes_on = self
            .pasted_at
            .is_some_and(|when| when.elapsed() < SAME_PASTE);
        if let Some(text) = pasted(&events, lines, goes_on) {
            let effects = self.app.paste(&text, Instant::now());
            self.pasted_at = Some(Instant::now());
            return Ok(effects);
        }
        let last = events.pop();
        for event in events {
            let effects = terminal_event(&mut self.app, &mut self.painter, event);
            self.carry_out(effects).await?;
            if self.leaving {
                return Ok(Vec::new());
            }
        }
        Ok(match last {
            Some(event) => terminal_event(&mut self.app, &mut self.painter, event),
            None => Vec::new(),
        })
    }
}

/// The text of the keys, when it has so many lines that it was pasted; 0 never.
/// Where a paste `goes_on`, any line is one of it; Enter alone is somebody's.
fn pasted(events: &[Event], lines: usize, goes_on: bool) -> Option<String> {
    if lines == 0 || events.len() < 2 || (events.len() <= lines && !goes_on) {
        return None;
    }
    let mut text = String::new();
    for event in events {
        let Event::Key(key) = event else { return None };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => text.push('\n'),
            KeyCode::Char('j') if control => text.push('\n'),
            KeyCode::Tab => text.push('\t'),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => {
                return None;
            }
            KeyCode::Char(c) => text.push(c),
            _ => return None,
        }
    }
    // The last line end may be the Enter of somebody who typed one line.
    let many = text.trim_end_matches('\n').matches('\n').count() >= lines;
    (many || goes_on).then_some(text)
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;
    use pretty_assertions::assert_eq;

    use super::*;

    fn keys(text: &str) -> Vec<Event> {
        text.chars()
            .map(|c| {
                let code = match c {
                    '\n' => KeyCode::Enter,
                    c => KeyCode::Char(c),
                };
                Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
            })
            .collect()
    }

    #[test]
    fn many_lines_at_once_are_a_paste() {
        let text = "a\nb\nc\nd\ne\nf";
        assert_eq!(pasted(&keys(text), 5, false).as_deref(), Some(text));
        assert_eq!(pasted(&keys("a\nb\n/quit\n"), 5, false), None);
        assert_eq!(pasted(&keys(text), 0, false), None, "switched off");
        // The rest of a long one, and the Enter that sends it.
        assert_eq!(pasted(&keys("g\nh"), 5, true).as_deref(), Some("g\nh"));
        assert_eq!(pasted(&keys("\n"), 5, true), None);
        let mut with_control = keys(text);
        with_control.push(Event::Key(KeyEvent::new(
            KeyCode::Char('c'),
            KeyModifiers::CONTROL,
        )));
        assert_eq!(pasted(&with_control, 5, false), None);
    }
}

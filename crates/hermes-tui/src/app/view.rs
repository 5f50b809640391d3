//! The live area, from top to bottom: what still changes in the turn, a dialog,
//! a hint, the status line, the input, a menu.

use std::time::Instant;

use ratatui::text::{Line, Span};

use super::turn::spinner;
use super::{App, BusyMode, Queued};
use crate::editor::Editor;
use crate::markdown::display_width;
use crate::paint::Live;

/// The input grows to this many rows, then scrolls.
const INPUT_ROWS: usize = 8;

impl App {
    pub fn live(&self, now: Instant) -> Live {
        let theme = self.preferences.theme;
        let width = self.width.max(10);
        let mut lines = Vec::new();
        if let Some(turn) = &self.turn {
            let rows = self.height.saturating_sub(INPUT_ROWS + 6).max(3);
            lines.extend(turn.live(now, theme, self.preferences.show_reasoning, rows));
        }
        if let Some(name) = self.running_command {
            lines.push(Line::styled(
                format!(
                    "  {} /{name}…",
                    spinner(now.duration_since(self.status.session_started))
                ),
                theme.dim,
            ));
        }
        let mut choice = None;
        if let Some(dialog) = self.dialogs.first().filter(|dialog| !dialog.listens(now)) {
            let waits = format!("  {} a question comes when you stop typing", dialog.sign());
            lines.push(Line::styled(waits, theme.warning));
        } else if let Some(dialog) = self.dialogs.first() {
            let (rows, at) = dialog.lines(width, self.height, theme, now);
            choice = Some((lines.len() + at, 2));
            lines.extend(rows);
        }
        if let Some(hint) = &self.hint {
            let hint = super::picker::cut(hint, width.saturating_sub(3));
            lines.push(Line::styled(format!("  {hint}"), theme.dim));
        } else if !self.queue.is_empty() {
            let waiting = match &self.queue[..] {
                [Queued::Message(text)] => format!("next: {}", text.replace('\n', " ")),
                [Queued::Command { name, .. }] => format!("next: /{name}"),
                more => format!("{} wait for this turn to end", more.len()),
            };
            lines.push(Line::styled(
                format!(
                    "  {}",
                    super::picker::cut(&waiting, width.saturating_sub(3))
                ),
                theme.dim,
            ));
        }
        if self.preferences.show_status {
            let working = self
                .turn
                .as_ref()
                .map(|turn| now.duration_since(turn.started));
            lines.push(self.status.line(width.saturating_sub(1), theme, working));
        }
        let cursor = match (&self.picker, self.dialogs.first()) {
            // The cursor is never hidden: whoever kills us finds it where it is.
            (_, Some(dialog)) if !dialog.listens(now) => {
                let sign = if self.is_working() { "⚕" } else { "" };
                Some(self.input(&mut lines, &self.editor, sign, false, ""))
            }
            (_, Some(dialog)) => match &dialog.field {
                Some(field) => {
                    let (sign, hidden) = (dialog.sign(), dialog.is_secret());
                    Some(self.input(&mut lines, field, sign, hidden, ""))
                }
                None => {
                    if !self.editor.is_empty() {
                        self.input(&mut lines, &self.editor, "⚕", false, "");
                    }
                    choice
                }
            },
            (Some(picker), None) => {
                // What stands above, the line that is typed into, and the title.
                let room = self.height.saturating_sub(lines.len() + 3);
                let rows = picker.lines(width, room, theme);
                let cursor = self.input(&mut lines, &picker.filter, "/", false, "");
                lines.extend(rows);
                Some(cursor)
            }
            (None, None) => {
                let sign = if self.is_working() { "⚕" } else { "" };
                let ghost = self.ghost();
                let cursor = self.input(&mut lines, &self.editor, sign, false, &ghost);
                if let Some(menu) = &self.menu {
                    lines.extend(menu.lines(width, theme));
                }
                Some(cursor)
            }
        };
        // More than the terminal is tall would scroll the top away with every frame.
        let surplus = lines
            .len()
            .saturating_sub(self.height.saturating_sub(1).max(1));
        lines.drain(..surplus);
        for line in &mut lines {
            keep_to_one_row(line, self.width.max(1));
        }
        let cursor = cursor.and_then(|(row, column)| Some((row.checked_sub(surplus)?, column)));
        Live { lines, cursor }
    }

    /// What is shown dim behind the text: how it goes on, or what one can do.
    fn ghost(&self) -> String {
        if self.editor.is_empty() {
            return match (self.is_working(), self.images.len()) {
                (true, _) => {
                    let does = match self.preferences.busy {
                        BusyMode::Interrupt => "interrupts",
                        BusyMode::Queue => "queues",
                        BusyMode::Steer => "steers",
                    };
                    format!("Enter {does} · /queue · /bg · /steer · Ctrl+C stops")
                }
                (false, 0) => String::new(),
                (false, 1) => "(with a picture)".to_owned(),
                (false, count) => format!("(with {count} pictures)"),
            };
        }
        if self.editor.cursor() != self.editor.text().len() || self.menu.is_some() {
            return String::new();
        }
        self.history
            .suggestion(self.editor.text())
            .unwrap_or_default()
            .to_owned()
    }

    fn input(
        &self,
        lines: &mut Vec<Line<'static>>,
        editor: &Editor,
        sign: &str,
        hidden: bool,
        ghost: &str,
    ) -> (usize, usize) {
        let theme = self.preferences.theme;
        let profile = match self.preferences.profile.as_str() {
            "" => String::new(),
            name => format!("{name} "),
        };
        let sign = if sign.is_empty() {
            String::new()
        } else {
            format!("{sign} ")
        };
        let prompt = format!("{profile}{sign}❯ ");
        let margin = display_width(&prompt);
        let room = self.width.saturating_sub(margin + 1).max(4);
        let masked;
        let editor = if hidden {
            let mut stars = Editor::default();
            stars.insert(&"•".repeat(editor.text().chars().count()));
            masked = stars;
            &masked
        } else {
            editor
        };
        let layout = editor.layout(room);
        let first = (layout.cursor.0 + 1).saturating_sub(INPUT_ROWS);
        let top = lines.len();
        for (index, row) in layout.rows.iter().enumerate().skip(first).take(INPUT_ROWS) {
            let lead = match index {
                0 => Span::styled(prompt.clone(), theme.user),
                _ => Span::raw(" ".repeat(margin)),
            };
            let mut spans = vec![lead, Span::raw(row.clone())];
            if index + 1 == layout.rows.len() && !ghost.is_empty() {
                let rest = room.saturating_sub(display_width(row));
                spans.push(Span::styled(super::picker::cut(ghost, rest), theme.dim));
            }
            lines.push(Line::from(spans));
        }
        (top + layout.cursor.0 - first, margin + layout.cursor.1)
    }
}

/// A live line that the terminal broke in two would leave its second half behind
/// with every frame.
fn keep_to_one_row(line: &mut Line<'static>, width: usize) {
    let mut room = width;
    for span in &mut line.spans {
        let wide = display_width(&span.content);
        if wide > room {
            span.content = super::picker::cut(&span.content, room).into();
            room = 0;
        } else {
            room -= wide;
        }
    }
}

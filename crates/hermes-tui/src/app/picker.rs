//! Choosing one of many by typing a part of its name.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};
use ratatui::text::{Line, Span};

use crate::editor::Editor;
use crate::markdown::display_width;
use crate::theme::Theme;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickItem {
    /// What is handed on when it is chosen.
    pub value: String,
    pub label: String,
    pub detail: String,
}

impl PickItem {
    fn searched(&self) -> String {
        format!("{} {}", self.label, self.detail)
    }
}

/// A list with a filter. What is chosen becomes the argument of `command`.
#[derive(Clone, Debug)]
pub struct Picker {
    pub(super) title: String,
    pub(super) command: &'static str,
    items: Vec<PickItem>,
    pub(super) filter: Editor,
    selected: usize,
}

/// As many as are shown where there is room.
const ROWS: usize = 10;
/// Fewer would be no list.
const FEWEST_ROWS: usize = 2;

impl Picker {
    pub fn new(title: impl Into<String>, command: &'static str, items: Vec<PickItem>) -> Self {
        Self {
            title: title.into(),
            command,
            items,
            filter: Editor::default(),
            selected: 0,
        }
    }

    /// What can be chosen: value, label and description.
    pub fn choices(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.items.iter().map(|item| {
            (
                item.value.as_str(),
                item.label.as_str(),
                item.detail.as_str(),
            )
        })
    }

    /// The command that what is chosen goes to.
    pub fn command(&self) -> &'static str {
        self.command
    }

    /// Best matches first; in the given order without a filter.
    fn matches(&self) -> Vec<&PickItem> {
        if self.filter.is_empty() {
            return self.items.iter().collect();
        }
        best(self.filter.text(), &self.items, PickItem::searched)
    }

    pub(super) fn typed(&mut self, edit: impl FnOnce(&mut Editor)) {
        edit(&mut self.filter);
        self.selected = 0;
    }

    pub(super) fn up(&mut self) {
        self.selected = self.selected.saturating_sub(1);
    }

    pub(super) fn down(&mut self) {
        self.selected = (self.selected + 1).min(self.matches().len().saturating_sub(1));
    }

    pub(super) fn chosen(&self) -> Option<String> {
        self.matches()
            .get(self.selected)
            .map(|item| item.value.clone())
    }

    /// The title and at most `room` entries below it.
    pub(super) fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let rows = room.clamp(FEWEST_ROWS, ROWS);
        let matches = self.matches();
        let title = cut(&format!("{} ", self.title), width.saturating_sub(1));
        let help = format!(
            "{}/{}  type to filter, Enter to choose, Esc to leave",
            matches.len(),
            self.items.len()
        );
        let help = cut(&help, width.saturating_sub(display_width(&title) + 1));
        let mut lines = vec![Line::from(vec![
            Span::styled(title, theme.heading),
            Span::styled(help, theme.dim),
        ])];
        let first = self.selected.saturating_sub(rows - 1);
        for (index, item) in matches.iter().enumerate().skip(first).take(rows) {
            let mark = if index == self.selected { "❯ " } else { "  " };
            let style = if index == self.selected {
                theme.selected
            } else {
                ratatui::style::Style::new()
            };
            let room = width.saturating_sub(3);
            let label = cut(&item.label, room);
            let rest = room.saturating_sub(display_width(&label) + 2);
            let mut spans = vec![Span::raw(mark), Span::styled(label, style)];
            if rest > 0 {
                let detail = format!("  {}", cut(&item.detail, rest));
                spans.push(Span::styled(detail, theme.dim));
            }
            lines.push(Line::from(spans));
        }
        if matches.is_empty() {
            lines.push(Line::styled("  nothing matches", theme.dim));
        }
        lines
    }
}

/// Those whose text has the letters in this order, best matches first.
pub(super) fn best<'i, T, S: AsRef<str>>(
    letters: &str,
    items: &'i [T],
    text: impl Fn(&'i T) -> S,
) -> Vec<&'i T> {
    let pattern = Pattern::parse(letters, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut scored: Vec<(u32, usize, &T)> = Vec::new();
    let mut buffer = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let text = text(item);
        let haystack = nucleo_matcher::Utf32Str::new(text.as_ref(), &mut buffer);
        if let Some(score) = pattern.score(haystack, &mut matcher) {
            scored.push((score, index, item));
        }
    }
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, _, item)| item).collect()
}

/// At most `width` columns, with a mark where something is missing.
pub(super) fn cut(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += display_width(c.encode_utf8(&mut [0; 4]));
        if used > width {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

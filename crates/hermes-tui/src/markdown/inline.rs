//! Text within a block: emphasis, code, links.

use pulldown_cmark::{Event, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::Span;

use crate::theme::Theme;

/// Collects the spans of one paragraph, heading or table cell.
pub(super) struct Inline {
    theme: Theme,
    base: Style,
    styles: Vec<Style>,
    links: Vec<String>,
    spans: Vec<Span<'static>>,
}

impl Inline {
    pub(super) fn new(theme: Theme, base: Style) -> Self {
        Self {
            theme,
            base,
            styles: Vec::new(),
            links: Vec::new(),
            spans: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(super) fn take(&mut self) -> Vec<Span<'static>> {
        std::mem::take(&mut self.spans)
    }

    pub(super) fn push(&mut self, text: impl Into<String>, style: Style) {
        self.spans.push(Span::styled(text.into(), style));
    }

    /// `false` when the event is none of text within a block.
    pub(super) fn event(&mut self, event: &Event<'_>) -> bool {
        let current = self.styles.last().copied().unwrap_or(self.base);
        match event {
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => {
                self.push(text.as_ref(), current);
            }
            Event::Code(text) => self.push(text.as_ref(), current.patch(self.theme.code)),
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(text.as_ref(), current.patch(self.theme.code));
            }
            Event::SoftBreak => self.push(" ", current),
            Event::HardBreak => self.push("\n", current),
            Event::TaskListMarker(done) => {
                self.push(if *done { "[x] " } else { "[ ] " }, current);
            }
            Event::FootnoteReference(name) => self.push(format!("[{name}]"), self.theme.dim),
            Event::Start(tag) => return self.start(tag, current),
            Event::End(tag) => return self.end(tag),
            Event::Rule => return false,
        }
        true
    }

    fn start(&mut self, tag: &Tag<'_>, current: Style) -> bool {
        let style = match tag {
            Tag::Emphasis => current.add_modifier(Modifier::ITALIC),
            Tag::Strong => current.add_modifier(Modifier::BOLD),
            Tag::Strikethrough => current.add_modifier(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push(dest_url.to_string());
                current.patch(self.theme.link)
            }
            _ => return false,
        };
        self.styles.push(style);
        true
    }

    fn end(&mut self, tag: &TagEnd) -> bool {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let target = self.links.pop().unwrap_or_default();
                let shown = self.spans.last().is_some_and(|span| span.content == target);
                if !shown && !target.is_empty() {
                    self.push(format!(" ({target})"), self.theme.dim);
                }
            }
            _ => return false,
        }
        true
    }
}

//! Markdown as styled lines of a given width, whole or as it streams in.
//!
//! While an answer arrives only its last open block can still change its looks;
//! everything before it is final and can be handed to the terminal's scrollback.

mod block;
mod highlight;
mod inline;
mod stream;
mod table;
mod wrap;

pub use highlight::Highlighter;
pub use stream::MarkdownStream;
pub use wrap::{display_width, wrap};

use ratatui::text::Line;

use crate::theme::Theme;

/// Narrower than this nothing is readable; lines are then cut by the terminal.
const MIN_WIDTH: usize = 12;

/// What rendering needs to know besides the text.
#[derive(Clone)]
pub struct Page {
    pub width: usize,
    pub theme: Theme,
    pub highlighter: Highlighter,
}

impl Page {
    fn text_width(&self) -> usize {
        self.width.max(MIN_WIDTH)
    }
}

/// All blocks of a text, separated by empty lines.
pub fn render(text: &str, page: &Page) -> Vec<Line<'static>> {
    block::render(text, page)
}

#[cfg(test)]
mod tests;

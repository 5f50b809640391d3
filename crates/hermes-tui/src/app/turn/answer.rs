//! The text of an answer as it arrives.

use ratatui::text::{Line, Span};

use crate::markdown::{MarkdownStream, Page, wrap};

/// An answer as it arrives.
pub(super) enum Answer {
    Rendered(Box<MarkdownStream>),
    /// As it was written; the open line, and the width it is broken at.
    Raw(String, usize),
}

impl Answer {
    pub(super) fn new(page: &Page, raw: bool) -> Self {
        match raw {
            true => Self::Raw(String::new(), page.width),
            false => Self::Rendered(Box::new(MarkdownStream::new(page.clone()))),
        }
    }

    pub(super) fn set_width(&mut self, width: usize) {
        match self {
            Self::Rendered(stream) => stream.set_width(width),
            Self::Raw(_, old) => *old = width,
        }
    }

    pub(super) fn push(&mut self, delta: &str) -> Vec<Line<'static>> {
        match self {
            Self::Rendered(stream) => stream.push(delta),
            Self::Raw(pending, width) => {
                pending.push_str(delta);
                let whole = pending.rfind('\n').map_or(0, |at| at + 1);
                let done: String = pending.drain(..whole).collect();
                done.lines()
                    .flat_map(|line| unrendered(line, *width))
                    .collect()
            }
        }
    }

    pub(super) fn open(&self) -> Vec<Line<'static>> {
        match self {
            Self::Rendered(stream) => stream.open(),
            Self::Raw(pending, _) if pending.is_empty() => Vec::new(),
            Self::Raw(pending, width) => unrendered(pending, *width),
        }
    }

    pub(super) fn finish(&mut self) -> Vec<Line<'static>> {
        match self {
            Self::Rendered(stream) => stream.finish(),
            Self::Raw(..) => {
                let lines = self.open();
                if let Self::Raw(pending, _) = self {
                    pending.clear();
                }
                lines
            }
        }
    }
}

pub(super) fn unrendered(line: &str, width: usize) -> Vec<Line<'static>> {
    wrap(&[Span::raw(line.to_owned())], width.max(8), &[], &[])
}

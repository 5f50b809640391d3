//! Markdown that is still being written.

use pulldown_cmark::Event;
use ratatui::text::Line;

use super::Page;
use super::block::{parser, render};

/// Splits what arrives into lines that are final and a block that is open.
pub struct MarkdownStream {
    page: Page,
    /// Text of the open block, without the fence of a code block in pieces.
    pending: String,
    code: Option<Fence>,
    /// Whether anything was handed out, so that the next block stands apart.
    started: bool,
}

/// A code block so long that it is handed out in pieces.
struct Fence {
    /// Its first line: marks and language.
    opening: String,
}

/// A code block of more lines than this is handed out piece by piece; a shorter
/// one waits for its end, so that its colours are right.
const LONG_CODE: usize = 60;

impl MarkdownStream {
    pub fn new(page: Page) -> Self {
        Self {
            page,
            pending: String::new(),
            code: None,
            started: false,
        }
    }

    /// A new width holds for what is not final yet.
    pub fn set_width(&mut self, width: usize) {
        self.page.width = width;
    }

    /// Takes more text and gives back the lines that will not change any more.
    pub fn push(&mut self, delta: &str) -> Vec<Line<'static>> {
        self.pending.push_str(delta);
        let mut lines = Vec::new();
        // Only a line break can close a block.
        if delta.contains('\n') {
            lines.extend(self.closed_blocks());
            lines.extend(self.long_code());
        }
        lines
    }

    /// The open block as it looks now.
    pub fn open(&self) -> Vec<Line<'static>> {
        if let Some(fence) = &self.code {
            return render(&format!("{}\n{}", fence.opening, self.pending), &self.page);
        }
        if self.pending.trim().is_empty() {
            return Vec::new();
        }
        let mut lines = render(&self.pending, &self.page);
        if self.started && !lines.is_empty() {
            lines.insert(0, Line::default());
        }
        lines
    }

    /// The text is complete: everything left is final.
    pub fn finish(&mut self) -> Vec<Line<'static>> {
        let lines = self.open();
        self.pending.clear();
        self.code = None;
        self.started |= !lines.is_empty();
        lines
    }

    /// Every top-level block but the last is closed.
    fn closed_blocks(&mut self) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if let Some(fence) = &self.code {
            let Some(end) = closing_fence(&self.pending, &fence.opening) else {
                return lines;
            };
            let code: String = self.pending.drain(..end).collect();
            lines.extend(render(&format!("{}\n{code}", fence.opening), &self.page));
            self.code = None;
        }
        let mut depth = 0_usize;
        let mut last = 0;
        // What an unfinished line will be is not known yet: `|` may be a row or a paragraph.
        let whole_lines = self.pending.rfind('\n').map_or(0, |at| at + 1);
        for (event, range) in parser(&self.pending[..whole_lines]).into_offset_iter() {
            match event {
                Event::Start(_) => {
                    if depth == 0 {
                        last = range.start;
                    }
                    depth += 1;
                }
                Event::End(_) => depth -= 1,
                Event::Rule if depth == 0 => last = range.start,
                _ => {}
            }
        }
        // Indentation in front of a block belongs to it.
        let last = self.pending[..last].rfind('\n').map_or(0, |at| at + 1);
        let closed: String = self.pending.drain(..last).collect();
        let rendered = render(&closed, &self.page);
        if self.started && !rendered.is_empty() {
            lines.push(Line::default());
        }
        self.started |= !rendered.is_empty();
        lines.extend(rendered);
        lines
    }

    fn long_code(&mut self) -> Vec<Line<'static>> {
        if self.pending.matches('\n').count() <= LONG_CODE {
            return Vec::new();
        }
        let Some(whole_lines) = self.pending.rfind('\n').map(|at| at + 1) else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        let opening = match &self.code {
            Some(fence) => fence.opening.clone(),
            None => {
                let first = self.pending.lines().next().unwrap_or("");
                if fence_marks(first).is_none() {
                    return Vec::new();
                }
                if self.started {
                    lines.push(Line::default());
                }
                let opening = first.to_owned();
                self.pending.drain(..opening.len() + 1);
                opening
            }
        };
        let end = whole_lines.min(self.pending.len());
        let end = self.pending[..end].rfind('\n').map_or(0, |at| at + 1);
        let code: String = self.pending.drain(..end).collect();
        lines.extend(render(&format!("{opening}\n{code}"), &self.page));
        self.code = Some(Fence { opening });
        self.started = true;
        lines
    }
}

/// The marks that open a code block, when the line does.
fn fence_marks(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    (line.len() - text.len() <= 3 && length >= 3).then(|| &text[..length])
}

/// Where the text behind the closing line of the block begins.
fn closing_fence(text: &str, opening: &str) -> Option<usize> {
    let marks = fence_marks(opening)?;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let bare = line.trim();
        let closes = line.ends_with('\n')
            && bare.starts_with(marks)
            && bare.trim_start_matches(&marks[..1]).is_empty();
        if closes {
            return Some(at);
        }
    }
    None
}

//! Breaking styled text into lines by what it occupies on a terminal.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns that a text occupies; wide characters count two.
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// Breaks between words, and inside words that are wider than a line. `first`
/// stands in front of the first line, `rest` in front of the others.
pub fn wrap(
    spans: &[Span<'static>],
    width: usize,
    first: &[Span<'static>],
    rest: &[Span<'static>],
) -> Vec<Line<'static>> {
    let mut wrapper = Wrapper::new(width, first, rest);
    // A word may change its style in the middle; it is one word all the same.
    let mut word: Vec<(&str, &Span<'static>)> = Vec::new();
    for span in spans {
        for piece in span.content.split_inclusive('\n') {
            let (text, breaks) = match piece.strip_suffix('\n') {
                Some(text) => (text, true),
                None => (piece, false),
            };
            for (piece, kind) in pieces(text) {
                if kind != Kind::Word {
                    wrapper.put(&std::mem::take(&mut word));
                    wrapper.put(&[(piece, span)]);
                } else {
                    word.push((piece, span));
                }
            }
            if breaks {
                wrapper.put(&std::mem::take(&mut word));
                wrapper.end_line();
            }
        }
    }
    wrapper.put(&word);
    wrapper.finish()
}

/// Columns of the widest piece that a line is not broken in.
pub(super) fn widest_word(spans: &[Span<'static>]) -> usize {
    let mut widest = 0;
    let mut word = 0;
    for span in spans {
        for (piece, kind) in pieces(&span.content) {
            word = match kind {
                Kind::Word => word + display_width(piece),
                Kind::Wide => display_width(piece),
                Kind::Blank => 0,
            };
            widest = widest.max(word);
        }
    }
    widest
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Blank,
    Word,
    Wide,
}

/// Where a line may break: between blanks and words, and around wide characters,
/// which stand for whole syllables or words.
fn pieces(text: &str) -> Vec<(&str, Kind)> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, grapheme) in text.grapheme_indices(true) {
        let kind = if grapheme.trim().is_empty() {
            Kind::Blank
        } else if display_width(grapheme) > 1 {
            Kind::Wide
        } else {
            Kind::Word
        };
        match last {
            Some(last) if (last != kind || kind == Kind::Wide) && at > start => {
                out.push((&text[start..at], last));
                start = at;
            }
            _ => {}
        }
        last = Some(kind);
    }
    if let Some(last) = last
        && start < text.len()
    {
        out.push((&text[start..], last));
    }
    out
}

struct Wrapper<'p> {
    width: usize,
    rest: &'p [Span<'static>],
    lines: Vec<Line<'static>>,
    current: Vec<Span<'static>>,
    used: usize,
    /// Columns of the prefix: a line that holds no more is still empty.
    prefix: usize,
}

impl<'p> Wrapper<'p> {
    fn new(width: usize, first: &[Span<'static>], rest: &'p [Span<'static>]) -> Self {
        let prefix = first.iter().map(|span| display_width(&span.content)).sum();
        Self {
            width,
            rest,
            lines: Vec::new(),
            current: first.to_vec(),
            used: prefix,
            prefix,
        }
    }

    /// Puts a word, given in pieces of one style each, or a blank.
    fn put(&mut self, word: &[(&str, &Span<'static>)]) {
        let needed: usize = word.iter().map(|(text, _)| display_width(text)).sum();
        let blank = word.iter().all(|(text, _)| text.trim().is_empty());
        if self.used + needed > self.width && self.used > self.prefix {
            self.end_line();
        }
        // A break swallows the blank at which it happens.
        if blank && self.used == self.prefix && !self.lines.is_empty() {
            return;
        }
        let fits = self.used + needed <= self.width;
        for (text, like) in word {
            if fits {
                self.append(text, display_width(text), like);
                continue;
            }
            for grapheme in text.graphemes(true) {
                let columns = display_width(grapheme);
                if self.used + columns > self.width && self.used > self.prefix {
                    self.end_line();
                }
                self.append(grapheme, columns, like);
            }
        }
    }

    fn append(&mut self, text: &str, columns: usize, like: &Span<'static>) {
        let has_text = self.used > self.prefix;
        self.used += columns;
        match self.current.last_mut() {
            Some(last) if has_text && last.style == like.style => {
                last.content.to_mut().push_str(text);
            }
            _ => self.current.push(Span::styled(text.to_owned(), like.style)),
        }
    }

    fn end_line(&mut self) {
        let mut line = std::mem::replace(&mut self.current, self.rest.to_vec());
        self.prefix = self
            .rest
            .iter()
            .map(|span| display_width(&span.content))
            .sum();
        self.used = self.prefix;
        trim_end(&mut line);
        self.lines.push(Line::from(line));
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        if self.used > self.prefix || self.lines.is_empty() {
            self.end_line();
        }
        self.lines
    }
}

fn trim_end(spans: &mut Vec<Span<'static>>) {
    while let Some(last) = spans.last_mut() {
        let trimmed = last.content.trim_end().len();
        if trimmed == last.content.len() {
            return;
        }
        last.content.to_mut().truncate(trimmed);
        if trimmed > 0 {
            return;
        }
        spans.pop();
    }
}

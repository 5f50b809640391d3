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
    for span in spans {
        for piece in span.content.split_inclusive('\n') {
            let (text, breaks) = match piece.strip_suffix('\n') {
                Some(text) => (text, true),
                None => (piece, false),
            };
            for word in pieces(text) {
                wrapper.put(word, span);
            }
            if breaks {
                wrapper.end_line();
            }
        }
    }
    wrapper.finish()
}

/// Where a line may break: between blanks and words, and around wide characters,
/// which stand for whole syllables or words.
fn pieces(text: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Kind {
        Blank,
        Word,
        Wide,
    }
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
        let joins = kind != Kind::Wide && last.as_ref() == Some(&kind);
        if !joins && at > start {
            out.push(&text[start..at]);
            start = at;
        }
        last = Some(kind);
    }
    if start < text.len() {
        out.push(&text[start..]);
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

    fn put(&mut self, word: &str, like: &Span<'static>) {
        let needed = display_width(word);
        let blank = word.trim().is_empty();
        if self.used + needed > self.width && self.used > self.prefix {
            self.end_line();
        }
        // A break swallows the blank at which it happens.
        if blank && self.used == self.prefix && !self.lines.is_empty() {
            return;
        }
        if self.used + needed <= self.width {
            return self.append(word, needed, like);
        }
        for grapheme in word.graphemes(true) {
            let columns = display_width(grapheme);
            if self.used + columns > self.width && self.used > self.prefix {
                self.end_line();
            }
            self.append(grapheme, columns, like);
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

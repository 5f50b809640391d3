//! Text as lines that can be put together again to the byte.

/// A line without its ending, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'t> {
    pub(super) text: &'t str,
    /// Byte offset of the first character.
    pub(super) start: usize,
    /// Byte offset behind the line ending.
    pub(super) next: usize,
}

impl Line<'_> {
    /// Byte offset behind the last character, before the line ending.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Lines of a text; a last line without an ending counts, an empty rest does not.
pub(super) fn split(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive('\n') {
        let next = start + piece.len();
        let bare = piece.strip_suffix('\n').unwrap_or(piece);
        lines.push(Line {
            text: bare,
            start,
            next,
        });
        start = next;
    }
    lines
}

/// The blanks in front of a line.
pub(super) fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Windows line endings throughout, so that an edit can keep them.
pub(super) fn is_crlf(text: &str) -> bool {
    let breaks = text.matches('\n').count();
    breaks > 0 && text.matches("\r\n").count() == breaks
}

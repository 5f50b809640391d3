//! Lines and bytes of a text that is being edited.

use std::ops::Range;

/// The text with one range replaced.
pub(super) fn replace(text: &str, range: Range<usize>, with: &str) -> String {
    let mut out = String::with_capacity(text.len() + with.len());
    out.push_str(&text[..range.start]);
    out.push_str(with);
    out.push_str(&text[range.end..]);
    out
}

/// The line break that the text uses.
pub(super) fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Where the line that holds `at` starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |found| found + 1)
}

/// Where the line that holds `at` ends, before its line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    if text[..end].ends_with('\r') && end > at {
        end - 1
    } else {
        end
    }
}

/// Where the next line starts; the length of the text when there is none.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    text[at..]
        .find('\n')
        .map_or(text.len(), |found| at + found + 1)
}

/// The end of what belongs to a node that stops at `end`: the rest of its last line
/// with any comment there. A block scalar already stops at the start of a line.
pub(super) fn content_end(text: &str, start: usize, end: usize) -> usize {
    if end > start && end == line_start(text, end) {
        return end;
    }
    next_line(text, end)
}

/// The first position at or after `at` that is not a comment line indented deeper
/// than `indent`: such a comment belongs to what stands above it.
pub(super) fn after_own_comments(text: &str, mut at: usize, indent: usize) -> usize {
    while at < text.len() {
        let line = &text[at..next_line(text, at)];
        let body = line.trim_start_matches(' ');
        if body.starts_with('#') && line.len() - body.len() > indent {
            at = next_line(text, at);
        } else {
            break;
        }
    }
    at
}

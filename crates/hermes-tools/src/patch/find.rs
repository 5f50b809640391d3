//! Where a quoted text stands, from the strictest reading to the most lenient.
//!
//! The first strategy that finds anything wins; how many places it found decides
//! whether the edit is safe. Every strategy but the first compares whole lines,
//! one to one, so that nothing is swallowed between them.

use std::ops::Range;

use serde::Serialize;

use super::lines::{Line, split};
use super::similarity::ratio;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    Exact,
    LineTrimmed,
    WhitespaceNormalized,
    EscapeNormalized,
    TrimmedBoundary,
    UnicodeNormalized,
    BlockAnchor,
    ContextAware,
}

impl Strategy {
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::Exact => "exact",
            Strategy::LineTrimmed => "line_trimmed",
            Strategy::WhitespaceNormalized => "whitespace_normalized",
            Strategy::EscapeNormalized => "escape_normalized",
            Strategy::TrimmedBoundary => "trimmed_boundary",
            Strategy::UnicodeNormalized => "unicode_normalized",
            Strategy::BlockAnchor => "block_anchor",
            Strategy::ContextAware => "context_aware",
        }
    }
}

/// Places in the text, in order; they may overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) strategy: Strategy,
    pub(super) places: Vec<Range<usize>>,
}

pub(super) fn find(text: &str, quoted: &str) -> Option<Found> {
    let exact = occurrences(text, quoted);
    if !exact.is_empty() {
        return Some(Found {
            strategy: Strategy::Exact,
            places: exact,
        });
    }
    let lines = split(text);
    let wanted: Vec<&str> = split(quoted).iter().map(|line| line.text).collect();
    if wanted.iter().all(|line| line.trim().is_empty()) {
        return None;
    }
    let whole_last_line = quoted.ends_with('\n');
    let windows = |same: &dyn Fn(&str, &str) -> bool| find_lines(&lines, &wanted, same);
    let attempts: [(Strategy, &dyn Fn() -> Vec<usize>); 5] = [
        (Strategy::LineTrimmed, &|| {
            windows(&|a, b| a.trim() == b.trim())
        }),
        (Strategy::WhitespaceNormalized, &|| {
            windows(&|a, b| collapse(a) == collapse(b))
        }),
        (Strategy::UnicodeNormalized, &|| {
            windows(&|a, b| collapse(&ascii_punctuation(a)) == collapse(&ascii_punctuation(b)))
        }),
        (Strategy::BlockAnchor, &|| anchored(&lines, &wanted)),
        (Strategy::ContextAware, &|| similar(&lines, &wanted)),
    ];
    for (strategy, attempt) in attempts {
        if strategy == Strategy::UnicodeNormalized
            && let Some(found) = decoded(text, quoted)
        {
            return Some(found);
        }
        let starts = attempt();
        if !starts.is_empty() {
            let range = |start: usize| span(&lines[start..start + wanted.len()], whole_last_line);
            let places = starts.into_iter().map(range).collect();
            return Some(Found { strategy, places });
        }
    }
    None
}

type Same = fn(&str, &str) -> bool;

/// Windows of lines that equal the wanted ones, the strictest comparison first.
/// For patches, where every line has its counterpart.
pub(super) fn find_block(lines: &[Line<'_>], wanted: &[&str]) -> (Strategy, Vec<usize>) {
    let comparisons: [(Strategy, Same); 4] = [
        (Strategy::Exact, |a, b| a == b),
        (Strategy::LineTrimmed, |a, b| a.trim() == b.trim()),
        (Strategy::WhitespaceNormalized, |a, b| {
            collapse(a) == collapse(b)
        }),
        (Strategy::UnicodeNormalized, |a, b| {
            collapse(&ascii_punctuation(a)) == collapse(&ascii_punctuation(b))
        }),
    ];
    for (strategy, same) in comparisons {
        let starts = find_lines(lines, wanted, &same);
        if !starts.is_empty() {
            return (strategy, starts);
        }
    }
    (Strategy::Exact, Vec::new())
}

/// Overlapping places count too: `aa` stands twice in `aaa`, so it is ambiguous.
fn occurrences(text: &str, quoted: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(quoted).map(|at| from + at) {
        places.push(at..at + quoted.len());
        let Some(first) = text[at..].chars().next() else {
            break;
        };
        from = at + first.len_utf8();
    }
    places
}

fn find_lines(
    lines: &[Line<'_>],
    wanted: &[&str],
    same: &dyn Fn(&str, &str) -> bool,
) -> Vec<usize> {
    let fits = |start: &usize| {
        lines[*start..]
            .iter()
            .zip(wanted)
            .all(|(line, want)| same(line.text, want))
    };
    match lines.len().checked_sub(wanted.len()) {
        Some(last) if !wanted.is_empty() => (0..=last).filter(fits).collect(),
        _ => Vec::new(),
    }
}

fn span(lines: &[Line<'_>], whole_last_line: bool) -> Range<usize> {
    match (lines.first(), lines.last()) {
        (Some(first), Some(last)) => {
            first.start..if whole_last_line {
                last.next
            } else {
                last.end()
            }
        }
        _ => 0..0,
    }
}

/// Written with `\n` where a line break was meant.
fn decoded(text: &str, quoted: &str) -> Option<Found> {
    let plain = quoted
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\r", "\r");
    if plain == quoted {
        return None;
    }
    let places = occurrences(text, &plain);
    (!places.is_empty()).then_some(Found {
        strategy: Strategy::EscapeNormalized,
        places,
    })
}

fn collapse(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn ascii_punctuation(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{2032}' => out.push('\''),
            '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2033}' => out.push('"'),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => out.push('-'),
            '\u{2026}' => out.push_str("..."),
            '\u{a0}' | '\u{2009}' | '\u{202f}' | '\u{3000}' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// First and last line are right, what lies between is nearly so.
fn anchored(lines: &[Line<'_>], wanted: &[&str]) -> Vec<usize> {
    let [first, middle @ .., last] = wanted else {
        return Vec::new();
    };
    if middle.is_empty() {
        return Vec::new();
    }
    let ends_match = |start: usize| {
        lines[start].text.trim() == first.trim()
            && lines[start + wanted.len() - 1].text.trim() == last.trim()
    };
    let Some(last_start) = lines.len().checked_sub(wanted.len()) else {
        return Vec::new();
    };
    let candidates: Vec<usize> = (0..=last_start)
        .filter(|start| ends_match(*start))
        .collect();
    let least = if candidates.len() > 1 { 0.70 } else { 0.50 };
    let alike = |start: &usize| {
        let there: Vec<&str> = lines[start + 1..start + wanted.len() - 1]
            .iter()
            .map(|line| line.text.trim())
            .collect();
        let here: Vec<&str> = middle.iter().map(|line| line.trim()).collect();
        ratio(&there.join("\n"), &here.join("\n")) >= least
            && there.iter().zip(&here).all(|(a, b)| says_the_same(a, b))
    };
    candidates.into_iter().filter(alike).collect()
}

/// Most lines are nearly right, and none says something else.
fn similar(lines: &[Line<'_>], wanted: &[&str]) -> Vec<usize> {
    if wanted.len() < 3 || lines.len() < wanted.len() {
        return Vec::new();
    }
    let mut starts = Vec::new();
    for start in 0..=lines.len() - wanted.len() {
        let pairs = || {
            lines[start..]
                .iter()
                .zip(wanted)
                .map(|(line, want)| (line.text.trim(), want.trim()))
        };
        if !pairs().all(|(a, b)| says_the_same(a, b)) {
            continue;
        }
        let close = pairs().filter(|(a, b)| ratio(a, b) >= 0.80).count();
        if close * 2 >= wanted.len() {
            starts.push(start);
        }
    }
    starts
}

/// The same signs in the same order: what differs is only where blanks are, and which
/// kind of quotation mark. `timeout = 30` is not `timeout = 10`, and `a && b` is not
/// `a || b`.
fn says_the_same(a: &str, b: &str) -> bool {
    signs(a) == signs(b)
}

/// Without the blanks that part nothing: between words they do, and between
/// operators (`- -x` is not `--x`).
fn signs(line: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_operator = |c: char| !is_word(c) && !"()[]{},;\"'`".contains(c);
    let mut out = String::with_capacity(line.len());
    for piece in ascii_punctuation(line).split_whitespace() {
        if let (Some(before), Some(after)) = (out.chars().last(), piece.chars().next())
            && (is_word(before) && is_word(after) || is_operator(before) && is_operator(after))
        {
            out.push(' ');
        }
        out.push_str(&piece.replace('\'', "\""));
    }
    out
}

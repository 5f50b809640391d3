//! How new lines are indented, where a quote is indented in another way than the
//! file: moved as a whole, counted in other units, or line by line. What none of
//! these explains is not guessed.

use std::collections::BTreeMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::lines::indent;

/// The new lines as the file would indent them. `old` and `there` are the quote and
/// its place, line by line. `None`: the quote lost what would tell.
pub(super) fn reindented(old: &[&str], there: &[&str], new: &[&str]) -> Option<Vec<String>> {
    let pairs: Vec<(&str, &str)> = old
        .iter()
        .zip(there)
        .filter(|(old, _)| !is_blank(old))
        .map(|(old, there)| (indent(old), indent(there)))
        .collect();
    let Some((quoted, real)) = pairs.first().copied() else {
        return Some(new.iter().map(|line| (*line).to_owned()).collect());
    };
    if let Some(more) = real.strip_suffix(quoted)
        && pairs.iter().all(|(o, f)| f.strip_suffix(o) == Some(more))
    {
        return deeper(more, &pairs, new);
    }
    if let Some(less) = quoted.strip_suffix(real)
        && pairs.iter().all(|(o, f)| o.strip_suffix(f) == Some(less))
    {
        return new.iter().map(|line| shallower(less, line)).collect();
    }
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    if pairs
        .iter()
        .all(|(o, f)| *known.entry(o).or_insert(f) == *f)
    {
        let scale = Scale::of(&known);
        let line = |line: &&str| match known.get(indent(line)) {
            _ if is_blank(line) => Some((*line).to_owned()),
            Some(known) => Some(format!("{known}{}", line.trim_start())),
            None => scale.as_ref()?.apply(line),
        };
        return new.iter().map(line).collect();
    }
    line_by_line(old, there, new)
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn is_all(text: &str, wanted: char) -> bool {
    text.chars().all(|c| c == wanted)
}

/// The place stands deeper by `more` than the quote.
fn deeper(more: &str, pairs: &[(&str, &str)], new: &[&str]) -> Option<Vec<String>> {
    let flat = pairs.iter().all(|(quoted, _)| quoted.is_empty());
    let mixes = |kind: char| {
        let foreign = |line: &&&str| !is_blank(line) && !is_all(indent(line), kind);
        flat && !more.is_empty() && is_all(more, kind) && new.iter().any(|line| foreign(&line))
    };
    // A file with tabs and new lines with blanks: what they call one step is one tab.
    if mixes('\t') {
        let widths = || new.iter().filter(|l| !is_blank(l)).map(|line| indent(line));
        let step = widths().map(str::len).filter(|width| *width > 0).min()?;
        if !widths().all(|blanks| is_all(blanks, ' ') && blanks.len().is_multiple_of(step)) {
            return None;
        }
        let line = |line: &&str| match is_blank(line) {
            true => (*line).to_owned(),
            false => {
                let tabs = "\t".repeat(indent(line).len() / step);
                format!("{more}{tabs}{}", line.trim_start())
            }
        };
        return Some(new.iter().map(line).collect());
    }
    // How wide a tab would be among these blanks, nothing says.
    if mixes(' ') {
        return None;
    }
    let line = |line: &&str| match is_blank(line) {
        true => (*line).to_owned(),
        false => format!("{more}{line}"),
    };
    Some(new.iter().map(line).collect())
}

/// The place stands less deep by `less` than the quote.
fn shallower(less: &str, line: &str) -> Option<String> {
    match line.strip_prefix(less) {
        _ if is_blank(line) => Some(line.to_owned()),
        Some(rest) => Some(rest.to_owned()),
        // Already where nothing is left to take away.
        None if less.starts_with(indent(line)) => Some(line.trim_start().to_owned()),
        None => None,
    }
}

/// So many characters of the file's for so many of the quote's.
struct Scale {
    quoted: char,
    real: char,
    from: (usize, usize),
    step: (usize, usize),
}

impl Scale {
    /// From at least one difference, the same for all.
    fn of(known: &BTreeMap<&str, &str>) -> Option<Self> {
        let kind = |text: &str| text.chars().next();
        let quoted = known.keys().find_map(|text| kind(text))?;
        let real = known.values().find_map(|text| kind(text))?;
        if !known
            .iter()
            .all(|(o, f)| is_all(o, quoted) && is_all(f, real))
        {
            return None;
        }
        let mut points: Vec<(usize, usize)> =
            known.iter().map(|(o, f)| (o.len(), f.len())).collect();
        points.sort_unstable();
        if points.len() == 1 {
            points.insert(0, (0, 0));
        }
        let from = *points.first()?;
        let last = *points.last()?;
        let step = (last.0 - from.0, last.1.checked_sub(from.1)?);
        let on_the_line = |(o, f): &(usize, usize)| {
            f.checked_sub(from.1).map(|f| f * step.0) == Some((o - from.0) * step.1)
        };
        (step.0 > 0 && step.1 > 0 && points.iter().all(on_the_line)).then_some(Self {
            quoted,
            real,
            from,
            step,
        })
    }

    fn apply(&self, line: &str) -> Option<String> {
        let blanks = indent(line);
        if !is_all(blanks, self.quoted) {
            return None;
        }
        let scaled = |distance: usize| {
            let all = distance * self.step.1;
            all.is_multiple_of(self.step.0).then_some(all / self.step.0)
        };
        let width = match blanks.len().checked_sub(self.from.0) {
            Some(more) => self.from.1 + scaled(more)?,
            None => self
                .from
                .1
                .checked_sub(scaled(self.from.0 - blanks.len())?)?,
        };
        let blanks = self.real.to_string().repeat(width);
        Some(format!("{blanks}{}", line.trim_start()))
    }
}

/// The quote lost its shape, but each new line stands where one of its lines stood.
fn line_by_line(old: &[&str], there: &[&str], new: &[&str]) -> Option<Vec<String>> {
    let bare = |lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| line.trim().to_owned()).collect()
    };
    let mut out = Vec::new();
    for change in capture_diff_slices(Algorithm::Myers, &bare(old), &bare(new)) {
        if let DiffOp::Delete { .. } = change {
            continue;
        }
        let (before, after) = (change.old_range(), change.new_range());
        for (offset, line) in new[after.clone()].iter().enumerate() {
            if is_blank(line) {
                out.push((*line).to_owned());
                continue;
            }
            let at = before.start + offset;
            let paired = before.len() == after.len()
                && !is_blank(old[at])
                && indent(old[at]) == indent(line);
            if !paired {
                return None;
            }
            out.push(format!("{}{}", indent(there[at]), line.trim_start()));
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn lines(old: &str, there: &str, new: &str) -> Option<String> {
        let old: Vec<&str> = old.split('\n').collect();
        let there: Vec<&str> = there.split('\n').collect();
        let new: Vec<&str> = new.split('\n').collect();
        reindented(&old, &there, &new).map(|lines| lines.join("\n"))
    }

    #[test]
    fn a_block_moves_as_a_whole() {
        assert_eq!(
            lines("a\n  b", "    a\n      b", "a\n    c\n\nd").unwrap(),
            "    a\n        c\n\n    d"
        );
        assert_eq!(
            lines("    a\n      b", "a\n  b", "    a\n        c\nd").unwrap(),
            "a\n    c\nd"
        );
        assert_eq!(lines(" a", "a", "b").unwrap(), "b");
    }

    #[test]
    fn other_units_are_counted() {
        assert_eq!(
            lines("a\n    b", "\ta\n\t\tb", "a\n    b\n        c").unwrap(),
            "\ta\n\t\tb\n\t\t\tc"
        );
        assert_eq!(
            lines("a\n  b", "a\n    b", "a\n  b\n    c").unwrap(),
            "a\n    b\n        c"
        );
        assert_eq!(lines("a\n    b", "a\n\tb", "a\n   c"), None);
        assert_eq!(
            lines("a\nb", "\ta\n\tb", "a\n  b\n    c").unwrap(),
            "\ta\n\t\tb\n\t\t\tc"
        );
        assert_eq!(lines("a\nb", "    a\n    b", "a\n\tb"), None);
    }

    #[test]
    fn a_lost_shape_is_found_again_line_by_line_or_not_at_all() {
        let there = "if a:\n    foo()\nelse:\n    bar()";
        let old = "if a:\nfoo()\nelse:\nbar()";
        assert_eq!(
            lines(old, there, "if a:\nfoo(1)\nelse:\nbar(2)").unwrap(),
            "if a:\n    foo(1)\nelse:\n    bar(2)"
        );
        assert_eq!(
            lines(old, there, "if a:\nfoo(1)\nmore()\nelse:\nbar(2)"),
            None
        );
    }
}

//! The format: entries with a line holding `§` between them, nothing else.

/// Stands between two entries, exactly so.
pub const DELIMITER: &str = "\n§\n";

/// Entries of a file, trimmed, without empty ones.
pub fn parse(text: &str) -> Vec<String> {
    text.split(DELIMITER)
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The text of a file with these entries; no line break at the end.
pub fn joined(entries: &[String]) -> String {
    entries.join(DELIMITER)
}

/// Whether rewriting the parsed entries would keep everything a person may have
/// written by hand, and every entry fits the file at all.
pub(super) fn is_ours(text: &str, limit: usize) -> bool {
    let entries = parse(text);
    // Editors end a file with a line break; after a single line nothing hides in it.
    let last_is_a_line = entries.last().is_none_or(|entry| !entry.contains('\n'));
    let text = match text.strip_suffix('\n') {
        Some(rest) if last_is_a_line => rest,
        _ => text,
    };
    joined(&entries) == text && entries.iter().all(|entry| characters(entry) <= limit)
}

pub(super) fn characters(text: &str) -> usize {
    text.chars().count()
}

/// `1234567` as `1,234,567`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_grouped_by_three() {
        assert_eq!(grouped(43), "43");
        assert_eq!(grouped(2200), "2,200");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn a_hand_edited_file_is_recognised() {
        assert!(is_ours("one\n§\ntwo", 100));
        assert!(is_ours("", 100));
        assert!(is_ours("one\n§\ntwo\n", 100));
        assert!(!is_ours("one\n\n- a list\n- by hand\n", 100));
        assert!(!is_ours("one\n§\n§\ntwo\n§\n", 100));
        assert!(!is_ours("a very long entry", 5));
    }

    proptest! {
        #[test]
        fn entries_survive_a_round_trip(entries in prop::collection::vec("[a-zA-Z0-9§ .\n]{0,30}", 0..6)) {
            let clean: Vec<String> = entries
                .iter()
                .flat_map(|e| parse(e))
                .filter(|e| !e.lines().any(|line| line.trim() == "§"))
                .collect();
            prop_assert_eq!(parse(&joined(&clean)), clean);
        }
    }
}

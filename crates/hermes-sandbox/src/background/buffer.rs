//! The end of an output of any length.

use std::collections::VecDeque;

use hermes_types::tail_edge;

/// Characters kept.
pub(super) const LIMIT: usize = 200_000;

/// Text as it arrives; invalid UTF-8 becomes U+FFFD.
#[derive(Debug, Default)]
pub(super) struct Rolling {
    text: VecDeque<u8>,
    chars: usize,
    /// The beginning of a character whose rest has not arrived.
    partial: Vec<u8>,
}

impl Rolling {
    /// Adds bytes and returns them as the text that was added.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let mut pending = std::mem::take(&mut self.partial);
        pending.extend_from_slice(bytes);
        let mut added = String::with_capacity(pending.len());
        let mut rest = pending.as_slice();
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    added.push_str(text);
                    break;
                }
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    added.push_str(&String::from_utf8_lossy(valid));
                    match error.error_len() {
                        Some(length) => {
                            added.push('\u{fffd}');
                            rest = &after[length..];
                        }
                        None => {
                            self.partial = after.to_vec();
                            break;
                        }
                    }
                }
            }
        }
        self.chars += added.chars().count();
        self.text.extend(added.as_bytes());
        while self.chars > LIMIT {
            let Some(first) = self.text.pop_front() else {
                break;
            };
            // Characters are counted by their first byte; the rest goes along.
            if first & 0xc0 != 0x80 {
                self.chars -= 1;
            }
            while self.text.front().is_some_and(|byte| byte & 0xc0 == 0x80) {
                self.text.pop_front();
            }
        }
        added
    }

    pub(super) fn text(&self) -> String {
        let (front, back) = self.text.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }
}

/// The last `count` characters, less a word that would be cut.
pub(super) fn tail(text: &str, count: usize) -> &str {
    let start = text
        .char_indices()
        .rev()
        .nth(count.saturating_sub(1))
        .map_or(0, |(index, _)| index);
    if count == 0 {
        ""
    } else {
        &text[tail_edge(text, start)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_the_end_is_kept() {
        let mut rolling = Rolling::default();
        rolling.push("é".repeat(LIMIT).as_bytes());
        rolling.push(b"end");
        let text = rolling.text();
        assert_eq!(text.chars().count(), LIMIT);
        assert!(text.ends_with("éend"));
    }

    #[test]
    fn characters_cut_in_two_are_joined() {
        let mut rolling = Rolling::default();
        assert_eq!(rolling.push(b"a\xc3"), "a");
        assert_eq!(rolling.push(b"\xa9\xff"), "é\u{fffd}");
        assert_eq!(rolling.text(), "aé\u{fffd}");
    }

    #[test]
    fn tails_are_counted_in_characters() {
        assert_eq!(tail("añb", 2), "ñb");
        assert_eq!(tail("añb", 9), "añb");
        assert_eq!(tail("key ghp_abcdefghijklmnop end", 12), " end");
        assert_eq!(tail("añb", 0), "");
    }
}

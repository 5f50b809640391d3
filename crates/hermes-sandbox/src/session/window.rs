//! The first and the last of any amount of output, in bounded memory.

use std::collections::VecDeque;

use hermes_types::{head_edge, tail_edge};

/// Collects bytes as text. Invalid UTF-8 becomes U+FFFD, also where a character is
/// cut between two chunks and never completed.
pub struct Window {
    /// More characters than this are shown as beginning and end.
    limit: usize,
    /// The first characters, up to `limit`.
    first: String,
    first_chars: usize,
    /// The last bytes, enough for the end that is shown.
    last: VecDeque<u8>,
    total_chars: u64,
    total_bytes: u64,
    /// The beginning of a character whose rest has not arrived.
    partial: Vec<u8>,
}

/// What became of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputText {
    /// All of it, or its beginning.
    pub head: String,
    /// Its end, when something was left out between.
    pub tail: Option<String>,
    pub total_chars: u64,
    pub total_bytes: u64,
}

impl OutputText {
    /// Characters that are neither in `head` nor in `tail`.
    pub fn omitted_chars(&self) -> u64 {
        match &self.tail {
            None => 0,
            Some(tail) => {
                self.total_chars - (self.head.chars().count() + tail.chars().count()) as u64
            }
        }
    }

    /// One text, with a note in the gap.
    pub fn joined(&self) -> String {
        match &self.tail {
            None => self.head.clone(),
            Some(tail) => format!(
                "{}\n\n... [OUTPUT TRUNCATED - {} chars omitted out of {} total] ...\n\n{tail}",
                self.head,
                self.omitted_chars(),
                self.total_chars
            ),
        }
    }
}

/// Of the limit, for the beginning; the rest is for the end.
const HEAD_PERCENT: usize = 40;

impl Window {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            first: String::new(),
            first_chars: 0,
            last: VecDeque::new(),
            total_chars: 0,
            total_bytes: 0,
            partial: Vec::new(),
        }
    }

    fn tail_chars(&self) -> usize {
        self.limit - self.head_chars()
    }

    fn head_chars(&self) -> usize {
        self.limit * HEAD_PERCENT / 100
    }

    pub fn is_empty(&self) -> bool {
        self.total_bytes == 0
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let joined;
        let mut rest = if self.partial.is_empty() {
            bytes
        } else {
            joined = [std::mem::take(&mut self.partial), bytes.to_vec()].concat();
            &joined
        };
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.push_text(text),
                Err(error) => {
                    let (valid, after) = rest.split_at(error.valid_up_to());
                    if let Ok(text) = std::str::from_utf8(valid) {
                        self.push_text(text);
                    }
                    match error.error_len() {
                        Some(length) => {
                            self.push_text("\u{fffd}");
                            rest = &after[length..];
                        }
                        None => {
                            self.partial = after.to_vec();
                            return;
                        }
                    }
                }
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        let chars = text.chars().count();
        self.total_chars += chars as u64;
        if self.first_chars < self.limit {
            let room = self.limit - self.first_chars;
            let part = if chars <= room {
                text
            } else {
                text.char_indices()
                    .nth(room)
                    .map_or(text, |(end, _)| &text[..end])
            };
            self.first.push_str(part);
            self.first_chars += chars.min(room);
        }
        // A character has at most four bytes.
        let capacity = self.tail_chars() * 4;
        let bytes = text.as_bytes();
        if bytes.len() >= capacity {
            self.last.clear();
            self.last.extend(&bytes[bytes.len() - capacity..]);
        } else {
            let excess = (self.last.len() + bytes.len()).saturating_sub(capacity);
            self.last.drain(..excess);
            self.last.extend(bytes);
        }
    }

    pub fn finish(mut self) -> OutputText {
        if !self.partial.is_empty() {
            self.partial.clear();
            self.push_text("\u{fffd}");
        }
        if self.total_chars <= self.limit as u64 {
            return OutputText {
                head: self.first,
                tail: None,
                total_chars: self.total_chars,
                total_bytes: self.total_bytes,
            };
        }
        let head_end = self
            .first
            .char_indices()
            .nth(self.head_chars())
            .map_or(self.first.len(), |(end, _)| end);
        let head_end = head_edge(&self.first, head_end);
        let bytes: Vec<u8> = self.last.iter().copied().collect();
        // The ring may begin inside a character.
        let begin = bytes
            .iter()
            .position(|byte| byte & 0xc0 != 0x80)
            .unwrap_or(bytes.len());
        let text = String::from_utf8_lossy(&bytes[begin..]);
        let surplus = text.chars().count().saturating_sub(self.tail_chars());
        let start = text
            .char_indices()
            .nth(surplus)
            .map_or(text.len(), |(start, _)| start);
        let tail = text[tail_edge(&text, start)..].to_owned();
        self.first.truncate(head_end);
        OutputText {
            head: self.first,
            tail: Some(tail),
            total_chars: self.total_chars,
            total_bytes: self.total_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn forty_and_sixty_percent_are_kept() {
        let mut window = Window::new(50_000);
        window.push(&vec![b'a'; 30_000]);
        window.push(&vec![b'b'; 30_000]);
        let output = window.finish();
        assert_eq!(output.omitted_chars(), 10_000);
        let joined = output.joined();
        assert!(joined.starts_with(&"a".repeat(20_000)));
        assert!(joined.ends_with(&"b".repeat(30_000)));
        assert!(joined.contains(
            "\n\n... [OUTPUT TRUNCATED - 10000 chars omitted out of 60000 total] ...\n\n"
        ));
    }

    #[test]
    fn a_token_at_an_edge_is_left_out_whole() {
        let token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        for shift in 0..60 {
            let mut window = Window::new(500);
            window.push(" ".repeat(150 + shift).as_bytes());
            window.push(token.as_bytes());
            window.push(" ".repeat(500).as_bytes());
            window.push(token.as_bytes());
            window.push(" ".repeat(320 - shift).as_bytes());
            let joined = window.finish().joined();
            let rest = joined.replace(token, "");
            assert!(
                !rest.contains("ghp_") && !rest.contains("6789"),
                "{shift}: {rest}"
            );
        }
    }

    #[test]
    fn characters_cut_between_chunks_are_whole_and_broken_ones_are_marked() {
        let mut window = Window::new(100);
        for byte in "é€𝄞".bytes() {
            window.push(&[byte]);
        }
        window.push(b"\xff\xe2\x82");
        assert_eq!(window.finish().head, "é€𝄞\u{fffd}\u{fffd}");
    }

    #[test]
    fn memory_does_not_grow_with_the_output() {
        let mut window = Window::new(50_000);
        let chunk = vec![b'x'; 64 << 10];
        for _ in 0..2_000 {
            window.push(&chunk);
        }
        assert!(window.first.capacity() + window.last.capacity() < 1 << 20);
        assert_eq!(window.finish().total_bytes, 2_000 * (64 << 10));
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            limit in 1_usize..120,
            size in 1_usize..40,
        ) {
            let whole = String::from_utf8_lossy(&bytes).into_owned();
            let mut window = Window::new(limit);
            for chunk in bytes.chunks(size) {
                window.push(chunk);
            }
            let output = window.finish();
            let count = whole.chars().count();
            prop_assert_eq!(output.total_chars, count as u64);
            if count <= limit {
                prop_assert_eq!(output.head, whole);
            } else {
                let head = limit * 40 / 100;
                let expected_head: String = whole.chars().take(head).collect();
                let expected_tail: String = whole.chars().skip(count - (limit - head)).collect();
                // A word that the edge would cut is left out.
                prop_assert!(expected_head.starts_with(&output.head));
                prop_assert!(expected_tail.ends_with(&output.tail.unwrap()));
            }
        }
    }
}

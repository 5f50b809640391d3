//! What comes out of the interpreter: the script's own output, with lines of ours
//! in between that carry requests and what it wrote to standard error.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Longest request; more is not a tool call.
const REQUEST_LIMIT: usize = 16 << 20;
/// A line of ours is far shorter.
const LINE_LIMIT: usize = 8 << 10;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Output(Vec<u8>),
    Errors(Vec<u8>),
    Request(Vec<u8>),
}

pub(super) struct Frames {
    mark: Vec<u8>,
    buffer: Vec<u8>,
    request: Vec<u8>,
}

impl Frames {
    /// The mark is random: what a script prints cannot be taken for a frame.
    pub(super) fn new(mark: &str) -> Self {
        Self {
            mark: format!("\u{1e}{mark}").into_bytes(),
            buffer: Vec::new(),
            request: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        self.buffer.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        loop {
            let at = find(&self.buffer, &self.mark);
            let plain = at.unwrap_or_else(|| self.buffer.len() - self.partial());
            if plain > 0 {
                let rest = self.buffer.split_off(plain);
                pieces.push(Piece::Output(std::mem::replace(&mut self.buffer, rest)));
            }
            if at.is_none() {
                return pieces;
            }
            let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') else {
                if self.buffer.len() > LINE_LIMIT {
                    pieces.push(Piece::Output(std::mem::take(&mut self.buffer)));
                }
                return pieces;
            };
            let rest = self.buffer.split_off(end + 1);
            let line = std::mem::replace(&mut self.buffer, rest);
            pieces.extend(self.line(&line[self.mark.len()..end]));
        }
    }

    /// What is left when the stream has ended.
    pub(super) fn finish(self) -> Vec<u8> {
        self.buffer
    }

    fn line(&mut self, line: &[u8]) -> Option<Piece> {
        let [kind, last, data @ ..] = line else {
            return None;
        };
        let data = STANDARD.decode(data).ok()?;
        if *kind == b'E' {
            return Some(Piece::Errors(data));
        }
        if self.request.len() + data.len() <= REQUEST_LIMIT {
            self.request.extend_from_slice(&data);
        }
        (*last == b'.').then(|| Piece::Request(std::mem::take(&mut self.request)))
    }

    /// How many bytes at the end may be the beginning of a mark.
    fn partial(&self) -> usize {
        (1..self.mark.len().min(self.buffer.len() + 1))
            .rev()
            .find(|&length| self.buffer.ends_with(&self.mark[..length]))
            .unwrap_or(0)
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let text = b"abc\x1eMARKC+eyJh\n\x1eMARKE.b29wcw==\ndef\x1eMA\x1eMARKC.IjoxfQ==\nend";
        for size in 1..text.len() {
            let mut frames = Frames::new("MARK");
            let (mut output, mut others) = (Vec::new(), Vec::new());
            for chunk in text.chunks(size) {
                for piece in frames.push(chunk) {
                    match piece {
                        Piece::Output(bytes) => output.extend(bytes),
                        other => others.push(other),
                    }
                }
            }
            output.extend(frames.finish());
            assert_eq!(output, b"abcdef\x1eMAend", "{size}");
            assert_eq!(
                others,
                [
                    Piece::Errors(b"oops".to_vec()),
                    Piece::Request(b"{\"a\":1}".to_vec())
                ],
                "{size}"
            );
        }
    }
}

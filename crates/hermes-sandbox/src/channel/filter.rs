//! Where a call's output ends.
//!
//! The resident shell writes 036 and the call's nonce after the last byte of
//! output, and says so on the control stream, whose bytes may arrive earlier or
//! later. The nonce is random and told to nobody but the resident shell, so no
//! output can imitate it; a byte is held back only while it could be the
//! beginning of the mark.

use bytes::{Bytes, BytesMut};

#[derive(Debug)]
pub(crate) struct EndFilter {
    mark: Vec<u8>,
    held: BytesMut,
}

impl EndFilter {
    pub(crate) fn new(nonce: &str) -> Self {
        let mut mark = vec![0o36];
        mark.extend_from_slice(nonce.as_bytes());
        Self {
            mark,
            held: BytesMut::new(),
        }
    }

    /// What of `bytes`, and of those held back before, is output for sure.
    pub(crate) fn push(&mut self, bytes: Bytes) -> Bytes {
        if self.held.is_empty() {
            let keep = self.could_begin_the_mark(&bytes);
            let mut bytes = bytes;
            let held = bytes.split_off(bytes.len() - keep);
            self.held.extend_from_slice(&held);
            return bytes;
        }
        self.held.extend_from_slice(&bytes);
        let keep = self.could_begin_the_mark(&self.held);
        let sure = self.held.len() - keep;
        self.held.split_to(sure).freeze()
    }

    /// The mark, whole, is the last thing that came.
    pub(crate) fn at_end(&self) -> bool {
        self.held[..] == self.mark[..]
    }

    /// What was held back, when the mark will not come any more.
    pub(crate) fn rest(&mut self) -> Bytes {
        self.held.split().freeze()
    }

    /// Length of the longest end of `bytes` that the mark begins with.
    fn could_begin_the_mark(&self, bytes: &[u8]) -> usize {
        (1..=self.mark.len().min(bytes.len()))
            .rev()
            .find(|length| bytes[bytes.len() - length..] == self.mark[..*length])
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_mark_is_seen_however_it_is_cut() {
        let nonce = "0123456789abcdef";
        let whole = [b"out\x1e01put".as_slice(), b"\x1e", nonce.as_bytes()].concat();
        for cut in 0..whole.len() {
            let mut filter = EndFilter::new(nonce);
            let mut seen = Vec::new();
            for part in [&whole[..cut], &whole[cut..]] {
                seen.extend_from_slice(&filter.push(Bytes::copy_from_slice(part)));
            }
            assert_eq!(seen, b"out\x1e01put", "cut at {cut}");
            assert!(filter.at_end());
        }
    }

    #[test]
    fn nothing_is_held_back_of_ordinary_output() {
        let mut filter = EndFilter::new("ff");
        assert_eq!(filter.push(Bytes::from_static(b"password: ")), "password: ");
        assert_eq!(filter.push(Bytes::from_static(b"a\x1e")), "a");
        assert_eq!(filter.push(Bytes::from_static(b"b")), "\x1eb");
        assert!(!filter.at_end());
    }

    proptest! {
        #[test]
        fn every_byte_before_the_mark_arrives_once_and_in_order(
            output in prop::collection::vec(prop::sample::select(b"\x1eab".to_vec()), 0..60),
            cuts in prop::collection::vec(0usize..64, 0..6),
        ) {
            let nonce = "abba-nonce";
            let mut whole = output.clone();
            whole.push(0o36);
            whole.extend_from_slice(nonce.as_bytes());
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).collect();
            cuts.sort_unstable();
            cuts.push(whole.len());
            let mut filter = EndFilter::new(nonce);
            let mut seen = Vec::new();
            let mut from = 0;
            for cut in cuts {
                seen.extend_from_slice(&filter.push(Bytes::copy_from_slice(&whole[from..cut])));
                from = cut;
            }
            prop_assert_eq!(seen, output);
            prop_assert!(filter.at_end());
        }
    }
}

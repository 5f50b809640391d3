//! Server-sent events from bytes, however they are cut into pieces.
//!
//! Lines may end in LF, CRLF or CR; comments are keep-alives and vanish; a stream
//! that ends without a last blank line still yields its last event. Memory is
//! bounded by [`MAX_EVENT_BYTES`].

/// No provider sends an event nearly this long; a server that does is broken.
pub const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event:` field; empty when there was none.
    pub name: String,
    /// All `data:` fields, joined by line breaks.
    pub data: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {MAX_EVENT_BYTES} bytes")]
pub struct OversizedEvent;

#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    started: bool,
}

impl SseDecoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and appends the events they complete to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), OversizedEvent> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|b| matches!(b, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            self.end_line(out);
        }
        if self.line.len() + self.event.data.len() > MAX_EVENT_BYTES {
            return Err(OversizedEvent);
        }
        Ok(())
    }

    /// The stream is over: the event that was under way, if there is one.
    pub fn finish(mut self) -> Option<SseEvent> {
        let mut out = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        self.dispatch(&mut out);
        out.pop()
    }

    fn dispatch(&mut self, out: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            out.push(event);
        }
    }

    fn end_line(&mut self, out: &mut Vec<SseEvent>) {
        let raw = std::mem::take(&mut self.line);
        let line = match &raw[..] {
            [0xef, 0xbb, 0xbf, rest @ ..] if !self.started => rest,
            line => line,
        };
        self.started = true;
        if line.is_empty() {
            self.dispatch(out);
            return;
        }
        let (field, value) = match line.iter().position(|b| *b == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match field {
            b"data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
                self.has_data = true;
            }
            b"event" => self.event.name = value.into_owned(),
            // Comments (an empty field name), `id`, `retry` and whatever else.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::new();
        let mut out = Vec::new();
        for piece in pieces {
            decoder.push(piece, &mut out).unwrap();
        }
        out.extend(decoder.finish());
        out
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent {
            name: name.to_owned(),
            data: data.to_owned(),
        }
    }

    #[test]
    fn the_forms_that_servers_use_all_decode() {
        for (text, expected) in [
            (
                "data: a\n\ndata: b\n\n",
                vec![event("", "a"), event("", "b")],
            ),
            ("data:a\r\n\r\n", vec![event("", "a")]),
            (
                "data: a\r\rdata: b\r\r",
                vec![event("", "a"), event("", "b")],
            ),
            ("event: x\ndata: a\n\n", vec![event("x", "a")]),
            (": keep-alive\n\ndata: a\n\n", vec![event("", "a")]),
            ("data: a\ndata: b\n\n", vec![event("", "a\nb")]),
            ("data: no end", vec![event("", "no end")]),
            ("data: one line end\n", vec![event("", "one line end")]),
            ("\u{feff}data: bom\n\n", vec![event("", "bom")]),
            ("data\n\n", vec![event("", "")]),
            ("id: 1\nretry: 5\nfoo: bar\n\n", vec![]),
            ("event: x\n\ndata: y\n\n", vec![event("", "y")]),
            ("data:  two spaces\n\n", vec![event("", " two spaces")]),
            ("\n\n\n", vec![]),
        ] {
            assert_eq!(decode(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut decoder = SseDecoder::new();
        let megabyte = vec![b'x'; 1024 * 1024];
        let mut out = Vec::new();
        let outcome = (0..=32).try_for_each(|_| decoder.push(&megabyte, &mut out));
        assert_eq!(outcome, Err(OversizedEvent));
    }

    proptest! {
        #[test]
        fn any_cutting_of_the_bytes_yields_the_same_events(
            text in "(data: ?[a-zé:\n]{0,9}(\r\n|\n|\r){1,3}|: c\n|event: e(\r\n|\n)|\r|\n){0,12}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let bytes = text.as_bytes();
            let mut places: Vec<usize> = cuts.iter().map(|c| c.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(decode(&pieces), decode(&[bytes]));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            decode(&[&bytes]);
        }
    }
}

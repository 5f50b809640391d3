//! Keeps what is not meant for people out of the visible answer while it still
//! streams: reasoning tags of models that think aloud in their text, and echoes
//! of recalled memory. A tag may arrive in pieces, so the start of one is held
//! back until it is clear what it is.

const REASONING_TAGS: [&str; 5] = [
    "think",
    "thinking",
    "reasoning",
    "thought",
    "REASONING_SCRATCHPAD",
];
const MEMORY_TAG: &str = "memory-context";
const SCRATCHPAD: &str = "REASONING_SCRATCHPAD";

/// What a piece of the stream turned out to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    pub visible: String,
    /// Reasoning from inside the tags.
    pub reasoning: String,
}

#[derive(Debug)]
pub struct Scrubber {
    held: String,
    /// The tag we are inside of.
    inside: Option<&'static str>,
    at_line_start: bool,
    /// Line breaks after a block of its own belong to the block.
    swallow_breaks: bool,
    scratchpad_left_open: bool,
}

impl Default for Scrubber {
    fn default() -> Self {
        Self {
            held: String::new(),
            inside: None,
            at_line_start: true,
            swallow_breaks: false,
            scratchpad_left_open: false,
        }
    }
}

impl Scrubber {
    pub fn push(&mut self, text: &str) -> Scrubbed {
        self.held.push_str(text);
        let mut out = Scrubbed::default();
        self.drain(&mut out, false);
        out
    }

    /// The stream is over: what was held back is text after all.
    pub fn finish(&mut self) -> Scrubbed {
        let mut out = Scrubbed::default();
        self.drain(&mut out, true);
        if self.inside == Some(SCRATCHPAD) {
            self.scratchpad_left_open = true;
        }
        out
    }

    /// Whether a scratchpad was opened and never closed.
    pub fn scratchpad_left_open(&self) -> bool {
        self.scratchpad_left_open
    }

    fn drain(&mut self, out: &mut Scrubbed, last: bool) {
        loop {
            let progressed = match self.inside {
                Some(tag) => self.drain_inside(tag, out, last),
                None => self.drain_outside(out, last),
            };
            if !progressed {
                return;
            }
        }
    }

    fn drain_inside(&mut self, tag: &'static str, out: &mut Scrubbed, last: bool) -> bool {
        let closer = format!("</{tag}>");
        let is_reasoning = tag != MEMORY_TAG;
        if let Some(position) = find_ignoring_case(&self.held, &closer) {
            if is_reasoning {
                out.reasoning.push_str(&self.held[..position]);
            }
            self.held.drain(..position + closer.len());
            self.inside = None;
            self.swallow_breaks = self.at_line_start;
            return true;
        }
        let keep = if last {
            0
        } else {
            partial_suffix(&self.held, &closer)
        };
        let cut = self.held.len() - keep;
        if is_reasoning {
            out.reasoning.push_str(&self.held[..cut]);
        }
        self.held.drain(..cut);
        false
    }

    fn drain_outside(&mut self, out: &mut Scrubbed, last: bool) -> bool {
        if self.swallow_breaks {
            let breaks = self.held.len() - self.held.trim_start_matches(['\n', '\r']).len();
            self.held.drain(..breaks);
            self.swallow_breaks = self.held.is_empty();
        }
        let Some(position) = self.held.find('<') else {
            let all = std::mem::take(&mut self.held);
            self.show(&all, out);
            return false;
        };
        let before: String = self.held.drain(..position).collect();
        self.show(&before, out);
        match opening(&self.held) {
            Opening::Tag(tag, length) => {
                let closes_here =
                    find_ignoring_case(&self.held[length..], &format!("</{tag}>")).is_some();
                let counts = tag == MEMORY_TAG || self.at_line_start || closes_here;
                if counts {
                    self.held.drain(..length);
                    self.inside = Some(tag);
                } else {
                    let literal: String = self.held.drain(..length).collect();
                    self.show(&literal, out);
                }
                true
            }
            Opening::Maybe if !last => false,
            _ => {
                let literal: String = self.held.drain(..1).collect();
                self.show(&literal, out);
                true
            }
        }
    }

    fn show(&mut self, text: &str, out: &mut Scrubbed) {
        if text.is_empty() {
            return;
        }
        let after_break = text.rsplit('\n').next().unwrap_or("");
        let broke = text.contains('\n');
        self.at_line_start = after_break.trim().is_empty() && (broke || self.at_line_start);
        out.visible.push_str(text);
    }
}

enum Opening {
    /// A whole opening tag and its length.
    Tag(&'static str, usize),
    /// Could still become one.
    Maybe,
    No,
}

fn opening(text: &str) -> Opening {
    let mut maybe = false;
    for tag in REASONING_TAGS.iter().copied().chain([MEMORY_TAG]) {
        let whole = format!("<{tag}>");
        if starts_ignoring_case(text, &whole) {
            return Opening::Tag(tag, whole.len());
        }
        maybe |= text.len() < whole.len() && starts_ignoring_case(&whole, text);
    }
    if maybe { Opening::Maybe } else { Opening::No }
}

fn starts_ignoring_case(text: &str, prefix: &str) -> bool {
    text.as_bytes()
        .get(..prefix.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(prefix.as_bytes()))
}

fn find_ignoring_case(text: &str, needle: &str) -> Option<usize> {
    text.as_bytes()
        .windows(needle.len())
        .position(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

/// How many bytes at the end of `text` could be the start of `needle`.
fn partial_suffix(text: &str, needle: &str) -> usize {
    (1..needle.len())
        .rev()
        .find(|&length| {
            text.len() >= length
                && text.as_bytes()[text.len() - length..]
                    .eq_ignore_ascii_case(&needle.as_bytes()[..length])
        })
        .unwrap_or(0)
}

/// A whole text at once.
pub fn scrub(text: &str) -> Scrubbed {
    let mut scrubber = Scrubber::default();
    let mut out = scrubber.push(text);
    let rest = scrubber.finish();
    out.visible.push_str(&rest.visible);
    out.reasoning.push_str(&rest.reasoning);
    out
}

/// The text without tool calls that a model wrote out as markup instead of
/// calling, trimmed.
pub fn final_text(visible: &str) -> String {
    let mut text = visible.to_owned();
    for tag in ["tool_call", "tool_calls", "function_call", "function_calls"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = text.find(&open) {
            let end = text[start..]
                .find(&close)
                .map_or(text.len(), |offset| start + offset + close.len());
            text.replace_range(start..end, "");
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn in_pieces(text: &str, size: usize) -> Scrubbed {
        let mut scrubber = Scrubber::default();
        let mut out = Scrubbed::default();
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size.max(1)) {
            let part = scrubber.push(&piece.iter().collect::<String>());
            out.visible.push_str(&part.visible);
            out.reasoning.push_str(&part.reasoning);
        }
        let part = scrubber.finish();
        out.visible.push_str(&part.visible);
        out.reasoning.push_str(&part.reasoning);
        out
    }

    #[test]
    fn reasoning_is_taken_out_however_it_is_cut() {
        let text = "<think>secret plan</think>\nHello <b>you</b>\n<REASONING_SCRATCHPAD>x</REASONING_SCRATCHPAD>!";
        for size in 1..text.len() {
            let out = in_pieces(text, size);
            assert_eq!(out.visible, "Hello <b>you</b>\n!", "pieces of {size}");
            assert_eq!(out.reasoning, "secret planx");
        }
    }

    #[test]
    fn a_tag_in_the_middle_of_a_line_is_text() {
        let out = in_pieces("Use the <think> tag like so.", 3);
        assert_eq!(out.visible, "Use the <think> tag like so.");
        assert_eq!(scrub("a <think>b</think> c").visible, "a  c");
    }

    #[test]
    fn recalled_memory_is_dropped_altogether() {
        let out = in_pieces("a <memory-context>secret</memory-context>b", 4);
        assert_eq!(
            out,
            Scrubbed {
                visible: "a b".into(),
                reasoning: String::new()
            }
        );
    }

    #[test]
    fn an_open_scratchpad_is_noticed() {
        let mut scrubber = Scrubber::default();
        scrubber.push("<REASONING_SCRATCHPAD>half");
        scrubber.finish();
        assert!(scrubber.scratchpad_left_open());
    }

    #[test]
    fn written_out_calls_are_no_answer() {
        assert_eq!(
            final_text(" done <tool_call>{\"a\":1}</tool_call> "),
            "done"
        );
        assert_eq!(final_text("x <tool_call>{\"a\""), "x");
    }

    proptest! {
        #[test]
        fn text_without_tags_passes_unchanged(text in "[a-z <>/\n]{0,40}", size in 1usize..8) {
            prop_assume!(!REASONING_TAGS.iter().any(|tag| text.to_lowercase().contains(&tag.to_lowercase())));
            prop_assert_eq!(in_pieces(&text, size).visible, text);
        }

        #[test]
        fn at_a_line_start_cutting_never_matters(inner in "[a-z \n]{0,12}", after in "[a-z \n]{0,12}", size in 1usize..9) {
            let text = format!("<think>{inner}</think>{after}");
            prop_assert_eq!(in_pieces(&text, size), scrub(&text));
        }
    }
}

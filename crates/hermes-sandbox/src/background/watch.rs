//! Which lines are worth telling about.
//!
//! One event in 15 s per process. A match within that time is dropped and is one
//! strike for the window, however many there are; a window without a drop clears
//! the strikes; the third in a row ends the watching. Pure: time is passed in.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(15);
const MAX_STRIKES: u32 = 3;
const MAX_LINES: usize = 20;
const MAX_CHARS: usize = 2_000;
/// A line that never ends is looked at in pieces of this size.
const MAX_LINE: usize = 8_192;

#[derive(Debug)]
pub(super) struct Watch {
    patterns: Vec<String>,
    /// The beginning of a line whose end has not arrived.
    line: String,
    last_event: Option<Instant>,
    dropped: u32,
    strikes: u32,
    disabled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WatchEvent {
    Match {
        pattern: String,
        output: String,
        /// Matches dropped since the last event.
        suppressed: u32,
    },
    /// Too many; nothing more comes.
    Disabled { suppressed: u32 },
}

impl Watch {
    pub(super) fn new(patterns: Vec<String>) -> Self {
        Self {
            patterns: patterns
                .into_iter()
                .filter(|pattern| !pattern.is_empty())
                .collect(),
            line: String::new(),
            last_event: None,
            dropped: 0,
            strikes: 0,
            disabled: false,
        }
    }

    pub(super) fn patterns(&self) -> &[String] {
        &self.patterns
    }

    pub(super) fn is_active(&self) -> bool {
        !self.disabled && !self.patterns.is_empty()
    }

    /// New output.
    pub(super) fn feed(&mut self, text: &str, now: Instant) -> Option<WatchEvent> {
        if !self.is_active() {
            return None;
        }
        let mut matched: Vec<String> = Vec::new();
        let mut first = None;
        for piece in text.split_inclusive(['\n', '\r']) {
            self.line.push_str(piece);
            if !piece.ends_with(['\n', '\r']) && self.line.len() < MAX_LINE {
                break;
            }
            let line = std::mem::take(&mut self.line);
            if let Some(pattern) = self.patterns.iter().find(|pattern| line.contains(*pattern)) {
                first.get_or_insert_with(|| pattern.clone());
                matched.push(line.trim_end_matches(['\n', '\r']).to_owned());
            }
        }
        let pattern = first?;
        let count = u32::try_from(matched.len()).unwrap_or(u32::MAX);
        if self
            .last_event
            .is_some_and(|last| now.duration_since(last) < WINDOW)
        {
            let first_drop = self.dropped == 0;
            self.dropped = self.dropped.saturating_add(count);
            if first_drop {
                self.strikes += 1;
                if self.strikes >= MAX_STRIKES {
                    self.disabled = true;
                    return Some(WatchEvent::Disabled {
                        suppressed: self.dropped,
                    });
                }
            }
            return None;
        }
        if self.dropped == 0 {
            self.strikes = 0;
        }
        self.last_event = Some(now);
        let suppressed = std::mem::take(&mut self.dropped);
        let shown: Vec<String> = matched.into_iter().take(MAX_LINES).collect();
        let output: String = shown.join("\n").chars().take(MAX_CHARS).collect();
        Some(WatchEvent::Match {
            pattern,
            output,
            suppressed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn at(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    fn matched(output: &str, suppressed: u32) -> Option<WatchEvent> {
        Some(WatchEvent::Match {
            pattern: "ready".to_owned(),
            output: output.to_owned(),
            suppressed,
        })
    }

    #[test]
    fn a_line_fires_when_it_is_complete() {
        let start = Instant::now();
        let mut watch = Watch::new(vec!["ready".to_owned()]);
        assert_eq!(watch.feed("noise\nserver rea", start), None);
        assert_eq!(
            watch.feed("dy on 80\n", start),
            matched("server ready on 80", 0)
        );
    }

    #[test]
    fn matches_within_the_window_are_dropped_and_counted() {
        let start = Instant::now();
        let mut watch = Watch::new(vec!["ready".to_owned()]);
        assert_eq!(watch.feed("ready 1\n", start), matched("ready 1", 0));
        assert_eq!(watch.feed("ready 2\nready 3\n", at(start, 5)), None);
        assert_eq!(
            watch.feed("ready 4\n", at(start, 16)),
            matched("ready 4", 2)
        );
        assert_eq!(
            watch.feed("ready 5\n", at(start, 40)),
            matched("ready 5", 0)
        );
    }

    #[test]
    fn three_windows_with_drops_in_a_row_end_the_watching() {
        let start = Instant::now();
        let mut watch = Watch::new(vec!["ready".to_owned()]);
        for window in 0..3 {
            let begin = window * 16;
            assert!(matches!(
                watch.feed("ready\n", at(start, begin)),
                Some(WatchEvent::Match { .. })
            ));
            let drop = watch.feed("ready\nready\n", at(start, begin + 1));
            if window < 2 {
                assert_eq!(drop, None);
            } else {
                assert_eq!(drop, Some(WatchEvent::Disabled { suppressed: 2 }));
            }
        }
        assert!(!watch.is_active());
        assert_eq!(watch.feed("ready\n", at(start, 900)), None);
    }

    #[test]
    fn a_quiet_window_clears_the_strikes() {
        let start = Instant::now();
        let mut watch = Watch::new(vec!["ready".to_owned()]);
        for window in 0..8 {
            let begin = window * 40;
            assert!(watch.feed("ready\n", at(start, begin)).is_some());
            assert_eq!(watch.feed("ready\n", at(start, begin + 1)), None);
            assert!(watch.feed("ready\n", at(start, begin + 17)).is_some());
        }
        assert!(watch.is_active());
    }

    #[test]
    fn at_most_twenty_lines_and_two_thousand_characters_are_shown() {
        let mut watch = Watch::new(vec!["ready".to_owned()]);
        let text = format!("ready {}\n", "x".repeat(200)).repeat(50);
        let Some(WatchEvent::Match { output, .. }) = watch.feed(&text, Instant::now()) else {
            panic!("no event");
        };
        assert_eq!(output.chars().count(), 2_000);
    }
}

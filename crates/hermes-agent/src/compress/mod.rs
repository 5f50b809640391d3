//! Making room: the oldest part of a conversation is replaced by a summary, and
//! the conversation goes on in a child session. The parent keeps every message,
//! the task stays word for word, and model and people are told.

mod holder;
mod plan;
mod run;
mod summary;
mod transcript;

pub use plan::{Plan, Tail, plan};
pub use run::CompressWish;
pub use summary::{PREFIX, is_summary, request};

/// The reference always waits for 64,000 tokens, which a small window never
/// survives; ours scales with the window.
const FLOOR: u64 = 64_000;
const FLOOR_SHARE: f64 = 0.75;

/// `compression.*`.
#[derive(Clone, Debug, PartialEq)]
pub struct CompressionOptions {
    pub enabled: bool,
    /// Share of the window at which to compress.
    pub threshold: f64,
    /// Share of the threshold that is kept word for word.
    pub target_ratio: f64,
    pub protect_first: usize,
    pub protect_last: usize,
    /// Leave everything as it is when no summary can be had.
    pub abort_on_failure: bool,
}

impl Default for CompressionOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            threshold: 0.5,
            target_ratio: 0.2,
            protect_first: 3,
            protect_last: 20,
            abort_on_failure: false,
        }
    }
}

impl CompressionOptions {
    pub fn threshold_tokens(&self, window: u64) -> u64 {
        let window = window as f64;
        let floor = (FLOOR as f64).min(window * FLOOR_SHARE);
        (window * self.threshold).max(floor) as u64
    }

    fn tail_tokens(&self, window: u64) -> u64 {
        let ratio = self.target_ratio.clamp(0.1, 0.8);
        (self.threshold_tokens(window) as f64 * ratio) as u64
    }
}

/// What a conversation learns about its size.
#[derive(Clone, Debug, Default)]
pub struct CompressionState {
    /// A provider named a smaller window than the catalogue.
    window: Option<u64>,
    /// The last size a provider reported, and our estimate of the same request.
    observed: Option<(u64, u64)>,
    /// Compressions in a row that saved next to nothing.
    useless: u32,
    cool_until: Option<std::time::Instant>,
}

impl CompressionState {
    pub fn adopt_window(&mut self, limit: u64) {
        self.window = Some(self.window.map_or(limit, |known| known.min(limit)));
    }

    pub fn observe(&mut self, reported: Option<u64>, estimated: u64) {
        self.observed = reported
            .filter(|tokens| *tokens > 0)
            .map(|tokens| (tokens, estimated));
    }

    pub fn window(&self, model: u64) -> u64 {
        self.window.map_or(model, |known| known.min(model))
    }

    /// How large the next request will be: the last real size plus what was
    /// added since.
    pub fn current(&self, estimated: u64) -> u64 {
        match self.observed {
            Some((reported, then)) => reported + estimated.saturating_sub(then),
            None => estimated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_never_reaches_the_window() {
        let options = CompressionOptions::default();
        for window in [64_000, 100_000, 128_000, 200_000, 1_000_000] {
            let threshold = options.threshold_tokens(window);
            assert!(threshold < window * 8 / 10, "{window}: {threshold}");
            assert!(threshold >= window / 2);
        }
        assert_eq!(options.threshold_tokens(200_000), 100_000);
        assert_eq!(options.threshold_tokens(64_000), 48_000);
    }

    #[test]
    fn growth_is_added_to_what_the_provider_counted() {
        let mut state = CompressionState::default();
        assert_eq!(state.current(500), 500);
        state.observe(Some(2000), 500);
        assert_eq!(state.current(700), 2200);
        state.adopt_window(70_000);
        assert_eq!(state.window(200_000), 70_000);
    }
}

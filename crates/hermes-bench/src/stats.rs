//! Medians and spread.

use serde::Serialize;

/// What many runs of one thing came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Stats {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) p99: f64,
    pub(crate) runs: usize,
}

impl Stats {
    /// `None` without samples.
    pub(crate) fn of(mut samples: Vec<f64>) -> Option<Self> {
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = samples.len().checked_sub(1)?;
            samples.get((share * last as f64).round() as usize).copied()
        };
        Some(Self {
            median: at(0.5)?,
            low: at(0.0)?,
            high: at(1.0)?,
            p99: at(0.99)?,
            runs: samples.len(),
        })
    }

    /// A figure that was counted once.
    pub(crate) fn once(value: f64) -> Self {
        Self {
            median: value,
            low: value,
            high: value,
            p99: value,
            runs: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_an_outlier() {
        let stats = Stats::of(vec![3.0, 1000.0, 1.0, 2.0, 4.0]).unwrap();
        assert_eq!((stats.median, stats.low, stats.high), (3.0, 1.0, 1000.0));
        assert_eq!(Stats::of(Vec::new()), None);
    }
}

//! What tokens cost, by a list of published prices that travels with the program.

use std::sync::LazyLock;

use hermes_types::{Cost, CostStatus, Usage};
use serde::Deserialize;

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    #[serde(default)]
    pub cache_read: Option<f64>,
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// A prompt of more tokens than the first number costs this many times as much,
    /// as a whole: input and cached input, output.
    #[serde(default)]
    pub long: Option<(u64, f64, f64)>,
}

impl Price {
    /// What one request cost; `None` when cached tokens were used and their price is
    /// not known.
    pub fn of(&self, usage: &Usage) -> Option<f64> {
        let priced = |tokens: u64, price: Option<f64>| match (tokens, price) {
            (0, _) => Some(0.0),
            (tokens, Some(price)) => Some(tokens as f64 * price),
            (_, None) => None,
        };
        let (input, output) = match self.long {
            Some((above, input, output)) if usage.prompt() > above => (input, output),
            _ => (1.0, 1.0),
        };
        let read = usage.input as f64 * self.input
            + priced(usage.cache_read, self.cache_read)?
            + priced(usage.cache_write, self.cache_write)?;
        let written = usage.output as f64 * self.output;
        Some((read * input + written * output) / 1e6)
    }
}

/// A cost by the list: estimated, or unknown without a price.
pub fn cost(price: Option<&Price>, usage: &Usage) -> Cost {
    match price.and_then(|price| price.of(usage)) {
        Some(usd) => Cost {
            usd,
            status: CostStatus::Estimated,
        },
        None => Cost::default(),
    }
}

#[derive(Deserialize)]
struct Row {
    /// A name, or the beginning of names that end in a version or a date.
    model: String,
    #[serde(flatten)]
    price: Price,
}

/// What vendors publish, per million tokens, as of November 2026 and compared with
/// a public list; models that no list had are left out rather than guessed.
static PRICES: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows: Vec<Row> =
        serde_json::from_str(include_str!("../data/prices.json")).unwrap_or_default();
    // The longest name that fits is the best.
    rows.sort_by_key(|row| std::cmp::Reverse(row.model.len()));
    rows
});

/// The published price of a model, whoever is asked for it: `anthropic/` and the
/// like in front of a name do not matter.
pub fn published_price(model: &str) -> Option<Price> {
    let name = model
        .rsplit('/')
        .next()
        .unwrap_or(model)
        .to_ascii_lowercase();
    let name = name.split(':').next().unwrap_or(&name).replace('.', "-");
    let row = PRICES.iter().find(|row| {
        name.strip_prefix(row.model.as_str())
            .is_some_and(|rest| rest.is_empty() || is_version_suffix(rest))
    })?;
    Some(row.price)
}

/// `-20250929`, `-2024-08-06`, `-latest`, `-preview-05-20`: the same model; `-mini`
/// and `-5` are others, whose price this is not.
fn is_version_suffix(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix('-') else {
        return false;
    };
    let mut dated = false;
    rest.split('-').all(|word| {
        let number = word.len() >= 2 && word.bytes().all(|b| b.is_ascii_digit());
        let date = number && (dated || word.len() >= 4);
        dated |= date || matches!(word, "preview" | "exp");
        date || matches!(word, "latest" | "preview" | "exp")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read_and_names_are_distinct() {
        assert!(PRICES.len() > 20);
        let mut names: Vec<&str> = PRICES.iter().map(|row| row.model.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for row in PRICES.iter() {
            assert!(
                row.price.input >= 0.0 && row.price.output >= row.price.input,
                "{}",
                row.model
            );
        }
    }

    #[test]
    fn dated_and_prefixed_names_find_their_price_and_other_sizes_do_not() {
        let price = published_price("claude-sonnet-4-5").unwrap();
        for same in [
            "anthropic/claude-sonnet-4.5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5-latest",
        ] {
            assert_eq!(published_price(same), Some(price), "{same}");
        }
        assert_ne!(published_price("gpt-5"), published_price("gpt-5-mini"));
        assert!(published_price("gpt-4o-2024-08-06").is_some());
        assert!(published_price("gemini-2.5-pro-preview-05-20").is_some());
        assert_eq!(published_price("gpt-5-imaginary"), None);
        // The next version of a family has a price of its own, which nobody knows yet.
        assert_eq!(published_price("claude-opus-4.99"), None);
        assert_eq!(published_price("grok-4.99"), None);
        assert_eq!(published_price("qwen3-8b-on-my-desk"), None);
    }

    #[test]
    fn a_long_prompt_costs_more_as_a_whole() {
        let price = published_price("gpt-5.6-sol").unwrap();
        let request = |input, cache_read| Usage {
            input,
            cache_read,
            output: 100_000,
            ..Usage::default()
        };
        let costs = |price: &Price, usage: &Usage, expected: f64| {
            let got = price.of(usage).unwrap();
            assert!((got - expected).abs() < 1e-9, "{got} is not {expected}");
        };
        costs(&price, &request(272_000, 0), 1.088 + 2.0);
        costs(
            &price,
            &request(300_000, 200_000),
            2.0 * (1.2 + 0.08) + 1.5 * 2.0,
        );
        // Five times as much from 100,000 tokens on.
        let haiku = published_price("claude-haiku-5-5").unwrap();
        costs(&haiku, &request(200_000, 0), 5.0 * (0.02 + 0.05));
    }

    #[test]
    fn cached_tokens_have_their_own_price_or_make_the_sum_unknown() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
            long: None,
        };
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 2_000_000,
            cache_write: 200_000,
            reasoning: 50_000,
        };
        assert_eq!(price.of(&usage), Some(3.0 + 1.5 + 0.6 + 0.75));
        let unknown = Price {
            cache_write: None,
            ..price
        };
        assert_eq!(unknown.of(&usage), None);
        assert_eq!(cost(Some(&unknown), &usage).status, CostStatus::Unknown);
        assert_eq!(cost(None, &usage).status, CostStatus::Unknown);
    }
}

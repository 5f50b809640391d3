//! Numbers that providers state when a request does not fit.

/// What a refusal says about the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StatedLimits {
    pub(super) context: Option<u64>,
    pub(super) output_room: Option<u64>,
}

/// A window below this or above that is no window.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1024..=10_000_000;

/// Reads a text in lower case.
pub(super) fn stated_limits(text: &str) -> StatedLimits {
    let mut limits = StatedLimits::default();
    // "199000 + 32000 > 200000": input, wanted output, window.
    if let Some((left, right)) = text.split_once('>')
        && let (Some(sum), Some(window)) = (left.rsplit_once('+'), first_number(right, 8))
        && let (Some(input), Some(_)) = (last_number(sum.0), first_number(sum.1, 8))
    {
        limits.context = Some(window);
        limits.output_room = window.checked_sub(input).filter(|room| *room > 0);
    } else if let Some((_, right)) = text.split_once('>')
        && let Some((window, input)) = right.split_once('-')
        && let (Some(window), Some(input)) = (first_number(window, 8), first_number(input, 8))
    {
        // "(32768 > 40960 - 20000)": wanted output, window, input.
        limits.context = Some(window);
        limits.output_room = window.checked_sub(input).filter(|room| *room > 0);
    } else if let Some((_, right)) = text.split_once(" > ")
        && right.contains("maximum")
    {
        // "210000 tokens > 200000 maximum"
        limits.context = first_number(right, 8);
    }
    if limits.context.is_none() {
        limits.context = AFTER_CONTEXT
            .iter()
            .filter_map(|phrase| number_after(text, phrase))
            .next();
    }
    limits.context = limits.context.filter(|n| PLAUSIBLE.contains(n));
    if limits.output_room.is_none() {
        limits.output_room = AFTER_ROOM
            .iter()
            .filter_map(|phrase| number_after(text, phrase))
            .next();
    }
    limits
}

const AFTER_CONTEXT: [&str; 12] = [
    "maximum context length",
    "max context length",
    "context length is",
    "context length of",
    "context window of",
    "context window is",
    "context window limit",
    "available context size",
    "context size",
    "context limit",
    "max_model_len",
    "n_ctx",
];

const AFTER_ROOM: [&str; 4] = [
    "available_tokens",
    "available tokens",
    "available output tokens",
    "output tokens available",
];

fn number_after(text: &str, phrase: &str) -> Option<u64> {
    let at = text.find(phrase)? + phrase.len();
    first_number(&text[at..], 24)
}

/// The first number that begins within `distance` characters; digits may be
/// grouped by commas or underscores.
fn first_number(text: &str, distance: usize) -> Option<u64> {
    let start = text
        .char_indices()
        .take(distance)
        .find(|(_, c)| c.is_ascii_digit())?
        .0;
    let digits: String = text[start..]
        .chars()
        .take_while(|c| c.is_ascii_digit() || matches!(c, ',' | '_'))
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}

fn last_number(text: &str) -> Option<u64> {
    let trimmed = text.trim_end();
    let start = trimmed
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_digit() || matches!(c, ',' | '_'))
        .last()?
        .0;
    first_number(&trimmed[start..], 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_and_room_are_read_from_the_sentences_of_providers() {
        for (text, context, output_room) in [
            (
                "this model's maximum context length is 70000 tokens. however, your messages resulted in 80000 tokens",
                Some(70_000),
                None,
            ),
            (
                "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000, decrease input length",
                Some(200_000),
                Some(1_000),
            ),
            (
                "'max_tokens' is too large: 32768. this model's maximum context length is 40960 tokens and your request has 20000 input tokens (32768 > 40960 - 20000)",
                Some(40_960),
                Some(20_960),
            ),
            (
                "prompt is too long: 210000 tokens > 200000 maximum",
                Some(200_000),
                None,
            ),
            (
                "the request exceeds the available context size (4096 tokens), try increasing it",
                Some(4096),
                None,
            ),
            (
                "maximum context length of 131,072 tokens",
                Some(131_072),
                None,
            ),
            (
                "max_tokens must be lower; available_tokens: 512",
                None,
                Some(512),
            ),
            ("context length exceeded", None, None),
            ("maximum context length is 5", None, None),
        ] {
            assert_eq!(
                stated_limits(text),
                StatedLimits {
                    context,
                    output_room
                },
                "{text}"
            );
        }
    }
}

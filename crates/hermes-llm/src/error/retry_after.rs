//! How long a provider asks us to wait.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// Reads `retry-after-ms`, then `retry-after` as seconds or as a date.
pub fn retry_after<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    now: DateTime<Utc>,
) -> Option<Duration> {
    let milliseconds = header("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
    if let Some(milliseconds) = milliseconds {
        return seconds(milliseconds / 1000.0);
    }
    let text = header("retry-after")?.trim();
    if let Ok(value) = text.parse::<f64>() {
        return seconds(value);
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?;
    (at.with_timezone(&Utc) - now).to_std().ok()
}

/// Reads a wait out of a sentence in lower case: `try again in 20s`, `retry in
/// 1m30s`, `"retrydelay": "32s"`.
pub(super) fn stated_wait(text: &str) -> Option<Duration> {
    let phrases = [
        "try again in ",
        "retry in ",
        "retry after ",
        "resets in ",
        "retrydelay\": \"",
        "retrydelay\":\"",
    ];
    let rest = phrases
        .iter()
        .find_map(|phrase| text.find(phrase).map(|at| &text[at + phrase.len()..]))?;
    let mut total = 0.0;
    let mut rest = rest.trim_start();
    let mut any = false;
    while let Some((number, unit, after)) = quantity(rest) {
        total += number * unit;
        any = true;
        rest = after;
    }
    any.then(|| seconds(total)).flatten()
}

/// A number with its unit in seconds, and what follows.
fn quantity(text: &str) -> Option<(f64, f64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..end].trim_end_matches('.').parse().ok()?;
    let rest = text[end..].trim_start();
    let units = [
        ("milliseconds", 0.001),
        ("ms", 0.001),
        ("seconds", 1.0),
        ("second", 1.0),
        ("secs", 1.0),
        ("minutes", 60.0),
        ("minute", 60.0),
        ("min", 60.0),
        ("hours", 3600.0),
        ("hour", 3600.0),
        ("days", 86_400.0),
        ("day", 86_400.0),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ];
    let (word, unit) = units.iter().find(|(word, _)| rest.starts_with(word))?;
    Some((number, *unit, rest[word.len()..].trim_start()))
}

fn seconds(value: f64) -> Option<Duration> {
    (value >= 0.0)
        .then(|| Duration::try_from_secs_f64(value).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_in_all_their_forms() {
        let now = DateTime::parse_from_rfc3339("2026-05-31T12:00:00Z")
            .unwrap()
            .with_timezone(&Utc);
        for (name, value, expected) in [
            ("retry-after", "3", Some(3_000)),
            ("retry-after", " 1.5 ", Some(1_500)),
            ("retry-after-ms", "250", Some(250)),
            ("retry-after", "Sun, 31 May 2026 12:00:10 GMT", Some(10_000)),
            ("retry-after", "Sun, 31 May 2026 11:00:00 GMT", None),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
            ("x-other", "3", None),
        ] {
            let wait = retry_after(|asked| (asked == name).then_some(value), now);
            assert_eq!(wait, expected.map(Duration::from_millis), "{name}: {value}");
        }
    }

    #[test]
    fn waits_are_read_from_sentences() {
        for (text, expected) in [
            ("rate limit reached. please try again in 20s.", Some(20_000)),
            ("try again in 1m30.5s", Some(90_500)),
            ("please retry after 2 minutes", Some(120_000)),
            ("try again in 350ms", Some(350)),
            (r#""retrydelay": "32s""#, Some(32_000)),
            ("usage limit reached, resets in 2 hours", Some(7_200_000)),
            ("try again in a moment", None),
            ("no hint", None),
        ] {
            assert_eq!(
                stated_wait(text),
                expected.map(Duration::from_millis),
                "{text}"
            );
        }
    }
}

//! What a provider says about the limits of the account, in the headers of every
//! answer.

use std::time::Duration;

/// One limit and what is left of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimit {
    pub limit: Option<u64>,
    pub remaining: Option<u64>,
    pub reset: Option<Duration>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    pub requests: RateLimit,
    pub tokens: RateLimit,
    pub requests_per_hour: RateLimit,
    pub tokens_per_hour: RateLimit,
    /// The router answered from its own cache.
    pub served_from_cache: bool,
}

impl RateLimits {
    /// `None` when no header says anything.
    pub(crate) fn read(headers: &[(String, String)]) -> Option<Self> {
        let mut limits = Self::default();
        let mut any = false;
        for (name, value) in headers {
            if name == "x-openrouter-cache-status" {
                limits.served_from_cache = value.eq_ignore_ascii_case("hit");
                any = true;
                continue;
            }
            let Some(rest) = name.strip_prefix("x-ratelimit-") else {
                continue;
            };
            let (field, subject) = rest.split_once('-').unwrap_or((rest, ""));
            let limit = match subject {
                "requests" => &mut limits.requests,
                "tokens" => &mut limits.tokens,
                "requests-1h" => &mut limits.requests_per_hour,
                "tokens-1h" => &mut limits.tokens_per_hour,
                _ => continue,
            };
            any = true;
            match field {
                "limit" => limit.limit = value.trim().parse().ok(),
                "remaining" => limit.remaining = value.trim().parse().ok(),
                "reset" => limit.reset = duration(value),
                _ => {}
            }
        }
        any.then_some(limits)
    }
}

/// Seconds, or a text such as `6m0s`, `1h2m`, `250ms`.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let after = &rest[end..];
        let (unit, length) = match after {
            _ if after.starts_with("ms") => (0.001, 2),
            _ if after.starts_with('s') => (1.0, 1),
            _ if after.starts_with('m') => (60.0, 1),
            _ if after.starts_with('h') => (3600.0, 1),
            _ if after.starts_with('d') => (86_400.0, 1),
            _ => return None,
        };
        total += number * unit;
        rest = &after[length..];
    }
    Duration::try_from_secs_f64(total).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read_by_subject_and_field() {
        let headers = [
            ("x-ratelimit-limit-requests", "500"),
            ("x-ratelimit-remaining-requests", "499"),
            ("x-ratelimit-reset-requests", "120ms"),
            ("x-ratelimit-remaining-tokens", "1000"),
            ("x-ratelimit-reset-tokens", "6m1.5s"),
            ("x-ratelimit-limit-tokens-1h", "9"),
            ("x-ratelimit-limit-weird", "1"),
            ("content-type", "text/plain"),
        ]
        .map(|(n, v)| (n.to_owned(), v.to_owned()));
        let limits = RateLimits::read(&headers).unwrap();
        assert_eq!(
            limits.requests,
            RateLimit {
                limit: Some(500),
                remaining: Some(499),
                reset: Some(Duration::from_millis(120))
            }
        );
        assert_eq!(limits.tokens.reset, Some(Duration::from_millis(361_500)));
        assert_eq!(limits.tokens_per_hour.limit, Some(9));
        assert_eq!(RateLimits::read(&headers[6..]), None);
    }
}

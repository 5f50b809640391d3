//! Times, spans and JSON from the command line.

use chrono::{Local, TimeZone};
use serde_json::{Map, Value};

use super::context::Failure;

pub(super) fn time(seconds: i64) -> String {
    Local
        .timestamp_opt(seconds, 0)
        .single()
        .map(|at| at.format("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_else(|| seconds.to_string())
}

/// `2s`, `3m`, `1.5h`, `2.0d`.
pub(super) fn span(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{}s", seconds.max(0)),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{:.1}h", seconds as f64 / 3600.0),
        _ => format!("{:.1}d", seconds as f64 / 86_400.0),
    }
}

/// Seconds of `300`, `90s`, `30m`, `2h` or `1d`.
pub(super) fn duration(flag: &str, text: &str) -> Result<i64, Failure> {
    let trimmed = text.trim().to_lowercase();
    let (digits, unit) = match trimmed.char_indices().next_back() {
        Some((at, 's')) => (&trimmed[..at], 1),
        Some((at, 'm')) => (&trimmed[..at], 60),
        Some((at, 'h')) => (&trimmed[..at], 3600),
        Some((at, 'd')) => (&trimmed[..at], 86_400),
        _ => (trimmed.as_str(), 1),
    };
    let seconds = digits
        .trim()
        .parse::<f64>()
        .ok()
        .map(|n| n * f64::from(unit));
    match seconds {
        Some(seconds) if (1.0..1e12).contains(&seconds) => Ok(seconds as i64),
        _ => Err(Failure::usage(format!(
            "kanban: {flag}: malformed duration '{text}' (expected 30s, 5m, 2h, 1d, or a number)"
        ))),
    }
}

/// The object a `--metadata` flag holds.
pub(super) fn metadata(text: Option<&str>) -> Result<Option<Map<String, Value>>, Failure> {
    let Some(text) = text else {
        return Ok(None);
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(Some(map)),
        Ok(_) => Err(Failure::usage("kanban: --metadata: must be a JSON object")),
        Err(error) => Err(Failure::usage(format!("kanban: --metadata: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_units_and_refuse_the_rest() {
        let parsed = |text| duration("--max-runtime", text).ok();
        assert_eq!(parsed("300"), Some(300));
        assert_eq!(parsed("90s"), Some(90));
        assert_eq!(parsed("30m"), Some(1800));
        assert_eq!(parsed("1.5h"), Some(5400));
        assert_eq!(parsed("1D"), Some(86_400));
        for bad in ["soon", "", "-5", "0", "m", "5 weeks"] {
            assert_eq!(parsed(bad), None, "{bad:?}");
        }
    }
}

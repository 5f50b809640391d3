//! Sizes and ages as people say them.

use chrono::{DateTime, Utc};

/// `688B`, `84.2KB`, `1.5GB`.
pub fn bytes(count: u64) -> String {
    const UNITS: &[&str] = &["KB", "MB", "GB", "TB"];
    if count < 1024 {
        return format!("{count}B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1}{}", UNITS[unit])
}

/// `just now`, `5m ago`, `3h ago`, `2d ago`; the date when it is longer.
pub fn ago(now: DateTime<Utc>, then: DateTime<Utc>) -> String {
    let seconds = (now - then).num_seconds();
    match seconds {
        ..60 => "just now".to_owned(),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        86_400..604_800 => format!("{}d ago", seconds / 86_400),
        _ => then
            .with_timezone(&chrono::Local)
            .format("%Y-%m-%d")
            .to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::Duration;

    #[test]
    fn sizes_have_one_decimal() {
        let said: Vec<String> = [0, 688, 1024, 86_221, 1_610_612_736].map(bytes).into();
        assert_eq!(said, ["0B", "688B", "1.0KB", "84.2KB", "1.5GB"]);
    }

    #[test]
    fn ages_use_the_largest_unit() {
        let now = DateTime::from_timestamp(1_780_000_000, 0).unwrap();
        let said = |seconds| ago(now, now - Duration::seconds(seconds));
        assert_eq!(said(5), "just now");
        assert_eq!(said(-5), "just now");
        assert_eq!(said(3599), "59m ago");
        assert_eq!(said(7300), "2h ago");
        assert_eq!(said(200_000), "2d ago");
        assert_eq!(said(2_000_000).len(), "2026-05-05".len());
    }
}

//! How sessions look as text.

use chrono::{DateTime, Local, Utc};
use hermes_home::Clock;
use hermes_types::{Redaction, redact};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const MINUTE: f64 = 60.0;
const HOUR: f64 = 60.0 * MINUTE;
const DAY: f64 = 24.0 * HOUR;

/// `just now`, `5m ago`, `3h ago`, `yesterday`, `4d ago`, or the local date.
pub(crate) fn ago(then: f64, clock: &Clock) -> String {
    let age = clock.unix_seconds() - then;
    if age < MINUTE {
        "just now".to_owned()
    } else if age < HOUR {
        format!("{}m ago", (age / MINUTE).floor())
    } else if age < DAY {
        format!("{}h ago", (age / HOUR).floor())
    } else if age < 2.0 * DAY {
        "yesterday".to_owned()
    } else if age < 7.0 * DAY {
        format!("{}d ago", (age / DAY).floor())
    } else {
        local(then).map_or_else(String::new, |time| time.format("%Y-%m-%d").to_string())
    }
}

/// Local date and time to the minute.
pub(super) fn moment(then: f64) -> String {
    local(then).map_or_else(String::new, |time| {
        time.format("%Y-%m-%d %H:%M").to_string()
    })
}

fn local(then: f64) -> Option<DateTime<Local>> {
    DateTime::<Utc>::from_timestamp_micros((then * 1e6) as i64)
        .map(|time| time.with_timezone(&Local))
}

/// Cut to `width` terminal cells, without a mark, and filled up to `field` cells.
pub(super) fn cell(text: &str, width: usize, field: usize) -> String {
    let mut kept = String::new();
    let mut used = 0;
    for character in text.chars() {
        let character = if character.is_control() {
            ' '
        } else {
            character
        };
        let cells = character.width().unwrap_or(0);
        if used + cells > width {
            break;
        }
        kept.push(character);
        used += cells;
    }
    let fill = field.saturating_sub(kept.width());
    format!("{kept}{}", " ".repeat(fill))
}

/// Masks secrets in what people wrote and tools printed, at any depth.
pub(super) fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text, Redaction::Text).into_owned()),
        Value::Array(items) => items.into_iter().map(masked).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, masked(value)))
            .collect(),
        other => other,
    }
}

/// An exported session with its conversation masked; ids and names stay.
pub(super) fn masked_session(mut session: Value) -> Value {
    const OF_SESSION: [&str; 2] = ["system_prompt", "title"];
    const OF_MESSAGE: [&str; 7] = [
        "content",
        "tool_calls",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "codex_reasoning_items",
        "codex_message_items",
    ];
    let mask_fields = |object: &mut Value, names: &[&str]| {
        for name in names {
            if let Some(field) = object.get_mut(name) {
                *field = masked(field.take());
            }
        }
    };
    mask_fields(&mut session, &OF_SESSION);
    if let Some(messages) = session.get_mut("messages").and_then(Value::as_array_mut) {
        for message in messages {
            mask_fields(message, &OF_MESSAGE);
        }
    }
    session
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / (1024.0 * 1024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_as_the_reference_tells_them() {
        let clock = Clock::fixed("2026-05-31T12:00:00Z".parse().unwrap());
        let now = clock.unix_seconds();
        for (seconds, expected) in [
            (-5.0, "just now"),
            (59.0, "just now"),
            (61.0, "1m ago"),
            (2.0 * HOUR + 1.0, "2h ago"),
            (26.0 * HOUR, "yesterday"),
            (6.99 * DAY, "6d ago"),
        ] {
            assert_eq!(ago(now - seconds, &clock), expected);
        }
        assert!(ago(now - 9.0 * DAY, &clock).starts_with("2026-05-2"));
    }

    #[test]
    fn cells_count_wide_characters_twice() {
        assert_eq!(cell("你好世界", 5, 6), "你好  ");
        assert_eq!(cell("a\nb", 9, 4), "a b ");
    }
}

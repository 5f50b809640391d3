//! The argument text of tool calls: canonical on the way out, repaired on the way
//! in when a model or a server garbled it.

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The same arguments as the same bytes: keys sorted, no spaces. Text that is not
/// JSON becomes `{}`, because no provider accepts anything else.
pub fn canonical_arguments(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        Err(_) => "{}".to_owned(),
    }
}

/// The id of a call to which the provider gave none.
pub fn missing_call_id(name: &str, arguments: &str, index: usize) -> String {
    let digest = Sha256::digest(format!("{name}:{arguments}:{index}"));
    let mut id = "call_".to_owned();
    for byte in &digest[..6] {
        // Writing to a String cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

/// Makes JSON of malformed argument text: empty text, raw control characters in
/// strings, trailing commas, brackets that are missing or too many. `None` when
/// nothing sensible can be made of it.
pub fn repair_arguments(text: &str) -> Option<String> {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed == "None" {
        return Some("{}".to_owned());
    }
    if serde_json::from_str::<Value>(trimmed).is_ok() {
        return Some(trimmed.to_owned());
    }
    let escaped = escape_control_characters(trimmed);
    if serde_json::from_str::<Value>(&escaped).is_ok() {
        return Some(escaped);
    }
    let balanced = balance(&escaped)?;
    serde_json::from_str::<Value>(&balanced)
        .is_ok()
        .then_some(balanced)
}

/// Raw line breaks and tabs inside strings become escapes.
fn escape_control_characters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string && (c as u32) < 0x20 {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                other => {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{:04x}", other as u32);
                }
            }
            escaped = false;
            continue;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        out.push(c);
    }
    out
}

const MAX_REPAIRS: usize = 50;

/// Drops trailing commas and closers without an opener, adds missing closers. A
/// text that ends inside a string is cut off, not malformed: nothing is invented.
fn balance(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 4);
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    let mut repairs = 0;
    for c in text.chars() {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            out.push(c);
            continue;
        }
        match c {
            '"' => in_string = true,
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => {
                repairs += drop_trailing_comma(&mut out);
                if open.last() != Some(&c) {
                    // A closer that closes nothing.
                    repairs += 1;
                    continue;
                }
                open.pop();
            }
            _ => {}
        }
        out.push(c);
    }
    if in_string {
        return None;
    }
    repairs += drop_trailing_comma(&mut out);
    repairs += open.len();
    out.extend(open.iter().rev());
    (repairs <= MAX_REPAIRS).then_some(out)
}

fn drop_trailing_comma(out: &mut String) -> usize {
    let kept = out.trim_end();
    match kept.strip_suffix(',') {
        Some(rest) => {
            let length = rest.len();
            out.truncate(length);
            1
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_are_sorted_and_compact() {
        assert_eq!(
            canonical_arguments(r#"{ "b": {"z": 1, "a": [ {"y":2,"x":"é"} ]}, "a": null }"#),
            r#"{"a":null,"b":{"a":[{"x":"é","y":2}],"z":1}}"#
        );
        assert_eq!(canonical_arguments("{broken"), "{}");
    }

    #[test]
    fn malformed_arguments_are_repaired_where_the_meaning_is_plain() {
        for (text, expected) in [
            ("", Some("{}")),
            ("  None ", Some("{}")),
            (r#"{"a": 1}"#, Some(r#"{"a": 1}"#)),
            ("{\"a\": \"x\ny\"}", Some(r#"{"a": "x\ny"}"#)),
            (r#"{"a": 1,}"#, Some(r#"{"a": 1}"#)),
            (r#"{"a": [1, 2,], }"#, Some(r#"{"a": [1, 2]}"#)),
            (r#"{"a": {"b": 1"#, Some(r#"{"a": {"b": 1}}"#)),
            (r#"{"a": 1}}"#, Some(r#"{"a": 1}"#)),
            (r#"{"a": "cut of"#, None),
            (r#"{"a": }"#, None),
            ("not json", None),
        ] {
            assert_eq!(repair_arguments(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn missing_ids_follow_from_name_arguments_and_place() {
        // SHA-256 of "terminal:{}:0" and its neighbour.
        assert_eq!(missing_call_id("terminal", "{}", 0).len(), 17);
        assert_ne!(
            missing_call_id("terminal", "{}", 0),
            missing_call_id("terminal", "{}", 1)
        );
    }

    proptest! {
        #[test]
        fn what_is_repaired_is_json_and_valid_json_is_left_alone(text in r#"[\[\]{}",:a1\\\n ]{0,30}"#) {
            if let Some(repaired) = repair_arguments(&text) {
                prop_assert!(serde_json::from_str::<Value>(&repaired).is_ok());
                prop_assert_eq!(repair_arguments(&repaired), Some(repaired.clone()));
            }
        }
    }
}

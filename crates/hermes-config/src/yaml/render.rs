//! Text for one value, written so that PyYAML reads the same value back. Text that
//! YAML 1.1 would take for a number, a date or a truth value is quoted.

use std::fmt::Write;

use serde_json::{Number, Value};

use super::resolve::{Plain, resolve_plain};

/// Where a scalar will stand: inside `[…]` and `{…}` fewer characters may go bare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Block,
    Flow,
}

/// A value on one line: a scalar, or a list or map in brackets.
pub fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => string(text, Place::Block),
        other => flow(other),
    }
}

/// A map key.
pub fn key(name: &str) -> String {
    string(name, Place::Flow)
}

/// Longest list that is written on one line.
const ONE_LINE: usize = 80;

/// A value as it stands after a `key:` that is indented by `indent`: on the same line
/// when it is a scalar, empty, or a short list of scalars, else on lines of its own.
/// The text starts with a space or a line break and has none at its end.
pub fn after_colon(value: &Value, indent: usize, line_break: &str) -> String {
    match value {
        Value::Array(items) => {
            let short = inline(value);
            let scalars = items
                .iter()
                .all(|item| !item.is_array() && !item.is_object());
            if scalars && short.len() <= ONE_LINE {
                format!(" {short}")
            } else {
                block(value, indent, line_break)
            }
        }
        _ => block(value, indent + 2, line_break),
    }
}

/// A list or map on lines of its own, each starting with a line break and `indent`
/// spaces; anything else follows on the same line.
pub fn block(value: &Value, indent: usize, line_break: &str) -> String {
    let pad = " ".repeat(indent);
    match value {
        Value::Array(items) if !items.is_empty() => {
            let mut out = String::new();
            for item in items {
                let _ = write!(
                    out,
                    "{line_break}{pad}-{}",
                    nested(item, indent, line_break)
                );
            }
            out
        }
        Value::Object(map) if !map.is_empty() => {
            let mut out = String::new();
            for (name, value) in map {
                let text = after_colon(value, indent, line_break);
                let _ = write!(out, "{line_break}{pad}{}:{text}", key(name));
            }
            out
        }
        other => format!(" {}", inline(other)),
    }
}

/// A list item: the first line of a list or map in it follows the dash.
fn nested(item: &Value, indent: usize, line_break: &str) -> String {
    let text = block(item, indent + 2, line_break);
    match text.strip_prefix(&format!("{line_break}{}", " ".repeat(indent + 2))) {
        Some(rest) => format!(" {rest}"),
        None => text,
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(value) => number(value),
        Value::String(text) => string(text, Place::Flow),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let pairs: Vec<String> = map
                .iter()
                .map(|(name, value)| format!("{}: {}", key(name), flow(value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

/// YAML 1.1 wants a point in every float and a sign in every exponent.
fn number(number: &Number) -> String {
    if !number.is_f64() {
        return number.to_string();
    }
    let text = number.to_string();
    match text.find(['e', 'E']) {
        None if text.contains('.') => text,
        None => format!("{text}.0"),
        Some(at) => {
            let (mantissa, exponent) = (&text[..at], &text[at + 1..]);
            let point = if mantissa.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with(['-', '+']) {
                ""
            } else {
                "+"
            };
            format!("{mantissa}{point}e{sign}{exponent}")
        }
    }
}

fn string(text: &str, place: Place) -> String {
    if goes_bare(text, place) {
        return text.to_owned();
    }
    if text.chars().all(is_quotable) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_quotable(c) => out.push(c),
            c if (c as u32) <= 0xff => {
                let _ = write!(out, "\\x{:02X}", c as u32);
            }
            c if (c as u32) <= 0xffff => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => {
                let _ = write!(out, "\\U{:08X}", c as u32);
            }
        }
    }
    out.push('"');
    out
}

/// Printable, and not a line break of any kind.
fn is_quotable(c: char) -> bool {
    matches!(c,
        ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

fn goes_bare(text: &str, place: Place) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let starts_well = first.is_alphanumeric()
        || matches!(
            first,
            '/' | '.' | '_' | '$' | '(' | '+' | '^' | '<' | '\\' | ';'
        );
    starts_well
        && resolve_plain(text) == Plain::Text
        && !matches!(text, "=" | "y" | "Y" | "n" | "N")
        && !text.starts_with("...")
        && text.chars().all(|c| is_quotable(c) && c != '\u{a0}')
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && (place == Place::Block || !text.contains([',', '[', ']', '{', '}', ':', '?']))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_look_as_python_writes_them() {
        for (value, want) in [
            (json!(true), "true"),
            (json!(null), "null"),
            (json!(7), "7"),
            (json!(1.0), "1.0"),
            (json!(1e20), "1.0e+20"),
            (json!("plain text"), "plain text"),
            (json!(""), "''"),
            (json!("null"), "'null'"),
            (json!("-5"), "'-5'"),
            (json!("1.5"), "'1.5'"),
            (json!("1e3"), "1e3"),
            (json!("1.2.3"), "1.2.3"),
            (json!("12:30"), "'12:30'"),
            (json!("yes"), "'yes'"),
            (json!("2026-05-31"), "'2026-05-31'"),
            (json!("  padded "), "'  padded '"),
            (json!("text: colon"), "'text: colon'"),
            (json!("#hash"), "'#hash'"),
            (json!("it's"), "it's"),
            (json!("ünï"), "ünï"),
            (json!("[1, 2]"), "'[1, 2]'"),
            (json!("${HOME}/x"), "${HOME}/x"),
            (json!("a\nb"), "\"a\\nb\""),
            (
                json!("http://127.0.0.1:8090/v1"),
                "http://127.0.0.1:8090/v1",
            ),
            (json!([]), "[]"),
            (json!({}), "{}"),
        ] {
            assert_eq!(inline(&value), want);
        }
    }

    #[test]
    fn blocks_read_back_as_the_same_value() {
        let value = json!({
            "a": [1, {"b": [2, 3], "c": {"d": "x: y"}}, [4, [5]], [], {}],
            "e": {"f": {"g": "line\nbreak"}},
            "on": "off",
        });
        let text = format!("top:{}\n", block(&value, 2, "\n"));
        let back = parse(&text).unwrap().value().unwrap();
        assert_eq!(back, json!({ "top": value }), "{text}");
    }
}

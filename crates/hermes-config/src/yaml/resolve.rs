//! What a plain (unquoted) scalar means. These are PyYAML's implicit resolvers,
//! written out by hand: no regular expression is compiled to read a file.

use serde_json::{Number, Value};

/// The meaning of a plain scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// Null, boolean, integer or float.
    Value(Value),
    /// A date or time; PyYAML makes it a date object, we keep its text.
    Timestamp,
    /// `<<`, a merge when it stands as a key.
    Merge,
    /// Everything else is text.
    Text,
}

/// Resolves a plain scalar as PyYAML does.
pub fn resolve_plain(text: &str) -> Plain {
    match text.as_bytes().first() {
        None => Plain::Value(Value::Null),
        Some(b'~') if text == "~" => Plain::Value(Value::Null),
        Some(b'<') if text == "<<" => Plain::Merge,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O') => word(text),
        Some(b'-' | b'+' | b'.' | b'0'..=b'9') => number(text),
        _ => Plain::Text,
    }
}

fn word(text: &str) -> Plain {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Plain::Value(Value::Bool(true))
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Plain::Value(Value::Bool(false))
        }
        "null" | "Null" | "NULL" => Plain::Value(Value::Null),
        _ => Plain::Text,
    }
}

fn number(text: &str) -> Plain {
    // PyYAML asks the float rule before the integer rule; they do not overlap.
    if let Some(value) = float(text) {
        return Plain::Value(value);
    }
    if let Some(value) = integer(text) {
        return Plain::Value(value);
    }
    if is_timestamp(text) {
        return Plain::Timestamp;
    }
    Plain::Text
}

/// The value of an integer in any of YAML 1.1's five notations.
pub(crate) fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = split_sign(text);
    let magnitude = if let Some(rest) = digits.strip_prefix("0b") {
        radix(rest, 2)?
    } else if let Some(rest) = digits.strip_prefix("0x") {
        radix(rest, 16)?
    } else if digits == "0" {
        0
    } else if let Some(rest) = digits.strip_prefix('0') {
        if !rest.bytes().all(|b| matches!(b, b'0'..=b'7' | b'_')) {
            return None;
        }
        radix(&format!("0{rest}"), 8)?
    } else if digits.contains(':') {
        sexagesimal(digits)?
    } else {
        if !digits.starts_with(|c: char| c.is_ascii_digit())
            || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'_')
        {
            return None;
        }
        match digits.replace('_', "").parse::<i128>() {
            Ok(value) => value,
            // Python has no limit here; JSON has. The digits are kept as text.
            Err(_) => return None,
        }
    };
    let signed = if negative { -magnitude } else { magnitude };
    if let Ok(value) = i64::try_from(signed) {
        return Some(Value::Number(value.into()));
    }
    u64::try_from(signed)
        .ok()
        .map(|value| Value::Number(value.into()))
}

fn radix(text: &str, base: u32) -> Option<i128> {
    let digits = text.replace('_', "");
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i128::from_str_radix(&digits, base).ok()
}

/// `1:30:00`; the first part is a number without leading zero, the others are
/// below 60.
fn sexagesimal(text: &str) -> Option<i128> {
    let mut parts = text.split(':');
    let first = parts.next()?;
    if !first.starts_with(|c: char| matches!(c, '1'..='9'))
        || !first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    {
        return None;
    }
    let mut total: i128 = first.replace('_', "").parse().ok()?;
    for part in parts {
        total = total.checked_mul(60)?.checked_add(base60_digit(part)?)?;
    }
    Some(total)
}

fn base60_digit(part: &str) -> Option<i128> {
    match part.as_bytes() {
        [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'] => part.parse().ok(),
        _ => None,
    }
}

/// The value of a float. Infinity and not-a-number have no place in JSON and are
/// kept as the text YAML uses for them.
pub(crate) fn float(text: &str) -> Option<Value> {
    let (negative, rest) = split_sign(text);
    let signed = text.len() != rest.len();
    match rest {
        ".inf" | ".Inf" | ".INF" => {
            return Some(Value::String(
                if negative { "-.inf" } else { ".inf" }.into(),
            ));
        }
        ".nan" | ".NaN" | ".NAN" if !signed => return Some(Value::String(".nan".into())),
        _ => {}
    }
    if rest.contains(':') {
        return base60_float(rest).and_then(|value| finite(negative, value));
    }
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-'])?;
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
    }
    let (whole, fraction) = mantissa.split_once('.')?;
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let leads = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let shape = if whole.is_empty() {
        // A leading dot takes no sign.
        !signed && leads(fraction) && digits(fraction)
    } else {
        leads(whole) && digits(whole) && digits(fraction)
    };
    if !shape {
        return None;
    }
    let plain = rest.replace('_', "");
    // Rust reads `5.` and `.5`, but not `5.e+3`.
    let plain = plain.replace(".e", ".0e").replace(".E", ".0e");
    finite(negative, plain.parse().ok()?)
}

fn base60_float(text: &str) -> Option<f64> {
    let (head, last) = text.rsplit_once(':')?;
    let (seconds, fraction) = last.split_once('.')?;
    base60_digit(seconds)?;
    let first = head.split(':').next()?;
    if !first.starts_with(|c: char| c.is_ascii_digit())
        || !first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
        || !fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    {
        return None;
    }
    let mut total: f64 = first.replace('_', "").parse().ok()?;
    for part in head.split(':').skip(1) {
        total = total * 60.0 + base60_digit(part)? as f64;
    }
    let last: f64 = format!("{seconds}.{}", fraction.replace('_', ""))
        .parse()
        .ok()?;
    Some(total * 60.0 + last)
}

fn finite(negative: bool, value: f64) -> Option<Value> {
    let value = if negative { -value } else { value };
    Some(match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value > 0.0 => Value::String(".inf".into()),
        None => Value::String("-.inf".into()),
    })
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// `2026-05-31`, or the longer form with a time and an optional zone.
fn is_timestamp(text: &str) -> bool {
    let mut rest = Cursor(text.as_bytes());
    let Some(year) = rest.digits(4) else {
        return false;
    };
    if year != 4 || !rest.take(b'-') {
        return false;
    }
    let month = rest.digits(2).unwrap_or(0);
    if month == 0 || !rest.take(b'-') {
        return false;
    }
    let day = rest.digits(2).unwrap_or(0);
    if day == 0 {
        return false;
    }
    if rest.0.is_empty() {
        return month == 2 && day == 2;
    }
    if !(rest.take(b'T') || rest.take(b't')) && rest.blanks() == 0 {
        return false;
    }
    let hour = rest.digits(2).unwrap_or(0);
    if hour == 0
        || !rest.take(b':')
        || rest.digits(2) != Some(2)
        || !rest.take(b':')
        || rest.digits(2) != Some(2)
    {
        return false;
    }
    if rest.take(b'.') {
        let _ = rest.digits(usize::MAX);
    }
    rest.blanks();
    if rest.0.is_empty() {
        // Blanks count only before a zone.
        return !text.ends_with([' ', '\t']);
    }
    if rest.take(b'Z') {
        return rest.0.is_empty();
    }
    if !(rest.take(b'+') || rest.take(b'-')) || rest.digits(2).unwrap_or(0) == 0 {
        return false;
    }
    if rest.take(b':') && rest.digits(2) != Some(2) {
        return false;
    }
    rest.0.is_empty()
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take(&mut self, byte: u8) -> bool {
        let hit = self.0.first() == Some(&byte);
        if hit {
            self.0 = &self.0[1..];
        }
        hit
    }

    fn digits(&mut self, most: usize) -> Option<usize> {
        let count = self
            .0
            .iter()
            .take(most)
            .take_while(|b| b.is_ascii_digit())
            .count();
        self.0 = &self.0[count..];
        (count > 0).then_some(count)
    }

    fn blanks(&mut self) -> usize {
        let count = self
            .0
            .iter()
            .take_while(|b| matches!(b, b' ' | b'\t'))
            .count();
        self.0 = &self.0[count..];
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(text: &str) -> Value {
        match resolve_plain(text) {
            Plain::Value(value) => value,
            Plain::Timestamp => json!({ "timestamp": text }),
            Plain::Merge => json!("merge"),
            Plain::Text => json!(text),
        }
    }

    #[test]
    fn words_are_those_of_yaml_1_1() {
        for yes in [
            "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE",
        ] {
            assert_eq!(value(yes), json!(true), "{yes}");
        }
        for no in ["no", "No", "NO", "off", "Off", "OFF", "false"] {
            assert_eq!(value(no), json!(false), "{no}");
        }
        for text in ["y", "n", "tRue", "yEs", "nUll", "none", "None"] {
            assert_eq!(value(text), json!(text));
        }
        for null in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(value(null), Value::Null);
        }
    }

    #[test]
    fn numbers_are_those_of_yaml_1_1() {
        for (text, want) in [
            ("0755", json!(493)),
            ("1_000", json!(1000)),
            ("12:30", json!(750)),
            ("1:30:00", json!(5400)),
            ("-12:30", json!(-750)),
            ("+5", json!(5)),
            ("-5", json!(-5)),
            ("0b101", json!(5)),
            ("0x1F", json!(31)),
            ("0", json!(0)),
            ("00", json!(0)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("5.", json!(5.0)),
            ("1.e+3", json!(1000.0)),
            ("1.5e+3", json!(1500.0)),
            ("1_0.5_0", json!(10.5)),
            ("1:30.5", json!(90.5)),
            (".inf", json!(".inf")),
            ("-.INF", json!("-.inf")),
            ("18446744073709551615", json!(u64::MAX)),
        ] {
            assert_eq!(value(text), want, "{text}");
        }
        for text in [
            "08",
            "0o755",
            "1e3",
            "1.5e3",
            "-.5",
            "1:60",
            "12:30:",
            "0x",
            "0b",
            "1-2",
            "+",
            "-",
            ".",
            "1.2.3",
            "_1",
            "+.nan",
            "123456789012345678901234567890",
        ] {
            assert_eq!(value(text), json!(text), "{text}");
        }
    }

    #[test]
    fn dates_are_recognised() {
        for text in [
            "2026-05-31",
            "2026-5-1T1:02:03Z",
            "2026-05-31 12:00:00",
            "2026-05-31t12:00:00.25 +02:00",
        ] {
            assert_eq!(value(text), json!({ "timestamp": text }), "{text}");
        }
        for text in ["2026-5-1", "2026-05", "2026-05-31 12:00", "26-05-31"] {
            assert_eq!(value(text), json!(text), "{text}");
        }
    }
}

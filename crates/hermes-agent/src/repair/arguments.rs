//! Argument text that is almost JSON.
//!
//! Repair is careful: it never invents the end of a string, because a command
//! cut in the middle must not run.

use serde_json::{Map, Value};

/// More mending than this and the text is not JSON at all.
const MAX_STEPS: usize = 50;

/// What became of the text of one call's arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// Valid, or valid after mending.
    Object(Map<String, Value>),
    /// Nothing sensible can be made of it; why, for the model.
    Broken(String),
}

/// Reads the text, mending what can be mended.
pub fn read_arguments(text: &str) -> Arguments {
    let text = text.trim();
    if text.is_empty() || text == "None" || text == "null" {
        return Arguments::Object(Map::new());
    }
    let problem = match serde_json::from_str::<Value>(text) {
        Ok(value) => return object(value),
        Err(error) => error.to_string(),
    };
    match mended(text).and_then(|text| serde_json::from_str::<Value>(&text).ok()) {
        Some(value) => object(value),
        None => Arguments::Broken(format!("the arguments are not valid JSON ({problem})")),
    }
}

/// Whether the text stops in the middle rather than being wrong throughout.
pub fn looks_cut_off(text: &str) -> bool {
    !text.trim_end().ends_with(['}', ']'])
}

fn object(value: Value) -> Arguments {
    match value {
        Value::Object(map) => Arguments::Object(map),
        // Some models encode the object twice.
        Value::String(inner) => match serde_json::from_str::<Value>(&inner) {
            Ok(Value::Object(map)) => Arguments::Object(map),
            _ => Arguments::Broken("the arguments are a text, not a JSON object".to_owned()),
        },
        Value::Null => Arguments::Object(Map::new()),
        _ => Arguments::Broken("the arguments are not a JSON object".to_owned()),
    }
}

/// The text with control characters in strings escaped, commas before a closer
/// dropped, unmatched closers dropped and open brackets closed.
fn mended(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut open: Vec<char> = Vec::new();
    let mut in_string = false;
    let mut escaped = false;
    let mut steps = 0;
    for character in text.chars() {
        if in_string {
            if escaped {
                escaped = false;
                out.push(character);
            } else if character == '\\' {
                escaped = true;
                out.push(character);
            } else if character == '"' {
                in_string = false;
                out.push(character);
            } else if (character as u32) < 0x20 {
                push_escape(character, &mut out);
            } else {
                out.push(character);
            }
            continue;
        }
        match character {
            '"' => {
                in_string = true;
                out.push(character);
            }
            '{' | '[' => {
                open.push(if character == '{' { '}' } else { ']' });
                out.push(character);
            }
            '}' | ']' => {
                if open.last() == Some(&character) {
                    open.pop();
                    drop_comma(&mut out, &mut steps);
                    out.push(character);
                } else if open.contains(&character) {
                    // A closer of an outer bracket: the inner ones were forgotten.
                    while let Some(expected) = open.pop() {
                        drop_comma(&mut out, &mut steps);
                        out.push(expected);
                        if expected == character {
                            break;
                        }
                        steps += 1;
                    }
                } else {
                    steps += 1;
                }
            }
            _ => out.push(character),
        }
        if steps > MAX_STEPS {
            return None;
        }
    }
    if in_string {
        return None;
    }
    while let Some(expected) = open.pop() {
        drop_comma(&mut out, &mut steps);
        out.push(expected);
        steps += 1;
    }
    (steps <= MAX_STEPS).then_some(out)
}

fn drop_comma(out: &mut String, steps: &mut usize) {
    let kept = out.trim_end().len();
    if out[..kept].ends_with(',') {
        out.truncate(kept - 1);
        *steps += 1;
    }
}

fn push_escape(character: char, out: &mut String) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        other => out.push_str(&format!("\\u{:04x}", other as u32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repair::canonical;
    use proptest::prelude::*;
    use serde_json::json;

    fn fixed(text: &str) -> String {
        match read_arguments(text) {
            Arguments::Object(map) => canonical(&Value::Object(map)),
            Arguments::Broken(_) => "broken".to_owned(),
        }
    }

    #[test]
    fn each_kind_of_damage_is_mended() {
        let cases = [
            ("", "{}"),
            ("  ", "{}"),
            ("None", "{}"),
            ("null", "{}"),
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("{\"a\":\"x\ny\tz\"}", r#"{"a":"x\ny\tz"}"#),
            (r#"{"a":1,}"#, r#"{"a":1}"#),
            (r#"{"a":[1,2,],}"#, r#"{"a":[1,2]}"#),
            (r#"{"a":[1,2"#, r#"{"a":[1,2]}"#),
            (r#"{"a":{"b":1}"#, r#"{"a":{"b":1}}"#),
            (r#"{"a":1}}"#, r#"{"a":1}"#),
            (r#"{"a":1}]]"#, r#"{"a":1}"#),
            (r#"{"a":[1}"#, r#"{"a":[1]}"#),
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
        ];
        for (text, expected) in cases {
            assert_eq!(fixed(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_was_cut_off_inside_a_string_stays_broken() {
        for text in [
            r#"{"command":"rm -rf /tmp/x"#,
            r#"{"command":"#,
            "[1,2]",
            "hello",
            r#""text""#,
            "{a:1}",
        ] {
            assert_eq!(fixed(text), "broken", "{text:?}");
        }
        assert!(looks_cut_off(r#"{"command":"rm -rf /tmp/x"#));
        assert!(!looks_cut_off("{a:1} "));
    }

    #[test]
    fn endless_brackets_are_given_up() {
        assert_eq!(fixed(&"{".repeat(60)), "broken");
        assert_eq!(fixed(&format!("{{}}{}", "]".repeat(60))), "broken");
    }

    fn any_object() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z]{1,4}", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        });
        prop::collection::vec(("[a-z]{1,4}", value), 0..4)
            .prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
    }

    proptest! {
        #[test]
        fn valid_text_keeps_its_value(value in any_object()) {
            prop_assert_eq!(fixed(&value.to_string()), canonical(&value));
        }

        #[test]
        fn raw_control_characters_do_not_change_the_value(text in "[a-z\n\t\r]{0,20}") {
            let raw = format!("{{\"x\":\"{text}\"}}");
            prop_assert_eq!(fixed(&raw), canonical(&json!({"x": text})));
        }

        #[test]
        fn dropped_closers_are_put_back(value in any_object(), dropped in 1usize..4) {
            let text = value.to_string();
            let closers = text.chars().rev().take_while(|c| matches!(c, '}' | ']')).count();
            let keep = text.len() - dropped.min(closers);
            prop_assert_eq!(fixed(&text[..keep]), canonical(&value));
        }

        #[test]
        fn nothing_makes_it_panic(text in ".{0,64}") {
            let _ = read_arguments(&text);
        }

        #[test]
        fn a_cut_string_is_never_completed(text in "[a-z ]{1,20}", keep in 0usize..19) {
            let full = format!("{{\"command\":\"{text}\"}}");
            let cut = &full[..12 + keep.min(text.len())];
            prop_assert_eq!(fixed(cut), "broken");
        }
    }
}

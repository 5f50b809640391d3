//! One line about a call or a result, for people.

use serde_json::Value;

const LIMIT: usize = 120;

/// The argument that says most, on one line.
pub fn of_arguments(arguments: &Value) -> String {
    const TELLING: [&str; 10] = [
        "command", "path", "pattern", "query", "goal", "question", "name", "url", "code", "action",
    ];
    let found = TELLING
        .iter()
        .find_map(|key| arguments.get(key).and_then(Value::as_str))
        .map(str::to_owned)
        .or_else(|| {
            arguments.as_object().and_then(|map| {
                map.values()
                    .find_map(|value| value.as_str().map(str::to_owned))
            })
        })
        .unwrap_or_default();
    one_line(&found, LIMIT)
}

/// The first words of a result.
pub fn of_result(text: &str) -> String {
    one_line(text, LIMIT)
}

/// White space folded, cut at `limit` characters.
pub fn one_line(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if count > 0 {
            out.push(' ');
            count += 1;
        }
        for character in word.chars() {
            if count >= limit {
                out.push('…');
                return out;
            }
            out.push(character);
            count += 1;
        }
    }
    out
}

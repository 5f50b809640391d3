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

/// What a result says, in words where it has any: its error, else how its command
/// ended, else its beginning.
pub fn of_result(text: &str) -> String {
    // A hint may stand behind the object.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let Some(Ok(Value::Object(result))) = values.next() else {
        let text = text.strip_prefix("[TOOL_ERROR] ").unwrap_or(text);
        return one_line(text, LIMIT);
    };
    let word = |name: &str| {
        let found = result.get(name).and_then(Value::as_str);
        found.map(str::trim).filter(|found| !found.is_empty())
    };
    if let Some(error) = word("error") {
        return one_line(error, LIMIT);
    }
    let last = word("output").and_then(|output| output.lines().next_back());
    let code = result.get("exit_code").and_then(Value::as_i64);
    match (code, last) {
        (Some(code), Some(last)) if code != 0 => one_line(&format!("exit {code}: {last}"), LIMIT),
        (Some(code), None) if code != 0 => format!("exit {code}"),
        (_, Some(last)) => one_line(last, LIMIT),
        _ => one_line(word("message").unwrap_or(text), LIMIT),
    }
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn results_are_told_in_words() {
        for (result, words) in [
            (
                r#"{"error":"File not found: x","similar_files":[]}"#,
                "File not found: x",
            ),
            (
                r#"{"output":"a\nno such file\n","exit_code":2,"error":null}"#,
                "exit 2: no such file",
            ),
            (r#"{"output":"","exit_code":3,"error":null}"#, "exit 3"),
            (r#"{"output":"fine\n","exit_code":0,"error":null}"#, "fine"),
            ("{\"error\":\"broken\"}\n\nA hint.", "broken"),
            ("[TOOL_ERROR] it fell over", "it fell over"),
            ("plain\n text", "plain text"),
        ] {
            assert_eq!(of_result(result), words, "{result}");
        }
    }
}

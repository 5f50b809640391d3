//! The head of a skill file: YAML between two `---` lines. Files come from many
//! hands, so a head that is not YAML is still read line by line.

use serde_json::{Map, Value};

/// A file cut into its head and the text after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub head: Map<String, Value>,
    pub body: String,
    /// Whether there was a head at all, empty or not.
    pub has_head: bool,
}

impl Document {
    pub fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let Some((head, body)) = split(text) else {
            return Self {
                body: text.to_owned(),
                ..Self::default()
            };
        };
        Self {
            head: read_yaml(head).unwrap_or_else(|| read_lines(head)),
            body: body.to_owned(),
            has_head: true,
        }
    }

    /// A text value; numbers and booleans as they are written.
    pub fn text(&self, key: &str) -> Option<String> {
        scalar(self.head.get(key)?)
    }

    /// A list of texts; a single text counts as a list of one, and commas part it.
    pub fn list(&self, key: &str) -> Vec<String> {
        self.head.get(key).map(list_of).unwrap_or_default()
    }

    /// `metadata.hermes`, where what only Hermes knows lives.
    pub fn hermes(&self) -> Option<&Map<String, Value>> {
        self.head.get("metadata")?.get("hermes")?.as_object()
    }

    /// A list that may stand at the top or below `metadata.hermes`.
    pub fn list_anywhere(&self, key: &str) -> Vec<String> {
        let nested = self
            .hermes()
            .and_then(|hermes| hermes.get(key))
            .map(list_of)
            .unwrap_or_default();
        if nested.is_empty() {
            self.list(key)
        } else {
            nested
        }
    }
}

pub(super) fn list_of(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        Value::String(text) => text
            .trim_matches(['[', ']'])
            .split(',')
            .map(|item| item.trim().trim_matches(['"', '\'']).to_owned())
            .filter(|item| !item.is_empty())
            .collect(),
        other => scalar(other).into_iter().collect(),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// `(head, body)` when the text opens with a `---` line and another one follows.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest
        .strip_prefix("\r\n")
        .or_else(|| rest.strip_prefix('\n'))?;
    let mut offset = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..offset], &rest[offset + line.len()..]));
        }
        offset += line.len();
    }
    None
}

fn read_yaml(head: &str) -> Option<Map<String, Value>> {
    match hermes_config::yaml::parse(head).ok()?.value().ok()? {
        Value::Object(map) => Some(map),
        Value::Null => Some(Map::new()),
        _ => None,
    }
}

fn read_lines(head: &str) -> Map<String, Value> {
    head.lines()
        .filter(|line| !line.starts_with([' ', '\t', '#', '-']))
        .filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            let value = value.trim().trim_matches(['"', '\'']);
            Some((key.trim().to_owned(), Value::from(value)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_body_come_apart() {
        let document = Document::parse(
            "---\nname: notes\ndescription: \"a: b\"\nmetadata:\n  hermes:\n    tags: [x, y]\n---\n\nBody\n",
        );
        assert_eq!(document.text("name").as_deref(), Some("notes"));
        assert_eq!(document.text("description").as_deref(), Some("a: b"));
        assert_eq!(document.list_anywhere("tags"), ["x", "y"]);
        assert_eq!(document.body, "\nBody\n");
    }

    #[test]
    fn a_broken_head_is_read_by_lines() {
        let document =
            Document::parse("---\nname: notes\ndescription: one: two: [three\n---\nBody");
        assert_eq!(document.text("name").as_deref(), Some("notes"));
        assert_eq!(
            document.text("description").as_deref(),
            Some("one: two: [three")
        );
    }

    #[test]
    fn text_without_a_head_is_all_body() {
        for text in ["", "plain", "---\nnever closed\n", "--- x\n---\n"] {
            let document = Document::parse(text);
            assert!(!document.has_head, "{text:?}");
            assert_eq!(document.body, text);
        }
    }
}

//! Random trees in random layouts: an edit, read back, equals the model, and what
//! the edit is not about keeps its bytes.

use hermes_config::edit::{set, unset};
use hermes_config::yaml::{inline, parse, render_key};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1000i32..1000).prop_map(|n| json!(f64::from(n) / 8.0)),
        "[a-z]{1,8}".prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
        "[a-z \n\t]{0,12}".prop_map(Value::from),
        Just(json!("yes")),
        Just(json!("0755")),
        Just(json!("${HOME}/x")),
        Just(json!("a # b: c")),
    ]
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z_]{1,6}",
        1 => Just("on".to_owned()),
        1 => Just("12".to_owned()),
        1 => "[ -~&&[^.]]{1,6}".prop_filter("a part of a path is not blank", |s| !s.trim().is_empty()),
    ]
}

fn maps(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::vec((names(), inner), 0..5)
        .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>()))
}

fn values() -> impl Strategy<Value = Value> {
    scalars().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            2 => maps(inner.clone()),
            1 => prop::collection::vec(inner, 0..4).prop_map(Value::Array),
        ]
    })
}

fn trees() -> impl Strategy<Value = Value> {
    maps(values())
}

/// Writes a tree with comments, blank lines, brackets, quotes and block text, chosen
/// by a small generator so that one number stands for one layout.
struct Layout {
    state: u64,
    out: String,
    comments: usize,
}

impl Layout {
    fn write(tree: &Value, seed: u64) -> String {
        let mut layout = Self {
            state: seed | 1,
            out: String::new(),
            comments: 0,
        };
        match tree {
            Value::Object(map) if !map.is_empty() => layout.map(map, 0),
            _ => layout.comment(0),
        }
        // Some files come from Windows, and some lack their last line break.
        if seed.is_multiple_of(5) {
            layout.out = layout.out.replace('\n', "\r\n");
        }
        if seed.is_multiple_of(7) && !layout.out.contains(" |") {
            let end = layout.out.trim_end_matches(['\r', '\n']).len();
            layout.out.truncate(end);
        }
        layout.out
    }

    fn roll(&mut self, sides: u64) -> bool {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.is_multiple_of(sides)
    }

    fn comment(&mut self, indent: usize) {
        self.comments += 1;
        self.out.push_str(&format!(
            "{}# note {}: x\n",
            " ".repeat(indent),
            self.comments
        ));
    }

    fn line_end(&mut self) {
        if self.roll(5) {
            self.comments += 1;
            self.out.push_str(&format!("  # tail {}", self.comments));
        }
        self.out.push('\n');
    }

    fn map(&mut self, map: &Map<String, Value>, indent: usize) {
        for (name, value) in map {
            if self.roll(6) {
                self.comment(indent);
            }
            if self.roll(9) {
                self.out.push('\n');
            }
            self.out.push_str(&" ".repeat(indent));
            self.out.push_str(&render_key(name));
            self.out.push(':');
            self.value(value, indent);
        }
    }

    fn value(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() && !self.roll(4) => {
                self.line_end();
                let deeper = indent + if self.roll(3) { 4 } else { 2 };
                self.map(map, deeper);
            }
            Value::Array(items) if !items.is_empty() && !self.roll(4) => {
                self.line_end();
                let deeper = indent + if self.roll(2) { 2 } else { 0 };
                for item in items {
                    if self.roll(6) {
                        self.comment(deeper);
                    }
                    self.out.push_str(&" ".repeat(deeper));
                    self.out.push('-');
                    match item {
                        Value::Object(map) if !map.is_empty() && self.roll(2) => {
                            let start = self.out.len();
                            self.map_after_dash(map, deeper + 2);
                            debug_assert!(self.out.len() > start);
                        }
                        other => {
                            self.out.push(' ');
                            self.inline(other);
                            self.line_end();
                        }
                    }
                }
            }
            Value::String(text)
                if text.contains('\n')
                    && text.lines().all(|l| l == l.trim() && !l.is_empty())
                    && text.chars().all(|c| !c.is_control() || c == '\n') =>
            {
                let strip = if text.ends_with('\n') { "" } else { "-" };
                self.out.push_str(&format!(" |{strip}\n"));
                for line in text.lines() {
                    self.out
                        .push_str(&format!("{}{line}\n", " ".repeat(indent + 2)));
                }
            }
            Value::Null if self.roll(2) => self.line_end(),
            other => {
                self.out.push(' ');
                if self.roll(7) {
                    self.out.push_str("  ");
                }
                self.inline(other);
                self.line_end();
            }
        }
    }

    fn map_after_dash(&mut self, map: &Map<String, Value>, indent: usize) {
        let mut first = true;
        for (name, value) in map {
            let lead = if first { 1 } else { indent };
            first = false;
            self.out.push_str(&" ".repeat(lead));
            self.out.push_str(&render_key(name));
            self.out.push(':');
            self.value(value, indent);
        }
    }

    fn inline(&mut self, value: &Value) {
        let text = match value {
            Value::String(text) if self.roll(3) => serde_json::to_string(text).unwrap_or_default(),
            other => inline(other),
        };
        // JSON escapes that YAML 1.1 spells differently are left to our own writer.
        let text = if text.contains("\\u") {
            inline(value)
        } else {
            text
        };
        self.out.push_str(&text);
    }
}

fn paths(tree: &Value, prefix: &str, into: &mut Vec<String>) {
    let mut push = |name: &str, value: &Value| {
        let path = if prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{prefix}.{name}")
        };
        into.push(path.clone());
        paths(value, &path, into);
    };
    match tree {
        Value::Object(map) => map
            .iter()
            .filter(|(name, _)| !name.contains('.') && !name.trim().is_empty())
            .for_each(|(name, value)| push(name, value)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, value)| push(&index.to_string(), value)),
        _ => {}
    }
}

fn model_set(tree: &mut Value, path: &[&str], value: Value) {
    let Some((name, rest)) = path.split_first() else {
        *tree = value;
        return;
    };
    if let Value::Array(items) = tree {
        return model_set(&mut items[name.parse::<usize>().unwrap()], rest, value);
    }
    if !tree.is_object() {
        *tree = Value::Object(Map::new());
    }
    model_set(
        tree.as_object_mut()
            .unwrap()
            .entry(*name)
            .or_insert(Value::Null),
        rest,
        value,
    );
}

fn read(text: &str) -> Value {
    match parse(text).unwrap().value().unwrap() {
        Value::Null => Value::Object(Map::new()),
        other => other,
    }
}

fn comments(text: &str) -> Vec<&str> {
    text.match_indices('#')
        .map(|(at, _)| text[at..].lines().next().unwrap_or_default().trim_end())
        .filter(|c| c.starts_with("# note ") || c.starts_with("# tail "))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_layout_reads_as_its_tree(tree in trees(), seed in any::<u64>()) {
        let text = Layout::write(&tree, seed);
        prop_assert_eq!(read(&text), tree, "{}", text);
    }

    #[test]
    fn a_key_that_is_set_reads_back_and_nothing_else_moves(
        tree in trees(),
        seed in any::<u64>(),
        pick in any::<prop::sample::Index>(),
        extra in prop::option::of(names()),
        value in values(),
    ) {
        let text = Layout::write(&tree, seed);
        let mut all = vec![];
        paths(&tree, "", &mut all);
        let mut path = if all.is_empty() { "fresh".to_owned() } else { pick.get(&all).clone() };
        if let Some(extra) = extra.filter(|name| !name.contains('.')) {
            let below_list = path.split('.').try_fold(&tree, |v, n| match v {
                Value::Array(items) => items.get(n.parse::<usize>().ok()?),
                other => other.get(n),
            }).is_some_and(Value::is_array);
            if !below_list {
                path = format!("{path}.{extra}");
            }
        }
        let mut want = tree.clone();
        model_set(&mut want, &path.split('.').collect::<Vec<_>>(), value.clone());
        let after = set(&text, &path, &value);
        prop_assert!(after.is_ok(), "{:?} for {} = {} in\n{}", after, path, value, text);
        let after = after.unwrap();
        prop_assert_eq!(read(&after), want, "{} = {} in\n{}\n---\n{}", path, value, text, after);
        if text.contains("\r\n") {
            prop_assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{:?}", after);
        }
        // Only one stretch of the text differs.
        let head = text.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
        let tail = text.bytes().rev().zip(after.bytes().rev()).take_while(|(a, b)| a == b).count()
            .min(text.len().min(after.len()) - head);
        let touched = &text.as_bytes()[head..text.len() - tail];
        let touched = String::from_utf8_lossy(touched);
        // A scalar over a scalar touches no line but its own.
        let old = path.split('.').try_fold(&tree, |v, n| match v {
            Value::Array(items) => items.get(n.parse::<usize>().ok()?),
            other => other.get(n),
        });
        let is_scalar = |v: &Value| !v.is_object() && !v.is_array();
        if old.is_some_and(is_scalar) && is_scalar(&value) {
            prop_assert_eq!(comments(&text), comments(&after), "{}\n---\n{}", text, after);
            if !text.contains(": |") {
                prop_assert!(!touched.trim_end().contains('\n'), "{touched}");
            }
        }
        if old.is_none() {
            prop_assert_eq!(comments(&text), comments(&after), "{}\n---\n{}", text, after);
        }
    }

    #[test]
    fn a_key_that_is_removed_is_gone_and_the_rest_stays(
        tree in trees(),
        seed in any::<u64>(),
        pick in any::<prop::sample::Index>(),
    ) {
        let text = Layout::write(&tree, seed);
        let mut all = vec![];
        paths(&tree, "", &mut all);
        if all.is_empty() {
            return Ok(());
        }
        let path = pick.get(&all).clone();
        let after = unset(&text, &path);
        prop_assert!(after.is_ok(), "{:?} for {} in\n{}", after, path, text);
        let after = after.unwrap().unwrap();
        let mut want = tree.clone();
        model_remove(&mut want, &path.split('.').collect::<Vec<_>>());
        prop_assert_eq!(read(&after), want, "{} in\n{}\n---\n{}", path, text, after);
    }

    #[test]
    fn no_text_makes_the_reader_or_the_editor_panic(text in "(?s).{0,200}", yamlish in "[-a:\\[\\]{}&*!|>'\"%#,? \n\t~<.0-9]{0,60}") {
        for text in [text, yamlish] {
            let _ = parse(&text).and_then(|document| document.value());
            let _ = set(&text, "a.b", &json!(1));
            let _ = unset(&text, "a");
        }
    }
}

/// Returns whether the value is empty afterwards because its last key went.
fn model_remove(tree: &mut Value, path: &[&str]) -> bool {
    let Some((name, rest)) = path.split_first() else {
        return false;
    };
    match tree {
        Value::Array(items) => {
            let index = name.parse::<usize>().unwrap();
            if rest.is_empty() {
                items.remove(index);
            } else if model_remove(&mut items[index], rest) {
                items[index] = json!({});
            }
            false
        }
        Value::Object(map) => {
            if rest.is_empty() || model_remove(map.get_mut(*name).unwrap(), rest) {
                map.shift_remove(*name);
                return map.is_empty();
            }
            false
        }
        _ => false,
    }
}

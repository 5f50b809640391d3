//! The bodies.

#![expect(clippy::expect_used, reason = "a panic is how a body reports")]

use std::collections::BTreeMap;

use hermes_agent::repair::{Arguments, read_arguments};
use hermes_config::{Config, dotenv as env_file, edit, yaml};
use hermes_home::Environment;
use hermes_knowledge::skills::Document;
use hermes_llm::{SseDecoder, SseEvent};
use hermes_sandbox::command::rewrite::{background_tail, sudo_use, sudo_with_password};
use hermes_sandbox::docker::labels::sanitise;
use hermes_tools::patch as edits;
use serde_json::{Value, json};

/// Text of the bytes; what is not UTF-8 becomes U+FFFD, as when a file is read.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The bytes as several texts, cut at NUL, which none of the formats has a use for.
fn texts<const N: usize>(bytes: &[u8]) -> [String; N] {
    let mut parts = bytes.split(|byte| *byte == 0);
    std::array::from_fn(|_| parts.next().map(text).unwrap_or_default())
}

/// A config file is read or refused; an edit reads back as the value that was set,
/// and takes nothing else along.
pub fn config(bytes: &[u8]) {
    let text = text(bytes);
    let Ok(config) = Config::from_yaml(&text) else {
        return;
    };
    // Whatever the file holds, the list of what is wrong with it can be made.
    let _ = config.misfits();
    let _ = config.unknown_keys();
    let Ok(changed) = edit::set(&text, "agent.fuzzed", &json!("a: b # c")) else {
        return;
    };
    let after = tree(&changed).expect("an edited file is readable");
    assert_eq!(
        after["agent"]["fuzzed"], "a: b # c",
        "the edit reads back: {changed:?}"
    );
    let (mut before, mut after) = (tree(&text).unwrap_or(Value::Null), after);
    for side in [&mut before, &mut after] {
        if let Some(agent) = side.get_mut("agent").and_then(Value::as_object_mut) {
            agent.shift_remove("fuzzed");
        }
        // A scalar gives way to the section that is set below it.
        let section = side.get("agent").and_then(Value::as_object);
        if section.is_none_or(serde_json::Map::is_empty)
            && let Some(map) = side.as_object_mut()
        {
            map.shift_remove("agent");
        }
        if side.is_null() {
            *side = json!({});
        }
    }
    assert_eq!(before, after, "nothing else changes: {text:?}");
}

fn tree(text: &str) -> Option<Value> {
    yaml::parse(text).ok()?.value().ok()
}

/// A `.env` file is read somehow; a value that was set reads back and the other
/// variables keep theirs.
pub fn dotenv(bytes: &[u8]) {
    let [file, value] = texts(bytes);
    let process = Environment::default();
    let before = env_file::read_text(&file, &process);
    let Ok(changed) = env_file::set(&file, "FUZZED", &value) else {
        return;
    };
    let after = env_file::read_text(&changed, &process);
    let of = |read: &env_file::DotEnv| -> BTreeMap<String, String> {
        let pairs = read.variables.iter();
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    let (mut before, mut after) = (of(&before), of(&after));
    // A value has one line: breaks are left out when it is written.
    let value = value.replace(['\r', '\n'], "");
    assert_eq!(after.remove("FUZZED"), Some(value), "{changed:?}");
    before.remove("FUZZED");
    // A value may be built from the variable that was set.
    if !file.contains("FUZZED") && !file.contains('$') {
        assert_eq!(before, after, "{file:?}");
    }
}

/// Every file has a body, and nothing of it is lost when there is no head.
pub fn front_matter(bytes: &[u8]) {
    let text = text(bytes);
    let document = Document::parse(&text);
    if !document.has_head {
        let unmarked = text.strip_prefix('\u{feff}').unwrap_or(&text);
        assert_eq!(document.body, unmarked);
    }
    assert!(
        text.ends_with(&document.body),
        "the body is the end of the file"
    );
    for key in ["name", "description", "tags", "platforms"] {
        let _ = (document.text(key), document.list_anywhere(key));
    }
}

/// An edit either replaces what was quoted, once, or is refused; a patch is applied
/// as a whole or not at all.
pub fn patch(bytes: &[u8]) {
    let [file, old, new, patch] = texts(bytes);
    if let Ok(edit) = edits::replace(&file, &old, &new, edits::Scope::One) {
        assert_eq!(edit.replaced, 1);
        assert_ne!(edit.text, file, "an accepted edit changes something");
        let unix = ![&file, &old, &new].iter().any(|text| text.contains('\r'));
        if edit.strategy == edits::Strategy::Exact && unix {
            assert_eq!(edit.text, file.replacen(&old, &new, 1));
            assert_eq!(
                file.matches(&old).count(),
                1,
                "an exact edit is unambiguous"
            );
        }
    }
    let Ok(operations) = edits::parse(&patch) else {
        return;
    };
    let Ok(changes) = edits::apply(&operations, |_| {
        Ok(Some(edits::Content::Text(file.clone())))
    }) else {
        return;
    };
    for change in changes {
        assert_eq!(
            change.before.as_ref().map(edits::Content::text),
            Some(file.as_str())
        );
    }
}

/// Events do not depend on how the bytes were cut into pieces.
pub fn server_sent_events(bytes: &[u8]) {
    let [first, rest @ ..] = bytes else { return };
    let piece = usize::from(*first).max(1);
    let whole = decode(std::iter::once(rest));
    assert_eq!(whole, decode(rest.chunks(piece)));
    assert_eq!(whole, decode(rest.chunks(1)));
}

fn decode<'b>(pieces: impl Iterator<Item = &'b [u8]>) -> Vec<SseEvent> {
    let (mut decoder, mut out) = (SseDecoder::new(), Vec::new());
    for piece in pieces {
        decoder
            .push(piece, &mut out)
            .expect("short streams are never too long");
    }
    out.extend(decoder.finish());
    out
}

/// JSON stays what it is; of anything else nothing is made up: every string of the
/// result stood in the text.
pub fn arguments(bytes: &[u8]) {
    let text = text(bytes);
    let Arguments::Object(read) = read_arguments(&text) else {
        return;
    };
    if let Ok(Value::Object(map)) = serde_json::from_str::<Value>(&text) {
        assert_eq!(read, map);
    }
    for value in read.values().filter_map(Value::as_str) {
        let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ');
        if plain && !text.contains('\\') {
            assert!(text.contains(value), "{value:?} was made up from {text:?}");
        }
    }
}

/// A label is short, plain, never empty, and its own label.
pub fn label(bytes: &[u8]) {
    let label = sanitise(&text(bytes));
    assert!((1..=63).contains(&label.len()), "{label:?}");
    assert!(
        label
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)),
        "{label:?}"
    );
    assert_eq!(sanitise(&label), label);
}

/// Rewriting inserts and never removes, and a second time changes nothing.
pub fn command_rewriting(bytes: &[u8]) {
    let command = text(bytes);
    for rewrite in [background_tail, sudo_with_password] {
        let once = rewrite(&command);
        let mut rest = once.chars();
        assert!(
            command
                .chars()
                .all(|wanted| rest.any(|found| found == wanted)),
            "{command:?} lost something: {once:?}"
        );
        assert_eq!(rewrite(&once), once, "{command:?}");
    }
    if !sudo_use(&command).called {
        assert_eq!(sudo_with_password(&command), command);
    }
}

//! The table against the reference's defaults.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use hermes_config::Config;
use pretty_assertions::assert_eq;
use serde_json::Value;

fn leaves(prefix: &str, value: &Value, into: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, value) in map {
                let path = if prefix.is_empty() {
                    name.clone()
                } else {
                    format!("{prefix}.{name}")
                };
                leaves(&path, value, into);
            }
        }
        other => {
            into.insert(prefix.to_owned(), other.clone());
        }
    }
}

/// Integers and floats of the same size are the same default.
fn same(left: &Value, right: &Value) -> bool {
    match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

#[test]
fn every_default_of_the_reference_is_ours_too() {
    let reference: Value = serde_json::from_str(include_str!("../fixtures/defaults.json")).unwrap();
    let mut theirs = BTreeMap::new();
    leaves("", &reference, &mut theirs);
    // `model` is a map for our readers, and streaming is on in the interactive chat
    // unless someone says otherwise.
    theirs.remove("model");
    theirs.remove("display.streaming");
    let mut ours = BTreeMap::new();
    leaves("", Config::defaults().effective(), &mut ours);
    let different: Vec<_> = theirs
        .iter()
        .filter(|(path, value)| !ours.get(*path).is_some_and(|our| same(our, value)))
        .map(|(path, value)| (path, value, ours.get(path)))
        .collect();
    assert_eq!(different, []);
    assert!(theirs.len() > 380, "{} leaves compared", theirs.len());
}

#[test]
fn names_are_unique_and_described() {
    let mut seen = std::collections::BTreeSet::new();
    for key in hermes_config::keys() {
        assert!(seen.insert(key.name), "{} twice", key.name);
        assert!(key.about.len() > 4, "{} has no description", key.name);
        assert!(!key.about.ends_with('.'), "{}", key.name);
        if let Some(Value::String(text)) = key.default.value()
            && !key.choices.is_empty()
            && !text.is_empty()
        {
            assert!(key.choices.contains(&text.as_str()), "{}", key.name);
        }
    }
    assert!(seen.len() > 450);
}

/// The texts in quotes of one source file.
struct Quoted {
    path: PathBuf,
    texts: HashSet<String>,
}

/// Sources of the other crates, without their tests and without the verbs that only
/// show keys.
fn sources() -> Vec<Quoted> {
    fn walk(directory: &Path, into: &mut Vec<Quoted>) {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                let shows = ["commands/config", "commands/status"];
                if !shows.iter().any(|name| path.ends_with(name)) {
                    walk(&path, into);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                // Every stretch between two quotes; taking those outside too is harmless.
                let texts = text.split('"').map(str::to_owned).collect();
                into.push(Quoted { path, texts });
            }
        }
    }
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap().flatten() {
        if entry.file_name() != "hermes-config" {
            walk(&entry.path().join("src"), &mut found);
        }
    }
    assert!(found.len() > 50, "{} sources looked at", found.len());
    found
}

/// A reader names the whole key, or takes the section and names the rest.
fn is_mentioned(name: &str, sources: &[Quoted]) -> bool {
    let (section, last) = name.rsplit_once('.').unwrap_or(("", name));
    let root = section.split('.').next().unwrap_or(section);
    let pattern = format!("{root}.{{");
    sources.iter().any(|Quoted { texts, .. }| {
        texts.contains(name)
            || (!section.is_empty()
                && texts.contains(last)
                && (texts.contains(section) || texts.iter().any(|text| text.starts_with(&pattern))))
    })
}

#[test]
fn a_key_that_is_not_planned_is_read_somewhere() {
    let sources = sources();
    let unread: Vec<&str> = hermes_config::keys()
        .iter()
        .filter(|key| !key.planned && !key.inert)
        // These two are read by this crate itself.
        .filter(|key| !["_config_version", "terminal.env_type"].contains(&key.name))
        .map(|key| key.name)
        .filter(|name| !is_mentioned(name, &sources))
        .collect();
    assert_eq!(
        unread,
        Vec::<&str>::new(),
        "live in the table, but nothing reads them"
    );
}

#[test]
fn a_key_that_is_read_is_not_called_planned() {
    let sources = sources();
    let read: Vec<&str> = hermes_config::keys()
        .iter()
        .filter(|key| key.planned && key.name.contains('.'))
        .map(|key| key.name)
        .filter(|name| {
            sources.iter().any(|Quoted { path, texts }| {
                // The doctor looks at keys that others act on, and log targets are
                // spelled like keys.
                let acts = !path
                    .components()
                    .any(|part| part.as_os_str() == "doctor" || part.as_os_str() == "logging");
                acts && texts.contains(*name)
            })
        })
        .collect();
    assert_eq!(
        read,
        Vec::<&str>::new(),
        "read, but planned in the table: add `.live()` to their lines"
    );
}

//! The same texts, read by Python's libraries and by us.

use hermes_config::{dotenv, yaml};
use hermes_home::Environment;
use serde_json::Value;

fn vectors(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| equal(v, w)))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        _ => left == right,
    }
}

#[test]
fn yaml_means_what_pyyaml_says() {
    let mut wrong = Vec::new();
    let mut accepted_more = Vec::new();
    let cases = vectors(include_str!("../fixtures/yaml_vectors.json"));
    for case in &cases {
        let text = case["text"].as_str().unwrap();
        // libyaml, unlike PyYAML's own scanner, wants a space after that colon.
        if text == "v: {a:}\n" {
            continue;
        }
        let ours = yaml::parse(text).and_then(|document| document.value());
        match (case.get("value"), ours) {
            (Some(theirs), Ok(ours)) if equal(theirs, &ours) => {}
            (Some(theirs), ours) => wrong.push(format!("{text:?}: {theirs} but ours {ours:?}")),
            // libyaml takes a tab for a blank in places where PyYAML refuses it, and is
            // laxer after `|`; a merge key as a value and sets are text and maps to us.
            (None, Ok(_)) if text.contains(['\t']) || text.contains("|+#") => {}
            (None, Ok(_)) if ["v: <<\n", "a: !!set {x, y}\n"].contains(&text) => {}
            (None, Ok(ours)) => accepted_more.push(format!("{text:?}: ours {ours}")),
            (None, Err(_)) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    assert!(accepted_more.is_empty(), "{}", accepted_more.join("\n"));
}

#[test]
fn dotenv_means_what_python_dotenv_says() {
    let process: Environment = [("HOME_X".to_owned(), "/h".to_owned())]
        .into_iter()
        .collect();
    let mut wrong = Vec::new();
    let cases = vectors(include_str!("../fixtures/dotenv_vectors.json"));
    for case in &cases {
        let text = case["text"].as_str().unwrap();
        let ours: Value = dotenv::read_text(text, &process)
            .variables
            .iter()
            .map(|(name, value)| (name.to_owned(), Value::from(value)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        if ours != case["values"] {
            wrong.push(format!("{text:?}: {} but ours {ours}", case["values"]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

//! Which file changes failed and were not made good: people are told below the
//! answer, whatever the model claims.

use serde_json::Value;

const SHOWN: usize = 10;

#[derive(Debug, Default)]
pub(super) struct Mutations {
    failed: Vec<String>,
}

impl Mutations {
    pub(super) fn record(&mut self, name: &str, arguments: &Value, failed: bool) {
        if !matches!(name, "write_file" | "patch") {
            return;
        }
        let Some(path) = arguments.get("path").and_then(Value::as_str) else {
            return;
        };
        self.failed.retain(|known| known != path);
        if failed {
            self.failed.push(path.to_owned());
        }
    }

    /// The note, or `None` when every change landed.
    pub(super) fn footer(&self) -> Option<String> {
        if self.failed.is_empty() {
            return None;
        }
        let mut note = String::from("\n\n[These file changes failed and were not made:");
        for path in self.failed.iter().take(SHOWN) {
            note.push_str(&format!("\n- {path}"));
        }
        if self.failed.len() > SHOWN {
            note.push_str(&format!("\n- and {} more", self.failed.len() - SHOWN));
        }
        note.push(']');
        Some(note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_never_landed_is_named() {
        let mut mutations = Mutations::default();
        mutations.record("patch", &json!({"path": "a"}), true);
        mutations.record("write_file", &json!({"path": "b"}), true);
        mutations.record("patch", &json!({"path": "a"}), false);
        mutations.record("terminal", &json!({"path": "c"}), true);
        assert_eq!(
            mutations.footer().as_deref(),
            Some("\n\n[These file changes failed and were not made:\n- b]")
        );
        for number in 0..12 {
            mutations.record("patch", &json!({"path": number.to_string()}), true);
        }
        assert!(mutations.footer().unwrap().ends_with("\n- and 3 more]"));
    }
}

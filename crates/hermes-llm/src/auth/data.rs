//! The content of `auth.json` in memory.

use serde_json::{Map, Value, json};

use super::Entry;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuthData {
    root: Map<String, Value>,
}

impl AuthData {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match serde_json::from_str(text) {
            Ok(Value::Object(root)) => Some(Self { root }),
            _ => None,
        }
    }

    pub(super) fn to_text(&self) -> String {
        let mut root = self.root.clone();
        root.entry("version").or_insert_with(|| json!(1));
        root.entry("providers").or_insert_with(|| json!({}));
        let mut text = serde_json::to_string_pretty(&root).unwrap_or_default();
        text.push('\n');
        text
    }

    pub(super) fn touch(&mut self, now: &str) {
        self.root.insert("updated_at".to_owned(), json!(now));
    }

    /// The provider that a login made the current one.
    pub fn active_provider(&self) -> Option<&str> {
        self.root.get("active_provider").and_then(Value::as_str)
    }

    /// Whether somebody signed in to a provider in a browser.
    pub fn has_login(&self, provider: &str) -> bool {
        let stored = self
            .root
            .get("providers")
            .and_then(|logins| logins.get(provider))
            .is_some_and(Value::is_object);
        stored
            || self
                .entries(provider)
                .iter()
                .any(|entry| entry.auth_type() == "oauth")
    }

    /// Providers that have entries, in the order of the file.
    pub fn pooled_providers(&self) -> Vec<&str> {
        self.root
            .get("credential_pool")
            .and_then(Value::as_object)
            .map(|pool| pool.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    /// The entries of a provider by priority.
    pub fn entries(&self, provider: &str) -> Vec<Entry> {
        let mut entries: Vec<Entry> = self
            .root
            .get("credential_pool")
            .and_then(|pool| pool.get(provider))
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|value| value.as_object().cloned().map(Entry::from))
            .collect();
        entries.sort_by_key(Entry::priority);
        entries
    }

    pub fn set_entries(&mut self, provider: &str, entries: Vec<Entry>) {
        let pool = self
            .root
            .entry("credential_pool")
            .or_insert_with(|| json!({}));
        if !pool.is_object() {
            *pool = json!({});
        }
        if let Some(pool) = pool.as_object_mut() {
            if entries.is_empty() {
                pool.shift_remove(provider);
            } else {
                let values = entries.into_iter().map(Value::from).collect();
                pool.insert(provider.to_owned(), Value::Array(values));
            }
        }
    }

    /// Sources that the user removed and that must not come back by themselves.
    pub fn is_suppressed(&self, provider: &str, source: &str) -> bool {
        self.root
            .get("suppressed_sources")
            .and_then(|all| all.get(provider))
            .and_then(Value::as_array)
            .is_some_and(|sources| sources.iter().any(|known| known == source))
    }

    /// Lets all sources of a provider count again.
    pub fn lift_suppression(&mut self, provider: &str) {
        let Some(all) = self
            .root
            .get_mut("suppressed_sources")
            .and_then(Value::as_object_mut)
        else {
            return;
        };
        all.shift_remove(provider);
        if all.is_empty() {
            self.root.shift_remove("suppressed_sources");
        }
    }

    /// Forgets the login of a provider; whether there was one.
    pub(super) fn forget_login(&mut self, provider: &str) -> bool {
        if self.active_provider() == Some(provider) {
            self.root.insert("active_provider".to_owned(), Value::Null);
        }
        self.root
            .get_mut("providers")
            .and_then(Value::as_object_mut)
            .is_some_and(|logins| logins.shift_remove(provider).is_some())
    }

    /// Keeps a source from being used until [`lift_suppression`](Self::lift_suppression).
    pub(super) fn suppress(&mut self, provider: &str, source: &str) {
        if self.is_suppressed(provider, source) {
            return;
        }
        let all = self
            .root
            .entry("suppressed_sources")
            .or_insert_with(|| json!({}));
        if !all.is_object() {
            *all = json!({});
        }
        let Some(all) = all.as_object_mut() else {
            return;
        };
        let sources = all.entry(provider.to_owned()).or_insert_with(|| json!([]));
        if let Some(sources) = sources.as_array_mut() {
            sources.push(json!(source));
        }
    }
}

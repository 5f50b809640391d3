//! Endpoints that the user named: `providers.<id>` and the older list
//! `custom_providers`.

use serde_json::{Map, Value};

use super::settings::text;

#[derive(Clone, Debug, PartialEq)]
pub struct NamedEndpoint {
    /// Lower case, dashes for spaces: what `custom:<slug>` names.
    pub slug: String,
    pub base_url: String,
    pub(super) tree: Value,
}

impl NamedEndpoint {
    /// All of them; those without an address are settings of a known provider.
    pub fn all(config: &Value) -> Vec<Self> {
        let mut out = Vec::new();
        for (id, tree) in config
            .get("providers")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            out.extend(Self::read(id, tree));
        }
        for tree in config
            .get("custom_providers")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = text(tree, "name").or_else(|| text(tree, "base_url"));
            out.extend(name.and_then(|name| Self::read(name, tree)));
        }
        out
    }

    fn read(name: &str, tree: &Value) -> Option<Self> {
        let base_url = ["base_url", "api", "url"]
            .iter()
            .find_map(|field| text(tree, field))?;
        Some(Self {
            slug: slug(name),
            base_url: base_url.to_owned(),
            tree: tree.clone(),
        })
    }

    /// By `name`, `custom:name` or the name shown to people.
    pub fn find(config: &Value, name: &str) -> Option<Self> {
        let wanted = slug(name.trim().strip_prefix("custom:").unwrap_or(name));
        Self::all(config).into_iter().find(|endpoint| {
            endpoint.slug == wanted
                || text(&endpoint.tree, "name").is_some_and(|name| slug(name) == wanted)
        })
    }

    /// The entry for an address; one that names the model wins over one that names
    /// none.
    pub(super) fn for_address(config: &Value, base_url: &str, model: &str) -> Option<Self> {
        let same = |a: &str, b: &str| {
            a.trim_end_matches('/')
                .eq_ignore_ascii_case(b.trim_end_matches('/'))
        };
        let mut candidates: Vec<Self> = Self::all(config)
            .into_iter()
            .filter(|endpoint| same(&endpoint.base_url, base_url))
            .filter(|endpoint| endpoint.model().is_none_or(|m| m == model))
            .collect();
        candidates.sort_by_key(|endpoint| endpoint.model().is_none());
        candidates.into_iter().next()
    }

    /// The model that the entry itself names.
    pub fn model(&self) -> Option<&str> {
        text(&self.tree, "default_model").or_else(|| text(&self.tree, "model"))
    }

    pub(super) fn mode(&self) -> Option<&str> {
        text(&self.tree, "api_mode").or_else(|| text(&self.tree, "transport"))
    }

    pub(super) fn extra_body(&self) -> Map<String, Value> {
        self.tree
            .get("extra_body")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    }

    /// What is set for one model, if anything.
    pub(super) fn model_settings(&self, model: &str) -> Value {
        model_settings(&self.tree, model)
    }

    pub(super) fn pool_name(&self) -> String {
        format!("custom:{}", self.slug)
    }
}

/// `models.<model>` of a provider's settings.
pub(super) fn model_settings(tree: &Value, model: &str) -> Value {
    tree.get("models")
        .and_then(|models| models.get(model))
        .cloned()
        .unwrap_or(Value::Null)
}

pub(super) fn slug(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "-")
}

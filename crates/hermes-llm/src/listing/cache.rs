//! What providers answered, for an hour; and afterwards for when they do not.

use std::collections::BTreeMap;

use hermes_home::Home;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::ListedModel;
use crate::endpoint::Endpoint;

const FRESH_SECONDS: i64 = 3600;
const FILE: &str = "provider_models_cache.json";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Entry {
    #[serde(default)]
    fetched_at: i64,
    #[serde(default)]
    models: Vec<String>,
}

/// Keyed by provider and by what tells one account from another.
pub(super) struct Cache {
    entries: BTreeMap<String, Entry>,
    changed: bool,
}

impl Cache {
    pub(super) fn read(home: &Home, refresh: bool) -> Self {
        Self {
            entries: match refresh {
                true => BTreeMap::new(),
                false => entries(home),
            },
            changed: false,
        }
    }

    pub(super) fn fresh(
        &self,
        provider: &str,
        endpoint: &Endpoint,
        now: i64,
    ) -> Option<Vec<String>> {
        let entry = self.entries.get(&key(provider, endpoint))?;
        (now - entry.fetched_at < FRESH_SECONDS).then(|| entry.models.clone())
    }

    pub(super) fn any(&self, provider: &str, endpoint: &Endpoint) -> Option<Vec<String>> {
        let entry = self.entries.get(&key(provider, endpoint))?;
        Some(entry.models.clone())
    }

    /// Nothing is not worth remembering, and what is fresh is remembered already.
    pub(super) fn put(&mut self, provider: &str, endpoint: &Endpoint, models: &[String], now: i64) {
        if models.is_empty() || self.fresh(provider, endpoint, now).is_some() {
            return;
        }
        self.changed = true;
        self.entries.insert(
            key(provider, endpoint),
            Entry {
                fetched_at: now,
                models: models.to_vec(),
            },
        );
    }

    /// A cache that cannot be written only costs the next question.
    pub(super) fn write(&self, home: &Home) {
        if !self.changed {
            return;
        }
        if let Ok(bytes) = serde_json::to_vec(&self.entries) {
            let _ = hermes_home::write_atomic(
                &home.join(FILE),
                &bytes,
                hermes_home::FileMode::KeepOrPrivate,
            );
        }
    }
}

/// What was listed last, without asking anybody.
pub fn cached_models(home: &Home) -> Vec<ListedModel> {
    entries(home)
        .into_iter()
        .flat_map(|(key, entry)| {
            let provider = key.rsplit_once(':').map_or(&*key, |(provider, _)| provider);
            let provider = provider.to_owned();
            entry.models.into_iter().map(move |model| ListedModel {
                provider: provider.clone(),
                model,
            })
        })
        .collect()
}

fn key(provider: &str, endpoint: &Endpoint) -> String {
    let mut hash = Sha256::new();
    hash.update(endpoint.base_url.as_str());
    if let Some(key) = &endpoint.key {
        hash.update(key.expose());
    }
    let digest = hash.finalize();
    let short: String = digest.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("{provider}:{short}")
}

fn entries(home: &Home) -> BTreeMap<String, Entry> {
    let bytes = std::fs::read(home.join(FILE)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

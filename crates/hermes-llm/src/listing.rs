//! Which models there are to choose from: what each provider with a key lists
//! itself, remembered for an hour.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use hermes_home::Home;
use hermes_http::Url;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::endpoint::Endpoint;
use crate::models::{Models, OpenError};
use crate::resolve::{NamedEndpoint, Resolved, Selection, usable_providers};
use crate::wire::ApiMode;

const PATIENCE: Duration = Duration::from_secs(8);
const FRESH_SECONDS: i64 = 3600;
const MOST_BYTES: usize = 8 << 20;
const CACHE: &str = "provider_models_cache.json";

/// A model and who serves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ListedModel {
    pub provider: String,
    pub model: String,
}

/// Everything that can be chosen, and who could not be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub models: Vec<ListedModel>,
    pub failures: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cached {
    #[serde(default)]
    fetched_at: i64,
    #[serde(default)]
    models: Vec<String>,
}

/// What was listed last, without asking anybody.
pub fn cached_models(home: &Home) -> Vec<ListedModel> {
    read(home)
        .into_iter()
        .flat_map(|(key, cached)| {
            let provider = key.split(':').next().unwrap_or(&key).to_owned();
            cached.models.into_iter().map(move |model| ListedModel {
                provider: provider.clone(),
                model,
            })
        })
        .collect()
}

impl Models {
    /// Asks all providers at once, unless they were asked within the hour.
    pub async fn list(&self, refresh: bool) -> Result<Listing, OpenError> {
        let places = self.places()?;
        let now = self.clock().now_local().timestamp();
        let mut cache = if refresh {
            BTreeMap::new()
        } else {
            read(self.home())
        };
        let mut listing = Listing::default();
        let mut asked = Vec::new();
        for (provider, endpoint) in places {
            let key = key(&provider, &endpoint);
            match cache.get(&key) {
                Some(cached) if now - cached.fetched_at < FRESH_SECONDS => {
                    listing.add(&provider, cached.models.clone());
                }
                _ => asked.push((provider, key, endpoint)),
            }
        }
        let answers = join_all(asked.iter().map(|(_, _, endpoint)| self.ask(endpoint))).await;
        let mut changed = false;
        for ((provider, key, _), answer) in asked.into_iter().zip(answers) {
            match answer {
                Ok(models) => {
                    listing.add(&provider, models.clone());
                    // Nothing is not worth remembering.
                    if !models.is_empty() {
                        changed = true;
                        let fetched_at = now;
                        cache.insert(key, Cached { fetched_at, models });
                    }
                }
                Err(reason) => {
                    let stale = cache.get(&key).map(|cached| cached.models.clone());
                    listing.add(&provider, stale.unwrap_or_default());
                    listing.failures.push(format!("{provider}: {reason}"));
                }
            }
        }
        if changed {
            write(self.home(), &cache);
        }
        Ok(listing)
    }

    /// The endpoints that can be asked: providers with a key, own servers.
    fn places(&self) -> Result<Vec<(String, Endpoint)>, OpenError> {
        let names = self.with_sources(|sources| {
            let mut names: Vec<String> = usable_providers(sources)
                .map(|provider| provider.id.clone())
                .collect();
            names.extend(
                NamedEndpoint::all(sources.config)
                    .iter()
                    .map(|named| format!("custom:{}", named.slug)),
            );
            names
        })?;
        let mut places: Vec<(String, Endpoint)> = Vec::new();
        // What is configured comes first, whatever it is.
        if let Ok(resolved) = self.resolve(&Selection::default()) {
            places.push((resolved.endpoint.provider.clone(), self.with_key(resolved)?));
        }
        for name in names {
            // A list needs no model; resolving does.
            let selection = Selection::of(Some(&name), Some("any"));
            if let Ok(resolved) = self.resolve(&selection)
                && !places
                    .iter()
                    .any(|(_, known)| known.base_url == resolved.endpoint.base_url)
            {
                places.push((name, self.with_key(resolved)?));
            }
        }
        Ok(places)
    }

    /// The endpoint with the first key of its pool.
    fn with_key(&self, resolved: Resolved) -> Result<Endpoint, OpenError> {
        let mut endpoint = resolved.endpoint;
        if endpoint.key.is_none()
            && let Some(pool) = resolved.pool
        {
            endpoint.key = self.with_sources(|sources| {
                let mut entries = pool.entries(sources.auth).into_iter();
                entries.next().map(|(_, key)| key)
            })?;
        }
        Ok(endpoint)
    }

    async fn ask(&self, endpoint: &Endpoint) -> Result<Vec<String>, String> {
        let base = endpoint.base_url.as_str().trim_end_matches('/');
        let path = match endpoint.mode {
            ApiMode::AnthropicMessages if !base.ends_with("/v1") => "/v1/models",
            _ => "/models",
        };
        let url = Url::parse(&format!("{base}{path}")).map_err(|error| error.to_string())?;
        let client = self
            .http()
            .client(&url)
            .map_err(|error| error.to_string())?;
        let mut request = client.get(url).timeout(PATIENCE);
        if let Some(key) = &endpoint.key {
            let (name, value) = endpoint.auth.header(key);
            request = request.header(name, value);
        }
        if endpoint.mode == ApiMode::AnthropicMessages {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let response = request
            .send()
            .await
            .map_err(|error| error.without_url().to_string())?;
        if !response.status().is_success() {
            return Err(format!("the server answered {}", response.status()));
        }
        let bytes = response
            .bytes()
            .await
            .map_err(|error| error.without_url().to_string())?;
        if bytes.len() > MOST_BYTES {
            return Err("the list is too long".to_owned());
        }
        let list: Value =
            serde_json::from_slice(&bytes).map_err(|_| "the answer is no list".to_owned())?;
        Ok(names(&list))
    }
}

impl Listing {
    fn add(&mut self, provider: &str, models: Vec<String>) {
        let mut models: Vec<ListedModel> = models
            .into_iter()
            .map(|model| ListedModel {
                provider: provider.to_owned(),
                model,
            })
            .collect();
        models.sort();
        self.models.extend(models);
    }
}

/// `data[].id` as most do, or `models[].name` as Google does.
fn names(list: &Value) -> Vec<String> {
    let entries = |key: &str, name: &str| -> Option<Vec<String>> {
        let entries = list.get(key)?.as_array()?;
        let texts = entries.iter().filter_map(|entry| entry.get(name)?.as_str());
        Some(
            texts
                .map(|text| text.strip_prefix("models/").unwrap_or(text).to_owned())
                .collect(),
        )
    };
    entries("data", "id")
        .or_else(|| entries("models", "name"))
        .unwrap_or_default()
}

/// The provider, and what tells one account from another.
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

fn read(home: &Home) -> BTreeMap<String, Cached> {
    let bytes = std::fs::read(home.join(CACHE)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// A cache that cannot be written only costs the next question.
fn write(home: &Home, cache: &BTreeMap<String, Cached>) {
    if let Ok(bytes) = serde_json::to_vec(cache) {
        let _ = hermes_home::write_atomic(
            &home.join(CACHE),
            &bytes,
            hermes_home::FileMode::KeepOrPrivate,
        );
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn both_shapes_of_lists_are_read() {
        let usual = json!({"data": [{"id": "a"}, {"id": "b"}, {}]});
        assert_eq!(names(&usual), ["a", "b"]);
        let google = json!({"models": [{"name": "models/gemini-x"}]});
        assert_eq!(names(&google), ["gemini-x"]);
        assert!(names(&json!([])).is_empty());
    }
}

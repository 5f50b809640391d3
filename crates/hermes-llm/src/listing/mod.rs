//! Which models there are to choose from, provider by provider, and where each
//! list comes from.
//!
//! A provider with a key is asked itself; its answer is good for an hour. When it
//! cannot be asked, the next best is used and named as what it is: its last answer,
//! the vendor's catalogue, and at last the names that this program was built with.
//! Providers without a key are listed too, from the last two, so that people see
//! what a key would open. Nobody is asked who has no key here.

mod ask;
mod cache;
mod snapshot;
mod vendor;

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use self::cache::Cache;
use self::vendor::Vendor;
use crate::catalogue::{self, provider};
use crate::endpoint::Endpoint;
use crate::models::{Models, OpenError};
use crate::resolve::{NamedEndpoint, Resolved, Selection, usable_providers};

pub use ask::AskFailure;
pub use cache::cached_models;
pub use snapshot::{snapshot_month, snapshot_of};

/// A model and who serves it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ListedModel {
    pub provider: String,
    pub model: String,
}

/// Who says that these models exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The provider, within the last hour.
    Provider,
    /// The provider, some time ago; it cannot be asked now.
    Earlier,
    /// The catalogue at `model_catalog.url`.
    Catalogue,
    /// What was known when this program was built.
    Snapshot,
    /// The user's own files, or the program itself.
    Settings,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Earlier => "earlier",
            Self::Catalogue => "catalogue",
            Self::Snapshot => "snapshot",
            Self::Settings => "settings",
        }
    }

    /// What people should know about the list; nothing when the provider answered.
    pub fn remark(self) -> Option<String> {
        match self {
            Self::Provider | Self::Settings => None,
            Self::Earlier => Some("listed earlier".to_owned()),
            Self::Catalogue => Some("from the catalogue".to_owned()),
            Self::Snapshot => Some(format!("snapshot of {}", snapshot_month())),
        }
    }
}

/// The models of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderModels {
    /// Its id, or `custom:<name>`.
    pub provider: String,
    /// The name that people read.
    pub label: String,
    /// Whether it can be used as things are.
    pub is_ready: bool,
    pub origin: Origin,
    pub models: Vec<String>,
    /// Why the provider itself did not answer.
    pub failure: Option<AskFailure>,
}

/// Somebody who can be asked.
struct Place {
    provider: String,
    label: String,
    endpoint: Endpoint,
}

impl Models {
    /// Everything that can be chosen: what is set up first, then the rest. All who
    /// must be asked are asked at once.
    pub async fn list(&self, refresh: bool) -> Result<Vec<ProviderModels>, OpenError> {
        let places = self.places()?;
        let mut cache = Cache::read(self.home(), refresh);
        let now = self.clock().now_local().timestamp();
        let answers = join_all(places.iter().map(|place| async {
            match cache.fresh(&place.provider, &place.endpoint, now) {
                Some(models) => Ok(models),
                None => self.ask(&place.endpoint).await,
            }
        }))
        .await;
        let mut vendor = Vendor::default();
        let mut groups = Vec::new();
        for (place, answer) in places.into_iter().zip(answers) {
            groups.push(
                self.group(place, answer, &mut cache, &mut vendor, now)
                    .await,
            );
        }
        cache.write(self.home());
        self.add_others(&mut groups);
        Ok(groups)
    }

    /// The models of one provider, with a key that is not stored yet.
    pub async fn list_one(&self, selection: &Selection) -> Result<ProviderModels, OpenError> {
        let selection = Selection {
            model: selection.model.clone().or_else(|| Some(ANY.to_owned())),
            ..selection.clone()
        };
        let resolved = self.resolve(&selection)?;
        let provider = resolved.endpoint.provider.clone();
        let place = Place {
            label: label(&provider, &resolved.endpoint),
            provider,
            endpoint: self.with_key(resolved)?,
        };
        let mut cache = Cache::read(self.home(), false);
        let now = self.clock().now_local().timestamp();
        let answer = self.ask(&place.endpoint).await;
        let group = self
            .group(place, answer, &mut cache, &mut Vendor::default(), now)
            .await;
        cache.write(self.home());
        Ok(group)
    }

    async fn group(
        &self,
        place: Place,
        answer: Result<Vec<String>, AskFailure>,
        cache: &mut Cache,
        vendor: &mut Vendor,
        now: i64,
    ) -> ProviderModels {
        let Place {
            provider,
            label,
            endpoint,
        } = place;
        let (origin, models, failure) = match answer {
            Ok(models) => {
                cache.put(&provider, &endpoint, &models, now);
                (Origin::Provider, models, None)
            }
            Err(failure) => {
                let (origin, models) = match cache.any(&provider, &endpoint) {
                    Some(models) => (Origin::Earlier, models),
                    None => match vendor.models(self, &provider).await {
                        Some(models) => (Origin::Catalogue, models),
                        None => (Origin::Snapshot, snapshot_of(&provider).to_vec()),
                    },
                };
                (origin, models, Some(failure))
            }
        };
        ProviderModels {
            provider,
            label,
            is_ready: true,
            origin,
            models,
            failure,
        }
    }

    /// Providers that a key would open.
    fn add_others(&self, groups: &mut Vec<ProviderModels>) {
        let stored = vendor::stored(self);
        for provider in catalogue::providers() {
            let is_known = groups.iter().any(|group| group.provider == provider.id);
            if is_known || !provider.auth.needs_key() || provider.base_url.is_empty() {
                continue;
            }
            let from_catalogue = stored.as_ref().and_then(|list| list.models(&provider.id));
            let (origin, models) = match from_catalogue {
                Some(models) => (Origin::Catalogue, models),
                None => (Origin::Snapshot, snapshot_of(&provider.id).to_vec()),
            };
            groups.push(ProviderModels {
                provider: provider.id.clone(),
                label: provider.label.clone(),
                is_ready: false,
                origin,
                models,
                failure: None,
            });
        }
    }

    /// The endpoints that can be asked: providers with a key, own servers.
    fn places(&self) -> Result<Vec<Place>, OpenError> {
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
        let mut places: Vec<Place> = Vec::new();
        // What is configured comes first, whatever it is. A list needs no model;
        // resolving does.
        let current = self
            .resolve(&Selection::default())
            .or_else(|_| self.resolve(&Selection::of(None, Some(ANY))));
        let others = names
            .iter()
            .filter_map(|name| self.resolve(&Selection::of(Some(name), Some(ANY))).ok());
        for resolved in current.into_iter().chain(others) {
            let (provider, address) = (&resolved.endpoint.provider, &resolved.endpoint.base_url);
            let is_known = places
                .iter()
                .any(|known| known.provider == *provider || known.endpoint.base_url == *address);
            if !is_known {
                places.push(Place {
                    provider: provider.clone(),
                    label: label(provider, &resolved.endpoint),
                    endpoint: self.with_key(resolved)?,
                });
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
}

/// Stands for a model where only the provider matters.
const ANY: &str = "any";

fn label(id: &str, endpoint: &Endpoint) -> String {
    match provider(id) {
        Some(known) if known.id != "custom" => known.label.clone(),
        Some(_) => format!("Your server at {}", endpoint.base_url),
        None => format!(
            "{} at {}",
            id.strip_prefix("custom:").unwrap_or(id),
            endpoint.base_url
        ),
    }
}

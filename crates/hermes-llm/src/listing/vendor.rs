//! The catalogue at `model_catalog.url`: lists that are kept up to date between two
//! versions of this program. It is fetched only when a provider that it knows did
//! not answer, kept in `cache/model_catalog.json`, and used beyond its time when it
//! cannot be had anew.

use std::path::PathBuf;
use std::time::Duration;

use hermes_http::Url;
use serde_json::Value;

use super::ask::{PATIENCE, body};
use crate::models::Models;

/// The only form that is understood.
const VERSION: u64 = 1;
/// Whom the catalogue lists, unless `model_catalog.providers` says more.
const LISTED: [&str; 2] = ["openrouter", "nous"];

/// A catalogue that has the right form.
#[derive(Clone, Debug)]
pub(super) struct List(Value);

impl List {
    fn read(value: Value) -> Option<Self> {
        let is_known = value.get("version").and_then(Value::as_u64) == Some(VERSION);
        (is_known && value.get("providers").is_some_and(Value::is_object)).then_some(Self(value))
    }

    pub(super) fn models(&self, provider: &str) -> Option<Vec<String>> {
        let entries = self.0.get("providers")?.get(provider)?.get("models")?;
        let models: Vec<String> = entries
            .as_array()?
            .iter()
            .filter_map(|entry| entry.get("id")?.as_str())
            .map(str::to_owned)
            .collect();
        (!models.is_empty()).then_some(models)
    }
}

/// Fetched at most once per listing.
#[derive(Default)]
pub(super) struct Vendor {
    general: Option<Option<List>>,
}

impl Vendor {
    pub(super) async fn models(&mut self, models: &Models, provider: &str) -> Option<Vec<String>> {
        if !is_enabled(models) {
            return None;
        }
        if let Some(url) = own_address(models, provider) {
            return fetch(models, &url).await?.models(provider);
        }
        if !LISTED.contains(&provider) {
            return None;
        }
        if self.general.is_none() {
            self.general = Some(current(models).await);
        }
        self.general.as_ref()?.as_ref()?.models(provider)
    }
}

/// What was fetched within its time; nobody is asked.
pub(super) fn stored(models: &Models) -> Option<List> {
    is_enabled(models).then(|| read(models, true)).flatten()
}

async fn current(models: &Models) -> Option<List> {
    if let Some(fresh) = read(models, true) {
        return Some(fresh);
    }
    let url = models
        .config()
        .get("model_catalog.url")?
        .as_str()?
        .to_owned();
    match fetch(models, &url).await {
        Some(list) => {
            write(models, &list);
            Some(list)
        }
        None => read(models, false),
    }
}

async fn fetch(models: &Models, url: &str) -> Option<List> {
    let url = Url::parse(url).ok()?;
    let request = models.http().client(&url).ok()?.get(url).timeout(PATIENCE);
    match body(request).await {
        Ok(value) => List::read(value),
        Err(failure) => {
            tracing::info!(%failure, "the catalogue of models could not be fetched");
            None
        }
    }
}

fn is_enabled(models: &Models) -> bool {
    models
        .config()
        .get("model_catalog.enabled")
        .and_then(Value::as_bool)
        != Some(false)
}

/// `model_catalog.providers.<id>`: an address, or a map with `url`.
fn own_address(models: &Models, provider: &str) -> Option<String> {
    let entry = models
        .config()
        .get("model_catalog.providers")?
        .get(provider)?;
    let url = entry.as_str().or_else(|| entry.get("url")?.as_str())?;
    Some(url.to_owned())
}

fn file(models: &Models) -> PathBuf {
    models.home().join("cache").join("model_catalog.json")
}

fn read(models: &Models, only_fresh: bool) -> Option<List> {
    let file = file(models);
    if only_fresh {
        let hours = models
            .config()
            .get("model_catalog.ttl_hours")
            .and_then(Value::as_u64)
            .unwrap_or(1);
        let age = std::fs::metadata(&file).ok()?.modified().ok()?.elapsed();
        // A file from the future was written just now by another clock.
        if age.unwrap_or_default() >= Duration::from_secs(hours.saturating_mul(3600)) {
            return None;
        }
    }
    List::read(serde_json::from_slice(&std::fs::read(file).ok()?).ok()?)
}

/// A catalogue that cannot be kept only costs the next question.
fn write(models: &Models, list: &List) {
    let file = file(models);
    if let (Some(directory), Ok(bytes)) = (file.parent(), serde_json::to_vec(&list.0)) {
        let _ = std::fs::create_dir_all(directory);
        let _ = hermes_home::write_atomic(&file, &bytes, hermes_home::FileMode::KeepOrPrivate);
    }
}

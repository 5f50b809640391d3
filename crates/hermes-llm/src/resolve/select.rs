//! Which provider, and where its keys come from.

use hermes_home::{Environment, env};
use serde_json::Value;

use super::ResolveError;
use super::custom::NamedEndpoint;
use super::settings::{Selection, model_section, text};
use crate::auth::{AuthData, PoolSpec, Seed, Strategy};
use crate::catalogue::{AuthKind, Provider, provider, providers};
use crate::endpoint::Secret;

/// Everything that decides, as values.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The effective configuration tree.
    pub config: &'a Value,
    pub environment: &'a Environment,
    pub auth: &'a AuthData,
}

/// The provider that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Chosen {
    Known(&'static Provider),
    Named(Box<NamedEndpoint>),
}

pub(super) fn choose(selection: &Selection, sources: &Sources<'_>) -> Result<Chosen, ResolveError> {
    let section = model_section(sources.config);
    let asked = selection
        .provider
        .as_deref()
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .or_else(|| text(&section, "provider"))
        .or_else(|| sources.environment.get_non_empty(env::INFERENCE_PROVIDER));
    match asked {
        Some(name) if !name.eq_ignore_ascii_case("auto") => by_name(name, sources),
        _ => automatic(selection, sources),
    }
}

fn by_name(name: &str, sources: &Sources<'_>) -> Result<Chosen, ResolveError> {
    if let Some(named) = NamedEndpoint::find(sources.config, name) {
        return Ok(Chosen::Named(Box::new(named)));
    }
    provider(name)
        .map(Chosen::Known)
        .ok_or_else(|| ResolveError::UnknownProvider {
            name: name.to_owned(),
            similar: similar(name),
        })
}

/// Nothing was named: what is there decides.
fn automatic(selection: &Selection, sources: &Sources<'_>) -> Result<Chosen, ResolveError> {
    let section = model_section(sources.config);
    let has_address = selection.base_url.is_some() || text(&section, "base_url").is_some();
    let known = |id: &str| provider(id).map(Chosen::Known);
    if has_address && let Some(custom) = known("custom") {
        return Ok(custom);
    }
    if selection.api_key.is_some()
        && let Some(router) = known("openrouter")
    {
        return Ok(router);
    }
    if let Some(chosen) = usable_providers(sources).next() {
        return Ok(Chosen::Known(chosen));
    }
    // A single named endpoint is what the user has.
    if let [only] = &NamedEndpoint::all(sources.config)[..] {
        return Ok(Chosen::Named(Box::new(only.clone())));
    }
    Err(ResolveError::NothingConfigured)
}

/// Providers whose key is there, in the order in which they are tried. One that a
/// login made active comes first.
pub fn usable_providers<'a>(
    sources: &'a Sources<'_>,
) -> impl Iterator<Item = &'static Provider> + 'a {
    let active = sources.auth.active_provider().and_then(provider);
    let is_usable = |provider: &&'static Provider| {
        provider.auto && provider.auth.takes_key() && {
            let spec = pool_spec(provider, sources);
            !spec.entries(sources.auth).is_empty()
        }
    };
    active
        .into_iter()
        .filter(is_usable)
        .chain(providers().iter().filter(is_usable))
}

/// The pool of a provider: its variables and what `auth.json` holds under its id.
pub fn pool_spec(provider: &Provider, sources: &Sources<'_>) -> PoolSpec {
    let mut seeds: Vec<Seed> = provider
        .keys
        .iter()
        .filter_map(|variable| seed(variable, sources.environment))
        .collect();
    // People put a router's key where its SDK looks for one. Any other key of
    // another vendor is not sent there; the reference does.
    if provider.id == "openrouter"
        && let Some(misplaced) = seed("OPENAI_API_KEY", sources.environment)
        && misplaced.key.expose().starts_with("sk-or-")
    {
        seeds.push(misplaced);
    }
    if provider.id == "openai-api" {
        seeds.retain(|seed| !seed.key.expose().starts_with("sk-or-"));
    }
    PoolSpec {
        name: provider.id.clone(),
        strategy: strategy(&provider.id, sources.config),
        seeds,
        base_url: provider.base_url.clone(),
    }
}

/// The pool that a name means: a provider's, by id or alias, or that of a named
/// endpoint.
pub fn pool_of(name: &str, sources: &Sources<'_>) -> Result<PoolSpec, ResolveError> {
    Ok(match by_name(name, sources)? {
        Chosen::Known(provider) => pool_spec(provider, sources),
        Chosen::Named(named) => named_pool_spec(&named, sources),
    })
}

pub(super) fn named_pool_spec(named: &NamedEndpoint, sources: &Sources<'_>) -> PoolSpec {
    let name = named.pool_name();
    let seeds = text(&named.tree, "key_env")
        .and_then(|variable| seed(variable, sources.environment))
        .into_iter()
        .collect();
    PoolSpec {
        strategy: strategy(&name, sources.config),
        name,
        seeds,
        base_url: named.base_url.clone(),
    }
}

pub(super) fn seed(variable: &str, environment: &Environment) -> Option<Seed> {
    environment.get_non_empty(variable).map(|key| Seed {
        variable: variable.to_owned(),
        key: Secret::new(key),
    })
}

fn strategy(name: &str, config: &Value) -> Strategy {
    config
        .get("credential_pool_strategies")
        .and_then(|all| all.get(name))
        .and_then(Value::as_str)
        .and_then(Strategy::parse)
        .unwrap_or_default()
}

/// What is missing at a provider that takes no key.
pub(super) fn not_built(provider: &Provider) -> Option<ResolveError> {
    let what = match provider.auth {
        AuthKind::Key | AuthKind::KeyOptional | AuthKind::OauthOrKey => return None,
        AuthKind::Oauth => "a login in the browser",
        AuthKind::TokenExchange => "trading one token for another",
        AuthKind::Process => "another program",
        AuthKind::Aws => "requests signed for AWS",
    };
    Some(ResolveError::NotBuilt {
        label: provider.label.clone(),
        what,
        instead: provider.instead.clone(),
    })
}

/// The pool that a new key goes to; a key that nothing could use is refused.
pub fn pool_for_new_key(name: &str, sources: &Sources<'_>) -> Result<PoolSpec, ResolveError> {
    if let Chosen::Known(provider) = by_name(name, sources)?
        && let Some(error) = not_built(provider)
    {
        return Err(error);
    }
    pool_of(name, sources)
}

/// The known name that is nearest, if any is near.
fn similar(name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    providers()
        .iter()
        .flat_map(|provider| std::iter::once(&provider.id).chain(&provider.aliases))
        .map(|known| (distance(&name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .map(|(_, known)| known.clone())
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut last = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = last + usize::from(x != *y);
            last = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(last + 1);
        }
    }
    row[b.len()]
}

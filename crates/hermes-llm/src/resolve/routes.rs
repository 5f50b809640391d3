//! The routes to turn to when a model fails: `fallback_providers`, then the older
//! `fallback_model`.

use serde_json::{Map, Value};

use super::select::seed;
use super::{Selection, Sources};

/// One configured route, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub provider: String,
    pub model: String,
    pub base_url: Option<String>,
    pub(crate) selection: Selection,
}

/// The routes in order, each once.
pub fn fallback_routes(sources: &Sources<'_>) -> Vec<Route> {
    let listed = |name: &str| -> Vec<&Map<String, Value>> {
        match sources.config.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_object).collect(),
            Some(Value::Object(single)) => vec![single],
            _ => Vec::new(),
        }
    };
    let mut out: Vec<Route> = Vec::new();
    for entry in listed("fallback_providers")
        .into_iter()
        .chain(listed("fallback_model"))
    {
        let named = |name: &str| {
            entry
                .get(name)
                .and_then(Value::as_str)
                .map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let (Some(provider), Some(model)) = (named("provider"), named("model")) else {
            continue;
        };
        let base_url = named("base_url");
        let known = out.iter().any(|route| {
            route.provider == provider && route.model == model && route.base_url == base_url
        });
        if known {
            continue;
        }
        let selection = Selection {
            provider: Some(provider.clone()),
            model: Some(model.clone()),
            base_url: base_url.clone(),
            api_key: route_key(entry, sources),
            api_mode: named("api_mode"),
        };
        out.push(Route {
            provider,
            model,
            base_url,
            selection,
        });
    }
    out
}

/// The key that a route names itself, directly or by variable.
fn route_key(route: &Map<String, Value>, sources: &Sources<'_>) -> Option<String> {
    let named = |name: &str| {
        route
            .get(name)?
            .as_str()
            .map(str::trim)
            .filter(|t| !t.is_empty())
    };
    named("api_key").map(str::to_owned).or_else(|| {
        let variable = named("key_env").or_else(|| named("api_key_env"))?;
        seed(variable, sources.environment).map(|seed| seed.key.expose().to_owned())
    })
}

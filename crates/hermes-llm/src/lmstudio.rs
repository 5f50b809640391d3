//! LM Studio's own list of models: how large a window a model was loaded with,
//! whether it takes an effort, and how to have it loaded with a window that a
//! conversation fits in.
//!
//! Promises: at most one question and one order to load; a server that does not
//! know these routes is left as it is. Unloads nothing.

use std::time::Duration;

use hermes_http::Http;
use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::metadata::{MIN_WINDOW, get, post, root};

const PATIENCE: Duration = Duration::from_secs(2);
/// Reading a large model from a disk takes its time.
const LOADING: Duration = Duration::from_secs(180);

/// What the server says about the endpoint's model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    pub(crate) window: Option<u64>,
    /// The efforts that it takes; empty when it takes none.
    pub(crate) efforts: Vec<String>,
}

/// Looks, and has the model loaded again when it has too small a window for us but
/// could have a larger one.
pub(crate) async fn prepare(http: &Http, endpoint: &Endpoint) -> Option<Loaded> {
    let root = root(endpoint);
    let list = get(http, endpoint, &format!("{root}/api/v1/models"), PATIENCE).await?;
    let entry = find(&list, endpoint.model())?;
    let mut loaded = Loaded {
        window: window(entry),
        efforts: efforts(entry),
    };
    let could = entry["max_context_length"].as_u64().unwrap_or(0);
    if loaded.window.is_none_or(|window| window < MIN_WINDOW) && could >= MIN_WINDOW {
        let order = json!({"model": endpoint.model(), "context_length": MIN_WINDOW});
        let place = format!("{root}/api/v1/models/load");
        if post(http, endpoint, &place, &order, LOADING)
            .await
            .is_some()
        {
            loaded.window = Some(MIN_WINDOW);
        }
    }
    Some(loaded)
}

fn find<'a>(list: &'a Value, model: &str) -> Option<&'a Value> {
    let is_named = |value: &Value| value.as_str() == Some(model);
    list["models"].as_array()?.iter().find(|entry| {
        let variants = entry["variants"].as_array().into_iter().flatten();
        let instances = entry["loaded_instances"].as_array().into_iter().flatten();
        is_named(&entry["key"])
            || variants.clone().any(is_named)
            || instances.clone().any(|one| is_named(&one["id"]))
    })
}

/// The largest window of those it is loaded with.
fn window(entry: &Value) -> Option<u64> {
    entry["loaded_instances"]
        .as_array()?
        .iter()
        .filter_map(|one| one["config"]["context_length"].as_u64())
        .max()
}

fn efforts(entry: &Value) -> Vec<String> {
    entry["capabilities"]["reasoning"]["allowed_options"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_ascii_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_by_its_key_a_variant_or_a_loaded_instance() {
        let list = json!({"models": [
            {"key": "a", "loaded_instances": []},
            {"key": "b", "variants": ["b@4bit"], "loaded_instances": [
                {"id": "b:2", "config": {"context_length": 4096}},
                {"id": "b", "config": {"context_length": 8192}}],
             "capabilities": {"reasoning": {"allowed_options": ["off", "Low"]}}},
        ]});
        for name in ["b", "b@4bit", "b:2"] {
            let entry = find(&list, name).unwrap();
            assert_eq!(window(entry), Some(8192));
            assert_eq!(efforts(entry), ["off", "low"]);
        }
        assert_eq!(window(find(&list, "a").unwrap()), None);
        assert_eq!(find(&list, "c"), None);
    }
}

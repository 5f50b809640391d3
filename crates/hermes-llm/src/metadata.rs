//! How much a model takes in: what is published, what a server says, what was
//! learnt. A hosted provider is asked only about a model that no table has, and only
//! if its list of models says so much; a server of one's own is asked once. Answers
//! are kept.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use hermes_config::yaml;
use hermes_home::{FileMode, Home, write_atomic};
use hermes_http::{Http, Url};
use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::wire::anthropic::Claude;

/// Below this a conversation with tools has no room.
pub const MIN_WINDOW: u64 = 64_000;
/// Assumed when nobody knows.
pub const UNKNOWN_WINDOW: u64 = 256_000;

const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1024..=10_000_000;
const PATIENCE: Duration = Duration::from_secs(2);
/// Lists of all models of a router are large, but not larger than this.
const MOST_BYTES: usize = 8 << 20;

static WINDOWS: LazyLock<Vec<(String, u64)>> = LazyLock::new(|| {
    let mut rows: Vec<(String, u64)> =
        serde_json::from_str(include_str!("../data/windows.json")).unwrap_or_default();
    // The longest name that fits says most.
    rows.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    rows
});

/// The published window of a model, by the parts of its name.
pub fn known_window(model: &str) -> Option<u64> {
    let name = model.to_ascii_lowercase().replace('.', "-");
    let name = name.rsplit('/').next().unwrap_or(&name);
    let large = Claude::parse(name).is_some_and(|claude| match claude.family {
        "opus" | "sonnet" => claude.is_at_least(4, 6),
        "haiku" => claude.is_at_least(5, 5),
        "fable" => true,
        _ => false,
    });
    if large {
        return Some(1_000_000);
    }
    WINDOWS
        .iter()
        .find(|(part, _)| contains_word(name, part))
        .map(|(_, window)| *window)
}

/// Whether `part` occurs and does not begin or end inside a word or number.
fn contains_word(name: &str, part: &str) -> bool {
    name.match_indices(part).any(|(at, _)| {
        let before = name[..at].chars().next_back();
        let after = name[at + part.len()..].chars().next();
        let digit_goes_on = part.ends_with(|c: char| c.is_ascii_digit())
            && after.is_some_and(|c| c.is_ascii_digit());
        before.is_none_or(|c| !c.is_ascii_alphanumeric()) && !digit_goes_on
    })
}

/// A rough count of tokens, four characters each.
pub fn rough_tokens(text: &str) -> u64 {
    text.chars().count().div_ceil(4) as u64
}

/// `context_length_cache.yaml`: what servers said, by `model@address`.
#[derive(Clone, Debug)]
pub struct WindowCache {
    path: PathBuf,
}

impl WindowCache {
    pub fn of(home: &Home) -> Self {
        Self {
            path: home.join("context_length_cache.yaml"),
        }
    }

    fn read(&self) -> BTreeMap<String, u64> {
        let Ok(text) = std::fs::read_to_string(&self.path) else {
            return BTreeMap::new();
        };
        // A broken file is an empty one: everything in it can be asked again.
        let tree = yaml::parse(&text).and_then(|document| document.value());
        let tree = tree.unwrap_or(Value::Null);
        tree.get("context_lengths")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.as_u64()?)))
            .collect()
    }

    /// What is known about an endpoint. Values that older versions are known to have
    /// stored wrongly do not count.
    pub fn get(&self, endpoint: &Endpoint) -> Option<u64> {
        if endpoint.provider == "lmstudio" || endpoint.provider == "nous" {
            return None;
        }
        let known = self.read();
        let key = cache_key(endpoint);
        let window = known
            .get(&key)
            .or_else(|| known.get(&format!("{key}/")))
            .copied()?;
        let model = endpoint.model().to_ascii_lowercase();
        let wrong = (endpoint.provider == "openai-codex" && window >= 400_000)
            || (model.contains("kimi") && window <= 32_768)
            || (model.contains("minimax-m3") && window <= 204_800)
            || (model.contains("grok-4.3") && window <= 256_000);
        (!wrong && PLAUSIBLE.contains(&window)).then_some(window)
    }

    pub fn put(&self, endpoint: &Endpoint, window: u64) {
        let mut known = self.read();
        if known.insert(cache_key(endpoint), window) == Some(window) {
            return;
        }
        let mut text = "context_lengths:\n".to_owned();
        for (name, window) in &known {
            // A JSON text is a YAML text.
            text.push_str(&format!("  {}: {window}\n", json!(name)));
        }
        if let Err(error) = write_atomic(&self.path, text.as_bytes(), FileMode::Keep) {
            // The next start asks again.
            tracing::debug!(%error, "cannot store what a server said about its window");
        }
    }
}

fn cache_key(endpoint: &Endpoint) -> String {
    format!(
        "{}@{}",
        endpoint.model(),
        endpoint.base_url.as_str().trim_end_matches('/')
    )
}

/// Asks an endpoint that is not in any table: its list of models first, then what
/// the common local servers offer. At most three questions.
pub async fn ask_window(http: &Http, endpoint: &Endpoint) -> Option<u64> {
    let base = endpoint.base_url.as_str().trim_end_matches('/');
    if let Some(list) = get(http, endpoint, &format!("{base}/models"), PATIENCE).await {
        let window = window_in_list(&list, endpoint.model());
        if window.is_some() || !endpoint.is_local {
            return window;
        }
    }
    if !endpoint.is_local {
        return None;
    }
    let root = root(endpoint);
    if let Some(properties) = get(http, endpoint, &format!("{root}/props"), PATIENCE).await {
        let n_ctx = &properties["default_generation_settings"]["n_ctx"];
        if let Some(window) = plausible(n_ctx).or_else(|| plausible(&properties["n_ctx"])) {
            return Some(window);
        }
    }
    let shown = post(
        http,
        endpoint,
        &format!("{root}/api/show"),
        &json!({"name": endpoint.model()}),
        PATIENCE,
    )
    .await?;
    ollama_window(&shown)
}

/// Where a server's own routes begin.
pub(crate) fn root(endpoint: &Endpoint) -> &str {
    let base = endpoint.base_url.as_str().trim_end_matches('/');
    base.strip_suffix("/v1").unwrap_or(base)
}

pub(crate) async fn get(
    http: &Http,
    endpoint: &Endpoint,
    url: &str,
    patience: Duration,
) -> Option<Value> {
    let url = Url::parse(url).ok()?;
    let request = http.client(&url).ok()?.get(url.clone());
    answer(with_key(request, endpoint), patience).await
}

pub(crate) async fn post(
    http: &Http,
    endpoint: &Endpoint,
    url: &str,
    body: &Value,
    patience: Duration,
) -> Option<Value> {
    let url = Url::parse(url).ok()?;
    let request = http.client(&url).ok()?.post(url.clone()).json(body);
    answer(with_key(request, endpoint), patience).await
}

fn with_key(
    request: hermes_http::reqwest::RequestBuilder,
    endpoint: &Endpoint,
) -> hermes_http::reqwest::RequestBuilder {
    match &endpoint.key {
        Some(key) => {
            let (name, value) = endpoint.auth.header(key);
            request.header(name, value)
        }
        None => request,
    }
}

async fn answer(
    request: hermes_http::reqwest::RequestBuilder,
    patience: Duration,
) -> Option<Value> {
    let mut response = request.timeout(patience).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > MOST_BYTES {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}

/// The names that servers use for it.
const WINDOW_FIELDS: [&str; 12] = [
    "context_length",
    "context_window",
    "context_size",
    "max_context_length",
    "max_position_embeddings",
    "max_model_len",
    "max_input_tokens",
    "max_sequence_length",
    "max_seq_len",
    "n_ctx_train",
    "n_ctx",
    "ctx_size",
];

fn window_in_list(list: &Value, model: &str) -> Option<u64> {
    let entries = list["data"]
        .as_array()
        .or_else(|| list["models"].as_array())
        .or_else(|| list.as_array())?;
    let named = |entry: &&Value| {
        ["id", "name", "model"]
            .iter()
            .any(|field| entry[*field].as_str() == Some(model))
    };
    let entry = match entries.iter().find(named) {
        Some(entry) => entry,
        // A server with one model answers for any name.
        None if entries.len() == 1 => &entries[0],
        None => return None,
    };
    [entry, &entry["meta"], &entry["top_provider"]]
        .iter()
        .find_map(|place| {
            WINDOW_FIELDS
                .iter()
                .find_map(|field| plausible(&place[*field]))
        })
}

/// The size a model was loaded with, else the one it was made for.
fn ollama_window(shown: &Value) -> Option<u64> {
    let loaded = shown["parameters"].as_str().and_then(|parameters| {
        parameters
            .lines()
            .find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok())
    });
    loaded
        .filter(|window| PLAUSIBLE.contains(window))
        .or_else(|| {
            shown["model_info"]
                .as_object()?
                .iter()
                .find(|(name, _)| name.ends_with(".context_length"))
                .and_then(|(_, value)| plausible(value))
        })
}

fn plausible(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .filter(|window| PLAUSIBLE.contains(window))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_windows_are_found_by_the_most_telling_part_of_a_name() {
        for (model, window) in [
            ("anthropic/claude-opus-4.6", Some(1_000_000)),
            ("claude-sonnet-4-5-20250929", Some(200_000)),
            ("claude-haiku-4-5", Some(200_000)),
            ("claude-haiku-5-5", Some(1_000_000)),
            ("claude-fable-5-1", Some(1_000_000)),
            ("gpt-5.6-luna", Some(1_050_000)),
            ("grok-4.6", Some(500_000)),
            ("gpt-5-mini", Some(400_000)),
            ("openai/gpt-5.4", Some(1_050_000)),
            ("gpt-4.1-mini", Some(1_047_576)),
            ("gpt-4o", Some(128_000)),
            ("google/gemini-3-pro", Some(1_048_576)),
            ("qwen3-coder-480b", Some(262_144)),
            ("grok-4.20-reasoning", Some(2_000_000)),
            ("grok-4.3", Some(1_000_000)),
            ("grok-4", Some(256_000)),
            ("meta-llama/llama-3.3-70b", Some(131_072)),
            ("o3-mini", Some(200_000)),
            ("foo3-mini", None),
            ("my-own-model", None),
        ] {
            assert_eq!(known_window(model), window, "{model}");
        }
    }

    #[test]
    fn lists_of_models_are_read_in_the_words_of_many_servers() {
        let list = json!({"data": [
            {"id": "a", "max_model_len": 32_000},
            {"id": "b", "meta": {"n_ctx_train": "8192"}},
            {"id": "c", "context_length": 12},
        ]});
        assert_eq!(window_in_list(&list, "a"), Some(32_000));
        assert_eq!(window_in_list(&list, "b"), Some(8192));
        assert_eq!(window_in_list(&list, "c"), None);
        assert_eq!(window_in_list(&list, "d"), None);
        let single = json!({"data": [{"id": "x", "n_ctx": 70_000}]});
        assert_eq!(window_in_list(&single, "any"), Some(70_000));
    }

    #[test]
    fn what_ollama_loaded_counts_more_than_what_the_model_could() {
        let info = json!({"model_info": {"qwen3.context_length": 40_960}});
        assert_eq!(ollama_window(&info), Some(40_960));
        let mut loaded = info;
        loaded["parameters"] = json!("temperature 0.6\nnum_ctx                        65536\n");
        assert_eq!(ollama_window(&loaded), Some(65_536));
    }
}

//! Asking a provider for its models.

use std::time::Duration;

use hermes_http::Url;
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::models::Models;
use crate::wire::ApiMode;

/// A person waits for this.
pub(super) const PATIENCE: Duration = Duration::from_secs(4);
pub(super) const MOST_BYTES: usize = 8 << 20;

/// Why a provider did not list its models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskFailure {
    #[error("the key was refused ({0})")]
    KeyRefused(u16),
    #[error("it answered {0}")]
    Status(u16),
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("its answer is no list of models")]
    NoList,
}

impl Models {
    pub(super) async fn ask(&self, endpoint: &Endpoint) -> Result<Vec<String>, AskFailure> {
        let base = endpoint.base_url.as_str().trim_end_matches('/');
        let path = match endpoint.mode {
            ApiMode::AnthropicMessages if !base.ends_with("/v1") => "/v1/models",
            _ => "/models",
        };
        let url = Url::parse(&format!("{base}{path}"))
            .map_err(|error| AskFailure::Unreachable(error.to_string()))?;
        let client = self
            .http()
            .client(&url)
            .map_err(|error| AskFailure::Unreachable(error.to_string()))?;
        let mut request = client.get(url).timeout(PATIENCE);
        if let Some(key) = &endpoint.key {
            let (name, value) = endpoint.auth.header(key);
            request = request.header(name, value);
        }
        if endpoint.mode == ApiMode::AnthropicMessages {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let mut models = names(&body(request).await?).ok_or(AskFailure::NoList)?;
        models.sort();
        models.dedup();
        Ok(models)
    }
}

/// The answer as JSON, within bounds.
pub(super) async fn body(
    request: hermes_http::reqwest::RequestBuilder,
) -> Result<Value, AskFailure> {
    let response = request.send().await.map_err(unreachable)?;
    match response.status().as_u16() {
        status @ (401 | 403) => return Err(AskFailure::KeyRefused(status)),
        status if !response.status().is_success() => return Err(AskFailure::Status(status)),
        _ => {}
    }
    let bytes = response.bytes().await.map_err(unreachable)?;
    if bytes.len() > MOST_BYTES {
        return Err(AskFailure::NoList);
    }
    serde_json::from_slice(&bytes).map_err(|_| AskFailure::NoList)
}

fn unreachable(error: hermes_http::reqwest::Error) -> AskFailure {
    let reason = match error {
        _ if error.is_timeout() => "no answer in time",
        _ if error.is_connect() => "no connection",
        _ => "the connection broke",
    };
    AskFailure::Unreachable(reason.to_owned())
}

/// `data[].id` as most do, or `models[].name` as Google does.
fn names(list: &Value) -> Option<Vec<String>> {
    let entries = |key: &str, name: &str| -> Option<Vec<String>> {
        let entries = list.get(key)?.as_array()?;
        let texts = entries.iter().filter_map(|entry| entry.get(name)?.as_str());
        Some(
            texts
                .map(|text| text.strip_prefix("models/").unwrap_or(text).to_owned())
                .collect(),
        )
    };
    entries("data", "id").or_else(|| entries("models", "name"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn both_shapes_of_lists_are_read() {
        let usual = json!({"data": [{"id": "a"}, {"id": "b"}, {}]});
        assert_eq!(names(&usual).unwrap(), ["a", "b"]);
        let google = json!({"models": [{"name": "models/gemini-x"}]});
        assert_eq!(names(&google).unwrap(), ["gemini-x"]);
        assert_eq!(names(&json!([])), None);
    }
}

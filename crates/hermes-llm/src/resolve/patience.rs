//! Timeouts: of the provider, of the model, of the environment.

use std::time::Duration;

use hermes_home::env;
use serde_json::Value;

use super::Sources;
use super::custom::model_settings;
use super::settings::{env_seconds, seconds};
use crate::endpoint::Timeouts;

pub(super) fn timeouts(settings: &Value, model: &str, sources: &Sources<'_>) -> Timeouts {
    let environment = sources.environment;
    let of_model = model_settings(settings, model);
    let duration = Duration::from_secs_f64;
    let mut timeouts = Timeouts::default();
    if let Some(total) = env_seconds(environment, env::API_TIMEOUT) {
        timeouts.total = duration(total);
    }
    if let Some(read) = env_seconds(environment, env::STREAM_READ_TIMEOUT) {
        timeouts.read = duration(read);
    }
    let request = seconds(&of_model, "timeout_seconds")
        .or_else(|| seconds(settings, "request_timeout_seconds"));
    if let Some(request) = request {
        timeouts.total = duration(request);
        timeouts.read = duration(request);
    }
    let stale = seconds(&of_model, "stale_timeout_seconds")
        .or_else(|| seconds(settings, "stale_timeout_seconds"));
    timeouts.stale = stale
        .or_else(|| env_seconds(environment, env::STREAM_STALE_TIMEOUT))
        .map(duration);
    timeouts.whole_stale = stale
        .or_else(|| env_seconds(environment, env::API_CALL_STALE_TIMEOUT))
        .map(duration);
    timeouts.responses_stale =
        env_seconds(environment, env::CODEX_EVENT_STALE_TIMEOUT).map(duration);
    if let Some(first) = env_seconds(environment, env::CODEX_TTFB_TIMEOUT) {
        timeouts.first_event = Some(duration(first));
    }
    if let Some(longest) = env_seconds(environment, env::CODEX_TTFB_MAX) {
        timeouts.first_event = timeouts
            .first_event
            .map(|first| first.min(duration(longest)));
    }
    let up_to = environment
        .get_non_empty(env::CODEX_TTFB_DISABLE_ABOVE)
        .and_then(|text| text.trim().parse().ok());
    if environment.is_truthy(env::CODEX_TTFB_STRICT) {
        timeouts.first_event_up_to = u64::MAX;
    } else if let Some(tokens) = up_to {
        timeouts.first_event_up_to = tokens;
    }
    timeouts
}

//! Whether the server of the configured model answers. Used only by verbs that
//! were asked to look at the network.

use std::time::Duration;

use hermes_config::Config;
use hermes_http::{Http, HttpError, HttpSettings, Url};

const PATIENCE: Duration = Duration::from_secs(5);

/// What came back. Any answer means that the server is there; a refused key shows
/// as its status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) milliseconds: u128,
}

/// The address that the config names, if it names one.
pub(crate) fn configured(config: &Config) -> Option<String> {
    config.optional_string("model.base_url").ok().flatten()
}

/// Asks for the list of models. No key is sent.
pub(crate) fn probe(base: &str, config: &Config) -> Result<Answer, String> {
    ask(base, config).map_err(|error| {
        // The outer layers only say that a request failed.
        let mut cause: &dyn std::error::Error = &error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        cause.to_string()
    })
}

fn ask(base: &str, config: &Config) -> Result<Answer, HttpError> {
    let invalid = |reason: String| HttpError::Url {
        url: base.to_owned(),
        reason,
    };
    let text = format!("{}/models", base.trim_end_matches('/'));
    let url = Url::parse(&text).map_err(|error| invalid(error.to_string()))?;
    let environment = config.environment();
    let settings = HttpSettings {
        connect_timeout: PATIENCE,
        ..HttpSettings::from_variables(|name| environment.get(name))
    };
    let http = Http::new(settings);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| HttpError::Build(error.to_string()))?;
    let started = std::time::Instant::now();
    let response = runtime.block_on(async {
        let request = http.client(&url)?.get(url.clone()).timeout(PATIENCE).send();
        request.await.map_err(HttpError::from)
    })?;
    Ok(Answer {
        status: response.status().as_u16(),
        milliseconds: started.elapsed().as_millis(),
    })
}

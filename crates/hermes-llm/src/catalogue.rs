//! The providers, as one data file that is read when somebody asks. Whatever a
//! vendor wants done differently is a field of its row; nothing else in this crate
//! asks for a provider by its id, except where a name means a different protocol.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wire::{ApiMode, CacheLayout, Echo, ReasoningStyle, SchemaDialect, SessionHint};

/// How one proves who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    /// A key from a variable or from the pool.
    Key,
    /// A key if the server wants one.
    KeyOptional,
    /// A key; a login exists too but is not built.
    OauthOrKey,
    /// A login only.
    Oauth,
    /// A token that must be traded for another one first.
    TokenExchange,
    /// Another program does the talking.
    Process,
    /// The credentials of AWS.
    Aws,
}

impl AuthKind {
    pub fn takes_key(self) -> bool {
        matches!(self, Self::Key | Self::KeyOptional | Self::OauthOrKey)
    }

    /// Whether nothing works without a key.
    pub fn needs_key(self) -> bool {
        matches!(self, Self::Key | Self::OauthOrKey)
    }
}

/// One row. Everything after `auth` is a deviation from the plain case.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    pub id: String,
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The name that people read.
    pub label: String,
    pub mode: ApiMode,
    /// Empty when the user must say where.
    pub base_url: String,
    /// Variables that may hold a key, the first that is set wins.
    pub keys: Vec<String>,
    /// The variable that replaces the base URL.
    #[serde(default)]
    pub url_env: Option<String>,
    pub auth: AuthKind,
    /// Of a provider that is not built: who serves the same models for an API key.
    #[serde(default)]
    pub instead: Option<String>,
    /// The key goes as a bearer token where the wire format has a header of its own.
    #[serde(default)]
    pub bearer: bool,
    /// Whether a key alone is enough to choose this provider.
    #[serde(default = "yes")]
    pub auto: bool,
    /// Serves models of many vendors, named `vendor/model`.
    #[serde(default)]
    pub router: bool,
    /// Vendors whose prefix is taken off a model's name; nothing is taken off when
    /// the list is empty.
    #[serde(default)]
    pub prefixes: Vec<String>,
    /// Whatever stands before the last slash is taken off.
    #[serde(default)]
    pub any_prefix: bool,
    /// Other formats, by how the model's name begins.
    #[serde(default)]
    pub modes: Vec<(String, ApiMode)>,
    /// Headers of every request.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// Fields of every body; `${VERSION}` is ours.
    #[serde(default)]
    pub body: Map<String, Value>,
    #[serde(default)]
    pub reasoning: ReasoningStyle,
    #[serde(default)]
    pub echo: Echo,
    #[serde(default)]
    pub no_temperature: bool,
    #[serde(default)]
    pub no_fine_grained_streaming: bool,
    #[serde(default)]
    pub default_output: Option<u32>,
    /// Parts of the names of models whose own longest answer is the cap.
    #[serde(default)]
    pub own_output_cap: Vec<String>,
    /// Parts of the names of models whose requests carry cache markers.
    #[serde(default)]
    pub cached: Vec<String>,
    #[serde(default)]
    pub cache_layout: Option<CacheLayout>,
    #[serde(default)]
    pub schema: SchemaDialect,
    #[serde(default)]
    pub session: SessionHint,
    #[serde(default)]
    pub content_as_parts: bool,
    /// Model names are written in lower case.
    #[serde(default)]
    pub lower_case: bool,
    /// Its list of models says how large their windows are.
    #[serde(default)]
    pub lists_windows: bool,
    /// A cheap model for side tasks.
    #[serde(default)]
    pub aux_model: Option<String>,
}

impl Provider {
    /// Whether a lower-case model name holds one of these parts.
    pub(crate) fn names(parts: &[String], model: &str) -> bool {
        parts.iter().any(|part| model.contains(part.as_str()))
    }
}

fn yes() -> bool {
    true
}

static PROVIDERS: LazyLock<Vec<Provider>> = LazyLock::new(|| {
    // The file is part of the program; a test reads it.
    serde_json::from_str(include_str!("../data/providers.json")).unwrap_or_default()
});

/// All providers in the order in which keys are looked for.
pub fn providers() -> &'static [Provider] {
    &PROVIDERS
}

/// Finds a provider by id or alias, in any case.
pub fn provider(name: &str) -> Option<&'static Provider> {
    let name = name.trim().to_ascii_lowercase();
    providers()
        .iter()
        .find(|provider| provider.id == name)
        .or_else(|| {
            providers()
                .iter()
                .find(|provider| provider.aliases.contains(&name))
        })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_file_can_be_read_and_every_name_means_one_provider() {
        let parsed: Result<Vec<Provider>, _> =
            serde_json::from_str(include_str!("../data/providers.json"));
        assert_eq!(parsed.unwrap().len(), 37);
        let mut names = HashSet::new();
        for provider in providers() {
            assert!(names.insert(provider.id.as_str()), "{} twice", provider.id);
            for alias in &provider.aliases {
                assert!(names.insert(alias), "{alias} twice");
            }
            if !provider.base_url.is_empty() {
                assert!(
                    hermes_http::Url::parse(&provider.base_url).is_ok(),
                    "{}",
                    provider.id
                );
            }
            if provider.auth == AuthKind::Key {
                assert!(
                    !provider.keys.is_empty(),
                    "{} has no key variable",
                    provider.id
                );
            }
        }
    }

    #[test]
    fn aliases_lead_to_their_provider() {
        for (alias, id) in [
            ("or", "openrouter"),
            ("Claude", "anthropic"),
            ("google", "gemini"),
            ("glm", "zai"),
            ("x.ai", "xai"),
            ("moonshot", "kimi-coding"),
            ("github", "copilot"),
            ("hf", "huggingface"),
            ("aws", "bedrock"),
            ("ollama", "custom"),
            ("llama.cpp", "custom"),
        ] {
            assert_eq!(provider(alias).map(|p| p.id.as_str()), Some(id), "{alias}");
        }
        assert!(provider("nosuch").is_none());
    }
}

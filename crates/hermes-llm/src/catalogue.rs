//! The providers, as one data file that is read when somebody asks.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::wire::{ApiMode, Echo, ReasoningStyle, SchemaDialect, SessionHint};

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
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogueAuthStyle {
    #[default]
    Bearer,
    ApiKeyHeader,
    GoogleHeader,
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
    #[serde(default)]
    pub auth_style: CatalogueAuthStyle,
    /// Whether a key alone is enough to choose this provider.
    #[serde(default = "yes")]
    pub auto: bool,
    /// Serves models of many vendors, named `vendor/model`.
    #[serde(default)]
    pub router: bool,
    #[serde(default)]
    pub reasoning: ReasoningStyle,
    #[serde(default)]
    pub echo: Echo,
    #[serde(default)]
    pub no_temperature: bool,
    #[serde(default)]
    pub default_output: Option<u32>,
    #[serde(default)]
    pub schema: SchemaDialect,
    #[serde(default)]
    pub session: SessionHint,
    #[serde(default)]
    pub content_as_parts: bool,
    /// Model names are written in lower case.
    #[serde(default)]
    pub lower_case: bool,
    /// A cheap model for side tasks.
    #[serde(default)]
    pub aux_model: Option<String>,
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

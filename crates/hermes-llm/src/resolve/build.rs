//! The endpoint, put together.

use hermes_home::env;
use hermes_http::{Url, is_local_host};
use serde_json::{Value, json};

use super::custom::NamedEndpoint;
use super::form::form;
use super::headers::{headers, is_azure};
use super::mode::infer;
use super::names::wire_name;
use super::patience::timeouts;
use super::select::{Chosen, Sources, choose, named_pool_spec, not_built, pool_spec};
use super::settings::{default_model, model_section, positive, text};
use super::{ResolveError, Selection};
use crate::auth::PoolSpec;
use crate::catalogue::{AuthKind, Provider, provider};
use crate::endpoint::{AuthStyle, Endpoint, Secret};
use crate::metadata::{UNKNOWN_WINDOW, known_window};
use crate::prices::published_price;
use crate::wire::ApiMode;

/// The version of its API that Azure wants named with the Anthropic format.
const AZURE_VERSION: &str = "2025-04-15";

/// An endpoint and what goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    pub endpoint: Endpoint,
    /// The pool its keys come from, unless one key was given.
    pub pool: Option<PoolSpec>,
    /// Where the window comes from.
    pub window_source: WindowSource,
    /// Settings that make no sense and were ignored, one sentence each.
    pub warnings: Vec<String>,
}

/// Who says how large a window is. What was learnt from the endpoint itself counts
/// more than what is published, and less than what the user says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSource {
    User,
    Published,
    /// Worth a question.
    Guess,
}

/// Finds the endpoint that a selection means.
pub fn resolve(selection: &Selection, sources: &Sources<'_>) -> Result<Resolved, ResolveError> {
    let selection = &follow_alias(selection, sources.config);
    let chosen = choose(selection, sources)?;
    Draft::new(selection, sources, chosen)?.finish()
}

/// `model_aliases.<name>`: a short name for model, provider and address.
fn follow_alias(selection: &Selection, config: &Value) -> Selection {
    let section = model_section(config);
    let named = selection
        .model
        .as_deref()
        .or_else(|| default_model(&section));
    let alias = named.and_then(|name| config.get("model_aliases")?.get(name.trim()));
    let Some(alias) = alias else {
        return selection.clone();
    };
    if let Some(model) = alias.as_str() {
        return Selection {
            model: Some(model.to_owned()),
            ..selection.clone()
        };
    }
    let from = |name: &str| text(alias, name).map(str::to_owned);
    Selection {
        model: from("model").or_else(|| selection.model.clone()),
        provider: selection.provider.clone().or_else(|| from("provider")),
        base_url: selection.base_url.clone().or_else(|| from("base_url")),
        ..selection.clone()
    }
}

struct Draft<'a> {
    selection: &'a Selection,
    sources: &'a Sources<'a>,
    provider: &'static Provider,
    named: Option<NamedEndpoint>,
    /// The keys of `model`, when they speak of this provider.
    section: Value,
    warnings: Vec<String>,
}

impl<'a> Draft<'a> {
    fn new(
        selection: &'a Selection,
        sources: &'a Sources<'a>,
        chosen: Chosen,
    ) -> Result<Self, ResolveError> {
        let (known, named) = match chosen {
            Chosen::Known(known) => (Some(known), None),
            Chosen::Named(named) => (provider("custom"), Some(*named)),
        };
        let known = known.ok_or(ResolveError::NothingConfigured)?;
        if named.is_none()
            && let Some(error) = not_built(known)
        {
            return Err(error);
        }
        let mut section = model_section(sources.config);
        let configured = text(&section, "provider").map(str::to_owned);
        let speaks_of_it = match (&configured, &named) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some(name), None) => {
                name.eq_ignore_ascii_case("auto")
                    || provider(name).is_some_and(|p| p.id == known.id)
            }
            (Some(name), Some(named)) => {
                NamedEndpoint::find(sources.config, name).is_some_and(|n| n.slug == named.slug)
            }
        };
        if !speaks_of_it {
            section =
                json!({"default": section.get("default"), "max_tokens": section.get("max_tokens")});
        }
        Ok(Self {
            selection,
            sources,
            provider: known,
            named,
            section,
            warnings: Vec::new(),
        })
    }

    fn provider_name(&self) -> String {
        match &self.named {
            Some(named) => named.pool_name(),
            None => self.provider.id.clone(),
        }
    }

    fn model(&self) -> Result<String, ResolveError> {
        let environment = self.sources.environment;
        let model = self
            .selection
            .model
            .as_deref()
            .map(str::trim)
            .filter(|model| !model.is_empty())
            .or_else(|| {
                // A name for another provider says nothing here.
                let own = self.named.as_ref().and_then(NamedEndpoint::model);
                own.filter(|_| self.selection.provider.is_some())
            })
            .or_else(|| default_model(&self.section))
            .or_else(|| environment.get_non_empty(env::INFERENCE_MODEL))
            .or_else(|| self.named.as_ref().and_then(NamedEndpoint::model));
        model
            .map(|model| match &self.named {
                Some(_) => model.to_owned(),
                None => wire_name(self.provider, model),
            })
            .ok_or_else(|| ResolveError::NoModel {
                provider: self.provider_name(),
            })
    }

    fn address(&self) -> Result<(Url, Vec<(String, String)>), ResolveError> {
        let environment = self.sources.environment;
        let from_variable = || {
            let name = self.provider.url_env.as_deref()?;
            environment.get_non_empty(name)
        };
        let given = self
            .selection
            .base_url
            .as_deref()
            .or_else(|| self.named.as_ref().map(|named| named.base_url.as_str()))
            .or_else(|| text(&self.section, "base_url"))
            .or_else(from_variable)
            .unwrap_or(&self.provider.base_url)
            .trim();
        if given.is_empty() {
            return Err(ResolveError::NoBaseUrl {
                provider: self.provider_name(),
            });
        }
        let bad = |reason: String| ResolveError::BadBaseUrl {
            url: given.to_owned(),
            reason,
        };
        let mut url = Url::parse(given).map_err(|error| bad(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(format!("{} cannot be spoken", url.scheme())));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(bad("it has no host".to_owned()));
        }
        // A query is sent with every request, as Azure wants it.
        let query = url.query_pairs().into_owned().collect();
        url.set_query(None);
        url.set_fragment(None);
        Ok((url, query))
    }

    fn mode(&self, url: &Url, model: &str) -> Result<ApiMode, ResolveError> {
        let explicit = self
            .selection
            .api_mode
            .as_deref()
            .or_else(|| self.named.as_ref().and_then(NamedEndpoint::mode))
            .or_else(|| text(&self.section, "api_mode"));
        match explicit.map(str::trim).filter(|mode| !mode.is_empty()) {
            None | Some("auto") => Ok(infer(self.provider, url, model)),
            Some("openai_chat" | "openai") => Ok(ApiMode::ChatCompletions),
            Some("anthropic") => Ok(ApiMode::AnthropicMessages),
            Some(mode) => ApiMode::parse(mode).ok_or_else(|| ResolveError::UnknownMode {
                mode: mode.to_owned(),
            }),
        }
    }

    /// One key that was given, or the pool to take keys from.
    fn keys(&self) -> Result<(Option<Secret>, Option<PoolSpec>), ResolveError> {
        let given = self
            .selection
            .api_key
            .as_deref()
            .or_else(|| {
                let named = self.named.as_ref()?;
                text(&named.tree, "api_key")
            })
            .or_else(|| text(&self.section, "api_key"))
            .filter(|key| !key.trim().is_empty() && *key != "no-key-required");
        if let Some(key) = given {
            return Ok((Some(Secret::new(key.trim())), None));
        }
        let spec = match &self.named {
            Some(named) => named_pool_spec(named, self.sources),
            None => pool_spec(self.provider, self.sources),
        };
        let entries = spec.entries(self.sources.auth);
        if entries.is_empty() {
            if self.named.is_some() || self.provider.auth == AuthKind::KeyOptional {
                return Ok((None, None));
            }
            return Err(ResolveError::NoKey {
                provider: self.provider.id.clone(),
                label: self.provider.label.clone(),
                variables: self.provider.keys.clone(),
                login: self.sources.auth.has_login(&self.provider.id),
            });
        }
        Ok((entries.into_iter().next().map(|(_, key)| key), Some(spec)))
    }

    /// Settings of the provider that are not an endpoint of their own.
    fn provider_settings(&self) -> Value {
        match &self.named {
            Some(named) => named.tree.clone(),
            None => self
                .sources
                .config
                .get("providers")
                .and_then(|all| all.get(&self.provider.id))
                .cloned()
                .unwrap_or(Value::Null),
        }
    }

    fn finish(mut self) -> Result<Resolved, ResolveError> {
        let model = self.model()?;
        let (url, mut query) = self.address()?;
        let mode = self.mode(&url, &model)?;
        let has_version = query.iter().any(|(name, _)| name == "api-version");
        if mode == ApiMode::AnthropicMessages && is_azure(&url) && !has_version {
            query.push(("api-version".to_owned(), AZURE_VERSION.to_owned()));
        }
        let (key, pool) = self.keys()?;
        let entry = match &self.named {
            Some(named) => Some(named.clone()),
            None if self.provider.id == "custom" => {
                NamedEndpoint::for_address(self.sources.config, url.as_str(), &model)
            }
            None => None,
        };
        let mut form = form(self.provider, mode, &url, &model, self.sources.config);
        self.add_limits(&mut form);
        let sees = |tree: &Value| tree.get("supports_vision").and_then(Value::as_bool);
        let said = entry
            .as_ref()
            .and_then(|entry| sees(&entry.model_settings(&model)))
            .or_else(|| sees(&self.section));
        form.mend.no_images = said == Some(false);
        if let Some(entry) = &entry {
            form.extra_body.extend(entry.extra_body());
        }
        let is_local = is_local_host(&url);
        // A server of one's own may call its model anything.
        let is_own = is_local && self.provider.auth == AuthKind::KeyOptional;
        let window = self.window(entry.as_ref(), &model);
        let auth = self.auth_style(mode, &url, key.as_ref());
        let settings = self.provider_settings();
        Ok(Resolved {
            endpoint: Endpoint {
                provider: self.provider_name(),
                mode,
                query,
                auth,
                key,
                headers: headers(self.provider, mode, &url, &model, self.sources),
                session_header: (url.host_str() == Some("api.x.ai")
                    || (self.provider.router && model.contains("grok")))
                .then_some("x-grok-conv-id"),
                form,
                timeouts: timeouts(&settings, &model, self.sources),
                window: window
                    .or_else(|| known_window(&model).filter(|_| !is_own))
                    .unwrap_or(UNKNOWN_WINDOW),
                price: published_price(&model).filter(|_| !is_own),
                is_local,
                base_url: url,
            },
            pool,
            window_source: match window {
                Some(_) => WindowSource::User,
                None if !is_own && known_window(&model).is_some() => WindowSource::Published,
                None => WindowSource::Guess,
            },
            warnings: self.warnings,
        })
    }

    fn add_limits(&mut self, form: &mut crate::wire::Form) {
        let from_config = positive(
            &self.section,
            "max_tokens",
            "model.max_tokens",
            &mut self.warnings,
        );
        let from_variable = self
            .sources
            .environment
            .get_non_empty(env::MAX_TOKENS)
            .and_then(|text| text.parse::<u64>().ok())
            .filter(|tokens| *tokens > 0);
        if let Some(tokens) = from_config.or(from_variable) {
            form.default_output = u32::try_from(tokens).ok();
        }
        let num_ctx = positive(
            &self.section,
            "ollama_num_ctx",
            "model.ollama_num_ctx",
            &mut self.warnings,
        );
        if let Some(tokens) = num_ctx.filter(|_| self.provider.id == "custom") {
            form.extra_body
                .insert("options".to_owned(), json!({"num_ctx": tokens}));
        }
    }

    /// What the user says about the window.
    fn window(&mut self, entry: Option<&NamedEndpoint>, model: &str) -> Option<u64> {
        let warnings = &mut self.warnings;
        positive(
            &self.section,
            "context_length",
            "model.context_length",
            warnings,
        )
        .or_else(|| {
            let entry = entry?;
            positive(
                &entry.model_settings(model),
                "context_length",
                &format!("providers.{}.models.{model}.context_length", entry.slug),
                warnings,
            )
            .or_else(|| {
                positive(
                    &entry.tree,
                    "context_length",
                    &format!("providers.{}.context_length", entry.slug),
                    warnings,
                )
            })
        })
    }

    fn auth_style(&self, mode: ApiMode, url: &Url, key: Option<&Secret>) -> AuthStyle {
        match mode {
            ApiMode::Gemini => AuthStyle::GoogleHeader,
            ApiMode::AnthropicMessages => {
                // Tokens of other kinds than API keys use Bearer.
                let is_token = key.is_some_and(|key| {
                    let key = key.expose();
                    !key.starts_with("sk-ant-api")
                        && ["sk-ant-", "eyJ", "cc-"].iter().any(|p| key.starts_with(p))
                });
                if self.provider.bearer || is_azure(url) || is_token {
                    AuthStyle::Bearer
                } else {
                    AuthStyle::ApiKeyHeader
                }
            }
            _ => AuthStyle::Bearer,
        }
    }
}

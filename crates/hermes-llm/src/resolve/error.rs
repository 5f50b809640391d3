//! Why no endpoint could be found, and the way out.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("no model provider is set up")]
    NothingConfigured,
    #[error("unknown provider {name:?}")]
    UnknownProvider {
        name: String,
        similar: Option<String>,
    },
    #[error("no key for {label}: {} is not set and no key is stored", .variables.join(" or "))]
    NoKey {
        provider: String,
        label: String,
        variables: Vec<String>,
        /// Python Hermes stored a login, which needs what is not built here.
        login: bool,
    },
    #[error("no model is set for provider {provider}")]
    NoModel { provider: String },
    #[error("no address is set for provider {provider}")]
    NoBaseUrl { provider: String },
    #[error("{url:?} is not a usable address: {reason}")]
    BadBaseUrl { url: String, reason: String },
    #[error("{label} is reached by {what}, which is not built yet")]
    NotBuilt {
        label: String,
        what: &'static str,
        /// The same vendor's models behind an API key.
        instead: Option<String>,
    },
    #[error("unknown api_mode {mode:?}")]
    UnknownMode { mode: String },
    #[error("{model} has a context window of {window} tokens; at least 64K are needed")]
    WindowTooSmall { model: String, window: u64 },
}

impl ResolveError {
    /// The way out, one line.
    pub fn hint(&self) -> String {
        match self {
            Self::NothingConfigured => {
                "set a key such as `OPENROUTER_API_KEY`, run `hermes setup`, or name a server with `hermes config set model.base_url URL`".to_owned()
            }
            Self::UnknownProvider { similar, .. } => match similar {
                Some(similar) => format!("did you mean `{similar}`?"),
                None => "own endpoints are named under `providers` in config.yaml".to_owned(),
            },
            Self::NoKey { provider, variables, login, .. } => {
                let way = match variables.first() {
                    Some(variable) => {
                        format!("set `{variable}` or run `hermes auth add {provider}`")
                    }
                    None => format!("run `hermes auth add {provider}`"),
                };
                if *login {
                    format!("{way}; the login that Python Hermes stored is not used, because logins in the browser are not built yet")
                } else {
                    way
                }
            }
            Self::NoModel { .. } => {
                "choose one with `-m MODEL` or `hermes config set model.default MODEL`".to_owned()
            }
            Self::NoBaseUrl { .. } => "set it with `hermes config set model.base_url URL`".to_owned(),
            Self::BadBaseUrl { .. } => {
                "an address looks like `https://host/v1` or `http://127.0.0.1:8080/v1`".to_owned()
            }
            Self::NotBuilt { instead: Some(provider), .. } => {
                format!("use `--provider {provider}` with an API key; `hermes auth add {provider}` stores one")
            }
            Self::NotBuilt { instead: None, .. } => {
                "use a provider with an API key, such as `openrouter`; `hermes auth add openrouter` stores one".to_owned()
            }
            Self::UnknownMode { .. } => {
                "use `chat_completions`, `anthropic_messages`, `codex_responses` or `gemini`".to_owned()
            }
            Self::WindowTooSmall { .. } => {
                "pick a larger model, or set `model.context_length` when the server is known to take more".to_owned()
            }
        }
    }
}

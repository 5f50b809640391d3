//! Models as a program gets them: resolved from its configuration, with keys,
//! fallbacks and windows in place.

use std::sync::Arc;

use hermes_config::Config;
use hermes_home::{Clock, Environment, Home, env};
use hermes_http::{Http, HttpSettings, Reach};
use serde_json::Value;

use crate::auth::{AuthData, AuthError, AuthFile, CredentialPool, PoolSpec};
use crate::catalogue;
use crate::dump::{Echo, RequestDumps};
use crate::fallback::FallbackChain;
use crate::guard::RateGuard;
use crate::keys::Keys;
use crate::lmstudio;
use crate::metadata::{MIN_WINDOW, WindowCache, ask_window};
use crate::model::Model;
use crate::provider::{ProviderModel, Setup};
use crate::resolve::{
    ResolveError, Resolved, Selection, Sources, WindowSource, fallback_routes, resolve,
};
use crate::retry::RetryPolicy;

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    Auth(#[from] AuthError),
}

impl OpenError {
    /// The way out, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Resolve(error) => Some(error.hint()),
            Self::Auth(_) => None,
        }
    }
}

/// Proxies, certificates and reach as configuration and variables say.
pub fn http_settings(config: &Config) -> HttpSettings {
    let environment = config.environment();
    let flag = |key: &str| config.get(key).and_then(Value::as_bool) == Some(true);
    let private = flag("security.allow_private_urls");
    HttpSettings {
        force_ipv4: flag("network.force_ipv4"),
        reach: if private {
            Reach::Private
        } else {
            Reach::Public
        },
        extra_certificate_file: environment.get_non_empty(env::CA_BUNDLE).map(Into::into),
        ..HttpSettings::from_variables(|name| environment.get(name))
    }
}

/// Opens models for one home. Nothing is read or sent before a model is asked for.
#[derive(Clone)]
pub struct Models {
    config: Config,
    home: Home,
    http: Http,
    clock: Clock,
    policy: RetryPolicy,
    dumps: RequestDumps,
}

/// A model that is ready, and what people should know about it.
pub struct Opened {
    pub model: Arc<dyn Model>,
    pub resolved: Resolved,
    pub warnings: Vec<String>,
}

impl Models {
    pub fn new(config: Config, home: Home, http: Http, clock: Clock) -> Self {
        let policy = policy(&config);
        let dumps = RequestDumps::of(&home, config.environment(), clock.clone());
        Self {
            config,
            home,
            http,
            clock,
            policy,
            dumps,
        }
    }

    /// Another patience, for tests.
    pub fn with_policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Shows every request that is written down to somebody, too.
    pub fn with_dump_echo(mut self, echo: Echo) -> Self {
        self.dumps = self.dumps.with_echo(echo);
        self
    }

    pub fn http(&self) -> &Http {
        &self.http
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    fn environment(&self) -> &Environment {
        self.config.environment()
    }

    /// The keys of this home, completed by those of the root home.
    fn keyring(&self) -> Result<Keyring, AuthError> {
        let own = AuthFile::of(&self.home);
        let root = AuthFile::of_root(&self.home);
        let own_data = own.read()?;
        let root_data = if own == root {
            AuthData::default()
        } else {
            root.read()?
        };
        let mut merged = own_data.clone();
        for provider in root_data.pooled_providers() {
            if own_data.entries(provider).is_empty() {
                merged.set_entries(provider, root_data.entries(provider));
            }
        }
        Ok(Keyring {
            own,
            own_data,
            root,
            merged,
        })
    }

    /// Runs `work` with everything that resolving looks at.
    pub fn with_sources<T>(&self, work: impl FnOnce(&Sources<'_>) -> T) -> Result<T, AuthError> {
        let keyring = self.keyring()?;
        Ok(work(&Sources {
            config: self.config.effective(),
            environment: self.environment(),
            auth: &keyring.merged,
        }))
    }

    /// Finds the endpoint without opening anything.
    pub fn resolve(&self, selection: &Selection) -> Result<Resolved, OpenError> {
        Ok(self.with_sources(|sources| resolve(selection, sources))??)
    }

    /// The model of a conversation: its window known and large enough, its
    /// fallbacks behind it.
    pub async fn open(&self, selection: &Selection) -> Result<Opened, OpenError> {
        let keyring = self.keyring()?;
        let sources = Sources {
            config: self.config.effective(),
            environment: self.environment(),
            auth: &keyring.merged,
        };
        let mut warnings = Vec::new();
        let mut others: Vec<Resolved> = fallback_routes(&sources)
            .iter()
            .filter_map(|route| match resolve(&route.selection, &sources) {
                Ok(resolved) => Some(resolved),
                Err(error) => {
                    warnings.push(format!(
                        "fallback {} ({}) is left out: {error}",
                        route.provider, route.model
                    ));
                    None
                }
            })
            .collect();
        let mut first = match resolve(selection, &sources) {
            Ok(resolved) => resolved,
            Err(error @ (ResolveError::NoKey { .. } | ResolveError::NotBuilt { .. }))
                if !others.is_empty() =>
            {
                let instead = others.remove(0);
                warnings.push(format!(
                    "{error}; using the fallback {} ({})",
                    instead.endpoint.provider,
                    instead.endpoint.model()
                ));
                instead
            }
            Err(error) => return Err(error.into()),
        };
        others.retain(|other| !is_same_place(&first, other));
        self.find_window(&mut first).await;
        if first.endpoint.window < MIN_WINDOW {
            return Err(ResolveError::WindowTooSmall {
                model: first.endpoint.model().to_owned(),
                window: first.endpoint.window,
            }
            .into());
        }
        warnings.extend(first.warnings.iter().cloned());
        let model = self.chain(first.clone(), others, &keyring);
        Ok(Opened {
            model,
            resolved: first,
            warnings,
        })
    }

    /// One endpoint without fallbacks and without asking for its window.
    pub fn open_single(&self, resolved: Resolved) -> Result<ProviderModel, OpenError> {
        let keyring = self.keyring()?;
        Ok(self.provider_model(resolved, false, &keyring))
    }

    fn chain(&self, first: Resolved, others: Vec<Resolved>, keyring: &Keyring) -> Arc<dyn Model> {
        if others.is_empty() {
            return Arc::new(self.provider_model(first, false, keyring));
        }
        let last = others.len() - 1;
        let others = others
            .into_iter()
            .enumerate()
            .map(|(place, other)| {
                Arc::new(self.provider_model(other, place < last, keyring)) as Arc<dyn Model>
            })
            .collect();
        let first = Arc::new(self.provider_model(first, true, keyring));
        Arc::new(FallbackChain::new(first, others))
    }

    fn provider_model(
        &self,
        resolved: Resolved,
        has_fallback: bool,
        keyring: &Keyring,
    ) -> ProviderModel {
        let keys = match resolved.pool {
            Some(spec) => Keys::Pool(Arc::new(keyring.pool(spec, self.clock.clone()))),
            None => Keys::Fixed,
        };
        let guard = (resolved.endpoint.provider == "nous")
            .then(|| RateGuard::of(&self.home, self.clock.clone()));
        ProviderModel::new(Setup {
            http: self.http.clone(),
            endpoint: resolved.endpoint,
            keys,
            policy: self.policy,
            has_fallback,
            window_cache: Some(WindowCache::of(&self.home)),
            dumps: Some(self.dumps.clone()),
            guard,
        })
    }

    /// What the user says holds; then what this endpoint said before; then the
    /// table; then the endpoint is asked, and its answer is kept.
    async fn find_window(&self, resolved: &mut Resolved) {
        let endpoint = &resolved.endpoint;
        let row = catalogue::provider(&endpoint.provider);
        if endpoint.provider == "lmstudio"
            && let Some(loaded) = lmstudio::prepare(&self.http, endpoint).await
        {
            resolved.endpoint.form.efforts = Some(loaded.efforts);
            if resolved.window_source != WindowSource::User
                && let Some(window) = loaded.window
            {
                resolved.endpoint.window = window;
                return;
            }
        }
        if resolved.window_source == WindowSource::User {
            return;
        }
        let endpoint = &resolved.endpoint;
        let cache = WindowCache::of(&self.home);
        if let Some(window) = cache.get(endpoint) {
            resolved.endpoint.window = window;
            return;
        }
        let is_own = endpoint.provider.starts_with("custom") || endpoint.provider == "lmstudio";
        let is_listed = row.is_some_and(|row| row.lists_windows);
        if resolved.window_source == WindowSource::Guess
            && (is_own || is_listed)
            && let Some(window) = ask_window(&self.http, endpoint).await
        {
            cache.put(endpoint, window);
            resolved.endpoint.window = window;
        }
    }
}

/// The same model of the same provider, or behind the same address.
fn is_same_place(a: &Resolved, b: &Resolved) -> bool {
    let (a, b) = (&a.endpoint, &b.endpoint);
    a.model() == b.model() && (a.provider == b.provider || a.base_url == b.base_url)
}

struct Keyring {
    own: AuthFile,
    own_data: AuthData,
    root: AuthFile,
    merged: AuthData,
}

impl Keyring {
    /// Keys that belong to the root home are used, never written.
    fn pool(&self, spec: PoolSpec, clock: Clock) -> CredentialPool {
        let borrowed = self.own != self.root
            && self.own_data.entries(&spec.name).is_empty()
            && !self.merged.entries(&spec.name).is_empty();
        CredentialPool::new(self.own.clone(), !borrowed, &self.merged, spec, clock)
    }
}

fn policy(config: &Config) -> RetryPolicy {
    let attempts = config
        .get("agent.api_max_retries")
        .and_then(Value::as_u64)
        .and_then(|attempts| u32::try_from(attempts).ok())
        .unwrap_or(3)
        .max(1);
    let reconnects = config
        .environment()
        .get_non_empty(env::STREAM_RETRIES)
        .and_then(|text| text.parse().ok());
    let default = RetryPolicy::default();
    RetryPolicy {
        attempts,
        reconnects: reconnects.unwrap_or(default.reconnects),
        ..default
    }
}

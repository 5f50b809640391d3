//! One provider as a model: what it is made of and what it learns on the way. How
//! a single request finds its way is in `attempt.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use hermes_http::Http;
use hermes_types::{Cost, CostStatus, Usage};

use crate::attempt::Attempt;
use crate::dump::RequestDumps;
use crate::endpoint::Endpoint;
use crate::guard::RateGuard;
use crate::keys::Keys;
use crate::metadata::WindowCache;
use crate::model::{DeltaStream, Model, ModelError, Request};
use crate::picture::Scaler;
use crate::rates::RateLimits;
use crate::retry::RetryPolicy;
use crate::wire::{self, Mend};

/// What a model is made of.
pub struct Setup {
    pub http: Http,
    pub endpoint: Endpoint,
    pub keys: Keys,
    pub policy: RetryPolicy,
    /// Another model stands behind this one: give up early where it would help.
    pub has_fallback: bool,
    /// Where a window that the provider named while refusing is kept.
    pub window_cache: Option<WindowCache>,
    /// Where requests that failed for good are written down.
    pub dumps: Option<RequestDumps>,
    /// Where a provider that will not answer for long is noted for all processes.
    pub guard: Option<RateGuard>,
}

/// Cheap to clone; clones share what was learnt.
#[derive(Clone)]
pub struct ProviderModel {
    inner: Arc<Inner>,
}

/// What all requests of a model share.
pub(crate) struct Inner {
    pub(crate) http: Http,
    pub(crate) endpoint: Endpoint,
    pub(crate) keys: Keys,
    pub(crate) policy: RetryPolicy,
    pub(crate) has_fallback: bool,
    window_cache: Option<WindowCache>,
    pub(crate) dumps: Option<RequestDumps>,
    pub(crate) guard: Option<RateGuard>,
    mend: Mutex<Mend>,
    rates: Mutex<RateLimits>,
    /// Pictures as this endpoint takes them.
    pub(crate) scaler: Arc<Scaler>,
    window: AtomicU64,
    /// A window that a refusal named; believed after the next success.
    stated_window: AtomicU64,
}

impl ProviderModel {
    pub fn new(setup: Setup) -> Self {
        Self {
            inner: Arc::new(Inner {
                window: AtomicU64::new(setup.endpoint.window),
                stated_window: AtomicU64::new(0),
                http: setup.http,
                endpoint: setup.endpoint,
                keys: setup.keys,
                policy: setup.policy,
                has_fallback: setup.has_fallback,
                window_cache: setup.window_cache,
                dumps: setup.dumps,
                guard: setup.guard,
                mend: Mutex::default(),
                rates: Mutex::default(),
                scaler: Arc::default(),
            }),
        }
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.inner.endpoint
    }

    /// What the newest answer said about the limits of the account.
    pub fn rate_limits(&self) -> RateLimits {
        lock(&self.inner.rates).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves plain values behind, not half-made ones.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// Forms that were given up for good.
    pub(crate) fn mend(&self) -> Mend {
        *lock(&self.mend)
    }

    pub(crate) fn set_mend(&self, mend: Mend) {
        *lock(&self.mend) = mend;
    }

    pub(crate) fn set_rates(&self, rates: RateLimits) {
        *lock(&self.rates) = rates;
    }

    pub(crate) fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    pub(crate) fn note_stated_window(&self, error: &ModelError) {
        let window = self.window();
        if let Some(stated) = error.context_limit.filter(|stated| *stated < window) {
            // Right away for who compresses now; on disk only when it proved right.
            self.window.store(stated, Ordering::Relaxed);
            self.stated_window.store(stated, Ordering::Relaxed);
        }
    }

    pub(crate) fn keep_stated_window(&self) {
        let stated = self.stated_window.swap(0, Ordering::Relaxed);
        if let (Some(cache), true) = (&self.window_cache, stated > 0) {
            cache.put(&self.endpoint, stated);
        }
    }
}

impl Model for ProviderModel {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<DeltaStream, ModelError>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            let request = request.addressed_to(self.name(), self.provider());
            let mut attempt = Attempt::new(inner, request);
            attempt.connect(None).await?;
            let stream = futures_util::stream::unfold(Some(attempt), |attempt| async {
                let mut attempt = attempt?;
                match attempt.next().await? {
                    Ok(delta) => Some((Ok(delta), Some(attempt))),
                    Err(error) => Some((Err(error), None)),
                }
            });
            Ok(Box::pin(stream) as DeltaStream)
        })
    }

    fn name(&self) -> &str {
        self.inner.endpoint.model()
    }

    fn provider(&self) -> &str {
        &self.inner.endpoint.provider
    }

    fn context_window(&self) -> u64 {
        self.inner.window()
    }

    fn default_output(&self) -> Option<u32> {
        let endpoint = &self.inner.endpoint;
        wire::default_output(endpoint.mode, &endpoint.form)
    }

    fn cost(&self, usage: &Usage) -> Cost {
        let endpoint = &self.inner.endpoint;
        // A paid provider costs what it costs, also behind a relay of one's own.
        let is_own = endpoint.is_local
            && crate::catalogue::provider(&endpoint.provider)
                .is_none_or(|known| known.auth == crate::catalogue::AuthKind::KeyOptional);
        if is_own || endpoint.provider == "openai-codex" {
            return Cost {
                usd: 0.0,
                status: CostStatus::Included,
            };
        }
        crate::prices::cost(endpoint.price.as_ref(), usage)
    }
}

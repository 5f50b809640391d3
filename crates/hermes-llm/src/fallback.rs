//! Several models as one: the first that answers does. A turn that fell back
//! returns to the first model with the next turn, unless that one had been
//! refusing for its rate a moment ago.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use hermes_types::{Cost, Usage};

use crate::model::{Delta, DeltaStream, ErrorClass, Model, ModelError, Request};

/// How long a model that was rate limited is left alone, from the switch on.
const REST: Duration = Duration::from_secs(60);

pub struct FallbackChain {
    models: Vec<Arc<dyn Model>>,
    current: AtomicUsize,
    /// When the first model was left because of its rate.
    rate_limited: Mutex<Option<Instant>>,
    rest: Duration,
}

impl FallbackChain {
    /// `first` and the models to turn to, in order.
    pub fn new(first: Arc<dyn Model>, others: Vec<Arc<dyn Model>>) -> Self {
        let mut models = vec![first];
        models.extend(others);
        Self {
            models,
            current: AtomicUsize::new(0),
            rate_limited: Mutex::new(None),
            rest: REST,
        }
    }

    /// Another rest for a model that was rate limited, for tests.
    pub fn with_rest(mut self, rest: Duration) -> Self {
        self.rest = rest;
        self
    }

    fn at(&self) -> usize {
        self.current
            .load(Ordering::Acquire)
            .min(self.models.len() - 1)
    }

    fn model(&self) -> &Arc<dyn Model> {
        &self.models[self.at()]
    }
}

/// Whether another provider may do better. A conversation that is too long is
/// compressed first; a data policy is the user's own decision.
fn another_may_help(class: ErrorClass) -> bool {
    !class.wants_compression() && class != ErrorClass::ProviderPolicy
}

impl Model for FallbackChain {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<DeltaStream, ModelError>> {
        Box::pin(async move {
            let mut tried: Vec<String> = Vec::new();
            let mut notices: Vec<Delta> = Vec::new();
            loop {
                let at = self.at();
                let model = &self.models[at];
                let mut error = match model.stream(request).await {
                    Ok(stream) => {
                        let notices = futures_util::stream::iter(notices.into_iter().map(Ok));
                        return Ok(Box::pin(notices.chain(stream)) as DeltaStream);
                    }
                    Err(error) => error,
                };
                tried.append(&mut error.tried);
                let next = at + 1;
                if next >= self.models.len() || !another_may_help(error.class) {
                    error.tried = tried;
                    return Err(error);
                }
                if at == 0 && matches!(error.class, ErrorClass::RateLimited | ErrorClass::Billing) {
                    *self
                        .rate_limited
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                }
                let to = &self.models[next];
                tried.push(format!("{}: {}", model.provider(), error.message));
                notices.push(Delta::Notice(format!(
                    "{} ({}) failed: {}; switched to {} ({})",
                    model.name(),
                    model.provider(),
                    error.message,
                    to.name(),
                    to.provider(),
                )));
                self.current.store(next, Ordering::Release);
            }
        })
    }

    fn name(&self) -> &str {
        self.model().name()
    }

    fn provider(&self) -> &str {
        self.model().provider()
    }

    fn context_window(&self) -> u64 {
        self.model().context_window()
    }

    fn default_output(&self) -> Option<u32> {
        self.model().default_output()
    }

    fn cost(&self, usage: &Usage) -> Cost {
        self.model().cost(usage)
    }

    fn fall_back(&self) -> bool {
        let at = self.at();
        let has_next = at + 1 < self.models.len();
        if has_next {
            self.current.store(at + 1, Ordering::Release);
        }
        has_next
    }

    fn begin_turn(&self) {
        let mut left = self
            .rate_limited
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if left.is_some_and(|since| since.elapsed() < self.rest) {
            return;
        }
        *left = None;
        self.current.store(0, Ordering::Release);
        for model in &self.models {
            model.begin_turn();
        }
    }
}

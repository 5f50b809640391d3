//! Side tasks (summaries, titles, judging a command): a small request to whatever
//! is set for the task, else to the main model, else to any provider with a key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::answer::Answer;
use crate::model::{ErrorClass, Model, ModelError, Request};
use crate::models::{Models, OpenError};
use crate::resolve::{Selection, usable_providers};

/// How long a provider without money is left alone.
const UNHEALTHY_FOR: Duration = Duration::from_secs(600);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

pub struct Auxiliary {
    models: Models,
    main: Arc<dyn Model>,
    unhealthy: Mutex<HashMap<String, Instant>>,
}

/// What is set for a task.
struct Task {
    selection: Option<Selection>,
    chain: Vec<Selection>,
    timeout: Duration,
    extra_body: serde_json::Map<String, Value>,
}

impl Auxiliary {
    /// `main` is the model of the conversation.
    pub fn new(models: Models, main: Arc<dyn Model>) -> Self {
        Self {
            models,
            main,
            unhealthy: Mutex::default(),
        }
    }

    /// Asks for a task by its name in `auxiliary.<task>`.
    pub async fn ask(&self, task: &str, request: &Request) -> Result<Answer, ModelError> {
        let task = self.task(task);
        let explicit = task.selection.is_some();
        let mut last = None;
        for candidate in self.candidates(&task) {
            let model = match candidate {
                Ok(model) => model,
                Err(error) => {
                    last.get_or_insert(ModelError::new(
                        ErrorClass::Authentication,
                        error.to_string(),
                    ));
                    continue;
                }
            };
            if self.is_unhealthy(model.provider()) {
                continue;
            }
            let asking = async { Answer::collect(model.stream(request).await?).await };
            let error = match tokio::time::timeout(task.timeout, asking).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => error,
                Err(_) => ModelError::new(
                    ErrorClass::Timeout,
                    format!("no answer within {} s", task.timeout.as_secs()),
                ),
            };
            if error.class == ErrorClass::Billing {
                self.mark_unhealthy(model.provider());
            }
            let elsewhere = explicit
                || matches!(
                    error.class,
                    ErrorClass::Billing
                        | ErrorClass::Connection
                        | ErrorClass::Dropped
                        | ErrorClass::RateLimited
                        | ErrorClass::Authentication
                );
            if !elsewhere {
                return Err(error);
            }
            last = Some(error);
        }
        Err(last.unwrap_or_else(|| {
            ModelError::new(ErrorClass::Billing, "no provider is left for side tasks")
        }))
    }

    fn task(&self, name: &str) -> Task {
        let config = self.models.config();
        let section = config.section(&format!("auxiliary.{name}"));
        let selection = selection_of(&section).filter(|selection| {
            selection.base_url.is_some()
                || selection.model.is_some()
                || selection
                    .provider
                    .as_deref()
                    .is_some_and(|provider| provider != "auto")
        });
        let chain = section["fallback_chain"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(selection_of)
            .collect();
        Task {
            selection,
            chain,
            timeout: section["timeout"]
                .as_f64()
                .filter(|seconds| *seconds > 0.0)
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .unwrap_or(DEFAULT_TIMEOUT),
            extra_body: section["extra_body"]
                .as_object()
                .cloned()
                .unwrap_or_default(),
        }
    }

    /// Whom to ask, in order. Opened one by one, so that a provider is only set up
    /// when those before it failed.
    fn candidates<'a>(
        &'a self,
        task: &'a Task,
    ) -> impl Iterator<Item = Result<Arc<dyn Model>, OpenError>> + 'a {
        let main = || Some(Ok(Arc::clone(&self.main)));
        let set = task
            .selection
            .iter()
            .chain(&task.chain)
            .map(|selection| self.open(selection, task));
        let others = self.others(task.selection.is_none());
        set.chain(std::iter::once_with(main).flatten()).chain(
            others
                .into_iter()
                .map(|selection| self.open(&selection, task)),
        )
    }

    fn open(&self, selection: &Selection, task: &Task) -> Result<Arc<dyn Model>, OpenError> {
        let mut selection = selection.clone();
        // A model without a provider is one of the main provider.
        if selection.provider.as_deref().is_none_or(|p| p == "auto") && selection.base_url.is_none()
        {
            selection.provider = Some(self.main.provider().to_owned());
        }
        let mut resolved = self.models.resolve(&selection)?;
        resolved
            .endpoint
            .form
            .extra_body
            .extend(task.extra_body.clone());
        Ok(Arc::new(self.models.open_single(resolved)?))
    }

    /// Providers with a key and a small model, when the user chose nothing.
    fn others(&self, automatic: bool) -> Vec<Selection> {
        if !automatic {
            return Vec::new();
        }
        let main = self.main.provider();
        let found = self.models.with_sources(|sources| {
            usable_providers(sources)
                .filter(|provider| provider.id != main)
                .filter_map(|provider| {
                    Some(Selection::of(
                        Some(&provider.id),
                        Some(provider.aux_model.as_deref()?),
                    ))
                })
                .collect()
        });
        found.unwrap_or_default()
    }

    fn is_unhealthy(&self, provider: &str) -> bool {
        self.unhealthy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(provider)
            .is_some_and(|since| since.elapsed() < UNHEALTHY_FOR)
    }

    fn mark_unhealthy(&self, provider: &str) {
        self.unhealthy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(provider.to_owned(), Instant::now());
    }
}

fn selection_of(tree: &Value) -> Option<Selection> {
    tree.as_object()?;
    let named = |name: &str| {
        tree[name]
            .as_str()
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    Some(Selection {
        provider: named("provider"),
        model: named("model"),
        base_url: named("base_url"),
        api_key: named("api_key"),
        api_mode: named("api_mode"),
    })
}

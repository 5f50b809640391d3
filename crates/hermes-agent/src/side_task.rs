//! A task of the auxiliary models behind the contract of a model, so that the
//! loop need not know the difference.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use hermes_llm::{Auxiliary, Delta, DeltaStream, Model, ModelError, Models, Request};
use hermes_types::{Cost, Usage};

pub struct SideTask {
    auxiliary: Auxiliary,
    main: Arc<dyn Model>,
    task: &'static str,
    window: Option<u64>,
}

impl SideTask {
    /// `task` is the name below `auxiliary`; `main` is the conversation's model.
    pub fn new(models: Models, main: Arc<dyn Model>, task: &'static str) -> Self {
        Self {
            auxiliary: Auxiliary::new(models, Arc::clone(&main)),
            main,
            task,
            window: None,
        }
    }

    /// With the window of the task's own model, when the user named it.
    pub fn with_window(mut self, window: Option<u64>) -> Self {
        self.window = window;
        self
    }
}

impl Model for SideTask {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<DeltaStream, ModelError>> {
        Box::pin(async move {
            let answer = self.auxiliary.ask(self.task, request).await?;
            let mut deltas = vec![Delta::Text(answer.text)];
            deltas.extend(answer.usage.map(Delta::Usage));
            Ok(stream::iter(deltas).map(Ok).boxed())
        })
    }

    fn name(&self) -> &str {
        self.task
    }

    fn provider(&self) -> &str {
        "auxiliary"
    }

    fn context_window(&self) -> u64 {
        self.window.unwrap_or_else(|| self.main.context_window())
    }

    /// The price of whoever answers is not known here.
    fn cost(&self, usage: &Usage) -> Cost {
        self.main.cost(usage)
    }
}

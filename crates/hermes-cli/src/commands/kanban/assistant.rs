//! The models behind triage: asked one question at a time, on a runtime that is
//! made for it.

use std::sync::Arc;

use hermes_config::Config;
use hermes_home::{Clock, Home};
use hermes_http::Http;
use hermes_kanban::triage::{Assistant, NoAnswer, Question};
use hermes_llm::resolve::Selection;
use hermes_llm::{Auxiliary, Models, Request, RequestLimits, http_settings};
use hermes_types::Message;

use crate::{CommandError, Context};

pub(super) struct ModelAssistant {
    config: Config,
    home: Home,
    clock: Clock,
}

impl ModelAssistant {
    /// Opens nothing yet: most verbs never ask.
    pub(super) fn new(context: &Context) -> Result<Self, CommandError> {
        Ok(Self {
            config: context.config()?.clone(),
            home: context.home.clone(),
            clock: context.clock.clone(),
        })
    }
}

impl Assistant for ModelAssistant {
    fn ask(&self, question: &Question) -> Result<String, NoAnswer> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|_| NoAnswer::Unavailable)?;
        runtime.block_on(async {
            let models = Models::new(
                self.config.clone(),
                self.home.clone(),
                Http::new(http_settings(&self.config)),
                self.clock.clone(),
            );
            let opened = models.open(&Selection::default()).await;
            let main = opened.map_err(|_| NoAnswer::NotConfigured)?.model;
            let message = Arc::new(Message::user(question.user.as_str()));
            let request = Request {
                limits: RequestLimits {
                    max_output_tokens: Some(question.max_tokens),
                    temperature: Some(question.temperature),
                    effort: None,
                },
                ..Request::new(question.system.as_str(), vec![message])
            };
            let answer = Auxiliary::new(models, main)
                .ask(question.task, &request)
                .await;
            answer
                .map(|answer| answer.text)
                .map_err(|error| NoAnswer::Failed(format!("{:?}", error.class)))
        })
    }
}

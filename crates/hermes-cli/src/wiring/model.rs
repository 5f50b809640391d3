//! Which model a run talks to.

use std::sync::Arc;

use hermes_agent::demo::{DEMO_PROVIDER, DemoModel};
use hermes_http::Http;
use hermes_llm::resolve::{ResolveError, Selection};
use hermes_llm::{Model, Models, OpenError, http_settings};

use crate::cli::RunOptions;
use crate::{CommandError, Context, ErrorKind};

/// What the flags say; the rest is left to configuration and variables.
pub(crate) fn selection(options: &RunOptions) -> Selection {
    Selection::of(options.provider.as_deref(), options.model.as_deref())
}

pub(crate) fn open_models(context: &Context) -> Result<Models, CommandError> {
    let config = context.config()?;
    Ok(Models::new(
        config.clone(),
        context.home.clone(),
        Http::new(http_settings(config)),
        context.clock.clone(),
    ))
}

/// The conversation's model, with what people should know about it.
pub(super) async fn open(
    context: &Context,
    models: &Models,
    selection: &Selection,
) -> Result<(Arc<dyn Model>, Vec<String>), CommandError> {
    if is_demo(context, selection)? {
        return Ok((Arc::new(DemoModel), Vec::new()));
    }
    let opened = models.open(selection).await.map_err(refused)?;
    Ok((opened.model, opened.warnings))
}

/// Whether the built-in planner was asked for, by the same rules as any provider.
pub(crate) fn is_demo(context: &Context, selection: &Selection) -> Result<bool, CommandError> {
    let named = match &selection.provider {
        Some(name) => Some(name.clone()),
        None => context.config()?.optional_string("model.provider")?,
    };
    let named = named.filter(|name| !name.trim().is_empty());
    let name = named.as_deref().or_else(|| {
        context
            .environment
            .get_non_empty(hermes_home::env::INFERENCE_PROVIDER)
    });
    Ok(name.is_some_and(|name| name.trim().eq_ignore_ascii_case(DEMO_PROVIDER)))
}

/// Nobody is left without a next step.
pub(crate) fn refused(error: OpenError) -> CommandError {
    if matches!(error, OpenError::Resolve(ResolveError::NothingConfigured)) {
        return CommandError::new(ErrorKind::Config, error)
            .hint("use a provider's key: `hermes auth add openrouter`, or set `OPENROUTER_API_KEY`")
            .hint("use a model server of your own: `hermes config set model.base_url http://127.0.0.1:8080/v1`")
            .hint("look around without a model: `hermes --provider demo -z \"list the files here\"`");
    }
    let hint = error.hint();
    let error = CommandError::new(ErrorKind::Config, error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

//! What a conversation would send first, without sending it.

use std::path::Path;
use std::sync::Arc;

use hermes_agent::build::{Parts, Place, Wishes, build};
use hermes_agent::demo::DemoModel;
use hermes_agent::prompt::Composed;
use hermes_tools::StateHandle;
use hermes_tools::approval::Occasion;
use hermes_types::SessionId;
use serde_json::json;

use super::sandbox;
use crate::{CommandError, Context};

pub(crate) struct Sizes {
    pub(crate) prompt: Composed,
    pub(crate) model: String,
    pub(crate) tools: usize,
    /// As the chat format writes them.
    pub(crate) schema_bytes: usize,
}

/// Composes prompt and schemas; no model is opened and nothing is written.
pub(crate) fn measure(
    context: &Context,
    place: &Place,
    wishes: Wishes,
    cwd: &Path,
) -> Result<Sizes, CommandError> {
    let model = super::open_models(context)?
        .resolve(&super::selection(&context.global))
        .map(|resolved| {
            (
                resolved.endpoint.model().to_owned(),
                resolved.endpoint.provider,
            )
        })
        .unwrap_or_default();
    let wanted = sandbox::Wanted {
        occasion: Occasion::Worker,
        yolo: false,
        checkpoints: false,
    };
    let here = sandbox::place(context, cwd, wanted, Arc::new(drop))?;
    let built = build(
        place,
        &wishes,
        Parts {
            // Never asked: only the shape of the conversation matters.
            model: Arc::new(DemoModel),
            summarizer: None,
            titler: None,
            viewer: None,
            delegate_model: None,
            state: StateHandle::lazy(context.home.state_db(), context.clock.clone())?,
            tools: here.tools,
            spill: None,
        },
    )?;
    let names: Vec<&str> = built.setup.tools.names().collect();
    let prompt = built.setup.prompt.compose(
        &names,
        &model.0,
        &model.1,
        &SessionId::new("20260101_000000_000000"),
    );
    let specs = built.setup.tools.specs();
    let schemas: Vec<_> = specs
        .iter()
        .map(|spec| {
            json!({
                "type": "function",
                "function": {
                    "name": spec.name,
                    "description": spec.description,
                    "parameters": spec.parameters,
                },
            })
        })
        .collect();
    Ok(Sizes {
        prompt,
        model: model.0,
        tools: specs.len(),
        schema_bytes: json!(schemas).to_string().len(),
    })
}

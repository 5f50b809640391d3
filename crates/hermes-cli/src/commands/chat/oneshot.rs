//! `hermes -z PROMPT`: the answer on stdout and nothing else.

use std::io::Read;

use super::run::{Call, run};
use super::show::How;
use crate::{CommandError, Context, Exit, Out};

pub(crate) fn oneshot(
    prompt: &str,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let prompt = if prompt == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        text
    } else {
        prompt.to_owned()
    };
    if prompt.trim().is_empty() {
        return Err(CommandError::usage("the prompt of `-z` is empty")
            .hint("`hermes -z \"your question\"`, or `hermes -z -` to read it from stdin"));
    }
    let options = context.global.clone();
    let has_model = options.model.is_some()
        || context
            .environment
            .get_non_empty(hermes_home::env::INFERENCE_MODEL)
            .is_some();
    let is_demo = options.provider.as_deref() == Some(hermes_agent::demo::DEMO_PROVIDER);
    if options.provider.is_some() && !has_model && !is_demo {
        return Err(CommandError::usage("`--provider` needs a model beside it")
            .hint("add `-m MODEL`, or leave `--provider` out to use the configured one"));
    }
    run(
        Call {
            query: prompt,
            image: None,
            options,
            how: How::Answer,
            max_turns: None,
            checkpoints: false,
            source: None,
        },
        context,
        out,
    )
}

//! One plain answer beside the conversation (a summary, a title), paid for like
//! any other: reserved before it is asked for, settled after it.

use std::time::Duration;

use hermes_llm::{Answer, Model, Request};
use hermes_tools::StateError;
use hermes_types::{Cost, CostStatus, Usage};
use tokio_util::sync::CancellationToken;

use crate::history::weight;
use crate::spend::{Amount, Spend};

/// Output that an estimate expects when the request sets no limit.
const EXPECTED_OUTPUT: u32 = 4096;

/// An answer and what it consumed.
pub(crate) struct Paid {
    pub(crate) text: String,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
}

/// `None` when a budget forbids it, the model fails or the patience ends; the
/// reason is in the log. Cancelled or dropped, the estimate stays counted: the
/// provider has read the request.
pub(crate) async fn paid_answer(
    spend: &Spend,
    model: &dyn Model,
    request: &Request,
    patience: Duration,
    cancel: &CancellationToken,
) -> Result<Option<Paid>, StateError> {
    let expected = Usage {
        input: request.messages.iter().map(|m| weight(m) as u64 / 4).sum(),
        output: u64::from(request.limits.max_output_tokens.unwrap_or(EXPECTED_OUTPUT)),
        ..Usage::default()
    };
    let estimate = Amount::of(&expected, &model.cost(&expected));
    let reservation = match spend.reserve(estimate).await {
        Ok(reservation) => reservation,
        Err(error) => {
            tracing::warn!(%error, model = model.name(), "a side request was not sent");
            return Ok(None);
        }
    };
    let asking = async { Answer::collect(model.stream(request).await?).await };
    let outcome = tokio::select! {
        () = cancel.cancelled() => return Ok(None),
        outcome = tokio::time::timeout(patience, asking) => outcome,
    };
    let answer = match outcome {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::warn!(%error, model = model.name(), "a side request failed");
            None
        }
        Err(_) => {
            tracing::warn!(
                model = model.name(),
                "a side request was not answered in time"
            );
            None
        }
    };
    let Some(answer) = answer else {
        reservation.settle(Amount::default()).await?;
        return Ok(None);
    };
    let usage = answer.usage.unwrap_or(expected);
    let cost = match answer.charged {
        Some(usd) => Cost {
            usd,
            status: CostStatus::Actual,
        },
        None => model.cost(&usage),
    };
    reservation.settle(Amount::of(&usage, &cost)).await?;
    Ok(Some(Paid {
        text: crate::scrub::scrub(&answer.text).visible.trim().to_owned(),
        usage,
        cost,
    }))
}

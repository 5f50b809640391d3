//! One request and its answer, streamed.

use futures_util::StreamExt;
use hermes_llm::{ErrorClass, ModelError, Request, RequestLimits};
use hermes_types::{Cost, CostStatus, TurnEvent, Usage};
use tokio::sync::mpsc;

use super::response::{Assembler, Response, Shown};
use super::{Broken, Running};
use crate::agent::Agent;
use crate::spend::{Amount, SpendError};

/// Failed attempts that may wait to be told.
const RETRIES: usize = 16;

pub(super) enum Failure {
    /// With the text that was shown until then.
    Interrupted(String),
    Model(ModelError),
    Spent(SpendError),
}

impl Agent {
    pub(super) async fn ask(
        &mut self,
        turn: &mut Running,
    ) -> Result<Result<Response, Failure>, Broken> {
        let request = self.request(turn, true);
        self.send(request, turn).await
    }

    pub(super) async fn ask_without_tools(
        &mut self,
        turn: &mut Running,
    ) -> Result<Result<Response, Failure>, Broken> {
        let request = self.request(turn, false);
        self.send(request, turn).await
    }

    fn request(&self, turn: &Running, with_tools: bool) -> Request {
        let mut messages = self.setup.options.prefill.to_vec();
        messages.extend(self.history.request());
        let mut request = Request::new(self.wire_system(), messages);
        if with_tools {
            request.tools = std::sync::Arc::clone(&self.specs);
        }
        request.limits = RequestLimits {
            max_output_tokens: turn
                .max_output_tokens
                .or(self.setup.options.max_output_tokens),
            temperature: None,
            effort: self.setup.options.effort,
        };
        request.session = Some(self.session.id.as_str().into());
        request.retelling = Some(self.retelling());
        request
    }

    async fn send(
        &mut self,
        mut request: Request,
        turn: &mut Running,
    ) -> Result<Result<Response, Failure>, Broken> {
        let prompt = self.estimated_prompt();
        let (read, written) = self.estimates(prompt);
        let cap = request.limits.max_output_tokens;
        let reservation = match self.setup.spend.reserve_call(read, written, cap).await {
            Ok((reservation, cap)) => {
                request.limits.max_output_tokens = cap;
                reservation
            }
            Err(error) => return Ok(Err(Failure::Spent(error))),
        };
        turn.api_calls += 1;
        self.events
            .send(TurnEvent::Requesting {
                model: self.setup.model.name().to_owned(),
                provider: self.setup.model.provider().to_owned(),
                iteration: turn.iterations,
            })
            .await;
        let (retries, failed) = mpsc::channel(RETRIES);
        request.retries = Some(retries);
        let answer = self.stream(&request, failed).await;
        drop(request);
        let (usage, cost) = match &answer {
            Ok(response) => self.bill(response, prompt),
            // Refused requests cost nothing; an interrupted one has been read.
            Err(Failure::Model(_) | Failure::Spent(_)) => (Usage::default(), Cost::default()),
            Err(Failure::Interrupted(text)) => {
                let usage = Usage {
                    input: prompt,
                    output: (text.len() / 4) as u64,
                    ..Usage::default()
                };
                (usage, self.setup.model.cost(&usage))
            }
        };
        reservation.settle(Amount::of(&usage, &cost)).await?;
        if let Ok(response) = &answer {
            turn.add(usage, cost);
            self.session.record_usage(&self.setup, usage, cost).await?;
            self.compression
                .observe(response.usage.map(|usage| usage.prompt()), prompt);
            if self.setup.spend.should_tell_unknown_price(&cost) {
                self.events
                    .warn(format!(
                        "no price is known for {}: budgets in dollars cannot bind, only those in tokens",
                        self.setup.model.name()
                    ))
                    .await;
            }
            self.events
                .send(TurnEvent::Usage {
                    call: usage,
                    turn: turn.usage,
                    cost: turn.cost,
                    context_used: usage.prompt() + usage.output,
                    context_window: self.window(),
                })
                .await;
        }
        Ok(answer)
    }

    /// What this prompt and one token of its answer would cost.
    fn estimates(&self, prompt: u64) -> (Amount, Amount) {
        let of = |input, output| {
            let usage = Usage {
                input,
                output,
                ..Usage::default()
            };
            Amount::of(&usage, &self.setup.model.cost(&usage))
        };
        (of(prompt, 0), of(0, 1))
    }

    /// `failed` tells of attempts while others follow.
    async fn stream(
        &self,
        request: &Request,
        mut failed: mpsc::Receiver<String>,
    ) -> Result<Response, Failure> {
        let cancel = self.control.cancel_token();
        let mut assembler = Assembler::default();
        let mut opening = self.setup.model.stream(request);
        let opened = loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(Failure::Interrupted(String::new())),
                Some(attempt) = failed.recv() => self.events.notice(attempt).await,
                opened = &mut opening => break opened,
            }
        };
        let mut deltas = opened.map_err(Failure::Model)?;
        loop {
            let next = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    // Dropping the stream closes the connection.
                    drop(deltas);
                    let (response, shown) = assembler.broken();
                    self.show(shown).await;
                    return Err(Failure::Interrupted(response.text));
                }
                next = deltas.next() => next,
            };
            match next {
                Some(Ok(delta)) => {
                    let shown = assembler.push(delta);
                    self.show(shown).await;
                }
                // What was shown is kept and continued; what was not is an error.
                Some(Err(error)) if is_break(&error) && assembler.has_visible_text() => {
                    let (response, shown) = assembler.broken();
                    self.show(shown).await;
                    self.events
                        .notice(format!("the connection broke ({error}); going on"))
                        .await;
                    return Ok(response);
                }
                Some(Err(error)) => return Err(Failure::Model(error)),
                None => {
                    let (response, shown) = assembler.finish();
                    self.show(shown).await;
                    return Ok(response);
                }
            }
        }
    }

    async fn show(&self, shown: Vec<Shown>) {
        for one in shown {
            let event = match one {
                Shown::Text(delta) => TurnEvent::Text { delta },
                Shown::Reasoning(delta) => TurnEvent::Reasoning { delta },
                Shown::Pending { index, name } => TurnEvent::ToolPending { index, name },
                Shown::Notice(text) => TurnEvent::Notice { text },
                Shown::Warning(text) => TurnEvent::Warning { text },
                Shown::Discarded => TurnEvent::TextDiscarded,
            };
            self.events.send(event).await;
        }
    }

    /// What an answer consumed; estimated when the provider does not say.
    fn bill(&self, response: &Response, prompt: u64) -> (Usage, Cost) {
        let usage = response.usage.unwrap_or_else(|| Usage {
            input: prompt,
            output: ((response.text.len()
                + response.reasoning.len()
                + response
                    .calls
                    .iter()
                    .map(|call| call.arguments.len() + call.name.len())
                    .sum::<usize>())
                / 4) as u64,
            ..Usage::default()
        });
        let cost = match response.charged {
            Some(usd) => Cost {
                usd,
                status: CostStatus::Actual,
            },
            None => self.setup.model.cost(&usage),
        };
        (usage, cost)
    }
}

fn is_break(error: &ModelError) -> bool {
    matches!(
        error.class,
        ErrorClass::Dropped | ErrorClass::Connection | ErrorClass::Timeout | ErrorClass::Invalid
    )
}

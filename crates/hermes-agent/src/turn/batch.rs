//! The calls of one answer: which run, in what order, and what the model reads
//! afterwards. Every result is on disk before the next call starts.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use hermes_tools::coerce::coerce;
use hermes_tools::concurrency::compatible;
use hermes_tools::limits::{BATCH_LIMIT, limited, spilled};
use hermes_tools::{Reader, Tool, ToolContext, preview};
use hermes_types::{Content, Message, ToolCall, ToolOutput, TurnEvent};
use serde_json::Value;

use super::result::{MaskedEvents, cleaned, error_result, wrapped};
use super::{Broken, Running};
use crate::agent::Agent;
use crate::guardrails::{Finding, is_failure};
use crate::repair::{Arguments, read_arguments};

const CANCELLED: &str = "[Not finished: the user interrupted. It may have done part of its work.]";
const NOT_STARTED: &str = "[Not started: the user interrupted.]";
const HALTED: &str = "[Not started: the turn was stopped because earlier calls kept failing.]";

/// Calls that only keep house: an answer beside them is the answer.
const HOUSEKEEPING: [&str; 4] = ["memory", "todo", "skill_manage", "session_search"];

/// Calls that are run and stored: no exact duplicates, and no more delegations
/// than may run.
pub(super) fn kept(calls: Vec<ToolCall>, delegations: usize) -> Vec<ToolCall> {
    let mut seen = std::collections::HashSet::new();
    let mut delegated = 0;
    calls
        .into_iter()
        .filter(|call| seen.insert((call.name.clone(), call.arguments.clone())))
        .filter(|call| {
            if call.name == "delegate_task" {
                delegated += 1;
            }
            call.name != "delegate_task" || delegated <= delegations
        })
        .collect()
}

struct Prepared {
    call: ToolCall,
    tool: Arc<dyn Tool>,
    arguments: Value,
}

/// A call that has ended: what is stored, and what is shown once it is.
struct Finished {
    message: Message,
    seen: Vec<TurnEvent>,
}

impl Agent {
    /// Runs the calls of the assistant message that was just stored.
    pub(super) async fn run_batch(
        &mut self,
        calls: Vec<ToolCall>,
        text: &str,
        turn: &mut Running,
    ) -> Result<(), Broken> {
        turn.used_tools = true;
        turn.housekeeping_text = (!text.trim().is_empty()
            && calls
                .iter()
                .all(|call| HOUSEKEEPING.contains(&call.name.as_str())))
        .then(|| text.trim().to_owned());
        let only_code = calls.iter().all(|call| call.name == "execute_code");

        let prepared: Vec<Prepared> = calls
            .into_iter()
            .filter_map(|call| self.prepare(call))
            .collect();
        let rules: Vec<_> = prepared
            .iter()
            .map(|one| one.tool.concurrency(&one.arguments))
            .collect();
        let first = self.history.len();
        if compatible(&rules) {
            self.run_together(prepared, turn).await?;
        } else {
            self.run_in_order(prepared, turn).await?;
        }
        self.limit_batch(first).await?;
        if only_code {
            turn.refund();
        }
        Ok(())
    }

    fn prepare(&self, call: ToolCall) -> Option<Prepared> {
        let tool = Arc::clone(self.setup.tools.get(&call.name)?);
        let arguments = match read_arguments(&call.arguments) {
            Arguments::Object(map) => Value::Object(map),
            Arguments::Broken(_) => Value::Object(serde_json::Map::new()),
        };
        let schema = self
            .specs
            .iter()
            .find(|spec| spec.name == call.name)
            .map(|spec| &spec.parameters)?;
        Some(Prepared {
            arguments: coerce(schema, arguments),
            tool,
            call,
        })
    }

    async fn run_in_order(
        &mut self,
        prepared: Vec<Prepared>,
        turn: &mut Running,
    ) -> Result<(), Broken> {
        for one in prepared {
            if self.control.interrupted().is_some() {
                self.keep_note(&one.call, NOT_STARTED).await?;
                continue;
            }
            if turn.halted.is_some() {
                self.keep_note(&one.call, HALTED).await?;
                continue;
            }
            if let Finding::Halt { code, count } =
                turn.guardrails.before(&one.call.name, &one.arguments)
            {
                turn.halted = Some((code, count));
                self.keep_note(&one.call, HALTED).await?;
                continue;
            }
            self.announce(&one).await;
            let started = Instant::now();
            let context = self.context(&one.call);
            let output = run(&one, &context, self.setup.options.cancel_grace).await;
            let finished = self.finished(&one, output, started.elapsed(), turn).await;
            self.keep(finished.message).await?;
            for event in finished.seen {
                self.events.send(event).await;
            }
        }
        Ok(())
    }

    async fn run_together(
        &mut self,
        prepared: Vec<Prepared>,
        turn: &mut Running,
    ) -> Result<(), Broken> {
        for one in &prepared {
            self.announce(one).await;
        }
        let grace = self.setup.options.cancel_grace;
        let contexts: Vec<ToolContext> =
            prepared.iter().map(|one| self.context(&one.call)).collect();
        let mut calls: Vec<BoxFuture<'_, (usize, ToolOutput, Duration)>> = Vec::new();
        for (index, (one, context)) in prepared.iter().zip(&contexts).enumerate() {
            calls.push(Box::pin(async move {
                let started = Instant::now();
                let output = run(one, context, grace).await;
                (index, output, started.elapsed())
            }));
        }
        let mut running =
            stream::iter(calls).buffer_unordered(self.setup.options.parallel_calls.max(1));
        // On disk in the order in which they finish, in memory in the order of the
        // calls; loading sorts them the same way.
        let mut done: Vec<Option<(Message, Option<i64>)>> = vec![None; prepared.len()];
        while let Some((index, output, elapsed)) = running.next().await {
            let finished = self.finished(&prepared[index], output, elapsed, turn).await;
            let row = self.session.append(finished.message.clone()).await?;
            for event in finished.seen {
                self.events.send(event).await;
            }
            done[index] = Some((finished.message, row));
        }
        drop(running);
        for (message, row) in done.into_iter().flatten() {
            self.history.push(message, row);
        }
        Ok(())
    }

    fn context(&self, call: &ToolCall) -> ToolContext {
        ToolContext {
            session: self.session.id.clone(),
            task: self.task.clone(),
            call_id: call.id.clone(),
            round: self.history.calls(),
            reader: Reader::Model,
            cancel: self.control.cancel_token(),
            asker: Arc::clone(&self.asker),
            events: match self.setup.options.redact_secrets {
                true => Arc::new(MaskedEvents(self.events.clone())),
                false => Arc::new(self.events.clone()),
            },
        }
    }

    async fn announce(&self, one: &Prepared) {
        self.events
            .send(TurnEvent::ToolStarted {
                id: one.call.id.clone(),
                name: one.call.name.clone(),
                preview: one.tool.preview(&one.arguments),
                arguments: one.arguments.clone(),
            })
            .await;
    }

    /// From what the tool returned to the message that is stored, and what is shown
    /// once it is: nothing is seen that a crash could take back.
    async fn finished(
        &mut self,
        one: &Prepared,
        output: ToolOutput,
        elapsed: Duration,
        turn: &mut Running,
    ) -> Finished {
        let name = one.call.name.as_str();
        let mask = self.setup.options.redact_secrets;
        let mut text = cleaned(name, &output.text, mask);
        let summary = match &output.summary {
            Some(summary) => cleaned(name, summary, mask),
            None => preview::of_result(&text),
        };
        let failed = output.failed || is_failure(name, &text);
        turn.mutations.record(name, &one.arguments, failed);
        text = wrapped(name, text);
        if let Some(limit) = one.tool.result_limit() {
            text = limited(text, limit, &one.call.id, self.setup.spill.as_deref()).await;
        }
        match turn.guardrails.after(name, &one.arguments, &text, failed) {
            Finding::Fine => {}
            Finding::Warn(note) => text.push_str(&note),
            Finding::Halt { code, count } => turn.halted = Some((code, count)),
        }
        if let Some(hint) = self.hints.for_call(&one.arguments) {
            text.push_str(&hint);
        }
        let guidance = self.control.take_steer();
        if let Some(guidance) = &guidance {
            text.push_str(&guidance_note(guidance));
        }
        let duration_ms = elapsed.as_millis() as u64;
        tracing::info!(tool = name, failed, duration_ms, "a tool was called");
        let mut seen = vec![TurnEvent::ToolFinished {
            id: one.call.id.clone(),
            name: name.to_owned(),
            failed,
            duration_ms,
            summary,
            diff: output.diff.map(|diff| cleaned(name, &diff, mask)),
        }];
        seen.extend(guidance.map(|text| TurnEvent::Steered { text }));
        let content = ToolOutput {
            text,
            images: output.images,
            ..ToolOutput::default()
        }
        .into_content();
        Finished {
            message: Message::tool_result(&one.call, content),
            seen,
        }
    }

    async fn keep_note(&mut self, call: &ToolCall, note: &str) -> Result<(), Broken> {
        self.keep(Message::tool_result(call, note)).await
    }

    /// Spills the largest results until the batch fits.
    async fn limit_batch(&mut self, first: usize) -> Result<(), Broken> {
        let mut sizes: Vec<(usize, usize)> = self
            .history
            .messages()
            .enumerate()
            .skip(first)
            .map(|(index, message)| (index, message.content.text().chars().count()))
            .collect();
        let mut total: usize = sizes.iter().map(|(_, size)| size).sum();
        sizes.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        for (index, size) in sizes {
            if total <= BATCH_LIMIT {
                break;
            }
            let Some(message) = self.history.messages().nth(index) else {
                break;
            };
            let text = message.content.text();
            let id = message.tool_call_id.clone().unwrap_or_default();
            let shorter = spilled(
                text,
                size,
                BATCH_LIMIT / 8,
                &id,
                self.setup.spill.as_deref(),
            )
            .await;
            total = total - size + shorter.chars().count();
            let content = Content::Text(shorter);
            if let Some(row) = self.history.set_content(index, content.clone()) {
                self.session.set_content(row, content).await?;
            }
        }
        Ok(())
    }
}

pub(super) fn guidance_note(guidance: &str) -> String {
    format!("\n\nUser guidance: {guidance}")
}

/// Runs one call to its end; neither a panic nor an interrupt ends the turn here.
async fn run(one: &Prepared, context: &ToolContext, grace: Duration) -> ToolOutput {
    let work = AssertUnwindSafe(one.tool.call(context, one.arguments.clone())).catch_unwind();
    tokio::pin!(work);
    let outcome = tokio::select! {
        outcome = &mut work => outcome,
        () = context.cancel.cancelled() => match tokio::time::timeout(grace, &mut work).await {
            Ok(outcome) => outcome,
            Err(_) => return ToolOutput {
                text: CANCELLED.to_owned(),
                failed: true,
                ..ToolOutput::default()
            },
        },
    };
    outcome.unwrap_or_else(|panic| {
        let why = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "unknown".to_owned());
        tracing::error!(tool = one.call.name, why, "a tool panicked");
        error_result(&format!("the tool {} failed inside: {why}", one.call.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall {
            id: arguments.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            extra: None,
        }
    }

    #[test]
    fn duplicates_and_excess_delegations_are_dropped() {
        let names: Vec<String> = kept(
            vec![
                call("terminal", "1"),
                call("terminal", "1"),
                call("delegate_task", "a"),
                call("delegate_task", "b"),
                call("delegate_task", "c"),
                call("terminal", "2"),
            ],
            2,
        )
        .into_iter()
        .map(|call| format!("{} {}", call.name, call.arguments))
        .collect();
        assert_eq!(
            names,
            [
                "terminal 1",
                "delegate_task a",
                "delegate_task b",
                "terminal 2"
            ]
        );
    }
}

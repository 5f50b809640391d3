//! One turn: from a person's message to the answer. The order of steps is the
//! promise of this module: what a step produced is on disk before the next one
//! starts, and an interrupt is noticed between and within all of them.

mod ask;
mod batch;
mod finish;
mod judge;
mod mutations;
mod response;
mod result;
mod words;

use hermes_tools::StateError;
use hermes_types::{Content, Cost, Message, Role, TurnEvent, TurnOutcome, Usage};
use tracing::Instrument as _;

use crate::agent::Agent;
use crate::guardrails::Guardrails;
use crate::hold::Turn;
use crate::repair::closest_tool;
use crate::setup::sum;
use crate::spend::SpendError;

use ask::Failure;
use batch::guidance_note;
use finish::End;
use judge::{Facts, Tries, Verdict, judge};
use mutations::Mutations;
use response::{Finish, Response};

/// A session that cannot be written ends the turn: going on would be lost work.
pub(crate) type Broken = StateError;

/// What lives for one turn.
pub(crate) struct Running {
    tries: Tries,
    guardrails: Guardrails,
    mutations: Mutations,
    iterations: u32,
    api_calls: u32,
    usage: Usage,
    cost: Cost,
    /// Pieces of an answer that was cut and continued.
    pieces: Vec<String>,
    /// What the provider wants back with those pieces.
    piece_details: Vec<serde_json::Value>,
    housekeeping_text: Option<String>,
    used_tools: bool,
    halted: Option<(&'static str, u32)>,
    compressions: u32,
    /// Room for the next answer, when it differs from the configured one.
    max_output_tokens: Option<u32>,
    /// A window that a refusal named, with which the same was asked again.
    named_window: Option<u64>,
}

impl Running {
    pub(crate) fn new(agent: &Agent) -> Self {
        Self {
            tries: Tries::default(),
            guardrails: Guardrails::new(agent.setup.options.guardrails),
            mutations: Mutations::default(),
            iterations: 0,
            api_calls: 0,
            usage: Usage::default(),
            cost: Cost::default(),
            pieces: Vec::new(),
            piece_details: Vec::new(),
            housekeeping_text: None,
            used_tools: false,
            halted: None,
            compressions: 0,
            max_output_tokens: None,
            named_window: None,
        }
    }

    /// Code that calls tools itself does not use up a round.
    fn refund(&mut self) {
        self.iterations = self.iterations.saturating_sub(1);
    }

    /// A call beside the conversation, such as one for a summary.
    pub(crate) fn spent(&mut self, usage: Usage, cost: Cost) {
        self.api_calls += 1;
        self.add(usage, cost);
    }

    fn add(&mut self, usage: Usage, cost: Cost) {
        self.usage += usage;
        self.cost = sum(self.cost, cost);
    }

    /// Gives an answer what belongs to the pieces before it.
    fn complete(&mut self, response: &mut Response) {
        let last = std::mem::take(&mut response.details);
        response.details = std::mem::take(&mut self.piece_details);
        response.details.extend(last);
    }

    /// The whole text when an answer came in pieces.
    fn joined(&mut self, last: &str) -> String {
        let mut text = self.pieces.concat();
        self.pieces.clear();
        text.push_str(last);
        text
    }
}

impl Agent {
    /// Runs one turn to its end. Never fails: what went wrong is in the outcome.
    pub async fn turn(&mut self, input: impl Into<Content>) -> TurnOutcome {
        let mut turn = Running::new(self);
        let span = tracing::info_span!("turn", session = %self.session.id);
        let run = self
            .run_turn(input.into(), &mut turn)
            .instrument(span.clone());
        let end = match run.await {
            Ok(end) if end.was_interrupted() => match self.session.end_children().await {
                Ok(()) => end,
                Err(error) => End::failed(format!("the session cannot be stored: {error}")),
            },
            Ok(end) => end,
            Err(error) => End::failed(format!("the session cannot be stored: {error}")),
        };
        self.history.clear_transient();
        let outcome = self.outcome(end, turn);
        span.in_scope(|| self.log(&outcome));
        self.write_snapshot().await;
        self.control.clear();
        self.events
            .send(TurnEvent::Finished {
                outcome: outcome.clone(),
            })
            .await;
        outcome
    }

    fn log(&self, outcome: &TurnOutcome) {
        let (model, calls) = (self.setup.model.name(), outcome.api_calls);
        let (input, output) = (outcome.usage.input, outcome.usage.output);
        match &outcome.error {
            None => tracing::info!(model, calls, input, output, "a turn was answered"),
            Some(error) => {
                tracing::warn!(model, calls, reason = ?outcome.reason, error, "a turn ended early");
            }
        }
    }

    async fn run_turn(&mut self, input: Content, turn: &mut Running) -> Result<End, Broken> {
        self.setup.model.begin_turn();
        // Until the turn has ended, however it does.
        let _hold = match self.hold().await? {
            Turn::Ours(hold) => hold,
            Turn::Refused(why) => return Ok(End::failed(why)),
            Turn::Interrupted => return Ok(End::interrupted(String::new())),
        };
        self.start(input).await?;
        self.describe_pictures(turn).await?;
        self.compress_before_turn(turn).await?;
        loop {
            if self.control.interrupted().is_some() {
                return Ok(End::interrupted(String::new()));
            }
            if turn.iterations >= self.setup.options.max_iterations {
                return self.sum_up(turn).await;
            }
            turn.iterations += 1;
            self.deliver_guidance().await?;
            let response = match self.ask_with_recovery(turn).await? {
                Ok(response) => response,
                Err(end) => return Ok(end),
            };
            if let Some(end) = self.act_on(response, turn).await? {
                return Ok(end);
            }
        }
    }

    /// The user's message is on disk and the prompt is fixed before anything else.
    async fn start(&mut self, input: Content) -> Result<(), Broken> {
        self.prepare_session().await?;
        self.setup.spend.begin_turn(&self.session.id);
        self.keep(Message::user(input)).await?;
        self.events
            .send(TurnEvent::Started {
                session: self.session.id.clone(),
            })
            .await;
        Ok(())
    }

    /// Stores a message and takes it into the history.
    pub(crate) async fn keep(&mut self, message: Message) -> Result<(), Broken> {
        let row = self.session.append(message.clone()).await?;
        self.history.push(message, row);
        Ok(())
    }

    /// Guidance goes below the newest tool result; anywhere else it would break the
    /// alternation of roles, so it waits.
    async fn deliver_guidance(&mut self) -> Result<(), Broken> {
        let Some(guidance) = self.control.take_steer() else {
            return Ok(());
        };
        match self
            .history
            .append_to_last_result(&guidance_note(&guidance))
        {
            Some((row, content)) => {
                if let Some(row) = row {
                    self.session.set_content(row, content).await?;
                }
                self.events
                    .send(TurnEvent::Steered { text: guidance })
                    .await;
            }
            None => self.control.steer(&guidance),
        }
        Ok(())
    }

    /// One answer; conversations that do not fit are compressed and tried again.
    async fn ask_with_recovery(
        &mut self,
        turn: &mut Running,
    ) -> Result<Result<Response, End>, Broken> {
        const MAX_COMPRESSIONS: u32 = 3;
        loop {
            match self.ask(turn).await? {
                Ok(response) => return Ok(Ok(response)),
                Err(Failure::Interrupted(partial)) => {
                    let text = turn.joined(&partial);
                    if !text.trim().is_empty() {
                        let message = Message {
                            finish_reason: Some("interrupted".to_owned()),
                            ..Message::assistant(text.as_str())
                        };
                        self.keep(message).await?;
                    }
                    return Ok(Err(End::interrupted(text)));
                }
                Err(Failure::Spent(SpendError::Reached(reached))) => {
                    return self.out_of_budget(turn, reached.to_string()).await.map(Err);
                }
                Err(Failure::Spent(SpendError::State(error))) => return Err(error),
                Err(Failure::Model(error)) => {
                    if let Some(room) = error.output_room.filter(|room| *room > 64)
                        && turn.max_output_tokens.is_none()
                    {
                        turn.max_output_tokens = u32::try_from(room - 64).ok();
                        continue;
                    }
                    if error.class.wants_compression() {
                        if let Some(limit) = error.context_limit {
                            self.compression.adopt_window(limit);
                        }
                        if !self.setup.options.compression.enabled {
                            return Ok(Err(End::failed(format!(
                                "the conversation does not fit the model's context and compression is off: {error}; use /compress or /new, or set compression.enabled"
                            ))));
                        }
                        if turn.compressions < MAX_COMPRESSIONS {
                            turn.compressions += 1;
                            if self.compress(turn, None).await? {
                                continue;
                            }
                        }
                        // Nothing to compress, but what there is fits the window
                        // that was named: ask once more within it.
                        if let Some(limit) = error.context_limit
                            && turn.named_window != Some(limit)
                            && self.estimated_prompt() < limit
                        {
                            turn.named_window = Some(limit);
                            continue;
                        }
                    }
                    return Ok(Err(End::model(&error)));
                }
            }
        }
    }

    /// Does what the verdict on an answer says. `Some` ends the turn.
    async fn act_on(
        &mut self,
        mut response: Response,
        turn: &mut Running,
    ) -> Result<Option<End>, Broken> {
        self.mend_names(&mut response);
        let verdict = {
            let facts = self.facts(turn);
            judge(&response, &mut turn.tries, &facts)
        };
        turn.max_output_tokens = None;
        match verdict {
            Verdict::Answer(text) => {
                // The space between two pieces belongs to the second one.
                let text = match turn.pieces.is_empty() || response.text.trim().is_empty() {
                    true => turn.joined(&text),
                    false => crate::scrub::final_text(&turn.joined(&response.text)),
                };
                if response.finish == Finish::ContentFilter {
                    self.events
                        .warn("a content filter ended this answer; it may lack its end".to_owned())
                        .await;
                }
                self.history.clear_transient();
                turn.complete(&mut response);
                self.keep(response.into_message(text.clone())).await?;
                self.events.send(TurnEvent::AssistantStored).await;
                return Ok(Some(End::answered(text)));
            }
            Verdict::RunTools => {
                self.run_tools(response, turn).await?;
                if let Some((code, count)) = turn.halted {
                    return self.halt(code, count).await.map(Some);
                }
                if self.control.interrupted().is_none() {
                    self.compress_if_full(turn).await?;
                }
            }
            Verdict::Correct(results) => {
                let text = turn.joined(&response.text);
                self.history.clear_transient();
                turn.complete(&mut response);
                self.keep(response.into_message(text)).await?;
                self.events.send(TurnEvent::AssistantStored).await;
                for (call, text) in results {
                    self.keep(Message::tool_result(&call, text)).await?;
                }
            }
            Verdict::Resend { max_output_tokens } => {
                turn.max_output_tokens = max_output_tokens;
                // The same question again, not another round.
                turn.refund();
                if !response.text.is_empty() {
                    self.events.send(TurnEvent::TextDiscarded).await;
                }
            }
            Verdict::Continue { max_output_tokens } => {
                // More room mends what was too long, not what broke.
                turn.max_output_tokens = (!response.broke).then_some(max_output_tokens);
                turn.refund();
                let lost = !response.lost_calls.is_empty();
                if lost {
                    self.events
                        .notice(format!(
                            "the connection broke while the model wrote a call of {}; it goes on from there",
                            response.lost_calls.join(", ")
                        ))
                        .await;
                }
                self.history
                    .push_transient(Message::assistant(response.text.as_str()));
                turn.pieces.push(response.text);
                self.history.push_transient(Message::user(if lost {
                    words::CONTINUE_SMALLER
                } else if response.broke {
                    words::CONTINUE_BROKEN
                } else {
                    words::CONTINUE
                }));
            }
            Verdict::GoOn => {
                let text = response.text.clone();
                // A call that was written as prose is no part of the answer.
                if text.contains("to=functions.") {
                    self.events.send(TurnEvent::TextDiscarded).await;
                } else {
                    turn.pieces.push(text.clone());
                    turn.piece_details.extend(response.details.iter().cloned());
                }
                self.history.push_transient(response.into_message(text));
                self.history.push_transient(Message::user(words::GO_ON));
            }
            Verdict::Nudge => {
                self.history.push_transient(Message::assistant("(empty)"));
                self.history.push_transient(Message::user(words::NUDGE));
            }
            Verdict::KeepPromise => {
                self.history
                    .push_transient(Message::assistant(response.text.as_str()));
                self.history
                    .push_transient(Message::user(words::KEEP_PROMISE));
            }
            Verdict::FallBack(why) => {
                if self.setup.model.fall_back() {
                    self.events
                        .notice(format!(
                            "{why}; going on with {} ({})",
                            self.setup.model.name(),
                            self.setup.model.provider()
                        ))
                        .await;
                } else {
                    let facts = self.facts(turn);
                    let last = judge(&response, &mut turn.tries, &facts);
                    if let Verdict::Stop { partial, why } = last {
                        return self.stop(response, turn, partial, why).await.map(Some);
                    }
                }
            }
            Verdict::Stop { partial, why } => {
                return self.stop(response, turn, partial, why).await.map(Some);
            }
        }
        Ok(None)
    }

    /// The assistant message is on disk before its calls run.
    async fn run_tools(
        &mut self,
        mut response: Response,
        turn: &mut Running,
    ) -> Result<(), Broken> {
        response.calls = batch::kept(
            std::mem::take(&mut response.calls),
            self.setup.options.delegations_per_batch,
        );
        let calls = response.calls.clone();
        let text = turn.joined(&response.text);
        self.history.clear_transient();
        turn.complete(&mut response);
        self.keep(response.into_message(text.clone())).await?;
        self.events.send(TurnEvent::AssistantStored).await;
        self.run_batch(calls, &text, turn).await
    }

    async fn halt(&mut self, code: &str, count: u32) -> Result<End, Broken> {
        let text = words::halted(code, count);
        self.keep(Message::assistant(text.as_str())).await?;
        Ok(End::guardrail(
            text,
            format!("{code} after {count} repetitions"),
        ))
    }

    /// What was written until then stays.
    async fn out_of_budget(&mut self, turn: &mut Running, why: String) -> Result<End, Broken> {
        let text = turn.joined("").trim().to_owned();
        self.history.clear_transient();
        if !text.is_empty() {
            let message = Message {
                finish_reason: Some(Finish::Length.as_str().to_owned()),
                ..Message::assistant(text.as_str())
            };
            self.keep(message).await?;
        }
        Ok(End::budget(text, why))
    }

    async fn stop(
        &mut self,
        response: Response,
        turn: &mut Running,
        partial: bool,
        why: String,
    ) -> Result<End, Broken> {
        let text = turn.joined(&response.text).trim().to_owned();
        self.history.clear_transient();
        if !text.is_empty() {
            let message = Message {
                finish_reason: Some(Finish::Length.as_str().to_owned()),
                ..Message::assistant(text.as_str())
            };
            self.keep(message).await?;
        }
        Ok(if partial {
            End::partial(text, why)
        } else {
            End::failed(why)
        })
    }

    /// Out of rounds: one request without tools for a summary of where things are.
    async fn sum_up(&mut self, turn: &mut Running) -> Result<End, Broken> {
        let limit = self.setup.options.max_iterations;
        self.events
            .notice(format!(
                "the limit of {limit} rounds is reached; asking for a summary"
            ))
            .await;
        self.history.clear_transient();
        self.history.push_transient(Message::user(words::SUM_UP));
        for _ in 0..2 {
            match self.ask_without_tools(turn).await? {
                Ok(response) => {
                    let text = turn.joined(&crate::scrub::final_text(&response.text));
                    if !text.trim().is_empty() {
                        self.history.clear_transient();
                        self.keep(response.into_message(text.clone())).await?;
                        return Ok(End::iteration_limit(text, limit));
                    }
                }
                Err(Failure::Interrupted(text)) => return Ok(End::interrupted(text)),
                Err(Failure::Model(error)) => return Ok(End::model(&error)),
                Err(Failure::Spent(error)) => {
                    return Ok(End::budget(String::new(), error.to_string()));
                }
            }
        }
        Ok(End::failed(format!(
            "the limit of {limit} rounds is reached and the model wrote no summary"
        )))
    }

    fn mend_names(&self, response: &mut Response) {
        for call in &mut response.calls {
            if self.setup.tools.get(&call.name).is_none() {
                let names: Vec<&str> = self.setup.tools.names().collect();
                if let Some(name) = closest_tool(&call.name, names.into_iter()) {
                    call.name = name.to_owned();
                }
            }
        }
    }

    fn facts(&self, turn: &Running) -> Facts<'_> {
        let model = self.setup.model.name().to_lowercase();
        let provider = self.setup.model.provider();
        Facts {
            tools: self.setup.tools.names().collect(),
            max_output_tokens: self
                .setup
                .options
                .max_output_tokens
                .or_else(|| self.setup.model.default_output()),
            recent_tool_result: self
                .history
                .messages()
                .rev()
                .take(5)
                .any(|message| message.role == Role::Tool),
            housekeeping_text: turn.housekeeping_text.clone(),
            stops_early: model.contains("glm") && matches!(provider, "custom" | "ollama" | "local"),
            announces: matches!(
                provider,
                "openai-codex" | "openai-api" | "xai" | "xai-oauth"
            ),
            used_tools: turn.used_tools,
        }
    }
}

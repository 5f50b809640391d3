//! A model that obeys a script, tools that do what a test says, and a stage for
//! both.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use hermes_agent::prompt::Prompt;
use hermes_agent::spend::Spend;
use hermes_agent::{Agent, Control, Events, Options, Setup};
use hermes_home::Clock;
use hermes_llm::{Delta, DeltaStream, ErrorClass, FinishReason, Model, ModelError, Request};
use hermes_store::StoredMessage;
use hermes_testkit::TestHome;
use hermes_tools::{Registry, StateHandle, Tool, ToolContext};
use hermes_types::{Cost, CostStatus, SessionId, ToolOutput, ToolSpec, TurnEvent, Usage};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};

pub enum Step {
    Delta(Delta),
    Fail(ModelError),
    /// Waits until it is told.
    Wait(Arc<Notify>),
}

pub type Answer = Vec<Step>;

fn steps(deltas: Vec<Delta>) -> Answer {
    deltas.into_iter().map(Step::Delta).collect()
}

pub fn say(text: &str) -> Answer {
    steps(vec![
        Delta::Text(text.into()),
        Delta::Finish(FinishReason::Stop),
    ])
}

pub fn say_using(text: &str, prompt: u64) -> Answer {
    let mut answer = say(text);
    answer.push(Step::Delta(Delta::Usage(Usage {
        input: prompt,
        output: 10,
        ..Usage::default()
    })));
    answer
}

pub fn cut(text: &str) -> Answer {
    steps(vec![
        Delta::Text(text.into()),
        Delta::Finish(FinishReason::Length),
    ])
}

pub fn nothing() -> Answer {
    steps(vec![Delta::Finish(FinishReason::Stop)])
}

pub fn call(name: &str, arguments: Value) -> Answer {
    calls("", &[(name, arguments)])
}

pub fn calls(text: &str, list: &[(&str, Value)]) -> Answer {
    let mut deltas = Vec::new();
    if !text.is_empty() {
        deltas.push(Delta::Text(text.into()));
    }
    for (slot, (name, arguments)) in list.iter().enumerate() {
        let slot = slot as u32;
        deltas.push(Delta::ToolCall {
            slot,
            id: format!("call_{name}_{slot}_{}", arguments.to_string().len()),
            name: (*name).into(),
            extra: None,
        });
        deltas.push(Delta::Arguments {
            slot,
            text: match arguments {
                Value::String(raw) => raw.clone(),
                other => other.to_string(),
            },
        });
    }
    deltas.push(Delta::Finish(FinishReason::ToolCalls));
    steps(deltas)
}

pub fn fail(class: ErrorClass) -> Answer {
    vec![Step::Fail(ModelError::new(class, format!("{class:?}")))]
}

/// Answers from a script and remembers what it was asked.
pub struct Script {
    answers: Mutex<VecDeque<Answer>>,
    pub requests: Mutex<Vec<Request>>,
    pub window: u64,
    pub price: Option<f64>,
}

impl Script {
    pub fn new(answers: Vec<Answer>) -> Arc<Self> {
        Self::with_window(answers, 200_000)
    }

    pub fn with_window(answers: Vec<Answer>, window: u64) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.into()),
            requests: Mutex::default(),
            window,
            price: None,
        })
    }

    pub fn push(&self, answer: Answer) {
        self.answers.lock().unwrap().push_back(answer);
    }

    pub fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    pub fn request(&self, index: usize) -> Request {
        self.requests.lock().unwrap()[index].clone()
    }

    pub fn last(&self) -> Request {
        self.requests.lock().unwrap().last().unwrap().clone()
    }

    /// All requests as numbered short lines.
    pub fn seen(&self) -> String {
        let mut out = String::new();
        for (number, request) in self.requests.lock().unwrap().iter().enumerate() {
            let _ = writeln!(out, "== request {}", number + 1);
            out.push_str(&rendered(request));
        }
        out
    }
}

pub fn rendered(request: &Request) -> String {
    let mut out = String::new();
    let tools: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    let _ = writeln!(out, "tools: {}", tools.join(" "));
    if let Some(tokens) = request.limits.max_output_tokens {
        let _ = writeln!(out, "max_output_tokens: {tokens}");
    }
    for (index, message) in request.messages.iter().enumerate() {
        let text = message.content.text();
        let short: String = text.chars().take(300).collect();
        let _ = writeln!(
            out,
            "{index:02} {}{}: {short:?}{}",
            message.role.as_str(),
            message
                .tool_call_id
                .as_ref()
                .map(|id| format!("({id})"))
                .unwrap_or_default(),
            if short.len() < text.len() { "…" } else { "" },
        );
        for call in &message.tool_calls {
            let _ = writeln!(out, "   -> {} {} {}", call.id, call.name, call.arguments);
        }
    }
    out
}

impl Model for Script {
    fn stream<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<DeltaStream, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async move {
            let answer = answer.expect("the script has an answer for every request");
            if let [Step::Fail(error)] = answer.as_slice() {
                return Err(error.clone());
            }
            let deltas = stream::iter(answer).then(|step| async move {
                match step {
                    Step::Delta(delta) => Some(Ok(delta)),
                    Step::Fail(error) => Some(Err(error)),
                    Step::Wait(signal) => {
                        signal.notified().await;
                        None
                    }
                }
            });
            Ok(deltas.filter_map(|step| async move { step }).boxed())
        })
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn provider(&self) -> &str {
        "test"
    }

    fn context_window(&self) -> u64 {
        self.window
    }

    fn cost(&self, usage: &Usage) -> Cost {
        match self.price {
            Some(per_token) => Cost {
                usd: usage.total() as f64 * per_token,
                status: CostStatus::Estimated,
            },
            None => Cost::default(),
        }
    }
}

type Work = dyn Fn(Value) -> BoxFuture<'static, ToolOutput> + Send + Sync;

/// A tool whose work is a closure.
pub struct Fake {
    name: String,
    work: Box<Work>,
    pub log: Arc<Mutex<Vec<Value>>>,
}

impl Fake {
    pub fn new<F>(name: &str, work: impl Fn(Value) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ToolOutput> + Send + 'static,
    {
        Self {
            name: name.to_owned(),
            work: Box::new(move |arguments| Box::pin(work(arguments))),
            log: Arc::default(),
        }
    }

    /// Answers with a fixed text.
    pub fn text(name: &str, text: &str) -> Self {
        let text = text.to_owned();
        Self::new(name, move |_| {
            let text = text.clone();
            async move { ToolOutput::text(text) }
        })
    }

    /// Answers like the terminal does.
    pub fn terminal(code: i32) -> Self {
        Self::new("terminal", move |arguments| async move {
            ToolOutput::json(
                &json!({"output": arguments["command"], "exit_code": code, "error": null}),
            )
        })
    }
}

impl Tool for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.clone(),
            description: format!("{} for tests", self.name),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "path": {"type": "string"},
                    "count": {"type": "integer"}
                }
            }),
        }
    }

    fn call<'a>(
        &'a self,
        _context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, ToolOutput> {
        self.log.lock().unwrap().push(arguments.clone());
        (self.work)(arguments)
    }
}

/// A home, its database, a script and tools.
pub struct Stage {
    pub home: TestHome,
    pub script: Arc<Script>,
    pub state: StateHandle,
    pub tools: Registry,
    pub options: Options,
    pub spend: Spend,
    pub control: Arc<Control>,
    pub clock: Clock,
}

impl Stage {
    pub fn new(answers: Vec<Answer>) -> Self {
        Self::on(TestHome::new(), Script::new(answers))
    }

    pub fn on(home: TestHome, script: Arc<Script>) -> Self {
        let clock = Clock::System;
        let state = StateHandle::open(home.path().join("state.db"), clock.clone()).unwrap();
        Self {
            state,
            script,
            tools: Registry::new(),
            options: Options {
                cwd: Some(home.project()),
                ..Options::default()
            },
            spend: Spend::unlimited(),
            control: Arc::default(),
            clock,
            home,
        }
    }

    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.add(tool);
        self
    }

    pub fn setup(&self) -> Setup {
        Setup {
            model: self.script.clone(),
            summarizer: None,
            titler: None,
            viewer: None,
            tools: self.tools.clone(),
            state: Some(self.state.clone()),
            prompt: Arc::new(Prompt::bare(
                self.home.home(),
                Some(&self.home.project()),
                Clock::fixed("2026-05-25T12:00:00Z".parse().unwrap()),
            )),
            spend: self.spend.clone(),
            todos: None,
            delegated: hermes_agent::Tally::default(),
            spill: None,
            options: self.options.clone(),
            clock: self.clock.clone(),
        }
    }

    pub fn agent(&self) -> Agent {
        Agent::new(self.setup(), Arc::clone(&self.control), Events::nowhere())
    }

    pub fn agent_with_events(&self) -> (Agent, mpsc::Receiver<TurnEvent>) {
        let (events, receiver) = Events::channel();
        (
            Agent::new(self.setup(), Arc::clone(&self.control), events),
            receiver,
        )
    }

    pub async fn resumed(&self, id: &SessionId) -> Agent {
        Agent::resume(
            self.setup(),
            Arc::clone(&self.control),
            Events::nowhere(),
            &self.state,
            id.clone(),
        )
        .await
        .unwrap()
    }

    pub async fn stored(&self, id: &SessionId) -> Vec<StoredMessage> {
        let id = id.clone();
        self.state
            .run(move |database| database.messages(&id))
            .await
            .unwrap()
    }

    pub async fn session(&self, id: &SessionId) -> hermes_store::Session {
        let id = id.clone();
        self.state
            .run(move |database| database.session(&id))
            .await
            .unwrap()
            .unwrap()
    }
}

/// `role text` for each stored message.
pub fn lines(stored: &[StoredMessage]) -> Vec<String> {
    stored
        .iter()
        .map(|row| {
            format!(
                "{} {}",
                row.message.role.as_str(),
                row.message.content.text()
            )
        })
        .collect()
}

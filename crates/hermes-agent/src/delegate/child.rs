//! One subagent: made, run, watched, ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use hermes_llm::Model;
use hermes_tools::builtin::TodoTool;
use hermes_tools::{TodoList, ToolContext};
use hermes_types::{Interrupt, StopReason, TurnEvent, TurnOutcome};
use serde_json::Value;

use super::report::{Ending, report};
use super::tool::{DelegateTool, DelegationLimits};
use crate::agent::Agent;
use crate::control::{Control, Events};
use crate::prompt::Prompt;
use crate::setup::Setup;

pub(super) struct Task {
    pub goal: String,
    pub context: Option<String>,
    pub tools: BTreeSet<String>,
    pub orchestrator: bool,
}

pub(super) struct Child<'a> {
    pub setup: &'a Setup,
    pub model: Option<&'a Arc<dyn Model>>,
    pub limits: &'a DelegationLimits,
    pub depth: u32,
    pub context: &'a ToolContext,
    pub index: usize,
}

impl Child<'_> {
    /// Runs the task to its end, its time limit or the parent's interrupt.
    pub(super) async fn run(self, task: Task) -> Value {
        let started = Instant::now();
        let control = Arc::new(Control::default());
        let (events, mut watched) = Events::channel();
        let mut agent = Agent::new(self.made_for(&task), Arc::clone(&control), events);
        let call_id = self.context.call_id.clone();
        let index = self.index as u32;
        let (outcome, ending) = {
            let turn = agent.turn(task.goal.as_str());
            tokio::pin!(turn);
            let deadline = tokio::time::sleep(self.limits.timeout);
            tokio::pin!(deadline);
            let mut ending = Ending::OfItself;
            loop {
                tokio::select! {
                    outcome = &mut turn => break (outcome, ending),
                    Some(event) = watched.recv() => self.pass_on(&call_id, index, event).await,
                    () = self.context.cancel.cancelled(), if ending == Ending::OfItself => {
                        ending = Ending::Interrupted;
                        control.interrupt(Interrupt::User);
                    }
                    () = &mut deadline, if ending == Ending::OfItself => {
                        ending = Ending::TimedOut;
                        control.interrupt(Interrupt::Shutdown);
                    }
                }
            }
        };
        while let Ok(event) = watched.try_recv() {
            self.pass_on(&call_id, index, event).await;
        }
        self.setup.delegated.add(outcome.usage, outcome.cost);
        self.close(&agent, &outcome).await;
        report(
            self.index,
            &agent,
            &outcome,
            ending,
            started.elapsed(),
            self.limits.timeout,
        )
    }

    fn made_for(&self, task: &Task) -> Setup {
        let mut setup = self.setup.clone();
        if let Some(model) = self.model {
            setup.model = Arc::clone(model);
        }
        setup.tools = setup.tools.only(&task.tools);
        let todos = TodoList::default();
        if task.tools.contains("todo") {
            setup.tools.add(TodoTool::new(todos.clone()));
        }
        setup.todos = Some(todos);
        setup.prompt = Arc::new(Prompt {
            surroundings: self.setup.prompt.surroundings.clone(),
            ..Prompt::bare(
                self.setup.prompt.home.clone(),
                self.setup.prompt.cwd.as_deref(),
                self.setup.prompt.clock.clone(),
            )
        });
        setup.options.max_iterations = self.limits.max_iterations;
        setup.options.parent_session = Some(self.context.session.clone());
        setup.options.attended = false;
        setup.options.told = Vec::new();
        setup.options.effort = self.limits.effort.or(setup.options.effort);
        setup.options.ephemeral_system = Some(brief(task));
        setup.options.task = Some(format!(
            "{}-{}",
            self.context.session,
            uuid::Uuid::new_v4().simple()
        ));
        setup.delegated = Default::default();
        setup.spend = setup.spend.within_turn();
        // Its own calls end before the parent stops waiting for it.
        setup.options.cancel_grace = setup.options.cancel_grace.mul_f32(0.6);
        if task.orchestrator {
            let tool = DelegateTool::at_depth(
                setup.clone(),
                self.model.cloned(),
                self.limits.clone(),
                self.depth + 1,
            );
            setup.tools.add(tool);
        }
        setup
    }

    async fn pass_on(&self, call_id: &str, index: u32, event: TurnEvent) {
        self.context
            .events
            .emit(TurnEvent::Child {
                call_id: call_id.to_owned(),
                index,
                event: Box::new(event),
            })
            .await;
    }

    async fn close(&self, agent: &Agent, outcome: &TurnOutcome) {
        let reason = match outcome.reason {
            StopReason::Answered => "delegation_complete",
            _ => "delegation_failed",
        };
        if let Err(error) = agent.end(reason).await {
            tracing::debug!(%error, "a subagent's session was not marked as ended");
        }
    }
}

fn brief(task: &Task) -> String {
    let mut text = String::from(
        "You are a subagent: another agent gave you one task and waits. You cannot ask anybody; decide sensibly and say what you assumed. Finish with a report: what you did, what you found with exact paths and numbers, what you changed, what is open. Only that report is read.",
    );
    if let Some(context) = &task.context {
        text.push_str("\n\nWhat you were told about the task:\n");
        text.push_str(context);
    }
    text
}

//! The tool: what may be delegated, and to how many.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join_all};
use hermes_llm::{Effort, Model};
use hermes_tools::toolsets::select;
use hermes_tools::{Tool, ToolContext};
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::child::{Child, Task};
use crate::setup::Setup;

/// `delegation.*`.
#[derive(Clone, Debug)]
pub struct DelegationLimits {
    pub max_iterations: u32,
    pub max_children: usize,
    pub timeout: Duration,
    pub max_depth: u32,
    pub orchestrators: bool,
    /// How long children think, when it differs from their parent.
    pub effort: Option<Effort>,
}

impl Default for DelegationLimits {
    fn default() -> Self {
        Self {
            max_iterations: 50,
            max_children: 3,
            timeout: Duration::from_secs(600),
            max_depth: 1,
            orchestrators: true,
            effort: None,
        }
    }
}

pub struct DelegateTool {
    /// What a child is made of; its registry has no `delegate_task`.
    setup: Setup,
    /// The children's model, when it is not the parent's.
    model: Option<Arc<dyn Model>>,
    limits: DelegationLimits,
    depth: u32,
}

/// What a child never gets: questions, lasting notes, code that calls tools.
pub(super) const WITHHELD: [&str; 4] = ["delegate_task", "clarify", "memory", "execute_code"];

impl DelegateTool {
    /// A tool for agents made of `setup`.
    pub fn new(setup: Setup, model: Option<Arc<dyn Model>>, limits: DelegationLimits) -> Self {
        Self::at_depth(setup, model, limits, 0)
    }

    pub(super) fn at_depth(
        mut setup: Setup,
        model: Option<Arc<dyn Model>>,
        limits: DelegationLimits,
        depth: u32,
    ) -> Self {
        setup.tools = setup.tools.without(&["delegate_task"]);
        Self {
            setup,
            model,
            limits,
            depth,
        }
    }

    fn tasks(&self, arguments: &Value) -> Result<Vec<Task>, String> {
        let list = arguments.get("tasks").and_then(Value::as_array);
        let shared_role = arguments.get("role").and_then(Value::as_str);
        let tasks = match list.filter(|list| !list.is_empty()) {
            Some(list) => list
                .iter()
                .enumerate()
                .map(|(index, value)| {
                    self.task(value, arguments, shared_role)
                        .map_err(|why| format!("tasks[{index}]: {why}"))
                })
                .collect::<Result<Vec<_>, _>>()?,
            None => vec![self.task(arguments, arguments, shared_role)?],
        };
        if tasks.len() > self.limits.max_children {
            return Err(format!(
                "{} tasks, but at most {} may run at once (delegation.max_concurrent_children); nothing was started",
                tasks.len(),
                self.limits.max_children
            ));
        }
        Ok(tasks)
    }

    fn task(&self, value: &Value, shared: &Value, role: Option<&str>) -> Result<Task, String> {
        let text = |key: &str| {
            value
                .get(key)
                .and_then(Value::as_str)
                .map(str::trim)
                .filter(|text| !text.is_empty())
        };
        if value
            .get("acp_command")
            .is_some_and(|command| !command.is_null() && command != "")
        {
            return Err("acp_command: other programs cannot be driven as subagents".to_owned());
        }
        let goal = text("goal").ok_or("goal is missing")?;
        let names: Vec<String> = value
            .get("toolsets")
            .or_else(|| shared.get("toolsets"))
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let wanted = (!names.is_empty())
            .then(|| select(&names, &|_| None))
            .and_then(|selection| selection.tools);
        let tools: BTreeSet<String> = self
            .setup
            .tools
            .names()
            .filter(|name| wanted.as_ref().is_none_or(|wanted| wanted.contains(*name)))
            .filter(|name| !WITHHELD.contains(name))
            .map(str::to_owned)
            .collect();
        let orchestrator = match text("role").or(role).unwrap_or("leaf") {
            "leaf" => false,
            "orchestrator" => self.limits.orchestrators && self.depth + 1 < self.limits.max_depth,
            other => return Err(format!("role {other:?} is neither leaf nor orchestrator")),
        };
        Ok(Task {
            goal: goal.to_owned(),
            context: text("context").map(str::to_owned),
            tools,
            orchestrator,
        })
    }
}

impl Tool for DelegateTool {
    fn name(&self) -> &str {
        "delegate_task"
    }

    fn spec(&self) -> ToolSpec {
        let toolsets = json!({"type": "array", "items": {"type": "string"}, "description": "Toolsets it may use, such as terminal, file, web; default all of yours"});
        ToolSpec {
            name: "delegate_task".to_owned(),
            description: format!(
                "Give work to subagents and wait for their reports. Each starts without your conversation, so goal and context must say everything: paths, constraints, what to report. Good for work whose details would fill your context, or for up to {} independent tasks at once (tasks). They cannot ask anybody, use memory or run code. Only their final report comes back: check what matters.",
                self.limits.max_children
            ),
            parameters: json!({
                "type": "object",
                "properties": {
                    "goal": {"type": "string", "description": "What one subagent shall achieve; leave out with tasks"},
                    "context": {"type": "string", "description": "What it must know: files, errors, decisions"},
                    "toolsets": toolsets,
                    "tasks": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "goal": {"type": "string", "description": "As above"},
                                "context": {"type": "string", "description": "As above"},
                                "toolsets": {"type": "array", "items": {"type": "string"}, "description": "As above"},
                                "acp_command": {"type": "string", "description": "Leave out"},
                                "acp_args": {"type": "array", "items": {"type": "string"}, "description": "Leave out"},
                                "role": {"type": "string", "enum": ["leaf", "orchestrator"], "description": "As above"}
                            },
                            "required": ["goal"]
                        },
                        "description": "Several tasks that run at the same time"
                    },
                    "role": {"type": "string", "enum": ["leaf", "orchestrator"], "description": "leaf (default) does the work itself; orchestrator may delegate again, where depth allows"},
                    "acp_command": {"type": "string", "description": "Leave out"},
                    "acp_args": {"type": "array", "items": {"type": "string"}, "description": "Leave out"}
                }
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            if self.depth >= self.limits.max_depth {
                return ToolOutput::error(format!(
                    "delegation is {} deep already (delegation.max_spawn_depth)",
                    self.depth
                ));
            }
            let tasks = match self.tasks(&arguments) {
                Ok(tasks) => tasks,
                Err(why) => return ToolOutput::error(why),
            };
            let started = Instant::now();
            let children = tasks.into_iter().enumerate().map(|(index, task)| {
                Child {
                    setup: &self.setup,
                    model: self.model.as_ref(),
                    limits: &self.limits,
                    depth: self.depth,
                    context,
                    index,
                }
                .run(task)
            });
            let results: Vec<Value> = join_all(children).await;
            let completed = results
                .iter()
                .filter(|result| result["status"] == "completed")
                .count();
            let output = ToolOutput::json(&json!({
                "results": results,
                "total_duration_seconds": rounded(started.elapsed()),
            }));
            ToolOutput {
                failed: completed == 0,
                summary: Some(format!("{completed} of {} tasks completed", results.len())),
                ..output
            }
        })
    }

    fn preview(&self, arguments: &Value) -> String {
        match arguments.get("tasks").and_then(Value::as_array) {
            Some(tasks) if !tasks.is_empty() => format!("{} tasks", tasks.len()),
            _ => hermes_tools::preview::of_arguments(arguments),
        }
    }
}

pub(super) fn rounded(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 100.0).round() / 100.0
}

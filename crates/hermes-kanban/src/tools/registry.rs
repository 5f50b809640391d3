//! The tools as the turn loop sees them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hermes_tools::{Tool, ToolContext};
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::Value;

use super::access::ToolAccess;
use super::run::{Caller, run};
use super::specs::Kind;

pub struct KanbanTool {
    kind: Kind,
    access: Arc<ToolAccess>,
}

/// The family for this process: a worker's, or a planner's. Whether a plain chat
/// gets any is decided by its toolsets.
pub fn kanban_tools(access: Arc<ToolAccess>) -> Vec<KanbanTool> {
    let kinds: &[Kind] = if access.assignment.is_some() {
        &Kind::WORKER
    } else {
        &Kind::ALL
    };
    kinds
        .iter()
        .map(|kind| KanbanTool {
            kind: *kind,
            access: Arc::clone(&access),
        })
        .collect()
}

impl Tool for KanbanTool {
    fn name(&self) -> &str {
        self.kind.name()
    }

    fn spec(&self) -> ToolSpec {
        self.kind.spec()
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        let access = Arc::clone(&self.access);
        let kind = self.kind;
        let caller = Caller {
            session: context.session.to_string(),
        };
        Box::pin(async move {
            // A board may make us wait for another writer.
            let work = tokio::task::spawn_blocking(move || run(kind, &access, &caller, &arguments));
            match work.await {
                Ok(Ok(value)) => ToolOutput::json(&value),
                Ok(Err(complaint)) => ToolOutput::error(complaint),
                Err(error) => ToolOutput::error(format!("the tool failed: {error}")),
            }
        })
    }
}

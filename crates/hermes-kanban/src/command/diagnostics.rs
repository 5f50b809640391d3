//! `kanban diagnostics`.

use serde_json::{Value, json};

use super::arguments::{DiagnosticsArgs, SeverityArg};
use super::context::{Failure, Output, Session, task_id};
use crate::diagnostics::{Auxiliary, Severity, data_line, diagnose};

impl From<SeverityArg> for Severity {
    fn from(severity: SeverityArg) -> Self {
        match severity {
            SeverityArg::Warning => Severity::Warning,
            SeverityArg::Error => Severity::Error,
            SeverityArg::Critical => Severity::Critical,
        }
    }
}

/// Whether triage could reach a model, as far as the configuration tells.
pub(super) fn auxiliary(session: &Session<'_>) -> Auxiliary {
    let config = &session.context.config;
    let says = |key: &str| {
        config.get(key).is_some_and(|value| match value {
            Value::String(text) => !text.trim().is_empty() && text != "auto",
            Value::Object(map) => !map.is_empty(),
            _ => false,
        })
    };
    let slots = ["auxiliary.triage_specifier", "auxiliary.kanban_decomposer"];
    let explicit = slots.iter().any(|slot| {
        ["provider", "model", "base_url"]
            .iter()
            .any(|key| says(&format!("{slot}.{key}")))
    });
    if explicit || says("model") || says("model.default") {
        Auxiliary::Available
    } else {
        Auxiliary::Missing
    }
}

pub(super) fn run(
    args: DiagnosticsArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let only = args.task.as_deref().map(task_id);
    if let Some(id) = &only
        && session.board.find(id)?.is_none()
    {
        return Err(Failure::failed(format!("no such task: {id}")));
    }
    let at_least = args.severity.map_or(Severity::Warning, Severity::from);
    let now = session.board.now();
    let thresholds = &session.settings.diagnostics;
    let auxiliary = auxiliary(session);
    let mut found = Vec::new();
    for examined in session
        .board
        .examine(only.as_ref(), now - thresholds.stranded_seconds)?
    {
        let mut findings = diagnose(&examined, thresholds, auxiliary, now);
        findings.retain(|finding| finding.severity >= at_least);
        if !findings.is_empty() {
            found.push((examined.task, findings));
        }
    }
    if args.json {
        let rows: Vec<Value> = found
            .iter()
            .map(|(task, findings)| {
                json!({
                    "task_id": task.id,
                    "title": task.title,
                    "status": task.status,
                    "assignee": task.assignee,
                    "diagnostics": findings,
                })
            })
            .collect();
        output.json(&rows)?;
        return Ok(());
    }
    warn_about_gaps(session, output)?;
    if found.is_empty() {
        output.line("No active diagnostics on this board.")?;
        return Ok(());
    }
    let count: usize = found.iter().map(|(_, findings)| findings.len()).sum();
    output.line(format!(
        "{count} active diagnostic(s) across {} task(s):\n",
        found.len()
    ))?;
    for (task, findings) in &found {
        let assignee = task.assignee.as_deref().unwrap_or("(unassigned)");
        output.line(format!(
            "  {}  {:<8}  @{assignee:<18}  {}",
            task.id, task.status, task.title
        ))?;
        for finding in findings {
            let (mark, severity) = (finding.severity.mark(), finding.severity.as_str());
            output.line(format!(
                "    {mark} [{severity}] {}: {}",
                finding.kind, finding.title
            ))?;
            if !finding.data.is_empty() {
                output.line(format!("       data: {}", data_line(&finding.data)))?;
            }
            for action in finding.actions.iter().filter(|action| action.suggested) {
                output.line(format!("       → {}", action.label))?;
            }
        }
        output.line("")?;
    }
    Ok(())
}

/// How far back missing event ids are looked for.
const NEWEST_EVENTS: i64 = 5000;

/// Rows that were written and are gone are what a lost write-ahead log looks like.
fn warn_about_gaps(session: &Session<'_>, output: &mut Output<'_>) -> Result<(), Failure> {
    let missing: i64 = session
        .board
        .event_gaps(NEWEST_EVENTS)?
        .iter()
        .map(|(first, last)| last - first + 1)
        .sum();
    if missing > 0 {
        output.remark(format!(
            "kanban: {missing} of the newest event ids are missing: removed with deleted tasks or \
             by `gc`, or lost by another program that writes to this board without a guard \
             (keep `hermes kanban daemon` or a gateway running while Python Hermes writes)"
        ));
    }
    Ok(())
}

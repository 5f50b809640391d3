//! What a gateway tells people about tasks. The outbox is the board's event log
//! (see [`crate::store::Telling::pending_events`]); this is the wording.

use crate::machine::{clip, first_line};
use crate::model::{Event, EventKind, Task};

/// The message for one event, or `None` for events nobody is told about.
/// `summary`: of the run that the event belongs to.
pub fn message(task: &Task, event: &Event, summary: Option<&str>) -> Option<String> {
    let tag = task
        .assignee
        .as_ref()
        .map(|name| format!("@{name} "))
        .unwrap_or_default();
    let id = &task.id;
    let kind = EventKind::ALL.iter().find(|kind| event.is(**kind))?;
    Some(match kind {
        EventKind::Completed => {
            let said = summary
                .or_else(|| event.payload_str("summary"))
                .map(|text| first_line(text, 200))
                .filter(|line| !line.is_empty())
                .or_else(|| task.result.as_deref().map(|text| first_line(text, 160)));
            let head = format!("✔ {tag}Kanban {id} done — {}", clip(&task.title, 120));
            match said.filter(|line| !line.is_empty()) {
                Some(said) => format!("{head}\n{said}"),
                None => head,
            }
        }
        EventKind::Blocked => {
            let reason = clip(event.payload_str("reason").unwrap_or_default(), 160);
            format!("⏸ {tag}Kanban {id} blocked: {reason}")
        }
        EventKind::GaveUp => {
            let trigger = event.payload_str("trigger_outcome").unwrap_or("failures");
            let error = clip(event.payload_str("error").unwrap_or_default(), 200);
            format!(
                "✖ {tag}Kanban {id} gave up after repeated {}\n{error}",
                plural(trigger)
            )
        }
        EventKind::Crashed => {
            format!("✖ {tag}Kanban {id} worker crashed (pid gone); dispatcher will retry")
        }
        EventKind::TimedOut => match event.payload.as_ref().and_then(|p| p.get("limit_seconds")) {
            Some(limit) => {
                format!("⏱ {tag}Kanban {id} timed out (max_runtime={limit}s); will retry")
            }
            // Written by a worker that ran out of iterations, which is no time limit.
            None => format!("⏱ {tag}Kanban {id} ran out of iterations; will retry"),
        },
        _ => return None,
    })
}

fn plural(trigger: &str) -> String {
    match trigger {
        "spawn_failed" => "spawn failures".to_owned(),
        "crashed" => "crashes".to_owned(),
        "timed_out" => "timeouts".to_owned(),
        other => format!("{other} failures"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Status;
    use hermes_types::TaskId;
    use serde_json::{Value, json};

    #[test]
    fn each_event_has_its_words() {
        let mut task = Task::new(TaskId::new("t_00000001"), "Write it", Status::Done, 0);
        task.assignee = Some("w".into());
        let said = |kind: &str, payload: Value| {
            let event = Event {
                id: 1,
                task_id: task.id.clone(),
                run_id: None,
                kind: kind.into(),
                payload: Some(payload),
                created_at: 0,
            };
            message(&task, &event, None)
        };
        assert_eq!(
            said("completed", json!({"summary": "All good"})).unwrap(),
            "✔ @w Kanban t_00000001 done — Write it\nAll good"
        );
        assert_eq!(
            said("blocked", json!({"reason": "why"})).unwrap(),
            "⏸ @w Kanban t_00000001 blocked: why"
        );
        assert!(
            said(
                "gave_up",
                json!({"trigger_outcome": "crashed", "error": "pid 1 not alive"})
            )
            .unwrap()
            .ends_with("gave up after repeated crashes\npid 1 not alive")
        );
        assert!(
            said("timed_out", json!({"limit_seconds": 60}))
                .unwrap()
                .contains("max_runtime=60s")
        );
        assert!(
            said("timed_out", json!({"error": "x"}))
                .unwrap()
                .contains("iterations")
        );
        assert_eq!(said("heartbeat", json!(null)), None);
    }
}

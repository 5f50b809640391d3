//! One card.

use hermes_types::TaskId;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{Status, WorkspaceKind};

/// A row of `tasks`, every column that 0.16.0 knows. Serialises to the public
/// JSON shape, which leaves the bookkeeping columns out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub id: TaskId,
    pub title: String,
    pub body: Option<String>,
    pub assignee: Option<String>,
    pub status: Status,
    pub priority: i64,
    pub created_by: Option<String>,
    pub created_at: i64,
    /// First claim ever; later claims leave it.
    pub started_at: Option<i64>,
    /// Not cleared when a done task is reopened.
    pub completed_at: Option<i64>,
    pub workspace_kind: WorkspaceKind,
    pub workspace_path: Option<String>,
    pub branch_name: Option<String>,
    /// `<hostname>:<pid>` of the claimer.
    pub claim_lock: Option<String>,
    pub claim_expires: Option<i64>,
    pub tenant: Option<String>,
    pub result: Option<String>,
    pub idempotency_key: Option<String>,
    pub consecutive_failures: i64,
    pub worker_pid: Option<i64>,
    pub last_failure_error: Option<String>,
    pub max_runtime_seconds: Option<i64>,
    pub last_heartbeat_at: Option<i64>,
    /// The open run, if there is one.
    pub current_run_id: Option<i64>,
    pub workflow_template_id: Option<String>,
    pub current_step_key: Option<String>,
    pub skills: Option<Vec<String>>,
    pub model_override: Option<String>,
    /// This task's own failure limit.
    pub max_retries: Option<i64>,
    pub goal_mode: bool,
    pub goal_max_turns: Option<i64>,
    pub session_id: Option<String>,
}

impl Task {
    /// A fresh card in `status` with nothing else said about it.
    pub fn new(id: TaskId, title: impl Into<String>, status: Status, created_at: i64) -> Self {
        Self {
            id,
            title: title.into(),
            body: None,
            assignee: None,
            status,
            priority: 0,
            created_by: None,
            created_at,
            started_at: None,
            completed_at: None,
            workspace_kind: WorkspaceKind::Scratch,
            workspace_path: None,
            branch_name: None,
            claim_lock: None,
            claim_expires: None,
            tenant: None,
            result: None,
            idempotency_key: None,
            consecutive_failures: 0,
            worker_pid: None,
            last_failure_error: None,
            max_runtime_seconds: None,
            last_heartbeat_at: None,
            current_run_id: None,
            workflow_template_id: None,
            current_step_key: None,
            skills: None,
            model_override: None,
            max_retries: None,
            goal_mode: false,
            goal_max_turns: None,
            session_id: None,
        }
    }
}

/// The public JSON shape of a task, borrowed from wherever its parts are: ten
/// thousand of them are written without making ten thousand tasks.
#[derive(Clone, Copy, Debug)]
pub struct PublicTask<'a> {
    pub id: &'a str,
    pub title: &'a str,
    pub body: Option<&'a str>,
    pub assignee: Option<&'a str>,
    pub status: &'a str,
    pub priority: i64,
    pub tenant: Option<&'a str>,
    pub workspace_kind: &'a str,
    pub workspace_path: Option<&'a str>,
    pub branch_name: Option<&'a str>,
    pub created_by: Option<&'a str>,
    pub created_at: i64,
    pub started_at: Option<i64>,
    pub completed_at: Option<i64>,
    pub result: Option<&'a str>,
    pub skills: &'a [String],
    pub max_retries: Option<i64>,
    pub session_id: Option<&'a str>,
    pub workflow_template_id: Option<&'a str>,
    pub current_step_key: Option<&'a str>,
}

impl Task {
    pub fn public(&self) -> PublicTask<'_> {
        PublicTask {
            id: self.id.as_str(),
            title: &self.title,
            body: self.body.as_deref(),
            assignee: self.assignee.as_deref(),
            status: self.status.as_str(),
            priority: self.priority,
            tenant: self.tenant.as_deref(),
            workspace_kind: self.workspace_kind.as_str(),
            workspace_path: self.workspace_path.as_deref(),
            branch_name: self.branch_name.as_deref(),
            created_by: self.created_by.as_deref(),
            created_at: self.created_at,
            started_at: self.started_at,
            completed_at: self.completed_at,
            result: self.result.as_deref(),
            skills: self.skills.as_deref().unwrap_or_default(),
            max_retries: self.max_retries,
            session_id: self.session_id.as_deref(),
            workflow_template_id: self.workflow_template_id.as_deref(),
            current_step_key: self.current_step_key.as_deref(),
        }
    }
}

impl PublicTask<'_> {
    /// The same as an item of a pretty list, written straight away: a list of ten
    /// thousand tasks is six megabytes, and a serializer asks for each comma.
    pub fn write_as_item(&self, out: &mut Vec<u8>) {
        let mut item = Item { out, begun: false };
        item.out.extend_from_slice(b"  {");
        item.text("id", self.id);
        item.text("title", self.title);
        item.optional("body", self.body);
        item.optional("assignee", self.assignee);
        item.text("status", self.status);
        item.number("priority", Some(self.priority));
        item.optional("tenant", self.tenant);
        item.text("workspace_kind", self.workspace_kind);
        item.optional("workspace_path", self.workspace_path);
        item.optional("branch_name", self.branch_name);
        item.optional("created_by", self.created_by);
        item.number("created_at", Some(self.created_at));
        item.number("started_at", self.started_at);
        item.number("completed_at", self.completed_at);
        item.optional("result", self.result);
        item.list("skills", self.skills);
        item.number("max_retries", self.max_retries);
        item.optional("session_id", self.session_id);
        item.optional("workflow_template_id", self.workflow_template_id);
        item.optional("current_step_key", self.current_step_key);
        item.out.extend_from_slice(b"\n  }");
    }
}

/// One object, two levels deep.
struct Item<'o> {
    out: &'o mut Vec<u8>,
    begun: bool,
}

impl Item<'_> {
    fn key(&mut self, name: &str) {
        let before: &[u8] = if self.begun {
            b",\n    \""
        } else {
            b"\n    \""
        };
        self.begun = true;
        self.out.extend_from_slice(before);
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\": ");
    }

    fn string(&mut self, text: &str) {
        let plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
        if text.as_bytes().iter().all(plain) {
            self.out.push(b'"');
            self.out.extend_from_slice(text.as_bytes());
            self.out.push(b'"');
        } else {
            // Memory takes everything.
            let _ = serde_json::to_writer(&mut *self.out, text);
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        self.key(name);
        self.string(text);
    }

    fn optional(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.null(name),
        }
    }

    fn number(&mut self, name: &str, number: Option<i64>) {
        match number {
            Some(number) => {
                self.key(name);
                let _ = serde_json::to_writer(&mut *self.out, &number);
            }
            None => self.null(name),
        }
    }

    fn null(&mut self, name: &str) {
        self.key(name);
        self.out.extend_from_slice(b"null");
    }

    fn list(&mut self, name: &str, items: &[String]) {
        self.key(name);
        self.out.push(b'[');
        for (number, item) in items.iter().enumerate() {
            let before: &[u8] = if number == 0 {
                b"\n      "
            } else {
                b",\n      "
            };
            self.out.extend_from_slice(before);
            self.string(item);
        }
        let end: &[u8] = if items.is_empty() { b"]" } else { b"\n    ]" };
        self.out.extend_from_slice(end);
    }
}

impl Serialize for Task {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.public().serialize(serializer)
    }
}

impl Serialize for PublicTask<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Task", 20)?;
        out.serialize_field("id", self.id)?;
        out.serialize_field("title", self.title)?;
        out.serialize_field("body", &self.body)?;
        out.serialize_field("assignee", &self.assignee)?;
        out.serialize_field("status", self.status)?;
        out.serialize_field("priority", &self.priority)?;
        out.serialize_field("tenant", &self.tenant)?;
        out.serialize_field("workspace_kind", self.workspace_kind)?;
        out.serialize_field("workspace_path", &self.workspace_path)?;
        out.serialize_field("branch_name", &self.branch_name)?;
        out.serialize_field("created_by", &self.created_by)?;
        out.serialize_field("created_at", &self.created_at)?;
        out.serialize_field("started_at", &self.started_at)?;
        out.serialize_field("completed_at", &self.completed_at)?;
        out.serialize_field("result", &self.result)?;
        out.serialize_field("skills", self.skills)?;
        out.serialize_field("max_retries", &self.max_retries)?;
        out.serialize_field("session_id", &self.session_id)?;
        out.serialize_field("workflow_template_id", &self.workflow_template_id)?;
        out.serialize_field("current_step_key", &self.current_step_key)?;
        out.end()
    }
}

/// `t_` and eight lower-case hex digits from the system's random source.
pub fn new_task_id() -> TaskId {
    let random = uuid::Uuid::new_v4();
    let bytes = random.as_bytes();
    TaskId::new(format!(
        "t_{:02x}{:02x}{:02x}{:02x}",
        bytes[0], bytes[1], bytes[2], bytes[3]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_shape_that_the_board_and_the_gateway_look_for() {
        let id = new_task_id();
        let hex = id.as_str().strip_prefix("t_").unwrap();
        assert_eq!(hex.len(), 8);
        assert!(
            hex.bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        );
        assert_ne!(id, new_task_id());
    }

    #[test]
    fn an_item_of_a_list_is_what_a_serializer_writes() {
        let mut task = Task::new(TaskId::new("t_00000001"), "plain", Status::Ready, 5);
        let mut other = task.clone();
        other.title = "a \"quoted\" \\ line\nbreak \u{1} \u{7f} ü".to_owned();
        other.skills = Some(vec!["one".to_owned(), "t\two".to_owned()]);
        other.priority = -7;
        other.started_at = Some(9);
        other.body = Some(String::new());
        task.result = Some("done".to_owned());
        let tasks = [task, other];
        let mut written = b"[\n".to_vec();
        tasks[0].public().write_as_item(&mut written);
        written.extend_from_slice(b",\n");
        tasks[1].public().write_as_item(&mut written);
        written.extend_from_slice(b"\n]");
        assert_eq!(
            String::from_utf8(written).unwrap(),
            serde_json::to_string_pretty(&tasks).unwrap()
        );
    }

    #[test]
    fn public_json_has_twenty_keys_in_the_reference_order() {
        let task = Task::new(TaskId::new("t_00000001"), "x", Status::Ready, 5);
        let value = serde_json::to_value(&task).unwrap();
        let keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        assert_eq!(
            keys.join(","),
            "id,title,body,assignee,status,priority,tenant,workspace_kind,workspace_path,\
             branch_name,created_by,created_at,started_at,completed_at,result,skills,max_retries,\
             session_id,workflow_template_id,current_step_key"
        );
        assert_eq!(value["skills"], serde_json::json!([]));
    }
}

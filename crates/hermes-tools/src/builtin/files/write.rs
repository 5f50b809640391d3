//! `write_file`: a file as a whole.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hermes_sandbox::{FileKind, MAX_READ, NewFileMode, SandboxPath};
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};

use super::desk::{FileDesk, Located, plain, with_warnings};
use super::lint;
use super::patch::unified;
use super::read::{UNCHANGED, error, output};
use crate::builtin::arguments::flag;
use crate::tool::{Tool, ToolContext};

pub struct WriteFileTool {
    desk: Arc<FileDesk>,
}

impl WriteFileTool {
    pub fn new(desk: Arc<FileDesk>) -> Self {
        Self { desk }
    }

    /// The result, and what changed as a diff.
    async fn write(
        &self,
        context: &ToolContext,
        arguments: &Value,
    ) -> Result<(Value, String), Value> {
        let path = word(arguments, "path")?;
        let content = word(arguments, "content")?;
        if is_unchanged_message(content) {
            return Err(error(
                "that content is a message of read_file, not the file; read the part you need with another offset or limit",
            ));
        }
        let located = self.desk.locate(context, path).await.map_err(error)?;
        self.desk
            .may_write(&located, flag(arguments, "cross_profile"))
            .await
            .map_err(error)?;
        if located
            .stat
            .as_ref()
            .is_some_and(|stat| stat.kind != FileKind::File)
        {
            return Err(error(located.regular().err().unwrap_or_default()));
        }
        let _turn = self.desk.turn_to_write(&located.real).await;
        let mut warnings: Vec<String> = located.warning.clone().into_iter().collect();
        warnings.extend(self.desk.staleness(&located));
        let before = existing_text(&located).await?;
        let dirs_created = missing_parent(&located).await;
        let bytes = in_the_style_of(before.as_deref(), content).into_bytes();
        let written = bytes.len();
        located
            .files
            .write(&located.path, bytes, NewFileMode::Ordinary)
            .await
            .map_err(|e| error(plain(&e)))?;
        self.desk.wrote(&located).await;
        let lint = lint::check(
            &*self.desk.workspace,
            &located.path,
            before.as_deref(),
            content,
        )
        .await;
        let mut result = Map::new();
        result.insert("bytes_written".into(), json!(written));
        result.insert("dirs_created".into(), json!(dirs_created));
        result.insert("lint".into(), lint);
        result.insert("resolved_path".into(), json!(located.path.as_str()));
        result.insert("files_modified".into(), json!([located.path.as_str()]));
        let diff = unified(
            located.path.as_str(),
            before.as_deref().unwrap_or_default(),
            content,
        );
        Ok((with_warnings(result, warnings), diff))
    }
}

impl FileDesk {
    /// The rules, for the file behind every link.
    pub(super) async fn may_write(
        &self,
        located: &Located,
        cross_profile: bool,
    ) -> Result<(), String> {
        self.may_write_at(&located.real, cross_profile).await
    }

    /// For a path with its links resolved.
    pub(super) async fn may_write_at(
        &self,
        path: &SandboxPath,
        cross_profile: bool,
    ) -> Result<(), String> {
        let home = match self.policy.asks_for_home {
            true => Some(self.workspace.user_home().await?),
            false => self.policy.user_home.clone(),
        };
        if let Some(reason) = self.policy.refuses_write(path, home.as_ref()) {
            return Err(reason);
        }
        match self.policy.crosses_profiles(path) {
            Some(reason) if !cross_profile => Err(reason),
            _ => Ok(()),
        }
    }
}

impl Tool for WriteFileTool {
    fn name(&self) -> &str {
        "write_file"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write_file".into(),
            description: "Write a whole file, replacing what was there; missing directories are made. For a change to an existing file use patch.".into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute, relative to the working directory, or ~/…"},
                    "content": {"type": "string", "description": "The complete new content"},
                    "cross_profile": {"type": "boolean", "description": "Allow a write into another profile's skills, plugins, cron or memories. Only when the user asked for it", "default": false}
                },
                "required": ["path", "content"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self.write(context, &arguments).await {
                // The model knows what it wrote; people see what changed.
                Ok((result, diff)) => ToolOutput {
                    diff: Some(diff),
                    ..output(Ok(result))
                },
                Err(refusal) => output(Err(refusal)),
            }
        })
    }
}

/// What `read_file` says instead of a content, alone or with a few words around it.
fn is_unchanged_message(content: &str) -> bool {
    let as_json = || {
        serde_json::from_str::<Value>(content)
            .is_ok_and(|value| value["status"] == "unchanged" && value["dedup"] == true)
    };
    (content.contains(UNCHANGED) && content.len() <= 2 * UNCHANGED.len())
        || (content.contains("unchanged") && as_json())
}

fn word<'a>(arguments: &'a Value, key: &str) -> Result<&'a str, Value> {
    match arguments.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(error(format!("{key} must be a string, not {other}"))),
        None => Err(error(format!("{key} is missing"))),
    }
}

/// What stands there now, when it is text of a size that can be compared.
pub(super) async fn existing_text(located: &Located) -> Result<Option<String>, Value> {
    match &located.stat {
        Some(stat) if stat.size <= MAX_READ => {
            let bytes = located
                .files
                .read(&located.path, 0, MAX_READ)
                .await
                .map_err(|e| error(plain(&e)))?;
            Ok(String::from_utf8(bytes).ok())
        }
        _ => Ok(None),
    }
}

async fn missing_parent(located: &Located) -> bool {
    match located.path.parent() {
        Some(parent) => matches!(located.files.stat(&parent).await, Ok(None)),
        None => false,
    }
}

/// Windows line endings and a byte-order mark stay with the file.
fn in_the_style_of(before: Option<&str>, content: &str) -> String {
    let Some(before) = before else {
        return content.to_owned();
    };
    let mut out = content.to_owned();
    let breaks = before.matches('\n').count();
    let windows = breaks > 0 && before.matches("\r\n").count() == breaks;
    if windows && !content.contains("\r\n") {
        out = out.replace('\n', "\r\n");
    }
    if before.starts_with('\u{feff}') && !out.starts_with('\u{feff}') {
        out.insert(0, '\u{feff}');
    }
    out
}

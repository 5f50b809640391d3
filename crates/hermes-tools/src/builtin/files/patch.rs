//! `patch`: one edit by quotation, or a patch of several files.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};
use similar::TextDiff;

use super::desk::{FileDesk, Located, with_warnings};
use super::lint;
use super::patch_files::{PatchFiles, read_bytes, write_checked};
use super::read::{error, output, similar_files};
use crate::builtin::arguments::{flag, text};
use crate::patch::{self as engine, Content, EditError, FileChange, Scope, Strategy};
use crate::tool::{Tool, ToolContext};

pub struct PatchTool {
    desk: Arc<FileDesk>,
}

impl PatchTool {
    pub fn new(desk: Arc<FileDesk>) -> Self {
        Self { desk }
    }

    async fn replace(&self, context: &ToolContext, arguments: &Value) -> Result<Value, Value> {
        let need = |key: &str| {
            text(arguments, key).ok_or_else(|| {
                error(format!(
                    "{key} is missing (mode 'replace' needs path, old_string and new_string)"
                ))
            })
        };
        let (path, old, new) = (need("path")?, need("old_string")?, need("new_string")?);
        let located = self.desk.locate(context, path).await.map_err(error)?;
        self.desk
            .may_write(&located, flag(arguments, "cross_profile"))
            .await
            .map_err(error)?;
        // The answer shows what stands around the place.
        for path in [&located.real, &located.path] {
            if let Some(reason) = self.desk.policy.refuses_read(path) {
                return Err(error(reason));
            }
        }
        if located.stat.is_none() {
            let mut result = error(format!("File not found: {}", located.path));
            let similar = similar_files(&located).await;
            if !similar.is_empty() {
                result["similar_files"] = json!(similar);
            }
            return Err(result);
        }
        located.regular().map_err(error)?;
        let _turn = self.desk.turn_to_write(&located.real).await;
        let before = read_text(&located).await.map_err(error)?;
        let scope = if flag(arguments, "replace_all") {
            Scope::All
        } else {
            Scope::One
        };
        let edit = match engine::replace(&before, old, new, scope) {
            Ok(edit) => edit,
            Err(reason) => return Err(self.refused(&located, &reason)),
        };
        let stale = self
            .desk
            .staleness(&located)
            .filter(|_| edit.strategy != Strategy::Exact);
        write_checked(&located.files, &located.path, &edit.text)
            .await
            .map_err(error)?;
        self.desk.wrote(&located).await;

        let lint = lint::check(
            &*self.desk.workspace,
            &located.path,
            Some(&before),
            &edit.text,
        )
        .await;
        let mut result = Map::new();
        result.insert("success".into(), json!(true));
        result.insert(
            "diff".into(),
            json!(unified(located.path.as_str(), &before, &edit.text)),
        );
        result.insert("files_modified".into(), json!([located.path.as_str()]));
        result.insert("lint".into(), lint);
        result.insert("resolved_path".into(), json!(located.path.as_str()));
        let mut warnings: Vec<String> = located.warning.clone().into_iter().collect();
        warnings.extend(stale);
        note_strategy(&mut result, &mut warnings, edit.strategy);
        Ok(with_warnings(result, warnings))
    }

    /// Repeated failures on one file get plainer advice.
    fn refused(&self, located: &Located, reason: &EditError) -> Value {
        self.desk.remember(located, |seen| seen.failed_edits += 1);
        let failures = self.desk.recall(located).failed_edits;
        let hint = if failures >= 3 {
            "this is the third failed edit of this file: read it again with read_file, then quote it exactly, or write it whole with write_file"
        } else {
            "read the file around the place and quote it exactly"
        };
        json!({ "error": reason.to_string(), "_hint": hint })
    }

    async fn apply(&self, context: &ToolContext, arguments: &Value) -> Result<Value, Value> {
        let Some(source) = text(arguments, "patch") else {
            return Err(error(
                "patch is missing (mode 'patch' needs the text of the patch)",
            ));
        };
        let operations = engine::parse(source).map_err(|e| error(e.to_string()))?;
        let cross_profile = flag(arguments, "cross_profile");
        let files = PatchFiles::find(&self.desk, context, &operations, cross_profile)
            .await
            .map_err(error)?;
        let mut turns = Vec::new();
        for file in files.to_lock() {
            turns.push(self.desk.turn_to_write(&file).await);
        }
        let contents = files.contents().await;
        let changes = engine::apply(&files.operations, |path| {
            contents.get(path).cloned().unwrap_or(Ok(None))
        })
        .map_err(|e| error(e.to_string()))?;
        files.carry_out(&changes).await.map_err(error)?;
        Ok(self.report(&changes, &files).await)
    }

    async fn report(&self, changes: &[FileChange], files: &PatchFiles) -> Value {
        let mut result = Map::new();
        let mut warnings = Vec::new();
        let (mut diff, mut lints) = (String::new(), Map::new());
        let mut by_kind: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for change in changes {
            let Some(place) = files.located(&change.path) else {
                continue;
            };
            let path = place.path.to_string();
            diff.push_str(&difference(change, changes, files));
            let kind = match (&change.before, &change.after) {
                (None, _) => "files_created",
                (_, None) => "files_deleted",
                _ => "files_modified",
            };
            if let Some(Content::Text(after)) = &change.after {
                let before = before(change, changes);
                let found = lint::check(&*self.desk.workspace, &place.path, before, after).await;
                lints.insert(path.clone(), found);
                self.desk.wrote(place).await;
            }
            by_kind.entry(kind).or_default().push(path);
            warnings.extend(place.warning.clone());
            note_strategy(&mut result, &mut warnings, change.strategy);
        }
        result.insert("success".into(), json!(true));
        result.insert("diff".into(), json!(diff));
        for kind in ["files_modified", "files_created", "files_deleted"] {
            result.insert(kind.into(), json!(by_kind.remove(kind).unwrap_or_default()));
        }
        result.insert("lint".into(), Value::Object(lints));
        with_warnings(result, warnings)
    }
}

impl Tool for PatchTool {
    fn name(&self) -> &str {
        "patch"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "patch".into(),
            description: "Edit files. Mode 'replace': find old_string in one file and put new_string in its place; quote enough lines to make it unique. Mode 'patch': several files at once, all or nothing, in the form\n*** Begin Patch\n*** Update File: path\n@@ line above @@\n context\n-old\n+new\n*** Add File: path\n+line\n*** Delete File: path\n*** Move File: a -> b\n*** End Patch".into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "mode": {"type": "string", "enum": ["replace", "patch"], "description": "One edit, or a patch of several files", "default": "replace"},
                    "path": {"type": "string", "description": "replace: the file"},
                    "old_string": {"type": "string", "description": "replace: the text to find, as it stands in the file"},
                    "new_string": {"type": "string", "description": "replace: the text to put there; empty deletes"},
                    "replace_all": {"type": "boolean", "description": "replace: every place instead of exactly one", "default": false},
                    "patch": {"type": "string", "description": "patch: the text of the patch"},
                    "cross_profile": {"type": "boolean", "description": "Allow a write into another profile's skills, plugins, cron or memories. Only when the user asked for it", "default": false}
                },
                "required": ["mode"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let mode = match text(&arguments, "mode") {
                // A patch without a mode can mean nothing else.
                None if arguments.get("patch").is_some() => "patch",
                None => "replace",
                Some(mode) => mode,
            };
            output(match mode {
                "replace" => self.replace(context, &arguments).await,
                "patch" => self.apply(context, &arguments).await,
                other => Err(error(format!(
                    "unknown mode '{other}': use 'replace' or 'patch'"
                ))),
            })
        })
    }
}

async fn read_text(located: &Located) -> Result<String, String> {
    String::from_utf8(read_bytes(located).await?)
        .map_err(|_| format!("{} is not UTF-8 text; edit it with a script", located.path))
}

/// The text that a file had, wherever it stood.
fn before<'c>(change: &'c FileChange, changes: &'c [FileChange]) -> Option<&'c str> {
    let moved = change.origin.as_ref().and_then(|origin| {
        let mut all = changes.iter();
        all.find(|change| change.path == *origin)
    });
    let before = moved.unwrap_or(change).before.as_ref();
    before.map(Content::text)
}

/// As a diff; a file that moves says so instead of repeating all of its lines.
fn difference(change: &FileChange, changes: &[FileChange], files: &PatchFiles) -> String {
    let name = |path: &str| {
        let located = files.located(path);
        let name = located.map_or_else(|| path.to_owned(), |place| place.path.to_string());
        name.trim_start_matches('/').to_owned()
    };
    let path = name(&change.path);
    let after = change.after.as_ref().map_or("", Content::text);
    match &change.origin {
        Some(origin) if *origin != change.path => {
            let edited = unified(&path, before(change, changes).unwrap_or_default(), after);
            format!("rename from {}\nrename to {path}\n{edited}", name(origin))
        }
        None if change.after.is_none() && moved_away(change, changes) => String::new(),
        None if matches!(change.before, Some(Content::Opaque(_))) && change.after.is_none() => {
            format!("deleted a/{path}\n")
        }
        _ => {
            let before = change.before.as_ref().map_or("", Content::text);
            unified(&path, before, after)
        }
    }
}

fn moved_away(change: &FileChange, changes: &[FileChange]) -> bool {
    let mut others = changes.iter().filter(|other| other.path != change.path);
    others.any(|other| other.origin.as_ref() == Some(&change.path))
}

pub(super) fn unified(path: &str, before: &str, after: &str) -> String {
    let path = path.trim_start_matches('/');
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}

fn note_strategy(result: &mut Map<String, Value>, warnings: &mut Vec<String>, strategy: Strategy) {
    if strategy != Strategy::Exact {
        result.insert("match_strategy".into(), json!(strategy.as_str()));
        warnings.push(format!(
            "the quoted text did not match exactly ({}); check the diff",
            strategy.as_str()
        ));
    }
}

//! `search_files`: lines by pattern, or files by name. On paths that this
//! machine reaches the embedded engine searches; elsewhere `rg` or `grep` does,
//! in the sandbox, with the same rules.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_sandbox::search::{ContentHits, ContentQuery, LineHit, search_content, search_names};
use hermes_sandbox::{FileKind, SandboxPath};
use hermes_types::{SessionId, ToolOutput, ToolSpec, head_edge};
use serde_json::{Map, Value, json};

use super::desk::{FileDesk, with_warnings};
use super::read::{error, output, similar_files};
use super::search_script::{self as script, Start};
use crate::builtin::arguments::{number, required, text};
use crate::tool::{Reader, Tool, ToolContext};

const PATIENCE: Duration = Duration::from_secs(60);
const MAX_LINE: usize = 500;

pub struct SearchFilesTool {
    desk: Arc<FileDesk>,
    /// The last search of a conversation and how often it came in a row.
    last: Mutex<Option<(SessionId, Search, u32)>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Search {
    pattern: String,
    names: bool,
    path: String,
    glob: Option<String>,
    limit: usize,
    offset: usize,
    mode: Mode,
    context: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Content,
    Files,
    Count,
}

impl SearchFilesTool {
    pub fn new(desk: Arc<FileDesk>) -> Self {
        Self {
            desk,
            last: Mutex::default(),
        }
    }

    async fn search(&self, context: &ToolContext, arguments: &Value) -> Result<ToolOutput, Value> {
        let search = Search::from(arguments)?;
        let repeats = match context.reader {
            Reader::Model => self.count(&context.session, &search),
            // A loop may well ask the same thing again.
            Reader::Script => 1,
        };
        if repeats >= 4 {
            return Err(error(
                "BLOCKED: this exact search was made four times in a row; use its result or search for something else",
            ));
        }
        let located = self
            .desk
            .locate(context, &search.path)
            .await
            .map_err(error)?;
        if located.stat.is_none() {
            let mut result = error(format!("Path not found: {}", located.path));
            let similar = similar_files(&located).await;
            if !similar.is_empty() {
                result["similar_files"] = json!(similar);
            }
            return Err(result);
        }
        let found = match self.desk.workspace.mounts().to_host(&located.real) {
            Some(host) => {
                self.embedded(&search, host.as_path(), &located.real, context)
                    .await?
            }
            None => {
                let is_directory = located
                    .stat
                    .as_ref()
                    .is_some_and(|stat| stat.kind == FileKind::Directory);
                let start = Start {
                    path: &located.real,
                    is_directory,
                };
                self.in_sandbox(&search, &start).await?
            }
        };
        let mut warnings: Vec<String> = located.warning.clone().into_iter().collect();
        if repeats == 3 {
            warnings.push("you have made this search three times in a row".to_owned());
        }
        Ok(self.present(&search, found, warnings))
    }

    fn count(&self, session: &SessionId, search: &Search) -> u32 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let repeats = match last.as_ref() {
            Some((who, what, times)) if who == session && what == search => times + 1,
            _ => 1,
        };
        *last = Some((session.clone(), search.clone(), repeats));
        repeats
    }

    async fn embedded(
        &self,
        search: &Search,
        host: &Path,
        seen_as: &SandboxPath,
        context: &ToolContext,
    ) -> Result<Found, Value> {
        let (task, root) = (search.clone(), host.to_owned());
        let cancelled = Arc::new(AtomicBool::new(false));
        // The walk stops when the turn does, also when this future is dropped.
        let _stop = StopOnDrop(Arc::clone(&cancelled));
        let flag = Arc::clone(&cancelled);
        let work = tokio::task::spawn_blocking(move || {
            if task.names {
                return search_names(&root, &task.pattern, &flag).map(Found::Names);
            }
            let query = ContentQuery {
                pattern: task.pattern,
                file_glob: task.glob,
                context: task.context,
            };
            search_content(&root, &query, &flag).map(Found::Content)
        });
        let found = tokio::select! {
            found = work => found.map_err(|e| error(format!("Search failed: {e}")))?,
            () = context.cancel.cancelled() => return Err(error("the search was interrupted")),
        };
        let found = found.map_err(|e| error(format!("Search failed: {e}")))?;
        Ok(found.renamed(host, seen_as))
    }

    async fn in_sandbox(&self, search: &Search, start: &Start<'_>) -> Result<Found, Value> {
        let script = if search.names {
            script::names(start, &search.pattern)
        } else {
            let wanted = script::Content {
                pattern: &search.pattern,
                glob: search.glob.as_deref(),
                context: search.context,
            };
            script::content(start, &wanted)
        };
        let done = self
            .desk
            .workspace
            .run_script(script, PATIENCE)
            .await
            .map_err(error)?;
        let text = String::from_utf8_lossy(&done.output).into_owned();
        // 1 means that nothing was found; other codes may still come with hits.
        if done.exit_code > 1 && !text.contains('\0') {
            return Err(error(format!("Search failed: {}", text.trim())));
        }
        Ok(match search.names {
            true => Found::Names(script::read_names(start, &text)),
            false => Found::Content(script::read_content(start, &text)),
        })
    }

    fn present(&self, search: &Search, found: Found, warnings: Vec<String>) -> ToolOutput {
        let mut result = Map::new();
        let page = |all: usize| {
            (
                search.offset.min(all),
                (search.offset + search.limit).min(all),
            )
        };
        let (total, end) = match found {
            Found::Names(paths) => {
                let (start, end) = page(paths.len());
                let shown: Vec<String> = paths[start..end]
                    .iter()
                    .map(|p| p.display().to_string())
                    .collect();
                result.insert("total_count".into(), json!(paths.len()));
                result.insert("files".into(), json!(shown));
                (paths.len(), end)
            }
            Found::Content(hits) => match search.mode {
                Mode::Content => {
                    let (start, end) = page(hits.lines.len());
                    let shown: Vec<Value> = hits.lines[start..end].iter().map(line_json).collect();
                    result.insert("total_count".into(), json!(hits.total));
                    result.insert("matches".into(), json!(shown));
                    (hits.lines.len(), end)
                }
                Mode::Files => {
                    let (start, end) = page(hits.counts.len());
                    let shown: Vec<String> = hits.counts[start..end]
                        .iter()
                        .map(|(p, _)| p.display().to_string())
                        .collect();
                    result.insert("total_count".into(), json!(hits.counts.len()));
                    result.insert("files".into(), json!(shown));
                    (hits.counts.len(), end)
                }
                Mode::Count => {
                    let (start, end) = page(hits.counts.len());
                    let shown: Map<String, Value> = hits.counts[start..end]
                        .iter()
                        .map(|(path, count)| (path.display().to_string(), json!(count)))
                        .collect();
                    result.insert("total_count".into(), json!(hits.total));
                    result.insert("counts".into(), Value::Object(shown));
                    (hits.counts.len(), end)
                }
            },
        };
        let truncated = end < total;
        result.insert("truncated".into(), json!(truncated));
        let mut output = ToolOutput::json(&with_warnings(result, warnings));
        if truncated {
            output.text.push_str(&format!(
                "\n\n[{total} results; use offset={end} to see more]"
            ));
        }
        output
    }
}

impl Search {
    fn from(arguments: &Value) -> Result<Self, Value> {
        let pattern = required(arguments, "pattern").map_err(error)?;
        if pattern.is_empty() {
            return Err(error("pattern is empty"));
        }
        let names = match text(arguments, "target").unwrap_or("content") {
            "content" | "grep" => false,
            "files" | "find" => true,
            other => {
                return Err(error(format!(
                    "unknown target '{other}': use 'content' or 'files'"
                )));
            }
        };
        let mode = match text(arguments, "output_mode").unwrap_or("content") {
            "content" => Mode::Content,
            "files_only" => Mode::Files,
            "count" => Mode::Count,
            other => {
                return Err(error(format!(
                    "unknown output_mode '{other}': use 'content', 'files_only' or 'count'"
                )));
            }
        };
        Ok(Self {
            pattern: pattern.to_owned(),
            names,
            path: text(arguments, "path").unwrap_or(".").to_owned(),
            glob: text(arguments, "file_glob")
                .filter(|glob| !glob.is_empty())
                .map(str::to_owned),
            limit: number(arguments, "limit", 50, 1, 10_000) as usize,
            offset: number(arguments, "offset", 0, 0, u64::from(u32::MAX)) as usize,
            mode,
            context: number(arguments, "context", 0, 0, 100) as usize,
        })
    }
}

impl Tool for SearchFilesTool {
    fn name(&self) -> &str {
        "search_files"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "search_files".into(),
            description: "Search file contents by regular expression, or find files by name. Prefer this to grep, rg, find and ls. Hidden and git-ignored files are skipped.".into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "content: a regular expression; files: a glob such as *.rs"},
                    "target": {"type": "string", "enum": ["content", "files"], "description": "Search in files, or for files (newest first)", "default": "content"},
                    "path": {"type": "string", "description": "Directory or file to search in", "default": "."},
                    "file_glob": {"type": "string", "description": "content: only files whose name matches, such as *.py"},
                    "limit": {"type": "integer", "description": "Most results", "default": 50},
                    "offset": {"type": "integer", "description": "Results to skip", "default": 0},
                    "output_mode": {"type": "string", "enum": ["content", "files_only", "count"], "description": "content: matching lines, file names only, or counts per file", "default": "content"},
                    "context": {"type": "integer", "description": "Lines around each hit", "default": 0}
                },
                "required": ["pattern"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            self.search(context, &arguments)
                .await
                .unwrap_or_else(|value| output(Err(value)))
        })
    }
}

enum Found {
    Names(Vec<PathBuf>),
    Content(ContentHits),
}

impl Found {
    /// Paths as the sandbox sees them.
    fn renamed(self, host: &Path, seen_as: &SandboxPath) -> Self {
        let rename = |path: PathBuf| match path.strip_prefix(host) {
            Ok(rest) if rest.as_os_str().is_empty() => PathBuf::from(seen_as.as_str()),
            Ok(rest) => Path::new(seen_as.as_str()).join(rest),
            Err(_) => path,
        };
        match self {
            Found::Names(paths) => Found::Names(paths.into_iter().map(rename).collect()),
            Found::Content(hits) => Found::Content(ContentHits {
                lines: hits
                    .lines
                    .into_iter()
                    .map(|hit| LineHit {
                        path: rename(hit.path),
                        ..hit
                    })
                    .collect(),
                counts: hits
                    .counts
                    .into_iter()
                    .map(|(path, count)| (rename(path), count))
                    .collect(),
                total: hits.total,
            }),
        }
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn line_json(hit: &LineHit) -> Value {
    let cut = hit
        .text
        .char_indices()
        .nth(MAX_LINE)
        .map_or(hit.text.len(), |(at, _)| at);
    json!({ "path": hit.path.display().to_string(), "line": hit.line, "content": &hit.text[..head_edge(&hit.text, cut)] })
}

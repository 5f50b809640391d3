//! `search_files`: lines by pattern, or files by name. On paths that this
//! machine reaches the embedded engine searches; elsewhere `rg` or `grep` does,
//! in the sandbox, with the same rules.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_sandbox::search::{
    ContentHits, ContentQuery, LineHit, LinePattern, NameGlob, ere, search_content, search_names,
};
use hermes_sandbox::{FileKind, SandboxPath};
use hermes_types::{SessionId, ToolOutput, ToolSpec, head_edge};
use serde_json::{Map, Value, json};

use super::desk::{FileDesk, with_warnings};
use super::policy::FilePolicy;
use super::read::{error, output, similar_files};
use super::search_script::{self as script, Start, Step};
use crate::builtin::arguments::{number, required, text};
use crate::tool::{Reader, Tool, ToolContext};

const PATIENCE: Duration = Duration::from_secs(60);
const MAX_LINE: usize = 500;
/// The exit code of a script that was stopped.
const TIMED_OUT: i32 = 124;

pub struct SearchFilesTool {
    desk: Arc<FileDesk>,
    last: Mutex<Option<Last>>,
}

/// The last search of a conversation, when that was, and how often it came in a row.
struct Last {
    session: SessionId,
    search: Search,
    round: u64,
    times: u32,
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
            Reader::Model => self.count(context, &search),
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
        let policy = &self.desk.policy;
        if !search.names
            && let Some(reason) = policy
                .refuses_read(&located.real)
                .or_else(|| policy.refuses_read(&located.path))
        {
            return Err(error(reason));
        }
        if located
            .stat
            .as_ref()
            .is_some_and(|stat| stat.kind == FileKind::Other)
        {
            return Err(error(located.regular().err().unwrap_or_default()));
        }
        let (found, note) = match self.desk.workspace.mounts().to_host(&located.real) {
            Some(host) => {
                let host = host.as_path();
                let found = self.embedded(&search, host, &located.real, context).await?;
                (found, None)
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
        warnings.extend(note.map(str::to_owned));
        Ok(self.present(&search, found, warnings, note.is_some()))
    }

    fn count(&self, context: &ToolContext, search: &Search) -> u32 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let again = last.as_ref().is_some_and(|last| {
            last.session == context.session
                && last.search == *search
                && context.round <= last.round + 1
        });
        let times = match &*last {
            Some(last) if again => last.times + 1,
            _ => 1,
        };
        *last = Some(Last {
            session: context.session.clone(),
            search: search.clone(),
            round: context.round,
            times,
        });
        times
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
        let policy = Arc::clone(&self.desk.policy);
        let inside = seen_as.clone();
        let work = tokio::task::spawn_blocking(move || {
            if task.names {
                return search_names(&root, &task.pattern, &flag).map(Found::Names);
            }
            let query = ContentQuery {
                pattern: task.pattern,
                file_glob: task.glob,
                context: task.context,
            };
            let may_read = |path: &Path| {
                let inside = renamed(path.to_owned(), &root, &inside);
                may_read(&policy, &inside)
            };
            search_content(&root, &query, &may_read, &flag).map(Found::Content)
        });
        let found = tokio::select! {
            found = work => found.map_err(|e| error(format!("Search failed: {e}")))?,
            () = context.cancel.cancelled() => return Err(error("the search was interrupted")),
        };
        let found = found.map_err(|e| error(format!("Search failed: {e}")))?;
        Ok(found.renamed(host, seen_as))
    }

    /// With what is to be warned about.
    async fn in_sandbox(
        &self,
        search: &Search,
        start: &Start<'_>,
    ) -> Result<(Found, Option<&'static str>), Value> {
        let failed = |e: hermes_sandbox::search::SearchError| error(format!("Search failed: {e}"));
        let glob = match (search.names, &search.glob) {
            (true, _) => Some(NameGlob::of_names(&search.pattern).map_err(failed)?),
            (false, Some(glob)) => Some(NameGlob::new(glob).map_err(failed)?),
            (false, None) => None,
        };
        let pattern = match search.names {
            true => None,
            false => Some(LinePattern::new(&search.pattern).map_err(failed)?),
        };
        let write = |step: Step<'_>| match (search.names, &glob) {
            (true, Some(glob)) => script::names(start, glob, step),
            _ => {
                let wanted = script::Content {
                    pattern: &search.pattern,
                    glob: glob.as_ref(),
                    context: search.context,
                };
                script::content(start, &wanted, step)
            }
        };
        let (mut text, mut note) = self.run(write(Step::First)).await?;
        let mut survey = script::read_survey(start, &text);
        if let Some(survey) = &mut survey {
            let pruned = survey.rules.topmost(&survey.directories);
            (text, note) = self.run(write(Step::Without(&pruned))).await?;
        }
        let root = Path::new(start.path.as_str());
        let mut wanted = |path: &Path| {
            glob.as_ref().is_none_or(|glob| glob.matches(path, root))
                && !survey.as_mut().is_some_and(|s| s.rules.ignores_file(path))
        };
        let found = match pattern {
            None => {
                let mut paths = script::read_names(start, &text);
                paths.retain(|path| wanted(path));
                Found::Names(paths)
            }
            Some(pattern) => {
                let mut lines = script::read_content(start, &text);
                lines.retain(|hit| wanted(&hit.path) && may_read(&self.desk.policy, &hit.path));
                if !ere(&search.pattern).exact {
                    script::look_again(&mut lines, &pattern, search.context);
                }
                Found::Content(script::counted(lines))
            }
        };
        Ok((found, note))
    }

    /// What a script of ours printed, and whether that is all.
    async fn run(&self, script: String) -> Result<(String, Option<&'static str>), Value> {
        let workspace = &self.desk.workspace;
        let done = workspace
            .run_script(script, PATIENCE)
            .await
            .map_err(error)?;
        let text = String::from_utf8_lossy(&done.output).into_owned();
        let note = match done.exit_code {
            TIMED_OUT => Some("the search was stopped after 60 s; there may be more"),
            _ if done.cut => Some("there are too many results to count; there are more"),
            _ => None,
        };
        // 1 means that nothing was found; other codes may still come with hits.
        if done.exit_code > 1 && !text.contains('\0') {
            return Err(error(match done.exit_code {
                TIMED_OUT => "Search failed: nothing was found in 60 s; search a smaller directory"
                    .to_owned(),
                _ => format!("Search failed: {}", text.trim()),
            }));
        }
        Ok((text, note))
    }

    /// `cut`: there is more than was found.
    fn present(
        &self,
        search: &Search,
        found: Found,
        warnings: Vec<String>,
        cut: bool,
    ) -> ToolOutput {
        let mut result = Map::new();
        let page = |all: usize| {
            (
                search.offset.min(all),
                (search.offset + search.limit).min(all),
            )
        };
        let mut cut = cut;
        let mut of_what = "results".to_owned();
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
                    // Very many are counted, not kept.
                    cut |= hits.total > hits.lines.iter().filter(|hit| hit.is_match).count();
                    let shown: Vec<Value> = hits.lines[start..end].iter().map(line_json).collect();
                    if hits.lines.iter().any(|hit| !hit.is_match) {
                        of_what = format!("lines with {} matches", hits.total);
                    }
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
        result.insert("truncated".into(), json!(truncated || cut));
        let mut output = ToolOutput::json(&with_warnings(result, warnings));
        if truncated {
            output.text.push_str(&format!(
                "\n\n[{total} {of_what}; use offset={end} to see more]"
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
        let rename = |path: PathBuf| renamed(path, host, seen_as);
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

/// A path of this machine as the sandbox sees it.
fn renamed(path: PathBuf, host: &Path, seen_as: &SandboxPath) -> PathBuf {
    match path.strip_prefix(host) {
        Ok(rest) if rest.as_os_str().is_empty() => PathBuf::from(seen_as.as_str()),
        Ok(rest) => Path::new(seen_as.as_str()).join(rest),
        Err(_) => path,
    }
}

/// Links are not followed below where a search begins, so the path is the real one.
fn may_read(policy: &FilePolicy, path: &Path) -> bool {
    let path = path.to_str().and_then(SandboxPath::absolute);
    path.is_none_or(|path| policy.refuses_read(&path).is_none())
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

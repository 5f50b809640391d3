//! `read_file`: numbered lines of a text file, a piece at a time.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hermes_sandbox::{Contents, FileKind, LineRange, MAX_PAGED, MAX_READ};
use hermes_types::{ToolOutput, ToolSpec, head_edge};
use serde_json::{Map, Value, json};

use super::desk::{FileDesk, Located, Version, plain, with_warnings};
use crate::builtin::arguments::{number, required};
use crate::patch::ratio;
use crate::tool::{Reader, Tool, ToolContext};

/// Files that are no text, whatever their first bytes look like.
const BINARY: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "bmp", "ico", "webp", "tif", "tiff", "heic", "avif", "mp4", "mkv",
    "mov", "avi", "webm", "mp3", "wav", "ogg", "flac", "m4a", "aac", "zip", "tar", "gz", "tgz",
    "bz2", "xz", "7z", "rar", "zst", "exe", "dll", "so", "dylib", "o", "a", "obj", "lib", "class",
    "jar", "wasm", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "odt", "ods", "ttf", "otf", "woff",
    "woff2", "eot", "pyc", "pyo", "db", "sqlite", "sqlite3", "psd", "ai", "sketch", "fig", "dat",
    "data", "lockb", "bin", "iso", "img",
];
const PICTURES: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "bmp", "webp", "tif", "tiff", "ico",
];

/// Instead of a piece that the model has already.
pub(super) const UNCHANGED: &str =
    "the file has not changed since you read this part of it; the content is above";

/// How often in a row a piece of a file that changes is shown.
const MOST_SHOWN: u32 = 3;

/// No file that is read has more lines, and programs that count in 32 bits get this far.
const LAST_LINE: u64 = 1 << 30;

/// Files above this size are better read in small pieces.
const LARGE: u64 = 512_000;

pub struct ReadFileTool {
    desk: Arc<FileDesk>,
}

impl ReadFileTool {
    pub fn new(desk: Arc<FileDesk>) -> Self {
        Self { desk }
    }

    async fn read(&self, context: &ToolContext, arguments: &Value) -> Result<Value, Value> {
        let path = required(arguments, "path").map_err(error)?;
        let most = self.desk.limits.max_lines.max(1) as u64;
        let offset = number(arguments, "offset", 1, 1, LAST_LINE) as usize;
        let limit = number(arguments, "limit", 500, 1, most) as usize;
        let page = LineRange {
            first: offset,
            count: limit,
        };
        let text_like = !BINARY.contains(&extension(path).as_str());
        let (located, contents) = self
            .desk
            .locate_and_read(context, path, text_like.then_some(page))
            .await
            .map_err(error)?;
        // By the name that was given, too: where `/dev/stdin` leads is anybody's guess.
        let policy = &self.desk.policy;
        if let Some(reason) = policy
            .refuses_read(&located.real)
            .or_else(|| policy.refuses_read(&located.path))
        {
            return Err(error(reason));
        }
        if located.stat.is_none() {
            return Err(not_found(&located).await);
        }
        let stat = located.regular().map_err(error)?;
        let extension = extension(located.path.as_str());
        if BINARY.contains(&extension.as_str()) {
            let picture = PICTURES.contains(&extension.as_str());
            return Err(json!({
                "error": format!("Binary file: {} ({} bytes) cannot be shown as text", located.path, stat.size),
                "is_binary": true, "is_image": picture, "file_size": stat.size,
            }));
        }
        let for_model = context.reader == Reader::Model;
        if for_model && let Some(answer) = self.repeated(&located, (offset, limit), context.round) {
            return answer;
        }
        let version = Version::from(stat);
        if stat.size > MAX_PAGED || (contents.is_none() && stat.size > MAX_READ) {
            return Err(json!({
                "error": format!("{} has {} bytes, more than can be read at once; use the terminal (`sed -n`, `grep`) for a part of it", located.path, stat.size),
                "file_size": stat.size,
            }));
        }
        let contents = match contents {
            Some(contents) => contents,
            None => {
                let whole = located.files.read(&located.path, 0, MAX_READ).await;
                Contents::Whole(whole.map_err(|e| error(plain(&e)))?)
            }
        };
        let mut page = self.page(&located, &contents, page)?;
        if !for_model {
            return Ok(Value::Object(page));
        }
        let whole = page.get("truncated") == Some(&json!(false)) && offset == 1;
        let mut warnings: Vec<String> = located.warning.clone().into_iter().collect();
        self.desk.remember(&located, |seen| {
            let again = seen.range == Some((offset, limit)) && seen.is_followed_by(context.round);
            seen.shown = if again { seen.shown + 1 } else { 1 };
            if seen.shown == MOST_SHOWN {
                warnings.push(
                    "you have read this part three times in a row; a fourth time is refused"
                        .to_owned(),
                );
            }
            seen.repeats = 0;
            seen.whole = whole || (seen.whole && seen.version == Some(version));
            seen.version = Some(version);
            seen.range = Some((offset, limit));
            seen.round = context.round;
        });
        if stat.size > LARGE && limit > 200 {
            let hint = "a large file: ask for fewer lines at a time, or find the place with search_files first";
            page.insert("_hint".into(), json!(hint));
        }
        Ok(with_warnings(page, warnings))
    }

    /// The same piece of an unchanged file is not sent twice, and one that changes all
    /// the time not four times in a row.
    fn repeated(
        &self,
        located: &Located,
        range: (usize, usize),
        round: u64,
    ) -> Option<Result<Value, Value>> {
        let seen = self.desk.recall(located);
        let version = located.stat.as_ref().map(Version::from);
        // With something else in between, asking again may be an honest question.
        let in_a_row = seen.is_followed_by(round);
        if seen.range == Some(range) && seen.version != version && in_a_row {
            self.desk.remember(located, |seen| seen.round = round);
            return (seen.shown >= MOST_SHOWN).then(|| {
                Err(json!({
                    "error": format!("BLOCKED: you have read this part of {} {} times in a row; do something else, or wait for a change in the terminal", located.path, seen.shown),
                    "path": located.path.as_str(), "already_read": true,
                }))
            });
        }
        if seen.range != Some(range) || seen.version != version {
            return None;
        }
        let repeats = if in_a_row { seen.repeats } else { 0 };
        self.desk.remember(located, |seen| {
            seen.repeats = repeats + 1;
            seen.round = round;
        });
        if repeats >= 1 {
            return Some(Err(json!({
                "error": format!("BLOCKED: you have read this part of {} already and it has not changed; use what you have", located.path),
                "path": located.path.as_str(), "already_read": true,
            })));
        }
        Some(Ok(json!({
            "status": "unchanged",
            "message": UNCHANGED,
            "path": located.path.as_str(), "dedup": true, "content_returned": false,
        })))
    }

    fn page(
        &self,
        located: &Located,
        contents: &Contents,
        page: LineRange,
    ) -> Result<Map<String, Value>, Value> {
        let size = match contents {
            Contents::Whole(bytes) => bytes.len() as u64,
            Contents::Page { .. } => located.stat.as_ref().map_or(0, |stat| stat.size),
        };
        if is_binary(contents) {
            return Err(json!({
                "error": format!("Binary file: {} ({size} bytes) cannot be shown as text", located.path),
                "is_binary": true, "is_image": false, "file_size": size,
            }));
        }
        let (Contents::Whole(bytes) | Contents::Page { lines: bytes, .. }) = contents;
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let lines: Vec<&str> = text.lines().collect();
        let total = match contents {
            Contents::Whole(_) => lines.len(),
            Contents::Page { total_lines, .. } => *total_lines,
        };
        let end = (page.first - 1).saturating_add(page.count).min(total);
        let start = (page.first - 1).min(end);
        let lines = match contents {
            Contents::Whole(_) => &lines[start..end],
            // Fewer when it shrank meanwhile.
            Contents::Page { .. } => &lines[..lines.len().min(end - start)],
        };
        let (mut content, mut cut) = (String::new(), false);
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                content.push('\n');
            }
            let shown = self.shortened(line);
            cut |= shown.len() != line.len();
            content.push_str(&format!("{}|{shown}", start + index + 1));
        }
        if content.chars().count() > self.desk.limits.max_read_chars {
            return Err(json!({
                "error": format!("that part has more than {} characters; ask for fewer lines with limit", self.desk.limits.max_read_chars),
                "total_lines": total, "file_size": size,
            }));
        }
        let truncated = end < total;
        let mut result = Map::new();
        result.insert("content".into(), json!(content));
        result.insert("total_lines".into(), json!(total));
        result.insert("file_size".into(), json!(size));
        result.insert("truncated".into(), json!(truncated || cut));
        result.insert("is_binary".into(), json!(false));
        result.insert("is_image".into(), json!(false));
        if truncated {
            let hint = format!(
                "Use offset={} to continue reading (showing {}-{end} of {total} lines)",
                end + 1,
                start + 1
            );
            result.insert("hint".into(), json!(hint));
        } else if cut {
            let hint = format!(
                "lines of more than {} characters are cut; use the terminal (`cut -c`) for the rest of one",
                self.desk.limits.max_line_length
            );
            result.insert("hint".into(), json!(hint));
        } else if page.first > total.max(1) {
            let hint = format!("the file ends before that: it has {total} lines");
            result.insert("hint".into(), json!(hint));
        }
        Ok(result)
    }

    fn shortened(&self, line: &str) -> String {
        let most = self.desk.limits.max_line_length;
        match line.char_indices().nth(most) {
            Some((cut, _)) => format!("{}... [truncated]", &line[..head_edge(line, cut)]),
            None => line.to_owned(),
        }
    }
}

impl Tool for ReadFileTool {
    fn name(&self) -> &str {
        "read_file"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file".into(),
            description: "Read a text file with line numbers. Prefer this to cat, head or tail. Large files come in pieces: go on with offset.".into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute, relative to the working directory, or ~/…"},
                    "offset": {"type": "integer", "description": "First line to show", "default": 1, "minimum": 1},
                    "limit": {"type": "integer", "description": "How many lines", "default": 500, "maximum": 2000}
                },
                "required": ["path"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { output(self.read(context, &arguments).await) })
    }

    fn result_limit(&self) -> Option<usize> {
        None
    }
}

fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .unwrap_or_default()
}

/// A NUL byte, or mostly control characters at the beginning.
fn is_binary(contents: &Contents) -> bool {
    let (has_nul, beginning) = match contents {
        Contents::Whole(bytes) => (bytes.contains(&0), bytes),
        Contents::Page {
            has_nul, beginning, ..
        } => (*has_nul, beginning),
    };
    if has_nul {
        return true;
    }
    let head = &beginning[..beginning.len().min(1000)];
    let control =
        |byte: &&u8| **byte < 32 && !matches!(**byte, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b);
    head.iter().filter(control).count() * 10 > head.len() * 3
}

async fn not_found(located: &Located) -> Value {
    let similar = similar_files(located).await;
    let mut result = json!({ "error": format!("File not found: {}", located.path) });
    if !similar.is_empty() {
        result["similar_files"] = json!(similar);
    }
    result
}

/// Up to five names of the same directory that look alike.
pub(super) async fn similar_files(located: &Located) -> Vec<String> {
    let (Some(parent), Some(name)) = (located.path.parent(), located.path.file_name()) else {
        return Vec::new();
    };
    let Ok(entries) = located.files.list(&parent).await else {
        return Vec::new();
    };
    let mut scored: Vec<(f64, String)> = entries
        .into_iter()
        // A link that leads nowhere is itself in the list.
        .filter(|entry| entry.kind != FileKind::Other && entry.name != name)
        .take(5_000)
        .map(|entry| {
            (
                ratio(&entry.name.to_lowercase(), &name.to_lowercase()),
                entry.name,
            )
        })
        .filter(|(score, _)| *score >= 0.5)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored
        .into_iter()
        .take(5)
        .map(|(_, name)| parent.join(&name).to_string())
        .collect()
}

pub(super) fn error(message: impl Into<String>) -> Value {
    json!({ "error": message.into() })
}

pub(super) fn output(result: Result<Value, Value>) -> ToolOutput {
    match result {
        Ok(value) => ToolOutput {
            diff: value["diff"].as_str().map(str::to_owned),
            ..ToolOutput::json(&value)
        },
        Err(value) => ToolOutput {
            failed: true,
            ..ToolOutput::json(&value)
        },
    }
}

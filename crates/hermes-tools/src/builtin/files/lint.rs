//! Whether a file still parses after it was written. Only what is new is told.

use std::time::Duration;

use hermes_sandbox::session::quote;
use hermes_sandbox::{NewFileMode, SandboxPath};
use serde_json::{Value, json};

use super::workspace::Workspace;

const PATIENCE: Duration = Duration::from_secs(30);
/// Lines of a checker's output that are shown.
const SHOWN: usize = 12;

pub(super) async fn check(
    workspace: &dyn Workspace,
    path: &SandboxPath,
    before: Option<&str>,
    after: &str,
) -> Value {
    let extension = path
        .file_name()
        .and_then(|name| name.rsplit_once('.'))
        .map_or("", |(_, e)| e);
    let parse: fn(&str) -> Result<(), String> = match extension {
        "json" => |text| {
            serde_json::from_str::<serde::de::IgnoredAny>(text)
                .map(|_| ())
                .map_err(|e| e.to_string())
        },
        "yaml" | "yml" => |text| {
            hermes_config::yaml::parse(text)
                .map(|_| ())
                .map_err(|e| format!("line {}, column {}: {}", e.line, e.column, e.reason))
        },
        _ => {
            let Some(checker) = Checker::of(extension) else {
                return skipped("no checker for this kind of file");
            };
            return checker.check(workspace, path, before).await;
        }
    };
    match (parse(after), before.map(parse)) {
        (Ok(()), _) => fine(),
        (Err(now), Some(Err(earlier))) if now == earlier => nothing_new(),
        (Err(now), _) => json!({ "status": "error", "output": now }),
    }
}

/// A program in the sandbox that knows the language.
struct Checker {
    program: &'static str,
    /// Before the file's name.
    command: &'static str,
    /// Looks at other files, too: an earlier text alone says nothing.
    with_others: bool,
}

impl Checker {
    fn of(extension: &str) -> Option<Self> {
        let (program, command, with_others) = match extension {
            // Compiles in memory: no cache file appears beside the source.
            "py" => (
                "python3",
                "python3 -c 'import sys; compile(open(sys.argv[1], encoding=\"utf-8\").read(), sys.argv[1], \"exec\")'",
                false,
            ),
            "toml" => (
                "python3",
                "python3 -c 'import sys\ntry: import tomllib\nexcept ImportError: sys.exit(127)\ntry: tomllib.load(open(sys.argv[1], \"rb\"))\nexcept ValueError as e: sys.exit(str(e))'",
                false,
            ),
            "js" | "mjs" | "cjs" => ("node", "node --check", false),
            // Only what is installed: nothing is fetched for a check.
            "ts" => ("npx", "npx --no-install tsc --noEmit", true),
            "go" => ("go", "go vet", true),
            "rs" => (
                "rustfmt",
                "rustfmt --check --edition 2024 --config skip_children=true",
                false,
            ),
            "sh" | "bash" => ("bash", "bash -n", false),
            _ => return None,
        };
        Some(Self {
            program,
            command,
            with_others,
        })
    }

    async fn check(
        &self,
        workspace: &dyn Workspace,
        path: &SandboxPath,
        before: Option<&str>,
    ) -> Value {
        let now = match self.run(workspace, path).await {
            Ok(None) => return fine(),
            Ok(Some(now)) => now,
            Err(reason) => return skipped(&reason),
        };
        let earlier = match before {
            Some(text) if !self.with_others => self.earlier(workspace, path, text).await,
            _ => None,
        };
        let new: Vec<&str> = match &earlier {
            Some(earlier) => now
                .lines()
                .filter(|line| !earlier.lines().any(|known| known == *line))
                .collect(),
            None => now.lines().collect(),
        };
        if new.is_empty() && earlier.is_some() {
            return nothing_new();
        }
        let end = &new[new.len().saturating_sub(SHOWN)..];
        json!({ "status": "error", "output": end.join("\n") })
    }

    /// What the checker says; nothing when all is well.
    async fn run(
        &self,
        workspace: &dyn Workspace,
        path: &SandboxPath,
    ) -> Result<Option<String>, String> {
        let Self {
            program, command, ..
        } = self;
        let file = quote(path.as_str());
        // 127 says that the program is not there.
        let script = format!("command -v {program} >/dev/null 2>&1 || exit 127\n{command} {file}");
        let done = workspace.run_script(script, PATIENCE).await?;
        match done.exit_code {
            0 => Ok(None),
            124 | 126 | 127 => Err(format!("{program} did not run")),
            _ => {
                let text = String::from_utf8_lossy(&done.output);
                Ok(Some(text.trim().replace(path.as_str(), "<file>")))
            }
        }
    }

    /// What the checker says of the text that was there before.
    async fn earlier(
        &self,
        workspace: &dyn Workspace,
        path: &SandboxPath,
        text: &str,
    ) -> Option<String> {
        let files = workspace.files().await.ok()?;
        let name = uuid::Uuid::new_v4().simple().to_string();
        let extension = path.file_name()?.rsplit_once('.')?.1;
        let copy = SandboxPath::absolute(&format!("/tmp/hermes-before-{name}.{extension}"))?;
        let bytes = text.as_bytes().to_vec();
        files.write(&copy, bytes, NewFileMode::Private).await.ok()?;
        let said = self.run(workspace, &copy).await;
        let _ = files.remove(&copy).await;
        said.ok().flatten()
    }
}

fn fine() -> Value {
    json!({ "status": "ok", "output": "" })
}

fn nothing_new() -> Value {
    json!({
        "status": "ok", "output": "",
        "message": "the file had these errors before the write: nothing new",
    })
}

fn skipped(message: &str) -> Value {
    json!({ "status": "skipped", "message": message })
}

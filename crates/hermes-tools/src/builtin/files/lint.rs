//! Whether a file still parses after it was written. Only what is new is told.

use std::time::Duration;

use hermes_sandbox::SandboxPath;
use hermes_sandbox::session::quote;
use serde_json::{Value, json};

use super::workspace::Workspace;

const PATIENCE: Duration = Duration::from_secs(30);

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
        _ => return by_program(workspace, path, extension).await,
    };
    match (parse(after), before.map(parse)) {
        (Ok(()), _) => json!({ "status": "ok", "output": "" }),
        (Err(now), Some(Err(earlier))) if now == earlier => json!({
            "status": "ok", "output": "",
            "message": "the file had this error before the write: nothing new",
        }),
        (Err(now), _) => json!({ "status": "error", "output": now }),
    }
}

async fn by_program(workspace: &dyn Workspace, path: &SandboxPath, extension: &str) -> Value {
    let file = quote(path.as_str());
    let (program, command) = match extension {
        // Compiles in memory: no cache file appears beside the source.
        "py" => (
            "python3",
            format!(
                "python3 -c 'import sys; compile(open(sys.argv[1], encoding=\"utf-8\").read(), sys.argv[1], \"exec\")' {file}"
            ),
        ),
        "js" | "mjs" | "cjs" => ("node", format!("node --check {file}")),
        "rs" => (
            "rustfmt",
            format!("rustfmt --check --edition 2024 {file} >/dev/null"),
        ),
        "sh" | "bash" => ("bash", format!("bash -n {file}")),
        _ => return skipped("no checker for this kind of file"),
    };
    // 127 says that the program is not there.
    let script = format!("command -v {program} >/dev/null 2>&1 || exit 127\n{command}");
    match workspace.run_script(script, PATIENCE).await {
        Ok(done) if done.exit_code == 0 => json!({ "status": "ok", "output": "" }),
        Ok(done) if done.exit_code == 127 || done.exit_code == 124 => {
            skipped(&format!("{program} did not run"))
        }
        Ok(done) => {
            let text = String::from_utf8_lossy(&done.output);
            let end: Vec<&str> = text.trim().lines().rev().take(12).collect();
            let end: Vec<&str> = end.into_iter().rev().collect();
            json!({ "status": "error", "output": end.join("\n") })
        }
        Err(reason) => skipped(&reason),
    }
}

fn skipped(message: &str) -> Value {
    json!({ "status": "skipped", "message": message })
}

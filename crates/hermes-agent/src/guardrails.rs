//! Notices when a model runs in circles: the same call failing again, one tool
//! failing over and over, a reader that keeps returning the same thing. Counters
//! live for one turn.

use std::collections::HashMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::repair::canonical;

/// `tool_loop_guardrails`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardrailLimits {
    pub warnings: bool,
    pub hard_stop: bool,
    pub warn_after: Thresholds,
    pub stop_after: Thresholds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    pub exact_failure: u32,
    pub same_tool_failure: u32,
    pub no_progress: u32,
}

impl Default for GuardrailLimits {
    fn default() -> Self {
        Self {
            warnings: true,
            hard_stop: false,
            warn_after: Thresholds {
                exact_failure: 2,
                same_tool_failure: 3,
                no_progress: 2,
            },
            stop_after: Thresholds {
                exact_failure: 5,
                same_tool_failure: 8,
                no_progress: 5,
            },
        }
    }
}

/// What the guard says about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    Fine,
    /// Stands below the result.
    Warn(String),
    /// The turn ends.
    Halt {
        code: &'static str,
        count: u32,
    },
}

const IDEMPOTENT: [&str; 14] = [
    "read_file",
    "search_files",
    "web_search",
    "web_extract",
    "session_search",
    "browser_snapshot",
    "browser_console",
    "browser_get_images",
    "mcp_filesystem_read_file",
    "mcp_filesystem_read_text_file",
    "mcp_filesystem_read_multiple_files",
    "mcp_filesystem_list_directory",
    "mcp_filesystem_directory_tree",
    "mcp_filesystem_search_files",
];

#[derive(Debug, Default)]
pub struct Guardrails {
    limits: GuardrailLimits,
    exact: HashMap<[u8; 32], u32>,
    by_tool: HashMap<String, u32>,
    unchanged: HashMap<[u8; 32], ([u8; 32], u32)>,
}

impl Guardrails {
    pub fn new(limits: GuardrailLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Whether the call must not even start.
    pub fn before(&self, name: &str, arguments: &Value) -> Finding {
        if !self.limits.hard_stop {
            return Finding::Fine;
        }
        let key = call_key(name, arguments);
        let stop = self.limits.stop_after;
        if let Some(&count) = self.exact.get(&key)
            && count >= stop.exact_failure
        {
            return Finding::Halt {
                code: "repeated_exact_failure_block",
                count,
            };
        }
        if let Some(&(_, count)) = self.unchanged.get(&key)
            && count >= stop.no_progress
        {
            return Finding::Halt {
                code: "idempotent_no_progress_block",
                count,
            };
        }
        Finding::Fine
    }

    /// Counts a finished call.
    pub fn after(&mut self, name: &str, arguments: &Value, result: &str, failed: bool) -> Finding {
        let key = call_key(name, arguments);
        if failed {
            let exact = bump(self.exact.entry(key).or_default());
            let tool = bump(self.by_tool.entry(name.to_owned()).or_default());
            if self.limits.hard_stop && tool >= self.limits.stop_after.same_tool_failure {
                return Finding::Halt {
                    code: "same_tool_failure_halt",
                    count: tool,
                };
            }
            if exact >= self.limits.warn_after.exact_failure {
                return self.warn(
                    "repeated_exact_failure_warning",
                    exact,
                    "the same call failed again; change the arguments or the approach",
                );
            }
            if tool >= self.limits.warn_after.same_tool_failure {
                return self.warn(
                    "same_tool_failure_warning",
                    tool,
                    "this tool keeps failing; find out why before calling it again",
                );
            }
            return Finding::Fine;
        }
        self.exact.remove(&key);
        self.by_tool.remove(name);
        if IDEMPOTENT.contains(&name) {
            let digest = hash(&[result.as_bytes()]);
            let entry = self.unchanged.entry(key).or_insert((digest, 0));
            if entry.0 == digest {
                entry.1 += 1;
            } else {
                *entry = (digest, 1);
            }
            let count = entry.1;
            if count > self.limits.warn_after.no_progress {
                return self.warn(
                    "idempotent_no_progress_warning",
                    count,
                    "the same call returned the same result; use what you have",
                );
            }
        }
        Finding::Fine
    }

    fn warn(&self, code: &str, count: u32, advice: &str) -> Finding {
        if self.limits.warnings {
            Finding::Warn(format!(
                "\n\n[Tool loop warning: {code}; count={count}; {advice}]"
            ))
        } else {
            Finding::Fine
        }
    }
}

/// Whether a result reports a failure, judged by what the model reads.
pub fn is_failure(name: &str, result: &str) -> bool {
    if name == "terminal" {
        return serde_json::from_str::<Value>(result)
            .ok()
            .and_then(|value| value.get("exit_code").and_then(Value::as_i64))
            .is_some_and(|code| code != 0);
    }
    if matches!(name, "write_file" | "patch")
        && let Ok(value) = serde_json::from_str::<Value>(result)
        && (value.get("bytes_written").is_some()
            || value.get("success") == Some(&Value::Bool(true)))
    {
        return false;
    }
    if result.starts_with("Error") || result.starts_with("[TOOL_ERROR]") {
        return true;
    }
    let mut end = result.len().min(500);
    while !result.is_char_boundary(end) {
        end -= 1;
    }
    let head = &result[..end];
    head.contains("\"error\": \"")
        || head.contains("\"error\":\"")
        || head.contains("\"failed\"")
        || head.contains("\"success\": false")
        || head.contains("\"success\":false")
}

fn bump(count: &mut u32) -> u32 {
    *count += 1;
    *count
}

fn call_key(name: &str, arguments: &Value) -> [u8; 32] {
    hash(&[name.as_bytes(), b"\0", canonical(arguments).as_bytes()])
}

fn hash(pieces: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stopping() -> Guardrails {
        Guardrails::new(GuardrailLimits {
            hard_stop: true,
            ..GuardrailLimits::default()
        })
    }

    #[test]
    fn the_second_identical_failure_warns() {
        let mut guard = Guardrails::default();
        let arguments = json!({"command": "false"});
        assert_eq!(
            guard.after("terminal", &arguments, "x", true),
            Finding::Fine
        );
        match guard.after("terminal", &arguments, "x", true) {
            Finding::Warn(text) => {
                assert!(text.starts_with(
                    "\n\n[Tool loop warning: repeated_exact_failure_warning; count=2;"
                ));
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn different_failures_of_one_tool_warn_at_the_third() {
        let mut guard = Guardrails::default();
        for number in 0..2 {
            assert_eq!(
                guard.after("patch", &json!({"path": number}), "x", true),
                Finding::Fine
            );
        }
        assert!(matches!(
            guard.after("patch", &json!({"path": 3}), "x", true),
            Finding::Warn(text) if text.contains("same_tool_failure_warning; count=3")
        ));
    }

    #[test]
    fn a_success_resets_the_count() {
        let mut guard = Guardrails::default();
        let arguments = json!({});
        guard.after("patch", &arguments, "x", true);
        guard.after("patch", &arguments, "fine", false);
        assert_eq!(guard.after("patch", &arguments, "x", true), Finding::Fine);
    }

    #[test]
    fn reading_the_same_thing_again_and_again_warns() {
        let mut guard = Guardrails::default();
        let arguments = json!({"path": "a"});
        assert_eq!(
            guard.after("read_file", &arguments, "same", false),
            Finding::Fine
        );
        assert_eq!(
            guard.after("read_file", &arguments, "same", false),
            Finding::Fine
        );
        assert!(matches!(
            guard.after("read_file", &arguments, "same", false),
            Finding::Warn(text) if text.contains("idempotent_no_progress_warning; count=3")
        ));
        assert_eq!(
            guard.after("read_file", &arguments, "other", false),
            Finding::Fine
        );
    }

    #[test]
    fn hard_stops_block_and_halt() {
        let mut guard = stopping();
        let arguments = json!({"command": "false"});
        for _ in 0..5 {
            guard.after("terminal", &arguments, "x", true);
        }
        assert_eq!(
            guard.before("terminal", &arguments),
            Finding::Halt {
                code: "repeated_exact_failure_block",
                count: 5
            }
        );
        let mut guard = stopping();
        for number in 0..7 {
            guard.after("terminal", &json!({"command": number}), "x", true);
        }
        assert_eq!(
            guard.after("terminal", &json!({"command": 8}), "x", true),
            Finding::Halt {
                code: "same_tool_failure_halt",
                count: 8
            }
        );
    }

    #[test]
    fn failures_are_recognised() {
        for (name, result, failed) in [
            (
                "terminal",
                r#"{"output":"","exit_code":1,"error":null}"#,
                true,
            ),
            (
                "terminal",
                r#"{"output":"error","exit_code":0,"error":null}"#,
                false,
            ),
            (
                "read_file",
                r#"{"content":"","error":"File not found: x"}"#,
                true,
            ),
            ("read_file", r#"{"content":"1|error handling"}"#, false),
            (
                "write_file",
                r#"{"bytes_written":5,"lint":{"error":"x"}}"#,
                false,
            ),
            (
                "patch",
                r#"{"success":true,"diff":"-\"error\": \"x\""}"#,
                false,
            ),
            ("memory", r#"{"success":false,"error":"full"}"#, true),
            ("web", "Error: no", true),
        ] {
            assert_eq!(is_failure(name, result), failed, "{name} {result}");
        }
    }
}

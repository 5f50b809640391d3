//! The agent's own view of the configuration: every key it reads, with its type.

use std::time::Duration;

use hermes_config::{Config, ConfigError};
use hermes_home::Home;
use hermes_knowledge::memory::MemoryLimits;
use hermes_knowledge::skills::Library;
use hermes_llm::Effort;
use serde_json::Value;

use crate::compress::CompressionOptions;
use crate::delegate::DelegationLimits;
use crate::guardrails::{GuardrailLimits, Thresholds};
use crate::prompt::Enforcement;
use crate::spend::{Limit, SpendLimits};

/// Below this a subagent has no time to do anything.
const SHORTEST_CHILD: u64 = 30;

#[derive(Clone, Debug)]
pub struct AgentSettings {
    pub max_turns: u32,
    pub max_output_tokens: Option<u32>,
    pub effort: Option<Effort>,
    pub compression: CompressionOptions,
    pub guardrails: GuardrailLimits,
    pub file_mutation_verifier: bool,
    pub completion_explainer: bool,
    pub redact_secrets: bool,
    pub spend: SpendLimits,
    pub delegation: DelegationLimits,
    pub clarify_timeout: Duration,
    pub completion_guidance: bool,
    pub enforcement: Enforcement,
    pub environment_hint: Option<String>,
    pub system_prompt: Option<String>,
    pub memory_notes: bool,
    pub memory_profile: bool,
    pub memory_limits: MemoryLimits,
    pub skill_templates: bool,
    pub skill_guard: bool,
    /// How long a command in a skill's text may take; `None` leaves it as text.
    pub skill_shell: Option<Duration>,
    pub environment_probe: bool,
    pub json_snapshots: bool,
    pub disabled_toolsets: Vec<String>,
    /// What was said about values that were set aside.
    pub warnings: Vec<String>,
}

/// The text over the system prompt: `agent.system_prompt`, or that of
/// `display.personality`.
fn overlay(config: &Config, warnings: &mut Vec<String>) -> Result<Option<String>, ConfigError> {
    if let Some(text) = config.optional_string("agent.system_prompt")? {
        return Ok(Some(text));
    }
    let name = config.string("display.personality")?;
    if name.is_empty() || name == "none" {
        return Ok(None);
    }
    let found = crate::personality(config, &name);
    if found.is_none() {
        warnings.push(format!(
            "display.personality: there is no personality {name:?}"
        ));
    }
    Ok(found.map(|personality| personality.text))
}

impl AgentSettings {
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let mut warnings = Vec::new();
        let unsigned = |key: &str| -> Result<u64, ConfigError> {
            Ok(u64::try_from(config.integer(key)?).unwrap_or(0))
        };
        let size = |key: &str| -> Result<usize, ConfigError> {
            Ok(usize::try_from(config.integer(key)?).unwrap_or(0))
        };
        let small = |key: &str| -> Result<u32, ConfigError> {
            Ok(u32::try_from(config.integer(key)?).unwrap_or(0))
        };
        Ok(Self {
            max_turns: small("agent.max_turns")?.max(1),
            max_output_tokens: max_output_tokens(config, &mut warnings),
            effort: effort(config.optional_string("agent.reasoning_effort")?.as_deref()),
            compression: CompressionOptions {
                enabled: config.bool("compression.enabled")?,
                threshold: config.float("compression.threshold")?.clamp(0.1, 0.95),
                target_ratio: config.float("compression.target_ratio")?.clamp(0.1, 0.8),
                protect_first: size("compression.protect_first_n")?,
                protect_last: size("compression.protect_last_n")?,
                abort_on_failure: config.bool("compression.abort_on_summary_failure")?,
            },
            guardrails: GuardrailLimits {
                warnings: config.bool("tool_loop_guardrails.warnings_enabled")?,
                hard_stop: config.bool("tool_loop_guardrails.hard_stop_enabled")?,
                warn_after: Thresholds {
                    exact_failure: small("tool_loop_guardrails.warn_after.exact_failure")?,
                    same_tool_failure: small("tool_loop_guardrails.warn_after.same_tool_failure")?,
                    no_progress: small("tool_loop_guardrails.warn_after.idempotent_no_progress")?,
                },
                stop_after: Thresholds {
                    exact_failure: small("tool_loop_guardrails.hard_stop_after.exact_failure")?,
                    same_tool_failure: small(
                        "tool_loop_guardrails.hard_stop_after.same_tool_failure",
                    )?,
                    no_progress: small(
                        "tool_loop_guardrails.hard_stop_after.idempotent_no_progress",
                    )?,
                },
            },
            file_mutation_verifier: config.bool("display.file_mutation_verifier")?,
            completion_explainer: config.bool("display.turn_completion_explainer")?,
            redact_secrets: config.bool("security.redact_secrets")?,
            spend: SpendLimits {
                per_turn: limit(config, "budget.per_turn")?,
                per_session: limit(config, "budget.per_session")?,
                per_day: limit(config, "budget.per_day")?,
            },
            delegation: DelegationLimits {
                max_iterations: small("delegation.max_iterations")?.max(1),
                max_children: size("delegation.max_concurrent_children")?.max(1),
                timeout: Duration::from_secs(
                    unsigned("delegation.child_timeout_seconds")?.max(SHORTEST_CHILD),
                ),
                max_depth: small("delegation.max_spawn_depth")?.max(1),
                orchestrators: config.bool("delegation.orchestrator_enabled")?,
                effort: effort(
                    config
                        .optional_string("delegation.reasoning_effort")?
                        .as_deref(),
                ),
            },
            clarify_timeout: Duration::from_secs(unsigned("agent.clarify_timeout")?),
            completion_guidance: config.bool("agent.task_completion_guidance")?,
            enforcement: enforcement(config.get("agent.tool_use_enforcement")),
            environment_hint: config.optional_string("agent.environment_hint")?,
            system_prompt: overlay(config, &mut warnings)?,
            memory_notes: config.bool("memory.memory_enabled")?,
            memory_profile: config.bool("memory.user_profile_enabled")?,
            memory_limits: MemoryLimits {
                memory: size("memory.memory_char_limit")?,
                user: size("memory.user_char_limit")?,
            },
            skill_templates: config.bool("skills.template_vars")?,
            skill_guard: config.bool("skills.guard_agent_created")?,
            skill_shell: match config.bool("skills.inline_shell")? {
                true => Some(Duration::from_secs(
                    unsigned("skills.inline_shell_timeout")?.max(1),
                )),
                false => None,
            },
            environment_probe: config.bool("agent.environment_probe")?,
            json_snapshots: config.bool("sessions.write_json_snapshots")?,
            disabled_toolsets: config.strings("agent.disabled_toolsets")?,
            warnings,
        })
    }
}

/// Where skills are for one platform.
pub fn skill_library(
    config: &Config,
    home: &Home,
    platform: &str,
    environments: Vec<String>,
) -> Result<Library, ConfigError> {
    let external = config
        .strings("skills.external_dirs")?
        .iter()
        .map(|text| {
            let text = expand(text, config, home);
            let path = std::path::PathBuf::from(text);
            if path.is_absolute() {
                path
            } else {
                home.join(path)
            }
        })
        .filter(|path| path.is_dir())
        .collect();
    let own = config
        .get("skills.platform_disabled")
        .and_then(|map| map.get(platform))
        .and_then(Value::as_array)
        .map(|list| {
            list.iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        });
    // A list for the platform replaces the general one.
    let disabled = match own {
        Some(list) => list,
        None => config.strings("skills.disabled")?.into_iter().collect(),
    };
    Ok(Library {
        local: home.join("skills"),
        external,
        disabled,
        platform: std::env::consts::OS.to_owned(),
        environments,
    })
}

fn expand(text: &str, config: &Config, home: &Home) -> String {
    let text = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.user_home().display())
        }
        _ => text.to_owned(),
    };
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find('$') {
        out.push_str(&rest[..start]);
        let tail = &rest[start + 1..];
        let (name, after) = match tail.strip_prefix('{') {
            Some(braced) => match braced.split_once('}') {
                Some((name, after)) => (name, after),
                None => ("", tail),
            },
            None => {
                let end = tail
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(tail.len());
                tail.split_at(end)
            }
        };
        match config.environment().get(name) {
            Some(value) if !name.is_empty() => out.push_str(value),
            _ => out.push_str(&rest[start..rest.len() - after.len()]),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn max_output_tokens(config: &Config, warnings: &mut Vec<String>) -> Option<u32> {
    let value = config.get("model.max_tokens")?;
    let tokens = value
        .as_i64()
        .or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number > 0);
    if tokens.is_none() {
        warnings.push(format!(
            "model.max_tokens is {value}, which is no positive number; the provider's default is used"
        ));
    }
    tokens
}

fn effort(text: Option<&str>) -> Option<Effort> {
    Some(match text?.trim().to_lowercase().as_str() {
        "none" => Effort::None,
        "minimal" => Effort::Minimal,
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::XHigh,
        _ => return None,
    })
}

/// A limit that makes no sense must not become no limit, nor a silent zero.
fn limit(config: &Config, key: &str) -> Result<Limit, ConfigError> {
    let refused = |key: String, value: &Value, expected: &str| ConfigError::NotAccepted {
        key,
        value: value.to_string(),
        expected: expected.to_owned(),
    };
    let mut limit = Limit::default();
    let map = match config.get(key) {
        None | Some(Value::Null) => return Ok(limit),
        Some(Value::Object(map)) => map,
        Some(other) => {
            let expected = "a map with `usd` and `tokens`, or null for no limit";
            return Err(refused(key.to_owned(), other, expected));
        }
    };
    for (name, value) in map {
        let place = format!("{key}.{name}");
        match name.as_str() {
            "usd" | "tokens" if value.is_null() => {}
            "usd" => {
                let usd = value.as_f64().filter(|usd| usd.is_finite() && *usd > 0.0);
                let expected = "a number of dollars above 0 (leave it out for no limit)";
                limit.usd = Some(usd.ok_or_else(|| refused(place, value, expected))?);
            }
            "tokens" => {
                let tokens = value.as_u64().filter(|tokens| *tokens > 0);
                let expected = "a whole number of tokens above 0 (leave it out for no limit)";
                limit.tokens = Some(tokens.ok_or_else(|| refused(place, value, expected))?);
            }
            _ => {
                let expected = "`usd` or `tokens`: no other limit is known";
                return Err(refused(
                    key.to_owned(),
                    &Value::from(name.as_str()),
                    expected,
                ));
            }
        }
    }
    Ok(limit)
}

fn enforcement(value: Option<&Value>) -> Enforcement {
    match value {
        Some(Value::Bool(true)) => Enforcement::Always,
        Some(Value::Bool(false)) => Enforcement::Never,
        Some(Value::Array(list)) => Enforcement::Named(
            list.iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        ),
        Some(Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" | "always" | "on" => Enforcement::Always,
            "false" | "never" | "off" => Enforcement::Never,
            _ => Enforcement::Auto,
        },
        _ => Enforcement::Auto,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_table() {
        let settings = AgentSettings::read(&Config::defaults()).unwrap();
        assert_eq!(settings.max_turns, 90);
        assert_eq!(settings.compression, CompressionOptions::default());
        assert_eq!(settings.guardrails, GuardrailLimits::default());
        assert_eq!(settings.spend, SpendLimits::default());
        assert_eq!(settings.memory_limits, MemoryLimits::default());
        assert!(settings.warnings.is_empty());
    }

    #[test]
    fn what_is_set_is_read() {
        let config = Config::from_yaml(
            "agent:\n  max_turns: 7\n  reasoning_effort: high\n  tool_use_enforcement: [claude]\n\
             model:\n  max_tokens: -5\n\
             budget:\n  per_day: {usd: 2.5}\n  per_turn: {tokens: 9}\n\
             compression:\n  threshold: 0.6\n",
        )
        .unwrap();
        let settings = AgentSettings::read(&config).unwrap();
        assert_eq!(settings.max_turns, 7);
        assert_eq!(settings.effort, Some(Effort::High));
        assert_eq!(
            settings.enforcement,
            Enforcement::Named(vec!["claude".into()])
        );
        assert_eq!(settings.max_output_tokens, None);
        assert_eq!(settings.spend.per_day.usd, Some(2.5));
        assert_eq!(settings.spend.per_turn.tokens, Some(9));
        assert_eq!(settings.compression.threshold, 0.6);
        assert_eq!(settings.warnings.len(), 1);
    }

    #[test]
    fn limits_that_make_no_sense_are_refused_by_name() {
        for (yaml, named) in [
            ("per_turn: {usd: -1}", "`budget.per_turn.usd`"),
            ("per_day: {usd: 0}", "`budget.per_day.usd`"),
            ("per_day: {usd: .nan}", "`budget.per_day.usd`"),
            ("per_day: {usd: .inf}", "`budget.per_day.usd`"),
            ("per_session: {usd: lots}", "`budget.per_session.usd`"),
            ("per_turn: {tokens: 1.5}", "`budget.per_turn.tokens`"),
            ("per_turn: {tokens: -3}", "`budget.per_turn.tokens`"),
            ("per_turn: {dollars: 3}", "`budget.per_turn`"),
            ("per_turn: 3", "`budget.per_turn`"),
        ] {
            let config = Config::from_yaml(&format!("budget:\n  {yaml}\n")).unwrap();
            let error = AgentSettings::read(&config).unwrap_err().to_string();
            assert!(error.contains(named), "{yaml}: {error}");
        }
        for yaml in [
            "per_turn: null",
            "per_turn: {}",
            "per_turn: {usd: null, tokens: null}",
            "per_turn: {usd: 0.01}",
        ] {
            let config = Config::from_yaml(&format!("budget:\n  {yaml}\n")).unwrap();
            AgentSettings::read(&config).unwrap();
        }
    }
}

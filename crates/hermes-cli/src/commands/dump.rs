//! `hermes dump`: the set-up on one page that can be pasted into a question. No
//! secret is in it.

use std::io::{self, Write};

use hermes_config::{Config, Source, Which, as_text, is_secret, mask, masked};
use hermes_types::{Redaction, redact};
use nix::sys::utsname::uname;
use serde_json::Value;

use super::profile::count_skills;
use super::status::Status;
use super::version::VERSION;
use crate::{CommandError, Context, Exit, Out};

/// What a key is for, and the variable that holds it.
const KEYS: &[(&str, &str)] = &[
    ("openrouter", "OPENROUTER_API_KEY"),
    ("openai", "OPENAI_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("anthropic_token", "ANTHROPIC_TOKEN"),
    ("nous", "NOUS_API_KEY"),
    ("google/gemini", "GOOGLE_API_KEY"),
    ("gemini", "GEMINI_API_KEY"),
    ("glm/zai", "GLM_API_KEY"),
    ("zai", "ZAI_API_KEY"),
    ("kimi", "KIMI_API_KEY"),
    ("minimax", "MINIMAX_API_KEY"),
    ("deepseek", "DEEPSEEK_API_KEY"),
    ("dashscope", "DASHSCOPE_API_KEY"),
    ("huggingface", "HF_TOKEN"),
    ("nvidia", "NVIDIA_API_KEY"),
    ("opencode_zen", "OPENCODE_ZEN_API_KEY"),
    ("opencode_go", "OPENCODE_GO_API_KEY"),
    ("kilocode", "KILOCODE_API_KEY"),
    ("firecrawl", "FIRECRAWL_API_KEY"),
    ("tavily", "TAVILY_API_KEY"),
    ("browserbase", "BROWSERBASE_API_KEY"),
    ("fal", "FAL_KEY"),
    ("elevenlabs", "ELEVENLABS_API_KEY"),
    ("github", "GITHUB_TOKEN"),
];

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Show the first and last four characters of keys
    #[arg(long)]
    show_keys: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let config = context.config_or_defaults(out)?;
    let status = Status::gather(context, &config, false);
    let system = uname().map_err(io::Error::from)?;
    let os = format!(
        "{} {} {}",
        system.sysname().display(),
        system.release().display(),
        system.machine().display()
    );
    let unknown = status.config_error.is_some();
    let or = |text: &Option<String>, other: &str| match text {
        Some(text) => text.clone(),
        None if unknown => "(unknown: config.yaml cannot be read)".to_owned(),
        None => other.to_owned(),
    };
    writeln!(out, "--- hermes dump ---")?;
    for (name, value) in [
        ("version", VERSION.to_owned()),
        ("os", os),
        ("runtime", "native".to_owned()),
        ("profile", status.profile.clone()),
        ("hermes_home", context.home.path().display().to_string()),
        ("model", or(&status.model, "(not set)")),
        ("provider", or(&status.provider, "(auto)")),
        ("terminal", status.backend().to_owned()),
    ] {
        writeln!(out, "{:<18}{value}", format!("{name}:"))?;
    }
    writeln!(out, "\napi_keys:")?;
    for (label, variable) in KEYS {
        let shown = match config.environment().get_non_empty(variable) {
            None => "not set".to_owned(),
            Some(secret) if args.show_keys => mask(secret),
            Some(_) => "set".to_owned(),
        };
        writeln!(out, "  {label:<20} {shown}")?;
    }
    features(&status, &config, context, out)?;
    overrides(&config, out)?;
    writeln!(out, "--- end dump ---")?;
    Ok(Exit::SUCCESS)
}

fn features(status: &Status, config: &Config, context: &Context, out: &mut Out) -> io::Result<()> {
    let servers = match config.section("mcp_servers") {
        Value::Object(map) => map.len(),
        _ => 0,
    };
    let platforms: Vec<&str> = status
        .platforms
        .iter()
        .filter(|platform| platform.configured)
        .map(|platform| platform.name)
        .collect();
    let memory = match config.get("memory.provider").map(as_text) {
        Some(name) if !name.is_empty() => name,
        _ => "built-in".to_owned(),
    };
    let jobs = match status.jobs.total {
        0 => "0".to_owned(),
        total => format!("{} active / {total} total", status.jobs.active),
    };
    let platforms = match platforms.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let skills = count_skills(&context.home.join("skills"));
    writeln!(out, "\nfeatures:")?;
    let toolsets = match super::tools::resolved(config, "cli") {
        Ok(tools) => tools.toolsets.join(", "),
        Err(_) => "(unknown)".to_owned(),
    };
    for (name, value) in [
        ("toolsets", toolsets),
        ("mcp_servers", servers.to_string()),
        ("memory_provider", memory),
        ("gateway", status.gateway.text()),
        ("platforms", platforms),
        ("cron_jobs", jobs),
        ("skills", skills.to_string()),
    ] {
        writeln!(out, "  {:<19} {value}", format!("{name}:"))?;
    }
    Ok(())
}

/// What somebody chose. A secret is named and not shown, whatever the options.
fn overrides(config: &Config, out: &mut Out) -> io::Result<()> {
    let mut headed = false;
    for setting in config.settings(Which::Chosen) {
        let is_default = matches!(setting.source, Source::Default);
        // Model and provider have lines of their own.
        if is_default || setting.path == "_config_version" || setting.path.starts_with("model") {
            continue;
        }
        if !headed {
            writeln!(out, "\nconfig_overrides:")?;
            headed = true;
        }
        let value = if is_secret(&setting.path) {
            "(secret)".to_owned()
        } else {
            let text = as_text(&masked(&setting.path, &setting.value));
            redact(&text, Redaction::Text).into_owned()
        };
        writeln!(out, "  {}: {value}", setting.path)?;
    }
    Ok(())
}

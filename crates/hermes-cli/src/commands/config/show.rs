//! `config show`: the settings that matter on one screen, or every value with its
//! origin.

use std::io::Write;

use hermes_config::{
    Config, ConfigError, Setting, Which, as_text, mask, masked, migrate, structure_warnings,
};
use serde_json::{Value, json};

use crate::output::{Column, Table};
use crate::{CommandError, Context, Exit, Out};

/// Credentials that have a line of their own.
const CREDENTIALS: &[(&str, &[&str])] = &[
    ("OpenRouter", &["OPENROUTER_API_KEY"]),
    ("OpenAI (STT/TTS)", &["VOICE_TOOLS_OPENAI_KEY"]),
    ("Exa", &["EXA_API_KEY"]),
    ("Parallel", &["PARALLEL_API_KEY"]),
    ("Firecrawl", &["FIRECRAWL_API_KEY"]),
    ("Tavily", &["TAVILY_API_KEY"]),
    ("Browserbase", &["BROWSERBASE_API_KEY"]),
    ("Browser Use", &["BROWSER_USE_API_KEY"]),
    ("FAL", &["FAL_KEY"]),
    ("Anthropic", &["ANTHROPIC_API_KEY", "ANTHROPIC_TOKEN"]),
];

#[derive(clap::Args, Debug)]
pub(super) struct ShowArgs {
    /// List every value that somebody chose, and where it comes from
    #[arg(long)]
    sources: bool,
    /// With --sources: defaults too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ShowArgs, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let broken = context.config().err();
    let config = context.config_or_defaults(out)?;
    let which = if args.all { Which::All } else { Which::Chosen };
    if args.json {
        print_json(&config, broken.as_ref(), which, context, out)?;
    } else if args.sources || args.all {
        print_sources(&config, which, out)?;
    } else {
        Summary {
            config: &config,
            out,
        }
        .print(context)?;
    }
    warn(&config, out);
    Ok(Exit::SUCCESS)
}

fn warn(config: &Config, out: &mut Out) {
    for warning in structure_warnings(config) {
        out.warning(&warning);
    }
    for misfit in config.misfits() {
        out.warning(&misfit.to_string());
    }
    let variable = config.dotenv().variables.get("HERMES_MAX_ITERATIONS");
    if let (Some(text), Ok(turns)) = (variable, config.integer("agent.max_turns"))
        && text.trim() != turns.to_string()
    {
        out.warning(&format!(
            "HERMES_MAX_ITERATIONS={text} in .env is overruled by `agent.max_turns: {turns}`; remove it"
        ));
    }
}

fn print_sources(config: &Config, which: Which, out: &mut Out) -> Result<(), CommandError> {
    let mut table = Table::new([
        Column::new("Key"),
        Column::new("Value").flexible(16),
        Column::new("Source"),
    ]);
    for Setting {
        path,
        value,
        source,
    } in config.settings(which)
    {
        let value = as_text(&masked(&path, &value));
        table.row([path, value, source.to_string()]);
    }
    if table.is_empty() {
        writeln!(out, "Everything is at its default; `--all` lists it.")?;
    } else {
        table.print(out)?;
    }
    Ok(())
}

fn print_json(
    config: &Config,
    broken: Option<&ConfigError>,
    which: Which,
    context: &Context,
    out: &mut Out,
) -> Result<(), CommandError> {
    let sources: serde_json::Map<String, Value> = config
        .settings(which)
        .into_iter()
        .map(|setting| (setting.path, json!(setting.source)))
        .collect();
    out.json(&json!({
        "paths": {
            "home": context.home.path(),
            "config": context.home.config_file(),
            "env": context.home.env_file(),
        },
        "version": migrate::version(config, &context.home),
        "broken": broken.map(broken_json),
        "config": masked("", config.effective()),
        "sources": sources,
    }))?;
    Ok(())
}

pub(super) fn broken_json(error: &ConfigError) -> Value {
    match error {
        ConfigError::Broken {
            file,
            line,
            column,
            reason,
        } => json!({ "file": file, "line": line, "column": column, "reason": reason }),
        other => json!({ "reason": other.to_string() }),
    }
}

struct Summary<'a> {
    config: &'a Config,
    out: &'a mut Out,
}

impl Summary<'_> {
    fn print(&mut self, context: &Context) -> Result<(), CommandError> {
        self.heading("Paths")?;
        self.line("Config", &context.home.config_file().display().to_string())?;
        self.line("Secrets", &context.home.env_file().display().to_string())?;
        if let Ok(program) = std::env::current_exe() {
            self.line("Install", &program.display().to_string())?;
        }
        self.credentials()?;
        self.model()?;
        self.display()?;
        self.terminal()?;
        self.heading("Timezone")?;
        let zone = self.text("timezone");
        self.line(
            "Timezone",
            if zone.is_empty() {
                "(server-local)"
            } else {
                &zone
            },
        )?;
        self.compression()?;
        self.auxiliary()?;
        self.heading("Messaging Platforms")?;
        for (label, variable) in [
            ("Telegram", "TELEGRAM_BOT_TOKEN"),
            ("Discord", "DISCORD_BOT_TOKEN"),
        ] {
            let set = self.config.environment().get_non_empty(variable).is_some();
            self.line(label, if set { "configured" } else { "not configured" })?;
        }
        self.skills()?;
        writeln!(self.out)?;
        Ok(())
    }

    fn heading(&mut self, title: &str) -> Result<(), CommandError> {
        let title = self.out.style().heading(&format!("◆ {title}"));
        writeln!(self.out, "\n{title}")?;
        Ok(())
    }

    fn line(&mut self, label: &str, value: &str) -> Result<(), CommandError> {
        let value = value.replace(char::is_control, " ");
        writeln!(self.out, "  {:<17} {value}", format!("{label}:"))?;
        Ok(())
    }

    /// The value as it stands, also when it does not fit; the misfit is said apart.
    fn text(&self, key: &str) -> String {
        self.config
            .get(key)
            .map(|value| as_text(&masked(key, value)))
            .unwrap_or_default()
    }

    fn flag(&self, key: &str) -> bool {
        self.config.bool(key).unwrap_or(false)
    }

    fn percent(&self, key: &str) -> String {
        self.config
            .float(key)
            .map_or_else(|_| self.text(key), |share| format!("{:.0}%", share * 100.0))
    }

    fn credentials(&mut self) -> Result<(), CommandError> {
        self.heading("API Keys")?;
        for (label, variables) in CREDENTIALS {
            let value = variables
                .iter()
                .find_map(|name| self.config.environment().get_non_empty(name))
                .map_or_else(|| "(not set)".to_owned(), mask);
            self.line(label, &value)?;
        }
        Ok(())
    }

    fn model(&mut self) -> Result<(), CommandError> {
        self.heading("Model")?;
        for (label, key) in [
            ("Model", "model.default"),
            ("Provider", "model.provider"),
            ("Base URL", "model.base_url"),
            ("API key", "model.api_key"),
            ("API mode", "model.api_mode"),
            ("Context", "model.context_length"),
        ] {
            let value = self.text(key);
            if !value.is_empty() {
                self.line(label, &value)?;
            } else if key == "model.default" {
                self.line(label, "(not set)")?;
            }
        }
        let turns = self.text("agent.max_turns");
        self.line("Max turns", &turns)
    }

    fn display(&mut self) -> Result<(), CommandError> {
        self.heading("Display")?;
        let personality = self.text("display.personality");
        self.line(
            "Personality",
            if personality.is_empty() {
                "none"
            } else {
                &personality
            },
        )?;
        let on = |set: bool| if set { "on" } else { "off" };
        self.line("Reasoning", on(self.flag("display.show_reasoning")))?;
        self.line("Bell", on(self.flag("display.bell_on_complete")))?;
        let first = self.text("display.user_message_preview.first_lines");
        let last = self.text("display.user_message_preview.last_lines");
        self.line(
            "User preview",
            &format!("first {first} line(s), last {last} line(s)"),
        )
    }

    fn terminal(&mut self) -> Result<(), CommandError> {
        self.heading("Terminal")?;
        let backend = self.text("terminal.backend");
        self.line("Backend", &backend)?;
        let cwd = self.text("terminal.cwd");
        self.line("Working dir", &cwd)?;
        let timeout = self.text("terminal.timeout");
        self.line("Timeout", &format!("{timeout}s"))?;
        let details: &[(&str, &str)] = match backend.as_str() {
            "docker" => &[("Docker image", "terminal.docker_image")],
            "singularity" => &[("Image", "terminal.singularity_image")],
            "modal" => &[("Modal image", "terminal.modal_image")],
            "daytona" => &[("Daytona image", "terminal.daytona_image")],
            "ssh" => &[
                ("SSH host", "terminal.ssh_host"),
                ("SSH user", "terminal.ssh_user"),
            ],
            _ => &[],
        };
        for (label, key) in details {
            let value = self.text(key);
            self.line(
                label,
                if value.is_empty() {
                    "(not set)"
                } else {
                    &value
                },
            )?;
        }
        Ok(())
    }

    fn compression(&mut self) -> Result<(), CommandError> {
        self.heading("Context Compression")?;
        let enabled = self.flag("compression.enabled");
        self.line("Enabled", if enabled { "yes" } else { "no" })?;
        if !enabled {
            return Ok(());
        }
        let threshold = self.percent("compression.threshold");
        self.line("Threshold", &threshold)?;
        let ratio = self.percent("compression.target_ratio");
        self.line("Target ratio", &format!("{ratio} of threshold preserved"))?;
        let last = self.text("compression.protect_last_n");
        self.line("Protect last", &format!("{last} messages"))?;
        let first = self.text("compression.protect_first_n");
        self.line(
            "Protect first",
            &format!("{first} non-system head messages"),
        )?;
        let model = self.text("auxiliary.compression.model");
        self.line(
            "Model",
            if model.is_empty() {
                "(that of the session)"
            } else {
                &model
            },
        )
    }

    /// Side tasks that do not simply use the main model.
    fn auxiliary(&mut self) -> Result<(), CommandError> {
        let Value::Object(tasks) = self.config.section("auxiliary") else {
            return Ok(());
        };
        let mut lines = Vec::new();
        for (task, settings) in tasks {
            let text = |name: &str| {
                settings
                    .get(name)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            let provider = text("provider");
            let parts: Vec<String> = [
                (!provider.is_empty() && provider != "auto")
                    .then(|| format!("provider={provider}")),
                (!text("model").is_empty()).then(|| format!("model={}", text("model"))),
                (!text("base_url").is_empty()).then(|| format!("base_url={}", text("base_url"))),
            ]
            .into_iter()
            .flatten()
            .collect();
            if !parts.is_empty() && task != "compression" {
                lines.push((task, parts.join(", ")));
            }
        }
        if !lines.is_empty() {
            self.heading("Auxiliary Models")?;
            for (task, text) in lines {
                self.line(&task, &text)?;
            }
        }
        Ok(())
    }

    fn skills(&mut self) -> Result<(), CommandError> {
        let Value::Object(settings) = self.config.section("skills.config") else {
            return Ok(());
        };
        if settings.is_empty() {
            return Ok(());
        }
        self.heading("Skill Settings")?;
        for (name, value) in settings {
            let value = as_text(&masked(&format!("skills.config.{name}"), &value));
            self.line(&name, &value)?;
        }
        Ok(())
    }
}

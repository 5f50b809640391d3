//! The facts of `hermes status`, gathered once for text and JSON.

use std::fs;
use std::path::Path;

use hermes_config::Config;
use hermes_store::StateDb;
use hermes_types::mask;
use serde::Serialize;
use serde_json::Value;

use super::super::profile::Gateway;
use super::super::version;
use crate::{Context, endpoint};

/// Variables that hold a key for a model or a tool.
const KEYS: &[&str] = &[
    "ANTHROPIC_API_KEY",
    "BROWSERBASE_API_KEY",
    "BROWSER_USE_API_KEY",
    "DEEPSEEK_API_KEY",
    "ELEVENLABS_API_KEY",
    "EXA_API_KEY",
    "FAL_KEY",
    "FIRECRAWL_API_KEY",
    "GEMINI_API_KEY",
    "GITHUB_TOKEN",
    "GLM_API_KEY",
    "GOOGLE_API_KEY",
    "HF_TOKEN",
    "KIMI_API_KEY",
    "MINIMAX_API_KEY",
    "MINIMAX_CN_API_KEY",
    "MISTRAL_API_KEY",
    "NVIDIA_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PARALLEL_API_KEY",
    "STEPFUN_API_KEY",
    "TAVILY_API_KEY",
    "XAI_API_KEY",
];

/// A platform and the variable without which it does not start.
const PLATFORMS: &[(&str, &str)] = &[
    ("telegram", "TELEGRAM_BOT_TOKEN"),
    ("discord", "DISCORD_BOT_TOKEN"),
    ("whatsapp", "WHATSAPP_ENABLED"),
    ("signal", "SIGNAL_HTTP_URL"),
    ("slack", "SLACK_BOT_TOKEN"),
    ("email", "EMAIL_ADDRESS"),
    ("sms", "TWILIO_ACCOUNT_SID"),
    ("dingtalk", "DINGTALK_CLIENT_ID"),
    ("feishu", "FEISHU_APP_ID"),
    ("wecom", "WECOM_BOT_ID"),
    ("weixin", "WEIXIN_ACCOUNT_ID"),
    ("bluebubbles", "BLUEBUBBLES_SERVER_URL"),
    ("qqbot", "QQ_APP_ID"),
    ("yuanbao", "YUANBAO_APP_ID"),
];

#[derive(Debug, Serialize)]
pub(crate) struct Status {
    pub(crate) profile: String,
    pub(crate) home: String,
    pub(crate) version: &'static str,
    pub(crate) config_file: bool,
    /// Why it cannot be read; then nothing is known of what it says.
    pub(crate) config_error: Option<String>,
    pub(crate) env_file: bool,
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) keys: Vec<Key>,
    pub(crate) terminal: Terminal,
    pub(crate) platforms: Vec<Platform>,
    pub(crate) gateway: Gateway,
    pub(crate) jobs: Jobs,
    pub(crate) sessions: Sessions,
}

#[derive(Debug, Serialize)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    /// Only with `--deep`.
    pub(crate) status: Option<u16>,
    pub(crate) error: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) masked: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Terminal {
    pub(crate) backend: String,
    pub(crate) details: Vec<(&'static str, String)>,
    pub(crate) sudo: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Platform {
    pub(crate) name: &'static str,
    pub(crate) configured: bool,
    pub(crate) home_channel: Option<String>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Jobs {
    pub(crate) active: usize,
    pub(crate) total: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct Sessions {
    /// Conversations that the gateway keeps open.
    pub(crate) active: usize,
    /// `None` when the database cannot be read; the doctor says why.
    pub(crate) stored: Option<i64>,
}

impl Status {
    /// Where commands run, as far as that is known.
    pub(crate) fn backend(&self) -> &str {
        match self.config_error {
            Some(_) => "unknown",
            None => &self.terminal.backend,
        }
    }

    pub(crate) fn gather(context: &Context, config: &Config, deep: bool) -> Self {
        let home = &context.home;
        let environment = config.environment();
        let text = |key: &str| match config.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            _ => None,
        };
        Self {
            profile: home.profile_name(),
            home: home.display(home.path()),
            version: version::VERSION,
            config_file: home.config_file().is_file(),
            config_error: context.config().err().map(|error| error.to_string()),
            env_file: home.env_file().is_file(),
            model: text("model")
                .or_else(|| text("model.default"))
                .or_else(|| text("model.model")),
            provider: text("model.provider"),
            endpoint: endpoint::configured(config).map(|url| {
                let answer = deep.then(|| endpoint::probe(&url, config));
                Endpoint {
                    status: answer.as_ref().and_then(|a| Some(a.as_ref().ok()?.status)),
                    error: answer.and_then(Result::err),
                    url,
                }
            }),
            keys: KEYS
                .iter()
                .map(|name| Key {
                    name: (*name).to_owned(),
                    masked: environment.get_non_empty(name).map(mask),
                })
                .collect(),
            terminal: terminal(config),
            platforms: PLATFORMS
                .iter()
                .map(|(name, variable)| Platform {
                    name,
                    configured: environment.get_non_empty(variable).is_some(),
                    home_channel: environment
                        .get_non_empty(&format!("{}_HOME_CHANNEL", name.to_uppercase()))
                        .map(str::to_owned),
                })
                .collect(),
            gateway: Gateway::of(home),
            jobs: jobs(&home.join("cron/jobs.json")),
            sessions: Sessions {
                active: read_json(&home.join("sessions/sessions.json"))
                    .and_then(|value| value.as_object().map(serde_json::Map::len))
                    .unwrap_or(0),
                stored: match StateDb::open_read_only(&home.state_db(), context.clock.clone()) {
                    Ok(None) => Some(0),
                    Ok(Some(state)) => state.stats().ok().map(|stats| stats.sessions),
                    Err(_) => None,
                },
            },
        }
    }

    /// Leaves nothing in that is a secret or tells where something is.
    pub(crate) fn hide_secrets(&mut self) {
        for key in &mut self.keys {
            if let Some(masked) = &mut key.masked {
                "***".clone_into(masked);
            }
        }
        if let Some(endpoint) = &mut self.endpoint {
            "***".clone_into(&mut endpoint.url);
            if let Some(error) = &mut endpoint.error {
                "no answer".clone_into(error);
            }
        }
        for platform in &mut self.platforms {
            if let Some(channel) = &mut platform.home_channel {
                "***".clone_into(channel);
            }
        }
        for (name, value) in &mut self.terminal.details {
            if matches!(*name, "Host" | "User") {
                "***".clone_into(value);
            }
        }
    }
}

fn terminal(config: &Config) -> Terminal {
    let text = |key: &str| config.optional_string(key).ok().flatten();
    let backend = text("terminal.backend").unwrap_or_else(|| "local".to_owned());
    let wanted: &[(&'static str, &str)] = match backend.as_str() {
        "docker" => &[("Image", "terminal.docker_image")],
        "singularity" => &[("Image", "terminal.singularity_image")],
        "modal" => &[("Image", "terminal.modal_image")],
        "daytona" => &[("Image", "terminal.daytona_image")],
        "ssh" => &[("Host", "terminal.ssh_host"), ("User", "terminal.ssh_user")],
        _ => &[],
    };
    let details = wanted
        .iter()
        .filter_map(|(name, key)| Some((*name, text(key)?)))
        .collect();
    let sudo = config
        .environment()
        .get_non_empty("SUDO_PASSWORD")
        .is_some()
        || text("terminal.sudo_password").is_some();
    Terminal {
        backend,
        details,
        sudo,
    }
}

fn jobs(path: &Path) -> Jobs {
    let file = read_json(path).unwrap_or_default();
    let Some(jobs) = file["jobs"].as_array() else {
        return Jobs::default();
    };
    let is_active = |job: &&Value| job["enabled"].as_bool() != Some(false);
    Jobs {
        active: jobs.iter().filter(is_active).count(),
        total: jobs.len(),
    }
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

//! Environment variables that Hermes knows beyond those of the key table: keys and
//! addresses of providers, tools and chat platforms.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::keys::keys;

/// A variable that a person may set in `.env`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: &'static str,
    /// Tools that need it.
    pub tools: &'static str,
}

const fn of(name: &'static str) -> Variable {
    Variable { name, tools: "" }
}

const fn tool(name: &'static str, tools: &'static str) -> Variable {
    Variable { name, tools }
}

/// All that `config check` lists, in that order.
#[rustfmt::skip]
pub const OPTIONAL: &[Variable] = &[
    of("NOUS_BASE_URL"), of("OPENROUTER_API_KEY"), of("GOOGLE_API_KEY"), of("GEMINI_API_KEY"),
    of("GEMINI_BASE_URL"), of("XAI_API_KEY"), of("XAI_BASE_URL"), of("NVIDIA_API_KEY"),
    of("NVIDIA_BASE_URL"), of("LM_API_KEY"), of("LM_BASE_URL"), of("GLM_API_KEY"),
    of("ZAI_API_KEY"), of("Z_AI_API_KEY"), of("GLM_BASE_URL"), of("KIMI_API_KEY"),
    of("KIMI_BASE_URL"), of("KIMI_CN_API_KEY"), of("STEPFUN_API_KEY"), of("STEPFUN_BASE_URL"),
    of("ARCEEAI_API_KEY"), of("ARCEE_BASE_URL"), of("GMI_API_KEY"), of("GMI_BASE_URL"),
    of("MINIMAX_API_KEY"), of("MINIMAX_BASE_URL"), of("MINIMAX_CN_API_KEY"),
    of("MINIMAX_CN_BASE_URL"), of("DEEPSEEK_API_KEY"), of("DEEPSEEK_BASE_URL"),
    of("DASHSCOPE_API_KEY"), of("DASHSCOPE_BASE_URL"), of("HERMES_QWEN_BASE_URL"),
    of("HERMES_GEMINI_CLIENT_ID"), of("HERMES_GEMINI_CLIENT_SECRET"),
    of("HERMES_GEMINI_PROJECT_ID"), of("OPENCODE_ZEN_API_KEY"), of("OPENCODE_ZEN_BASE_URL"),
    of("OPENCODE_GO_API_KEY"), of("OPENCODE_GO_BASE_URL"), of("HF_TOKEN"), of("HF_BASE_URL"),
    of("OLLAMA_API_KEY"), of("OLLAMA_BASE_URL"), of("XIAOMI_API_KEY"), of("XIAOMI_BASE_URL"),
    of("AWS_REGION"), of("AWS_PROFILE"), of("AZURE_FOUNDRY_API_KEY"), of("AZURE_FOUNDRY_BASE_URL"),
    tool("EXA_API_KEY", "web_search, web_extract"),
    tool("PARALLEL_API_KEY", "web_search, web_extract"), of("FIRECRAWL_API_KEY"),
    of("FIRECRAWL_API_URL"), of("FIRECRAWL_GATEWAY_URL"), of("TOOL_GATEWAY_DOMAIN"),
    of("TOOL_GATEWAY_SCHEME"), of("TOOL_GATEWAY_USER_TOKEN"),
    tool("TAVILY_API_KEY", "web_search, web_extract"), tool("SEARXNG_URL", "web_search"),
    tool("BRAVE_SEARCH_API_KEY", "web_search"),
    tool("BROWSERBASE_API_KEY", "browser_navigate, browser_click"),
    tool("BROWSERBASE_PROJECT_ID", "browser_navigate, browser_click"),
    tool("BROWSER_USE_API_KEY", "browser_navigate, browser_click"),
    tool("FIRECRAWL_BROWSER_TTL", "browser_navigate, browser_click"),
    tool("AGENT_BROWSER_ENGINE", "browser_navigate, browser_snapshot"),
    tool("CAMOFOX_URL", "browser_navigate, browser_click"),
    tool("FAL_KEY", "image_generate, video_generate"), tool("KREA_API_KEY", "image_generate"),
    tool("VOICE_TOOLS_OPENAI_KEY", "voice_transcription, openai_tts"),
    tool("ELEVENLABS_API_KEY", "elevenlabs_tts, voice_transcription"), of("MISTRAL_API_KEY"),
    of("GITHUB_TOKEN"), of("NOTION_API_KEY"), of("LINEAR_API_KEY"), of("AIRTABLE_API_KEY"),
    of("TENOR_API_KEY"), tool("HONCHO_API_KEY", "honcho_context"), of("HONCHO_BASE_URL"),
    of("HERMES_LANGFUSE_PUBLIC_KEY"), of("HERMES_LANGFUSE_SECRET_KEY"),
    of("HERMES_LANGFUSE_BASE_URL"), of("TELEGRAM_BOT_TOKEN"), of("TELEGRAM_ALLOWED_USERS"),
    of("TELEGRAM_PROXY"), of("DISCORD_BOT_TOKEN"), of("DISCORD_ALLOWED_USERS"),
    of("DISCORD_REPLY_TO_MODE"), of("SLACK_BOT_TOKEN"), of("SLACK_APP_TOKEN"), of("MATTERMOST_URL"),
    of("MATTERMOST_TOKEN"), of("MATTERMOST_ALLOWED_USERS"), of("MATTERMOST_REQUIRE_MENTION"),
    of("MATTERMOST_FREE_RESPONSE_CHANNELS"), of("MATRIX_HOMESERVER"), of("MATRIX_ACCESS_TOKEN"),
    of("MATRIX_USER_ID"), of("MATRIX_ALLOWED_USERS"), of("MATRIX_REQUIRE_MENTION"),
    of("MATRIX_FREE_RESPONSE_ROOMS"), of("MATRIX_AUTO_THREAD"), of("MATRIX_DM_AUTO_THREAD"),
    of("MATRIX_DEVICE_ID"), of("MATRIX_RECOVERY_KEY"), of("BLUEBUBBLES_SERVER_URL"),
    of("BLUEBUBBLES_PASSWORD"), of("BLUEBUBBLES_ALLOWED_USERS"), of("BLUEBUBBLES_ALLOW_ALL_USERS"),
    of("QQ_APP_ID"), of("QQ_CLIENT_SECRET"), of("QQ_ALLOWED_USERS"), of("QQ_GROUP_ALLOWED_USERS"),
    of("QQ_ALLOW_ALL_USERS"), of("QQBOT_HOME_CHANNEL"), of("QQBOT_HOME_CHANNEL_NAME"),
    of("QQ_SANDBOX"), of("IRC_SERVER"), of("IRC_CHANNEL"), of("IRC_NICKNAME"),
    of("IRC_SERVER_PASSWORD"), of("IRC_NICKSERV_PASSWORD"), of("GATEWAY_ALLOW_ALL_USERS"),
    of("API_SERVER_ENABLED"), of("API_SERVER_KEY"), of("API_SERVER_PORT"), of("API_SERVER_HOST"),
    of("API_SERVER_MODEL_NAME"), of("GATEWAY_PROXY_URL"), of("GATEWAY_PROXY_KEY"),
    of("WEBHOOK_ENABLED"), of("WEBHOOK_PORT"), of("WEBHOOK_SECRET"), of("SUDO_PASSWORD"),
    of("HERMES_TOOL_PROGRESS"), of("HERMES_TOOL_PROGRESS_MODE"), of("HERMES_PREFILL_MESSAGES_FILE"),
    of("HERMES_EPHEMERAL_SYSTEM_PROMPT"), of("ALIBABA_CODING_PLAN_API_KEY"),
    of("ALIBABA_CODING_PLAN_BASE_URL"), of("ANTHROPIC_API_KEY"), of("ANTHROPIC_TOKEN"),
    of("CLAUDE_CODE_OAUTH_TOKEN"), of("KILOCODE_API_KEY"), of("KIMI_CODING_API_KEY"),
    of("NOVITA_API_KEY"), of("NOVITA_BASE_URL"), of("IRC_PORT"), of("IRC_USE_TLS"),
    of("IRC_ALLOWED_USERS"), of("IRC_ALLOW_ALL_USERS"), of("IRC_HOME_CHANNEL"),
    of("TEAMS_CLIENT_ID"), of("TEAMS_CLIENT_SECRET"), of("TEAMS_TENANT_ID"), of("TEAMS_PORT"),
    of("TEAMS_ALLOWED_USERS"), of("TEAMS_ALLOW_ALL_USERS"), of("TEAMS_HOME_CHANNEL"),
    of("TEAMS_HOME_CHANNEL_NAME"), of("DISCORD_ALLOW_ALL_USERS"), of("DISCORD_HOME_CHANNEL"),
    of("DISCORD_HOME_CHANNEL_NAME"), of("MATTERMOST_ALLOW_ALL_USERS"),
    of("MATTERMOST_HOME_CHANNEL"), of("MATTERMOST_REPLY_MODE"), of("MATTERMOST_ALLOWED_CHANNELS"),
    of("NTFY_TOPIC"), of("NTFY_SERVER_URL"), of("NTFY_TOKEN"), of("NTFY_PUBLISH_TOPIC"),
    of("NTFY_MARKDOWN"), of("NTFY_ALLOWED_USERS"), of("NTFY_ALLOW_ALL_USERS"),
    of("NTFY_HOME_CHANNEL"), of("NTFY_HOME_CHANNEL_NAME"), of("GOOGLE_CHAT_PROJECT_ID"),
    of("GOOGLE_CHAT_SUBSCRIPTION_NAME"), of("GOOGLE_CHAT_SERVICE_ACCOUNT_JSON"),
    of("GOOGLE_CHAT_ALLOWED_USERS"), of("GOOGLE_CHAT_HOME_CHANNEL"),
    of("LINE_CHANNEL_ACCESS_TOKEN"), of("LINE_CHANNEL_SECRET"), of("LINE_PORT"), of("LINE_HOST"),
    of("LINE_PUBLIC_URL"), of("LINE_ALLOWED_USERS"), of("LINE_ALLOWED_GROUPS"),
    of("LINE_ALLOWED_ROOMS"), of("LINE_ALLOW_ALL_USERS"), of("LINE_HOME_CHANNEL"),
    of("LINE_SLOW_RESPONSE_THRESHOLD"), of("SIMPLEX_WS_URL"), of("SIMPLEX_ALLOWED_USERS"),
    of("SIMPLEX_ALLOW_ALL_USERS"), of("SIMPLEX_HOME_CHANNEL"), of("SIMPLEX_HOME_CHANNEL_NAME"),
];

/// Known, but not worth a line there.
#[rustfmt::skip]
const FURTHER: &[&str] = &[
    "ANTHROPIC_BASE_URL", "AWS_BEARER_TOKEN_BEDROCK", "BEDROCK_BASE_URL", "COHERE_API_KEY",
    "COPILOT_ACP_BASE_URL", "COPILOT_API_BASE_URL", "COPILOT_GITHUB_TOKEN", "DAYTONA_API_KEY",
    "DISCORD_AUTO_THREAD", "DISCORD_FREE_RESPONSE_CHANNELS", "DISCORD_REQUIRE_MENTION",
    "EMAIL_ADDRESS", "EMAIL_HOME_ADDRESS", "EMAIL_HOME_ADDRESS_NAME", "EMAIL_IMAP_HOST",
    "EMAIL_PASSWORD", "EMAIL_SMTP_HOST", "FIREWORKS_API_KEY", "GATEWAY_ALLOWED_USERS", "GH_TOKEN",
    "GITHUB_APP_ID", "GITHUB_APP_INSTALLATION_ID", "GITHUB_APP_PRIVATE_KEY_PATH", "GROQ_API_KEY",
    "HASS_TOKEN", "HASS_URL", "HELICONE_API_KEY", "HERMES_DASHBOARD_SESSION_TOKEN",
    "KILOCODE_BASE_URL", "LLM_MODEL", "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "OPENAI_API_BASE",
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_ORG_ID",
    "PERPLEXITY_API_KEY", "SIGNAL_ACCOUNT", "SIGNAL_ALLOWED_USERS", "SIGNAL_GROUP_ALLOWED_USERS",
    "SIGNAL_HOME_CHANNEL", "SIGNAL_HOME_CHANNEL_NAME", "SIGNAL_HTTP_URL", "SIGNAL_IGNORE_STORIES",
    "SLACK_ALLOWED_USERS", "SLACK_HOME_CHANNEL", "SLACK_HOME_CHANNEL_NAME", "TELEGRAM_HOME_CHANNEL",
    "TELEGRAM_HOME_CHANNEL_NAME", "TOGETHER_API_KEY", "TOKENHUB_API_KEY", "TOKENHUB_BASE_URL",
    "WHATSAPP_ALLOWED_USERS", "WHATSAPP_ENABLED", "WHATSAPP_MODE",
];

static KNOWN: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    OPTIONAL
        .iter()
        .map(|variable| variable.name)
        .chain(FURTHER.iter().copied())
        .chain(keys().iter().filter_map(|key| key.env))
        .collect()
});

/// Whether Hermes gives this name a meaning.
pub fn is_known(name: &str) -> bool {
    KNOWN.contains(name)
}

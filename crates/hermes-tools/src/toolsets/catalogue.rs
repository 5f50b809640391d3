//! Toolsets as data: which tools belong together, and how lists call them.

/// A named group of tools.
pub struct Toolset {
    pub name: &'static str,
    pub tools: &'static [&'static str],
    /// Other sets whose tools belong to it.
    pub includes: &'static [&'static str],
}

/// A set that `hermes tools` shows and edits.
pub struct Configurable {
    pub name: &'static str,
    pub label: &'static str,
    /// Off unless chosen by name.
    pub opt_in: bool,
}

const fn set(name: &'static str, tools: &'static [&'static str]) -> Toolset {
    Toolset {
        name,
        tools,
        includes: &[],
    }
}

const fn composite(
    name: &'static str,
    tools: &'static [&'static str],
    includes: &'static [&'static str],
) -> Toolset {
    Toolset {
        name,
        tools,
        includes,
    }
}

/// What every interactive surface gets.
pub const CORE: &[&str] = &[
    "web_search",
    "web_extract",
    "terminal",
    "process",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "vision_analyze",
    "image_generate",
    "skills_list",
    "skill_view",
    "skill_manage",
    "browser_navigate",
    "browser_snapshot",
    "browser_click",
    "browser_type",
    "browser_scroll",
    "browser_back",
    "browser_press",
    "browser_get_images",
    "browser_vision",
    "browser_console",
    "browser_cdp",
    "browser_dialog",
    "text_to_speech",
    "todo",
    "memory",
    "session_search",
    "clarify",
    "execute_code",
    "delegate_task",
    "cronjob",
    "send_message",
    "ha_list_entities",
    "ha_get_state",
    "ha_list_services",
    "ha_call_service",
    "kanban_show",
    "kanban_list",
    "kanban_complete",
    "kanban_block",
    "kanban_heartbeat",
    "kanban_comment",
    "kanban_create",
    "kanban_link",
    "kanban_unblock",
    "computer_use",
];

pub const TOOLSETS: &[Toolset] = &[
    set("web", &["web_search", "web_extract"]),
    set("search", &["web_search"]),
    set("terminal", &["terminal", "process"]),
    set(
        "file",
        &["read_file", "write_file", "patch", "search_files"],
    ),
    set(
        "browser",
        &[
            "browser_navigate",
            "browser_snapshot",
            "browser_click",
            "browser_type",
            "browser_scroll",
            "browser_back",
            "browser_press",
            "browser_get_images",
            "browser_vision",
            "browser_console",
            "browser_cdp",
            "browser_dialog",
            "web_search",
        ],
    ),
    set("vision", &["vision_analyze"]),
    set("video", &["video_analyze"]),
    set("image_gen", &["image_generate"]),
    set("video_gen", &["video_generate"]),
    set("tts", &["text_to_speech"]),
    set("skills", &["skills_list", "skill_view", "skill_manage"]),
    set("todo", &["todo"]),
    set("memory", &["memory"]),
    set("session_search", &["session_search"]),
    set("clarify", &["clarify"]),
    set("code_execution", &["execute_code"]),
    set("delegation", &["delegate_task"]),
    set("cronjob", &["cronjob"]),
    set("messaging", &["send_message"]),
    set("moa", &["mixture_of_agents"]),
    set("x_search", &["x_search"]),
    set("computer_use", &["computer_use"]),
    set(
        "homeassistant",
        &[
            "ha_list_entities",
            "ha_get_state",
            "ha_list_services",
            "ha_call_service",
        ],
    ),
    set(
        "kanban",
        &[
            "kanban_show",
            "kanban_list",
            "kanban_complete",
            "kanban_block",
            "kanban_heartbeat",
            "kanban_comment",
            "kanban_create",
            "kanban_link",
            "kanban_unblock",
        ],
    ),
    set("discord", &["discord"]),
    set("discord_admin", &["discord_admin"]),
    set("feishu_doc", &["feishu_doc_read"]),
    set(
        "feishu_drive",
        &[
            "feishu_drive_list_comments",
            "feishu_drive_list_comment_replies",
            "feishu_drive_reply_comment",
            "feishu_drive_add_comment",
        ],
    ),
    set(
        "spotify",
        &[
            "spotify_playback",
            "spotify_devices",
            "spotify_queue",
            "spotify_search",
            "spotify_playlists",
            "spotify_albums",
            "spotify_library",
        ],
    ),
    set("yuanbao", &[]),
    set("context_engine", &[]),
    composite("debugging", &[], &["terminal", "web", "file"]),
    composite("safe", &[], &["web", "vision", "image_gen"]),
    set("hermes-cli", CORE),
    set("hermes-cron", CORE),
    set("hermes-telegram", CORE),
    set("hermes-whatsapp", CORE),
    set("hermes-slack", CORE),
    set("hermes-signal", CORE),
    set("hermes-bluebubbles", CORE),
    set("hermes-homeassistant", CORE),
    set("hermes-email", CORE),
    set("hermes-mattermost", CORE),
    set("hermes-matrix", CORE),
    set("hermes-dingtalk", CORE),
    set("hermes-weixin", CORE),
    set("hermes-qqbot", CORE),
    set("hermes-wecom", CORE),
    set("hermes-wecom-callback", CORE),
    set("hermes-sms", CORE),
    composite("hermes-discord", CORE, &["discord", "discord_admin"]),
    composite("hermes-feishu", CORE, &["feishu_doc", "feishu_drive"]),
    composite("hermes-yuanbao", CORE, &["yuanbao"]),
    set(
        "hermes-webhook",
        &["web_search", "web_extract", "vision_analyze", "clarify"],
    ),
    composite(
        "hermes-acp",
        &["vision_analyze"],
        &[
            "web",
            "terminal",
            "file",
            "skills",
            "browser",
            "todo",
            "memory",
            "session_search",
            "code_execution",
            "delegation",
        ],
    ),
    composite(
        "hermes-api-server",
        &["vision_analyze", "image_generate"],
        &[
            "web",
            "terminal",
            "file",
            "skills",
            "browser",
            "todo",
            "memory",
            "session_search",
            "code_execution",
            "delegation",
            "cronjob",
            "homeassistant",
        ],
    ),
    composite(
        "hermes-gateway",
        CORE,
        &["discord", "discord_admin", "feishu_doc", "feishu_drive"],
    ),
];

/// Names that older configurations use.
pub(super) const LEGACY: &[(&str, &str)] = &[
    ("web_tools", "web"),
    ("terminal_tools", "terminal"),
    ("vision_tools", "vision"),
    ("moa_tools", "moa"),
    ("image_tools", "image_gen"),
    ("skills_tools", "skills"),
    ("browser_tools", "browser"),
    ("cronjob_tools", "cronjob"),
    ("file_tools", "file"),
    ("tts_tools", "tts"),
];

const fn on(name: &'static str, label: &'static str) -> Configurable {
    Configurable {
        name,
        label,
        opt_in: false,
    }
}

const fn opt_in(name: &'static str, label: &'static str) -> Configurable {
    Configurable {
        name,
        label,
        opt_in: true,
    }
}

/// In the order in which lists show them; labels as in the reference's output.
pub const CONFIGURABLE: &[Configurable] = &[
    on("web", "🔍 Web Search & Scraping"),
    on("browser", "🌐 Browser Automation"),
    on("terminal", "💻 Terminal & Processes"),
    on("file", "📁 File Operations"),
    on("code_execution", "⚡ Code Execution"),
    on("vision", "👁️  Vision / Image Analysis"),
    opt_in("video", "🎬 Video Analysis"),
    on("image_gen", "🎨 Image Generation"),
    opt_in("video_gen", "🎬 Video Generation"),
    opt_in("x_search", "🐦 X (Twitter) Search"),
    opt_in("moa", "🧠 Mixture of Agents"),
    on("tts", "🔊 Text-to-Speech"),
    on("skills", "📚 Skills"),
    on("todo", "📋 Task Planning"),
    on("memory", "💾 Memory"),
    on("context_engine", "🧩 Context Engine"),
    on("session_search", "🔎 Session Search"),
    on("clarify", "❓ Clarifying Questions"),
    on("delegation", "👥 Task Delegation"),
    on("cronjob", "⏰ Cron Jobs"),
    on("messaging", "📨 Cross-Platform Messaging"),
    opt_in("homeassistant", "🏠 Home Assistant"),
    opt_in("spotify", "🎵 Spotify"),
    opt_in("discord", "💬 Discord"),
    opt_in("discord_admin", "🛡️ Discord Administration"),
    on("yuanbao", "🤖 Yuanbao"),
    on("computer_use", "🖱️  Computer Use (macOS)"),
];

/// Sets that can be chosen already and whose tools are not built yet.
pub const NOT_BUILT: &[&str] = &[
    "web",
    "browser",
    "vision",
    "video",
    "image_gen",
    "video_gen",
    "x_search",
    "moa",
    "tts",
    "context_engine",
    "cronjob",
    "messaging",
    "homeassistant",
    "spotify",
    "discord",
    "discord_admin",
    "yuanbao",
    "computer_use",
];

/// Where an agent can be talked to; each has a default set `hermes-<platform>`.
pub const PLATFORMS: &[&str] = &[
    "cli",
    "telegram",
    "discord",
    "slack",
    "whatsapp",
    "signal",
    "bluebubbles",
    "email",
    "homeassistant",
    "mattermost",
    "matrix",
    "dingtalk",
    "feishu",
    "wecom",
    "wecom_callback",
    "weixin",
    "qqbot",
    "yuanbao",
    "webhook",
    "api_server",
    "cron",
];

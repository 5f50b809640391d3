//! `display.*` and the terminal's abilities as the screen wants them.

use hermes_home::env;
use hermes_tui::{BusyMode, Preferences, Theme, ToolLines};

use crate::{CommandError, Context};

pub(super) fn read(context: &Context, verbose: bool) -> Result<Preferences, CommandError> {
    let config = context.config()?;
    let plain = context.environment.get_non_empty(env::NO_COLOR).is_some();
    let tools = match config.string("display.tool_progress")?.as_str() {
        _ if verbose => ToolLines::Verbose,
        "off" => ToolLines::Off,
        "new" => ToolLines::New,
        "verbose" => ToolLines::Verbose,
        _ => ToolLines::All,
    };
    let size = |key: &str| -> Result<usize, CommandError> {
        Ok(usize::try_from(config.integer(key)?).unwrap_or(0))
    };
    let profile = match context.home.profile_name().as_str() {
        "default" | "custom" => String::new(),
        name => name.to_owned(),
    };
    Ok(Preferences {
        theme: if plain {
            Theme::plain()
        } else {
            Theme::coloured()
        },
        busy: BusyMode::parse(&config.string("display.busy_input_mode")?)
            .unwrap_or(BusyMode::Interrupt),
        tools,
        show_reasoning: verbose || config.bool("display.show_reasoning")?,
        streaming: match config.is_set("display.streaming") {
            true => config.bool("display.streaming")?,
            false => true,
        },
        explain_busy: config
            .get("onboarding.seen")
            .is_none_or(|seen| seen["busy_input_prompt"] != true),
        show_status: true,
        bell: config.bool("display.bell_on_complete")?,
        profile,
        fold_lines: size("paste_collapse_threshold")?,
        fold_chars: size("paste_collapse_char_threshold")?,
        burst_lines: size("paste_collapse_threshold_fallback")?,
        paste_directory: Some(context.home.join("pastes")),
        line_feed_sends: !line_feed_breaks(context),
        confirm: config.bool("approvals.destructive_slash_confirm")?,
        preview_lines: (
            size("display.user_message_preview.first_lines")?,
            size("display.user_message_preview.last_lines")?,
        ),
        tool_preview: size("display.tool_preview_length")?,
        show_diffs: config.bool("display.inline_diffs")?,
        raw_answers: config.string("display.final_response_markdown")? == "raw",
        show_cost: config.bool("display.show_cost")?,
        timestamps: config.bool("display.timestamps")?,
        redrawn_lines: match config.bool("display.persistent_output")? {
            true => size("display.persistent_output_max_lines")?,
            false => 0,
        },
    })
}

/// Terminals that can tell Ctrl+J from Enter. Elsewhere a line feed may be all that
/// Enter sends.
fn line_feed_breaks(context: &Context) -> bool {
    let set = |name| context.environment.get_non_empty(name).is_some();
    let program = context.environment.get_non_empty("TERM_PROGRAM");
    ["SSH_CONNECTION", "SSH_TTY", "WSL_DISTRO_NAME", "WT_SESSION"]
        .into_iter()
        .any(set)
        || program.is_some_and(|name| name.eq_ignore_ascii_case("ghostty"))
}

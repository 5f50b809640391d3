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
        show_status: true,
        bell: config.bool("display.bell_on_complete")?,
        profile,
        fold_lines: size("paste_collapse_threshold")?,
        fold_chars: size("paste_collapse_char_threshold")?,
    })
}

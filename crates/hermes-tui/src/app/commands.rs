//! Slash commands that are about the screen itself; the others are handed on.

use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hermes_agent::slash::{self, By, When};

use super::{App, BusyMode, Effect, ToolLines};

pub(super) fn run(app: &mut App, name: &str, arguments: &str, now: Instant) -> Vec<Effect> {
    let command = match slash::find(name) {
        Ok(command) => command,
        Err(error) => return app.say(&error.to_string()),
    };
    if command.when == When::Idle && app.is_working() {
        return app.say(&format!(
            "`/{}` waits until Hermes is done; press Ctrl+C to stop it.",
            command.name
        ));
    }
    if command.by != By::FrontEnd {
        app.running_command = Some(command.name);
        return vec![Effect::Command {
            name: command.name,
            arguments: arguments.to_owned(),
        }];
    }
    match command.name {
        "help" => app.say(&help()),
        "quit" => vec![Effect::Quit],
        "clear" => vec![Effect::ClearScreen],
        "queue" if arguments.is_empty() => app.say("Write what shall be sent: `/queue TEXT`."),
        "queue" if app.is_working() => {
            app.queue.push(arguments.to_owned());
            Vec::new()
        }
        "queue" => super::keys::submit(app, arguments.to_owned(), now),
        "steer" if arguments.is_empty() => app.say("Write the guidance: `/steer TEXT`."),
        "steer" if app.is_working() => vec![Effect::Steer(arguments.to_owned())],
        "steer" => super::keys::submit(app, arguments.to_owned(), now),
        "busy" => busy(app, arguments),
        "verbose" => {
            app.preferences.tools = match app.preferences.tools {
                ToolLines::Off => ToolLines::All,
                ToolLines::All => ToolLines::Verbose,
                ToolLines::Verbose => ToolLines::Off,
            };
            let now = match app.preferences.tools {
                ToolLines::Off => "hidden",
                ToolLines::All => "one line each",
                ToolLines::Verbose => "with their results",
            };
            app.say(&format!("Tools are shown: {now}."))
        }
        "statusbar" => {
            app.preferences.show_status = !app.preferences.show_status;
            Vec::new()
        }
        "copy" if app.last_answer.is_empty() => app.say("There is no answer to copy yet."),
        "copy" => vec![Effect::Copy(app.last_answer.clone())],
        "image" => attach(app, arguments),
        other => app.say(&format!("`/{other}` is not built into this screen.")),
    }
}

fn busy(app: &mut App, arguments: &str) -> Vec<Effect> {
    if !arguments.is_empty() {
        match BusyMode::parse(arguments) {
            Some(mode) => app.preferences.busy = mode,
            None => {
                return app.say(&format!(
                    "`{arguments}` is none of interrupt, queue, steer."
                ));
            }
        }
    }
    let what = match app.preferences.busy {
        BusyMode::Interrupt => "stops the turn, and your text is the next message",
        BusyMode::Queue => "queues your text as the next message",
        BusyMode::Steer => "hands your text to the running turn as guidance",
    };
    app.say(&format!(
        "While Hermes works, Enter {what} (`{}`).",
        app.preferences.busy.as_str()
    ))
}

fn attach(app: &mut App, path: &str) -> Vec<Effect> {
    match read_image(app, path) {
        Ok(url) => {
            app.images.push(url);
            app.hint = Some(format!(
                "{} picture(s) go with the next message",
                app.images.len()
            ));
            Vec::new()
        }
        Err(reason) => app.say(&reason),
    }
}

/// A picture file as a data URL.
pub(super) fn read_image(app: &App, text: &str) -> Result<String, String> {
    use std::io::Read as _;
    const MOST: u64 = 20 << 20;
    let text = text.trim().trim_matches(['"', '\'']);
    let text = text.strip_prefix("file://").unwrap_or(text);
    if text.is_empty() {
        return Err("Name the file: `/image PATH`.".to_owned());
    }
    let path = match text.strip_prefix("~/") {
        Some(rest) => app.completer.user_home().join(rest),
        None => app.completer.directory().join(text),
    };
    let kind = image_kind(text)
        .ok_or_else(|| format!("`{text}` is no picture (png, jpg, gif, webp, bmp)."))?;
    let file =
        std::fs::File::open(&path).map_err(|error| format!("cannot read `{text}`: {error}"))?;
    let mut bytes = Vec::new();
    file.take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read `{text}`: {error}"))?;
    if bytes.len() as u64 > MOST {
        return Err(format!("`{text}` has more than {} MiB.", MOST >> 20));
    }
    Ok(format!(
        "data:image/{kind};base64,{}",
        BASE64.encode(&bytes)
    ))
}

pub(super) fn image_kind(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "png",
        "jpg" | "jpeg" => "jpeg",
        "gif" => "gif",
        "webp" => "webp",
        "bmp" => "bmp",
        _ => return None,
    })
}

fn help() -> String {
    let mut text =
        String::from("Type a message, or a command:\n\n| command | what it does |\n|---|---|\n");
    for command in slash::CATALOGUE {
        let usage = if command.usage.is_empty() {
            String::new()
        } else {
            format!(" {}", command.usage.replace('|', "\\|"))
        };
        text.push_str(&format!(
            "| `/{}{usage}` | {} |\n",
            command.name, command.summary
        ));
    }
    text.push_str(
        "\n**Keys**: Enter sends, Alt+Enter or Ctrl+J breaks the line, Tab completes, Up and Down walk the history, \
         Ctrl+G opens your editor, Ctrl+C stops the turn or clears the input, Ctrl+D leaves. \
         `@file:PATH` in a message brings the file along.\n",
    );
    text
}

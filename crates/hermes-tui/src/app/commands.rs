//! Slash commands that are about the screen itself; the others are handed on.

use std::time::Instant;

use hermes_agent::slash::{self, By, LookupError, When};
use ratatui::text::Span;

use super::dialog::Dialog;
use super::{App, BusyMode, Effect, Queued, ToolLines};

pub(super) fn run(app: &mut App, name: &str, arguments: &str, now: Instant) -> Vec<Effect> {
    let command = match slash::find(name) {
        Ok(command) if command.is_called(name) || app.is_working() => command,
        // The program's own commands come before beginnings of ours.
        Ok(_) => return own(app, format!("{name} {arguments}").trim().to_owned()),
        Err(LookupError::Unknown(name) | LookupError::Ambiguous { name, .. }) => {
            return own(app, format!("{name} {arguments}").trim().to_owned());
        }
        Err(error) => return app.say(&error.to_string()),
    };
    if command.when == When::Idle && app.is_working() {
        app.queue.push(Queued::Command {
            name: command.name,
            arguments: arguments.to_owned(),
        });
        app.hint = Some(format!(
            "/{} follows this turn; Ctrl+C stops it",
            command.name
        ));
        return Vec::new();
    }
    let (arguments, consented) = match command.confirmed {
        true => slash::without_consent(arguments),
        false => (arguments.to_owned(), false),
    };
    let asks = command.confirmed && app.preferences.confirm && !consented;
    if asks && throws_away(app, command.name, &arguments) {
        app.dialogs
            .push(Dialog::before(command.name, arguments, now));
        return Vec::new();
    }
    if command.by != By::FrontEnd {
        app.running_command = Some(command.name);
        return vec![Effect::Command {
            name: command.name,
            arguments,
        }];
    }
    let arguments = arguments.as_str();
    match command.name {
        "help" => app.say(&help(app)),
        "redraw" => vec![Effect::Redraw],
        "paste" => vec![Effect::ClipboardPicture],
        "queue" if arguments.is_empty() => app.say("Write what shall be sent: `/queue TEXT`."),
        "queue" if app.is_working() => {
            app.queue.push(Queued::Message(arguments.to_owned()));
            Vec::new()
        }
        "queue" => super::submit::submit(app, arguments.to_owned(), now),
        "steer" if arguments.is_empty() => app.say("Write the guidance: `/steer TEXT`."),
        "steer" if app.is_working() => steer(app, arguments.to_owned()),
        "steer" => super::submit::submit(app, arguments.to_owned(), now),
        "busy" => busy(app, arguments),
        "verbose" => {
            app.preferences.tools = match app.preferences.tools {
                ToolLines::Off => ToolLines::New,
                ToolLines::New => ToolLines::All,
                ToolLines::All => ToolLines::Verbose,
                ToolLines::Verbose => ToolLines::Off,
            };
            let now = match app.preferences.tools {
                ToolLines::Off => "hidden",
                ToolLines::New => "one line each, without repetitions",
                ToolLines::All => "one line each",
                ToolLines::Verbose => "with their results",
            };
            app.say(&format!("Tools are shown: {now}."))
        }
        "statusbar" => {
            app.preferences.show_status = !app.preferences.show_status;
            Vec::new()
        }
        "copy" => copy(app, arguments),
        "image" => attach(app, arguments),
        other => app.say(&format!("`/{other}` is not built into this screen.")),
    }
}

/// Whether there is anything to ask about: what is wrong or leads to nothing is said
/// at once.
fn throws_away(app: &App, name: &str, arguments: &str) -> bool {
    let is_count = arguments.is_empty() || arguments.parse::<usize>().is_ok_and(|n| n > 0);
    name != "undo" || (app.said && is_count)
}

/// Hands guidance to the running turn. What was said stays on the screen; when it
/// has reached the model, the turn says so.
pub(super) fn steer(app: &App, text: String) -> Vec<Effect> {
    let theme = app.preferences.theme;
    let said = [
        Span::styled(text.clone(), theme.user),
        Span::styled("  (goes to the model with the next tool result)", theme.dim),
    ];
    let lines = crate::markdown::wrap(
        &said,
        app.width.max(8),
        &[Span::styled("  › ", theme.dim)],
        &[Span::raw("    ")],
    );
    vec![Effect::Print(lines), Effect::Steer(text)]
}

/// The last answer, or the nth from the end.
fn copy(app: &App, arguments: &str) -> Vec<Effect> {
    let number = match arguments {
        "" => 1,
        text => match text.parse::<usize>() {
            Ok(number) if number > 0 => number,
            _ => return app.say(&format!("`{text}` is no number of an answer: `/copy 2`.")),
        },
    };
    match app.answers.iter().rev().nth(number - 1) {
        Some(answer) => vec![Effect::Copy(answer.clone())],
        None if app.answers.is_empty() => app.say("There is no answer to copy yet."),
        None => app.say("There are not that many answers."),
    }
}

/// A command that is none of ours: the program may know it.
pub(super) fn own(app: &mut App, arguments: String) -> Vec<Effect> {
    if app.is_working() {
        app.queue.push(Queued::Command {
            name: slash::OWN,
            arguments,
        });
        return Vec::new();
    }
    app.running_command = Some(slash::OWN);
    vec![Effect::Command {
        name: slash::OWN,
        arguments,
    }]
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

fn attach(app: &mut App, text: &str) -> Vec<Effect> {
    let text = text.trim().trim_matches(['"', '\'']);
    let text = text.strip_prefix("file://").unwrap_or(text);
    if text.is_empty() {
        return app.say("Name the file: `/image PATH`.");
    }
    let path = super::attach::resolved(text, app.completer.directory(), app.completer.user_home());
    match hermes_agent::picture(&path) {
        Ok(part) => {
            app.attach_picture(part);
            Vec::new()
        }
        Err(reason) => app.say(&reason),
    }
}

/// Below this a table has no room for its second column.
const TABLE_WIDTH: usize = 64;

fn help(app: &App) -> String {
    let table = app.width >= TABLE_WIDTH;
    let mut text = String::from("Type a message, or a command:\n\n");
    if table {
        text.push_str("| command | what it does |\n|---|---|\n");
    }
    for command in slash::CATALOGUE {
        let usage = if command.usage.is_empty() {
            String::new()
        } else {
            format!(" {}", command.usage)
        };
        let (name, summary) = (command.name, command.summary);
        text.push_str(&match table {
            true => format!("| `/{name}{}` | {summary} |\n", usage.replace('|', "\\|")),
            false => format!("- `/{name}{usage}`: {summary}\n"),
        });
    }
    let own = app.completer.commands();
    if !own.is_empty() {
        let names: Vec<String> = own.iter().map(|(name, _)| format!("`/{name}`")).collect();
        text.push_str(&format!("\n**Your own**: {}\n", names.join(", ")));
    }
    let breaks = match app.preferences.line_feed_sends {
        true => "Alt+Enter",
        false => "Alt+Enter or Ctrl+J",
    };
    text.push_str(&format!(
        "\n**Keys**: Enter sends, {breaks} breaks the line, Tab completes, Up and Down walk the history, \
         Ctrl+V attaches a picture, Ctrl+G opens your editor, Ctrl+L draws the screen again, \
         Ctrl+C stops the turn or clears the input, Ctrl+D leaves.\n\n\
         **In a message**: `@file:PATH`, `@folder:PATH`, `@diff`, `@staged`, `@git:N` and `@url:ADDRESS` bring \
         something along; a message that begins with the path of a picture attaches it.\n",
    ));
    text
}

//! Slash commands that are about the screen itself; the others are handed on.

use std::time::Instant;

use hermes_agent::slash::{self, By, LookupError, When};

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
        true => without_consent(arguments),
        false => (arguments.to_owned(), false),
    };
    if command.confirmed && app.preferences.confirm && !consented {
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
        "help" => app.say(&help(app.preferences.line_feed_sends)),
        "redraw" => vec![Effect::Redraw],
        "paste" => vec![Effect::ClipboardPicture],
        "queue" if arguments.is_empty() => app.say("Write what shall be sent: `/queue TEXT`."),
        "queue" if app.is_working() => {
            app.queue.push(Queued::Message(arguments.to_owned()));
            Vec::new()
        }
        "queue" => super::keys::submit(app, arguments.to_owned(), now),
        "steer" if arguments.is_empty() => app.say("Write the guidance: `/steer TEXT`."),
        "steer" if app.is_working() => vec![Effect::Steer(arguments.to_owned())],
        "steer" => super::keys::submit(app, arguments.to_owned(), now),
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
        "copy" if app.last_answer.is_empty() => app.say("There is no answer to copy yet."),
        "copy" => vec![Effect::Copy(app.last_answer.clone())],
        "image" => attach(app, arguments),
        other => app.say(&format!("`/{other}` is not built into this screen.")),
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

/// The arguments without the words that say yes in advance.
fn without_consent(arguments: &str) -> (String, bool) {
    if arguments == "now" {
        return (String::new(), true);
    }
    let consents = |word: &&str| matches!(*word, "--yes" | "-y");
    if !arguments.split_whitespace().any(|word| consents(&word)) {
        return (arguments.to_owned(), false);
    }
    let kept: Vec<&str> = arguments
        .split_whitespace()
        .filter(|word| !consents(word))
        .collect();
    (kept.join(" "), true)
}

fn help(line_feed_sends: bool) -> String {
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
    let breaks = match line_feed_sends {
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

//! A complete input: where it goes, and what of it stays on the screen.

use std::time::Instant;

use hermes_agent::slash;
use hermes_types::{Content, Part};
use ratatui::text::{Line, Span};

use super::turn::TurnView;
use super::{App, BusyMode, Effect, Queued, attach, commands};

/// A complete input: a command, a message, or something for the running turn.
pub(super) fn submit(app: &mut App, text: String, now: Instant) -> Vec<Effect> {
    let shown = text.trim().to_owned();
    if shown.is_empty() && app.images.is_empty() {
        return Vec::new();
    }
    app.menu = None;
    let time = chrono::Local::now()
        .format("%Y-%m-%d %H:%M:%S%.6f")
        .to_string();
    app.history.add(&shown, &time);
    if shown == "/" {
        return app.say("Write the command behind the slash; `/help` lists them.");
    }
    if let Some((name, arguments)) = slash::split(&shown) {
        let mut effects = vec![Effect::Print(given(app, &shown))];
        effects.extend(commands::run(app, name, arguments, now));
        return effects;
    }
    send(app, shown, now)
}

/// A message: no command, nothing for the history.
pub(super) fn send(app: &mut App, shown: String, now: Instant) -> Vec<Effect> {
    let message = app.pastes.unfold(&shown);
    if app.is_working() {
        return while_working(app, message);
    }
    let mut effects = vec![Effect::Print(echo(app, &shown))];
    let (content, complaint) = content(app, message);
    effects.extend(complaint.into_iter().flat_map(|text| app.remark(&text)));
    effects.push(Effect::Send(content));
    app.turn = Some(TurnView::new(app, now));
    app.said = true;
    effects
}

/// A message of the program. It is not unfolded: nobody pasted into it.
pub(super) fn notice(app: &mut App, line: &str, message: String, now: Instant) -> Vec<Effect> {
    let mut effects = app.remark(line);
    if app.is_working() {
        app.queue.push(Queued::Message(message));
        return effects;
    }
    effects.push(Effect::Send(Content::Text(message)));
    app.turn = Some(TurnView::new(app, now));
    effects
}

/// The hint about what Enter does meanwhile, as Python Hermes calls it.
const BUSY_HINT: &str = "busy_input_prompt";

fn while_working(app: &mut App, message: String) -> Vec<Effect> {
    let mut effects = Vec::new();
    if std::mem::take(&mut app.preferences.explain_busy) {
        effects.extend(app.remark(
            "while Hermes works, Enter interrupts, queues or steers: `/busy` shows and changes which",
        ));
        effects.push(Effect::HintShown(BUSY_HINT));
    }
    effects.extend(for_the_turn(app, message));
    effects
}

fn for_the_turn(app: &mut App, message: String) -> Vec<Effect> {
    match app.preferences.busy {
        BusyMode::Steer if app.images.is_empty() => commands::steer(app, message),
        BusyMode::Interrupt => {
            app.queue.push(Queued::Message(message));
            if let Some(turn) = &mut app.turn {
                turn.interrupted = true;
            }
            app.hint = Some("stopping; your message is next".to_owned());
            vec![Effect::Interrupt]
        }
        BusyMode::Queue | BusyMode::Steer => {
            app.queue.push(Queued::Message(message));
            Vec::new()
        }
    }
}

/// Text and pictures. A message that begins with the path of a file brings it
/// along: a picture as a picture, anything else by its name.
fn content(app: &mut App, mut text: String) -> (Content, Option<String>) {
    let mut complaint = None;
    let here = (app.completer.directory(), app.completer.user_home());
    if let Some((path, rest)) = attach::leading_file(&text, here) {
        if attach::is_picture(&path) {
            match hermes_agent::picture(&path) {
                Ok(part) => {
                    app.images.push(part);
                    text = match rest {
                        "" => "See the attached picture.".to_owned(),
                        rest => rest.to_owned(),
                    };
                }
                Err(reason) => complaint = Some(reason),
            }
        } else {
            text = format!("[User attached file: {}]\n{rest}", path.display());
        }
    }
    if app.images.is_empty() {
        return (Content::Text(text), complaint);
    }
    let mut parts = vec![Part::Text { text }];
    parts.append(&mut app.images);
    (Content::Parts(parts), complaint)
}

/// A command as it stays on the screen.
fn given(app: &App, text: &str) -> Vec<Line<'static>> {
    let dim = app.preferences.theme.dim;
    crate::markdown::wrap(
        &[Span::styled(text.to_owned(), dim)],
        app.width.max(8),
        &[Span::styled("❯ ", dim)],
        &[Span::raw("  ")],
    )
}

/// The message as it stays on the screen: long ones without their middle.
fn echo(app: &App, text: &str) -> Vec<Line<'static>> {
    let theme = app.preferences.theme;
    let all: Vec<&str> = text.lines().collect();
    let (first, last) = app.preferences.preview_lines;
    let hidden = all.len().saturating_sub(first.max(1) + last);
    let sign = match app.preferences.timestamps {
        true => format!("❯ {} ", chrono::Local::now().format("%H:%M")),
        false => "❯ ".to_owned(),
    };
    let margin = " ".repeat(crate::markdown::display_width(&sign));
    let mut lines = Vec::new();
    for (index, line) in all.iter().enumerate() {
        // One line less would only be replaced by a line that says so.
        if hidden > 1 && (first.max(1)..first.max(1) + hidden).contains(&index) {
            if index == first.max(1) {
                lines.push(Line::styled(
                    format!("{margin}… {hidden} more lines"),
                    theme.dim,
                ));
            }
            continue;
        }
        let lead = if index == 0 {
            sign.clone()
        } else {
            margin.clone()
        };
        lines.extend(crate::markdown::wrap(
            &[Span::styled((*line).to_owned(), theme.user)],
            app.width.max(8),
            &[Span::styled(lead, theme.dim)],
            &[Span::raw(margin.clone())],
        ));
    }
    match app.images.len() {
        0 => {}
        1 => lines.push(Line::styled(format!("{margin}(with a picture)"), theme.dim)),
        count => lines.push(Line::styled(
            format!("{margin}(with {count} pictures)"),
            theme.dim,
        )),
    }
    lines.push(Line::default());
    lines
}

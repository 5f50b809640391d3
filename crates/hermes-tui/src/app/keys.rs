//! What keys and pastes do.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hermes_agent::slash;
use hermes_types::{Content, Part};
use ratatui::text::{Line, Span};

use super::completion::Menu;
use super::turn::TurnView;
use super::{App, BusyMode, Effect, commands};
use crate::editor::Editor;

/// A second Ctrl+C within this time leaves at once.
const IMPATIENCE: Duration = Duration::from_secs(2);

impl App {
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        self.hint = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'q')) {
            return cancel(self, key.code == KeyCode::Char('c'), now);
        }
        if !self.dialogs.is_empty() {
            return dialog_key(self, key);
        }
        if self.picker.is_some() {
            return picker_key(self, key);
        }
        input_key(self, key, now)
    }

    pub fn paste(&mut self, text: &str) -> Vec<Effect> {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if let Some(dialog) = self.dialogs.first_mut() {
            if let Some(field) = &mut dialog.field {
                field.insert(text.trim_end_matches('\n'));
            }
            return Vec::new();
        }
        let lines = text.matches('\n').count();
        let fold = self.preferences.fold_lines > 0 && lines >= self.preferences.fold_lines
            || self.preferences.fold_chars > 0 && text.len() >= self.preferences.fold_chars;
        if fold && !self.editor.text().starts_with('/') {
            self.pastes.push(text);
            let number = self.pastes.len();
            self.editor
                .insert(&format!("[Pasted text #{number}: {} lines]", lines + 1));
        } else {
            self.editor.insert(&text);
        }
        self.menu = None;
        Vec::new()
    }
}

fn cancel(app: &mut App, may_force: bool, now: Instant) -> Vec<Effect> {
    if !app.dialogs.is_empty() {
        let dialog = app.dialogs.remove(0);
        return vec![Effect::Answer(dialog.cancel())];
    }
    if app.picker.take().is_some() || app.menu.take().is_some() {
        return Vec::new();
    }
    if let Some(turn) = &mut app.turn {
        let again = app
            .last_interrupt
            .is_some_and(|last| now.duration_since(last) < IMPATIENCE);
        if again && may_force {
            return vec![Effect::Quit];
        }
        turn.interrupted = true;
        app.last_interrupt = Some(now);
        app.hint = Some("stopping; Ctrl+C again leaves".to_owned());
        return vec![Effect::Interrupt];
    }
    if !app.editor.is_empty() || !app.images.is_empty() {
        app.editor.take();
        app.images.clear();
        return Vec::new();
    }
    vec![Effect::Quit]
}

fn dialog_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(dialog) = app.dialogs.first_mut() else {
        return Vec::new();
    };
    let asked = match key.code {
        KeyCode::Enter => dialog.confirm(),
        KeyCode::Esc => Some(dialog.cancel()),
        KeyCode::Up if dialog.field.is_none() => {
            dialog.up();
            None
        }
        KeyCode::Down | KeyCode::Tab if dialog.field.is_none() => {
            dialog.down();
            None
        }
        KeyCode::Char(c) if dialog.field.is_none() => c
            .to_digit(10)
            .and_then(|digit| dialog.digit(digit as usize)),
        _ => {
            if let Some(field) = &mut dialog.field {
                edit(field, key);
            }
            None
        }
    };
    match asked {
        Some(asked) => {
            app.dialogs.remove(0);
            vec![Effect::Answer(asked)]
        }
        None => Vec::new(),
    }
}

fn picker_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let Some(picker) = &mut app.picker else {
        return Vec::new();
    };
    match key.code {
        KeyCode::Esc => app.picker = None,
        KeyCode::Up => picker.up(),
        KeyCode::Down | KeyCode::Tab => picker.down(),
        KeyCode::Enter => {
            let (command, chosen) = (picker.command, picker.chosen());
            app.picker = None;
            if let Some(arguments) = chosen {
                app.running_command = Some(command);
                return vec![Effect::Command {
                    name: command,
                    arguments,
                }];
            }
        }
        _ => picker.typed(|filter| {
            edit(filter, key);
        }),
    }
    Vec::new()
}

fn input_key(app: &mut App, key: KeyEvent, now: Instant) -> Vec<Effect> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => {
            app.editor.insert("\n")
        }
        KeyCode::Char('j') if control => app.editor.insert("\n"),
        KeyCode::Enter => {
            // Enter on a menu entry that is not written out yet takes it first.
            if let Some(menu) = app.menu.take()
                && app.editor.text().starts_with('/')
                && !app.editor.text().contains(' ')
                && slash::split(app.editor.text())
                    .is_some_and(|(name, _)| slash::find(name).is_err())
            {
                accept(app, menu);
                return Vec::new();
            }
            let text = app.editor.take();
            return submit(app, text, now);
        }
        KeyCode::Char('d') if control && app.editor.is_empty() && app.images.is_empty() => {
            return vec![Effect::Quit];
        }
        KeyCode::Char('g') if control || alt => {
            let draft = unfold(app, app.editor.text());
            return vec![Effect::OpenEditor(draft)];
        }
        KeyCode::Char('l') if control => return vec![Effect::ClearScreen],
        KeyCode::Char('z') if control => return vec![Effect::Suspend],
        KeyCode::Esc => app.menu = None,
        KeyCode::Tab => {
            match app.menu.take() {
                Some(menu) => accept(app, menu),
                None => match app.history.suggestion(app.editor.text()).map(str::to_owned) {
                    Some(rest) => app.editor.insert(&rest),
                    None => app.menu = open_menu(app),
                },
            }
            return Vec::new();
        }
        KeyCode::Up if app.menu.is_some() => {
            if let Some(menu) = &mut app.menu {
                menu.selected = menu.selected.saturating_sub(1);
            }
            return Vec::new();
        }
        KeyCode::Down if app.menu.is_some() => {
            if let Some(menu) = &mut app.menu {
                menu.selected = (menu.selected + 1).min(menu.entries.len() - 1);
            }
            return Vec::new();
        }
        KeyCode::Up => {
            if !app.editor.up() {
                let current = app.editor.text().to_owned();
                if let Some(entry) = app.history.earlier(&current).map(str::to_owned) {
                    app.editor.set(entry);
                }
            }
            return Vec::new();
        }
        KeyCode::Down => {
            if !app.editor.down()
                && let Some(entry) = app.history.later().map(str::to_owned)
            {
                app.editor.set(entry);
            }
            return Vec::new();
        }
        _ => {
            if !edit(&mut app.editor, key) {
                return Vec::new();
            }
        }
    }
    app.menu = open_menu(app);
    Vec::new()
}

fn open_menu(app: &App) -> Option<Menu> {
    let at_end = app.editor.cursor() == app.editor.text().len();
    if !at_end || app.editor.is_empty() {
        return None;
    }
    Menu::open(app.editor.text(), app.completer.as_ref())
}

fn accept(app: &mut App, menu: Menu) {
    if let Some((word, _)) = menu.entries.get(menu.selected) {
        app.editor.replace_from(menu.start, word);
    }
    app.menu = open_menu(app).filter(|menu| menu.entries.len() > 1);
}

/// Plain editing, the same in every field. `false` when the key is no edit.
fn edit(editor: &mut Editor, key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    match key.code {
        KeyCode::Char('a') if control => editor.home(),
        KeyCode::Char('e') if control => editor.end(),
        KeyCode::Char('b') if control => editor.left(),
        KeyCode::Char('f') if control => editor.right(),
        KeyCode::Char('b') if alt => editor.word_left(),
        KeyCode::Char('f') if alt => editor.word_right(),
        KeyCode::Char('w') if control => editor.delete_word(),
        KeyCode::Char('k') if control => editor.delete_to_end(),
        KeyCode::Char('u') if control => editor.delete_to_start(),
        KeyCode::Char('d') if control => editor.delete(),
        KeyCode::Char('h') if control => editor.backspace(),
        KeyCode::Char(_) if control || alt => return false,
        KeyCode::Char(c) => editor.insert(c.encode_utf8(&mut [0; 4])),
        KeyCode::Backspace if alt || control => editor.delete_word(),
        KeyCode::Backspace => editor.backspace(),
        KeyCode::Delete => editor.delete(),
        KeyCode::Left if control || alt => editor.word_left(),
        KeyCode::Right if control || alt => editor.word_right(),
        KeyCode::Left => editor.left(),
        KeyCode::Right => editor.right(),
        KeyCode::Home => editor.home(),
        KeyCode::End => editor.end(),
        _ => return false,
    }
    true
}

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
    if let Some((name, arguments)) = slash::split(&shown) {
        return commands::run(app, name, arguments, now);
    }
    send(app, shown, now)
}

/// A message: no command, nothing for the history.
pub(super) fn send(app: &mut App, shown: String, now: Instant) -> Vec<Effect> {
    let message = unfold(app, &shown);
    if app.is_working() {
        return while_working(app, message);
    }
    let mut effects = vec![Effect::Print(echo(app, &shown))];
    effects.push(Effect::Send(content(app, message)));
    app.pastes.clear();
    app.turn = Some(TurnView::new(app.page(), now));
    effects
}

fn while_working(app: &mut App, message: String) -> Vec<Effect> {
    match app.preferences.busy {
        BusyMode::Steer if app.images.is_empty() => {
            app.hint = Some("handed to the running turn".to_owned());
            vec![Effect::Steer(message)]
        }
        BusyMode::Interrupt => {
            app.queue.push(message);
            if let Some(turn) = &mut app.turn {
                turn.interrupted = true;
            }
            app.hint = Some("stopping; your message is next".to_owned());
            vec![Effect::Interrupt]
        }
        BusyMode::Queue | BusyMode::Steer => {
            app.queue.push(message);
            app.hint = Some(format!("{} waiting", app.queue.len()));
            Vec::new()
        }
    }
}

/// Puts folded pastes back in full.
fn unfold(app: &App, text: &str) -> String {
    let mut out = text.to_owned();
    for (index, paste) in app.pastes.iter().enumerate() {
        let lines = paste.matches('\n').count() + 1;
        out = out.replace(
            &format!("[Pasted text #{}: {lines} lines]", index + 1),
            paste,
        );
    }
    out
}

/// Text and pictures; a message that is the path of a picture attaches it.
fn content(app: &mut App, mut text: String) -> Content {
    let path = text.trim().trim_matches(['"', '\'']);
    if !path.contains('\n')
        && commands::image_kind(path).is_some()
        && let Ok(url) = commands::read_image(app, path)
    {
        app.images.push(url);
        text = "See the attached picture.".to_owned();
    }
    if app.images.is_empty() {
        return Content::Text(text);
    }
    let mut parts = vec![Part::Text { text }];
    parts.extend(app.images.drain(..).map(|url| Part::Image { url }));
    Content::Parts(parts)
}

fn echo(app: &App, text: &str) -> Vec<Line<'static>> {
    let theme = app.preferences.theme;
    let mut lines = Vec::new();
    let all: Vec<&str> = text.lines().collect();
    for (index, line) in all.iter().enumerate().take(12) {
        let sign = if index == 0 { "❯ " } else { "  " };
        let spans = [Span::styled((*line).to_owned(), theme.user)];
        let rest = [Span::raw("  ")];
        lines.extend(crate::markdown::wrap(
            &spans,
            app.width.max(8),
            &[Span::styled(sign, theme.dim)],
            &rest,
        ));
    }
    if all.len() > 12 {
        lines.push(Line::styled(
            format!("  … {} more lines", all.len() - 12),
            theme.dim,
        ));
    }
    lines.push(Line::default());
    lines
}

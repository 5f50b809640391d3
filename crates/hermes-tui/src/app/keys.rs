//! What keys and pastes do.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use hermes_agent::slash;
use hermes_types::Part;
use ratatui::text::Span;

use super::completion::Menu;
use super::dialog::{Decision, Dialog};
use super::submit::{send, submit};
use super::{App, Effect, Queued, commands};
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
        let mut effects = if control && matches!(key.code, KeyCode::Char('c' | 'q')) {
            cancel(self, key.code == KeyCode::Char('c'), now)
        } else if !self.dialogs.is_empty() {
            dialog_key(self, key, now)
        } else if self.picker.is_some() {
            picker_key(self, key)
        } else {
            input_key(self, key, now)
        };
        effects.extend(self.next_in_queue(now));
        self.dialog_comes_up(now);
        effects
    }

    pub fn paste(&mut self, text: &str, now: Instant) -> Vec<Effect> {
        let text = cleaned(text);
        if let Some(dialog) = self.dialogs.first_mut() {
            let listens = dialog.listens(now);
            match &mut dialog.field {
                Some(field) if listens => {
                    field.insert(text.trim_end_matches('\n'));
                    return Vec::new();
                }
                // It was meant for the input, and waits there.
                _ => dialog.passed_over(now),
            }
        }
        if let Some(picker) = &mut self.picker {
            picker.typed(|filter| filter.insert(text.trim_end_matches('\n')));
            return Vec::new();
        }
        // Terminals hand over nothing when the clipboard holds a picture.
        if text.is_empty() {
            return vec![Effect::ClipboardPicture];
        }
        let lines = text.matches('\n').count();
        let fold = self.preferences.fold_lines > 0 && lines >= self.preferences.fold_lines
            || self.preferences.fold_chars > 0 && text.len() >= self.preferences.fold_chars;
        let folded = if fold && !self.editor.text().starts_with('/') {
            self.pastes.fold(&text)
        } else {
            None
        };
        self.editor.insert(folded.as_deref().unwrap_or(&text));
        self.menu = None;
        Vec::new()
    }

    /// A picture for the next message.
    pub fn attach_picture(&mut self, part: Part) {
        self.running_command = None;
        self.images.push(part);
        self.hint = Some(match self.images.len() {
            1 => "a picture goes with the next message".to_owned(),
            count => format!("{count} pictures go with the next message"),
        });
    }

    /// What waited for the turn or the command before, when nothing is in its way.
    pub fn next_in_queue(&mut self, now: Instant) -> Vec<Effect> {
        let busy = self.is_working()
            || self.running_command.is_some()
            || self.picker.is_some()
            || !self.dialogs.is_empty();
        if busy || self.queue.is_empty() {
            return Vec::new();
        }
        if let Queued::Command { name, arguments } = &self.queue[0] {
            let (name, arguments) = (*name, arguments.clone());
            self.queue.remove(0);
            return match name {
                slash::OWN => commands::own(self, arguments),
                name => commands::run(self, name, &arguments, now),
            };
        }
        // Messages in a row are one message.
        let mut texts = Vec::new();
        while let Some(Queued::Message(_)) = self.queue.first() {
            if let Queued::Message(text) = self.queue.remove(0) {
                texts.push(text);
            }
        }
        send(self, texts.join("\n"), now)
    }
}

/// What terminals leak into pastes is taken out: their own marks, and control
/// characters that no text needs.
fn cleaned(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace("\x1b[200~", "")
        .replace("\x1b[201~", "")
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

fn cancel(app: &mut App, may_force: bool, now: Instant) -> Vec<Effect> {
    if !app.dialogs.is_empty() {
        let dialog = app.dialogs.remove(0);
        let decision = dialog.cancel();
        let mut effects = told(app, &dialog, &decision);
        effects.extend(decided(app, decision));
        return effects;
    }
    if app.picker.take().is_some() {
        return Vec::new();
    }
    if app.running_command.is_some() {
        return vec![Effect::CancelCommand];
    }
    let again = app
        .last_interrupt
        .is_some_and(|last| now.duration_since(last) < IMPATIENCE);
    if let Some(turn) = &mut app.turn {
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
        app.menu = None;
        app.images.clear();
        app.last_interrupt = None;
        return Vec::new();
    }
    if again {
        return vec![Effect::Quit];
    }
    // One press too many after a turn must not end the conversation.
    app.last_interrupt = Some(now);
    app.hint = Some("Ctrl+C again leaves".to_owned());
    Vec::new()
}

/// Carries on with what a dialog came to.
pub(super) fn decided(app: &mut App, decision: Decision) -> Vec<Effect> {
    match decision {
        Decision::Answer(asked) => vec![Effect::Answer(asked)],
        Decision::Dropped => {
            app.hint = Some("nothing was done".to_owned());
            Vec::new()
        }
        Decision::Command {
            name,
            arguments,
            for_good,
        } => {
            let mut effects = Vec::new();
            if for_good {
                app.preferences.confirm = false;
                effects.push(Effect::StopConfirming);
            }
            app.running_command = Some(name);
            effects.push(Effect::Command { name, arguments });
            effects
        }
    }
}

/// What an answer leaves on the screen.
fn told(app: &App, dialog: &Dialog, decision: &Decision) -> Vec<Effect> {
    let theme = app.preferences.theme;
    let sign = [Span::styled("  ? ", theme.dim)];
    let lines = dialog
        .told(decision, theme)
        .map(|told| crate::markdown::wrap(&told, app.width.max(8), &sign, &[Span::raw("    ")]));
    lines.map(Effect::Print).into_iter().collect()
}

/// A key that was pressed while a question came up: it is for the input, where a
/// line waits until the question is answered.
fn passed_over(app: &mut App, key: KeyEvent) {
    app.menu = None;
    match key.code {
        KeyCode::Enter if !app.editor.is_empty() => {
            app.hint = Some("the question comes first; your text waits here".to_owned());
        }
        _ => {
            edit(&mut app.editor, key);
        }
    }
}

fn dialog_key(app: &mut App, key: KeyEvent, now: Instant) -> Vec<Effect> {
    let (width, height) = (app.width, app.height);
    let Some(dialog) = app.dialogs.first_mut() else {
        return Vec::new();
    };
    let listens = dialog.listens(now);
    // A letter that answers nothing begins something else.
    let meant = match key.code {
        KeyCode::Char(c) if dialog.field.is_none() => c.is_ascii_digit() || dialog.is_letter(c),
        _ => true,
    };
    if !listens || !meant {
        dialog.passed_over(now);
        passed_over(app, key);
        return Vec::new();
    }
    let was_full = dialog.is_full();
    let decision = match key.code {
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
        KeyCode::Char(c) if dialog.field.is_none() => match c.to_digit(10) {
            Some(digit) => dialog.digit(digit as usize),
            None => dialog.letter(c),
        },
        _ => {
            if let Some(field) = &mut dialog.field {
                edit(field, key);
            }
            None
        }
    };
    match decision {
        Some(decision) => {
            let dialog = app.dialogs.remove(0);
            let mut effects = told(app, &dialog, &decision);
            effects.extend(decided(app, decision));
            effects
        }
        None if !was_full => dialog
            .overflow(width, height)
            .map(|whole| vec![Effect::Print(whole)])
            .unwrap_or_default(),
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
            if let Some(arguments) = chosen {
                app.picker = None;
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
        KeyCode::Char('j') if control && !app.preferences.line_feed_sends => {
            app.editor.insert("\n");
        }
        KeyCode::Enter | KeyCode::Char('j') if key.code == KeyCode::Enter || control => {
            if let Some(name) = app.running_command {
                app.hint = Some(format!("/{name} is still running; Ctrl+C ends it"));
                return Vec::new();
            }
            // Enter on a menu entry that is not written out yet takes it first.
            if let Some(menu) = app.menu.take()
                && app.editor.text().starts_with('/')
                && !app.editor.text().contains(' ')
                && slash::split(app.editor.text())
                    .is_none_or(|(name, _)| slash::find(name).is_err())
                && !menu.has(app.editor.text())
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
            let draft = app.pastes.unfold(app.editor.text());
            return vec![Effect::OpenEditor(draft)];
        }
        KeyCode::Char('v') if control || alt => return vec![Effect::ClipboardPicture],
        KeyCode::Char('l') if control => return vec![Effect::Redraw],
        KeyCode::Char('z') if control => return vec![Effect::Suspend],
        KeyCode::Esc => {
            app.menu = None;
            return Vec::new();
        }
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

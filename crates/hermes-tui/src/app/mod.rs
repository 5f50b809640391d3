//! What the conversation looks like and what keys do, without a terminal: inputs
//! go in, effects come out, and [`App::live`] says what stands at the bottom of
//! the screen. Time is handed in, so every state can be tested.

mod attach;
mod commands;
mod completion;
mod dialog;
mod keys;
mod picker;
mod status;
mod submit;
mod turn;
mod view;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

use hermes_types::{Asked, Content, Part, TurnEvent};
use ratatui::text::{Line, Span};

pub use attach::leading_picture;
pub use completion::Completer;
pub use picker::{PickItem, Picker};
pub use status::Status;

use crate::editor::Editor;
use crate::history::History;
use crate::markdown::{Highlighter, Page};
use crate::theme::Theme;
use attach::Pastes;
use completion::Menu;
use dialog::Dialog;
use turn::TurnView;

/// What Enter does while a turn runs (`display.busy_input_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusyMode {
    Interrupt,
    Queue,
    Steer,
}

impl BusyMode {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "interrupt" => Self::Interrupt,
            "queue" => Self::Queue,
            "steer" => Self::Steer,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Queue => "queue",
            Self::Steer => "steer",
        }
    }
}

/// How much of the tools' work is shown (`display.tool_progress`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolLines {
    Off,
    /// All but repetitions of the tool before.
    New,
    All,
    Verbose,
}

/// What the world around must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Finished lines, for the scrollback.
    Print(Vec<Line<'static>>),
    Send(Content),
    Interrupt,
    Steer(String),
    Answer(Asked),
    /// A command that the program carries out: canonical name and arguments.
    Command {
        name: &'static str,
        arguments: String,
    },
    /// The command that runs is not wanted any more.
    CancelCommand,
    /// Store that nobody is asked any more before something is thrown away.
    StopConfirming,
    /// Store that this hint was shown.
    HintShown(&'static str),
    /// Attach what is on the clipboard, if it is a picture.
    ClipboardPicture,
    Copy(String),
    Bell,
    /// Empty the screen and put the last lines on it again.
    Redraw,
    /// Empty the screen.
    ClearScreen,
    /// Edit the draft in the user's editor.
    OpenEditor(String),
    Suspend,
    Quit,
}

/// How the chat was configured.
#[derive(Clone, Debug)]
pub struct Preferences {
    pub theme: Theme,
    pub busy: BusyMode,
    pub tools: ToolLines,
    pub show_reasoning: bool,
    /// Whether an answer is shown while it is written.
    pub streaming: bool,
    /// Whether the modes of Enter are explained when one is used first.
    pub explain_busy: bool,
    pub show_status: bool,
    pub bell: bool,
    /// Stands before the prompt sign; empty for the default profile.
    pub profile: String,
    /// Pastes of at least this many lines are folded into one word; 0 never.
    pub fold_lines: usize,
    pub fold_chars: usize,
    /// So many lines that are typed at once are a paste; 0 never.
    pub burst_lines: usize,
    /// Where folded pastes are kept; `None` folds nothing.
    pub paste_directory: Option<PathBuf>,
    /// Whether a line feed (Ctrl+J) sends; else it breaks the line.
    pub line_feed_sends: bool,
    /// Whether to ask before a command that throws something away.
    pub confirm: bool,
    /// First and last lines of a long message that stay on the screen.
    pub preview_lines: (usize, usize),
    /// Characters of a call's arguments that are shown; 0 as many as fit.
    pub tool_preview: usize,
    pub show_diffs: bool,
    /// Answers as they were written, without any rendering.
    pub raw_answers: bool,
    pub show_cost: bool,
    pub timestamps: bool,
    /// Printed lines that are kept to be drawn again.
    pub redrawn_lines: usize,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: Theme::coloured(),
            busy: BusyMode::Interrupt,
            tools: ToolLines::All,
            show_reasoning: false,
            streaming: true,
            explain_busy: false,
            show_status: true,
            bell: false,
            profile: String::new(),
            fold_lines: 5,
            fold_chars: 2_000,
            burst_lines: 5,
            paste_directory: None,
            line_feed_sends: false,
            confirm: true,
            preview_lines: (2, 2),
            tool_preview: 0,
            show_diffs: true,
            raw_answers: false,
            show_cost: false,
            timestamps: false,
            redrawn_lines: 200,
        }
    }
}

/// What waits for the running turn.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Queued {
    Message(String),
    Command {
        name: &'static str,
        arguments: String,
    },
}

/// Answers that `/copy` can reach.
const ANSWERS: usize = 20;

pub struct App {
    preferences: Preferences,
    width: usize,
    height: usize,
    highlighter: Highlighter,
    editor: Editor,
    history: History,
    completer: Box<dyn Completer>,
    menu: Option<Menu>,
    picker: Option<Picker>,
    dialogs: Vec<Dialog>,
    turn: Option<TurnView>,
    queue: Vec<Queued>,
    /// The command that the program carries out just now.
    running_command: Option<&'static str>,
    status: Status,
    pastes: Pastes,
    /// Pictures for the next message.
    images: Vec<Part>,
    /// The last answers, newest last.
    answers: VecDeque<String>,
    /// Whether anything was said that could be taken back.
    said: bool,
    last_interrupt: Option<Instant>,
    hint: Option<String>,
}

impl App {
    pub fn new(
        preferences: Preferences,
        history: History,
        completer: Box<dyn Completer>,
        status: Status,
    ) -> Self {
        let pastes = Pastes::in_directory(preferences.paste_directory.clone());
        Self {
            preferences,
            width: 80,
            height: 24,
            highlighter: Highlighter::default(),
            editor: Editor::default(),
            history,
            completer,
            menu: None,
            picker: None,
            dialogs: Vec::new(),
            turn: None,
            queue: Vec::new(),
            running_command: None,
            status,
            pastes,
            images: Vec::new(),
            answers: VecDeque::new(),
            said: false,
            last_interrupt: None,
            hint: None,
        }
    }

    pub fn resize(&mut self, width: usize, height: usize) {
        self.width = width.max(1);
        self.height = height.max(1);
        if let Some(turn) = &mut self.turn {
            turn.set_width(self.width);
        }
    }

    /// Whether the picture changes by itself: only then is a clock needed.
    pub fn is_animated(&self) -> bool {
        self.turn.is_some() || self.running_command.is_some() || !self.dialogs.is_empty()
    }

    /// Time passes: questions of our own that nobody answers are dropped.
    pub fn tick(&mut self, now: Instant) {
        self.dialogs.retain(|dialog| !dialog.is_stale(now));
        self.dialog_comes_up(now);
    }

    /// The first question that waits is the one that is asked.
    fn dialog_comes_up(&mut self, now: Instant) {
        if let Some(dialog) = self.dialogs.first_mut() {
            dialog.comes_up(now);
        }
    }

    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    pub fn preferences(&self) -> &Preferences {
        &self.preferences
    }

    pub fn show_reasoning(&mut self, show: bool) {
        self.preferences.show_reasoning = show;
    }

    pub fn status_mut(&mut self) -> &mut Status {
        &mut self.status
    }

    pub fn page(&self) -> Page {
        Page {
            width: self.width.saturating_sub(1),
            theme: self.preferences.theme,
            highlighter: self.highlighter.clone(),
        }
    }

    pub fn turn_event(&mut self, event: TurnEvent, now: Instant) -> Vec<Effect> {
        let effects = turn::apply(self, event, now);
        self.dialog_comes_up(now);
        effects
    }

    /// What still ran when the chat is left: lines for the scrollback.
    pub fn left_behind(&mut self, now: Instant) -> Vec<Line<'static>> {
        turn::left_behind(self, now)
    }

    /// What the program said about a command it carried out, as markdown.
    pub fn command_done(&mut self, text: &str) -> Vec<Effect> {
        self.running_command = None;
        self.say(text)
    }

    /// Output of a verb, as it would stand in a terminal.
    pub fn command_output(&mut self, text: &str) -> Vec<Effect> {
        self.running_command = None;
        let width = self.width.max(8);
        let mut lines: Vec<Line<'static>> = text
            .lines()
            .flat_map(|line| {
                let margin = line.len() - line.trim_start_matches(' ').len();
                let rest = [Span::raw(" ".repeat(margin.min(width / 2)))];
                crate::markdown::wrap(&[Span::raw(line.to_owned())], width, &[], &rest)
            })
            .collect();
        lines.push(Line::default());
        vec![Effect::Print(lines)]
    }

    pub fn pick(&mut self, picker: Picker) {
        self.running_command = None;
        self.picker = Some(picker);
    }

    pub fn is_picking(&self) -> bool {
        self.picker.is_some()
    }

    /// Puts text into the input, for a person to look at before it is sent.
    pub fn draft(&mut self, text: &str) {
        self.running_command = None;
        self.editor.set(text);
    }

    /// A message that comes from elsewhere than the keyboard.
    pub fn submit_text(&mut self, text: &str, now: Instant) -> Vec<Effect> {
        self.running_command = None;
        submit::send(self, text.trim().to_owned(), now)
    }

    /// A message to the model that nobody wrote: a remark stands in its place.
    pub fn submit_notice(&mut self, line: &str, message: String, now: Instant) -> Vec<Effect> {
        self.running_command = None;
        submit::notice(self, line, message, now)
    }

    /// The command is noted and follows the turn.
    pub fn follows_turn(
        &mut self,
        name: &'static str,
        arguments: String,
        say: &str,
    ) -> Vec<Effect> {
        self.running_command = None;
        // What was chosen last counts.
        self.queue.retain(
            |queued| !matches!(queued, Queued::Command { name: other, .. } if *other == name),
        );
        self.queue.push(Queued::Command { name, arguments });
        self.say(say)
    }

    /// The command that ran was given up.
    pub fn command_cancelled(&mut self) {
        if let Some(name) = self.running_command.take() {
            self.hint = Some(format!("/{name} was left"));
        }
    }

    /// As if the user had typed it.
    pub fn typed(&mut self, text: &str, now: Instant) -> Vec<Effect> {
        self.running_command = None;
        match hermes_agent::slash::split(text.trim()) {
            Some((name, arguments)) => commands::run(self, name, arguments, now),
            None => submit::send(self, text.trim().to_owned(), now),
        }
    }

    /// Something that people should know, beside the conversation.
    pub fn remark(&mut self, text: &str) -> Vec<Effect> {
        let theme = self.preferences.theme;
        let sign = [Span::styled("  ! ", theme.warning)];
        let rest = [Span::raw("    ")];
        let text = [Span::styled(text.to_owned(), theme.dim)];
        vec![Effect::Print(crate::markdown::wrap(
            &text,
            self.width.max(8),
            &sign,
            &rest,
        ))]
    }

    /// Something that was asked for beside the conversation, as markdown.
    pub fn beside(&mut self, text: &str) -> Vec<Effect> {
        self.say(text)
    }

    /// The turn that was begun never reached the conversation.
    pub fn turn_lost(&mut self) {
        self.turn = None;
    }

    /// Another conversation took over: nothing of the one before is shown as open.
    pub fn conversation_changed(&mut self) {
        self.turn = None;
        self.dialogs.clear();
        self.answers.clear();
        self.status.context_used = 0;
        self.status.new_session();
    }

    /// Whether the conversation has anything in it.
    pub fn anything_said(&mut self, said: bool) {
        self.said = said;
    }

    fn remember_answer(&mut self, answer: &str) {
        self.answers.push_back(answer.to_owned());
        if self.answers.len() > ANSWERS {
            self.answers.pop_front();
        }
    }

    fn say(&self, text: &str) -> Vec<Effect> {
        let mut lines = crate::markdown::render(text, &self.page());
        lines.push(Line::default());
        vec![Effect::Print(lines)]
    }
}

#[cfg(test)]
mod tests;

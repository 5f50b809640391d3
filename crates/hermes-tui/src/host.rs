//! The program around the screen: it opens conversations and carries out commands.

use futures_util::future::LocalBoxFuture;
use hermes_agent::Conversation;
use hermes_types::{Content, Part, TurnEvent, TurnOutcome};
use ratatui::text::Line;
use tokio::sync::mpsc;

use crate::app::{App, Picker};

/// A conversation and what it says.
pub struct Chat {
    pub conversation: Conversation,
    pub events: mpsc::Receiver<TurnEvent>,
    /// Shown when it takes over: what was said before, warnings.
    pub greeting: Vec<Line<'static>>,
}

/// A command of the catalogue as it was given.
#[derive(Clone, Debug)]
pub struct Call {
    pub name: &'static str,
    pub arguments: String,
    /// Columns for the output of verbs.
    pub width: usize,
    /// Whether a turn runs meanwhile.
    pub working: bool,
}

/// What a command of the program came to.
pub enum Outcome {
    /// Markdown to show.
    Say(String),
    /// The output of a verb.
    Output(String),
    Pick(Picker),
    /// Another conversation takes over.
    Switch(Switch),
    /// Text for the input.
    Draft(String),
    /// A message to send now.
    Send(String),
    /// What was meant: as if this had been typed.
    Again(String),
    /// It is noted, and carried out with these arguments when the turn has ended;
    /// and what to say about it, as markdown.
    Later {
        arguments: String,
        say: String,
    },
    /// Show or hide what the model thinks; and what to say about it.
    ShowReasoning(bool, String),
    Quit,
}

/// One conversation in the place of another.
pub struct Switch {
    pub chat: Chat,
    /// How the session before ended; `None` when it goes on.
    pub ended: Option<&'static str>,
    /// Markdown to show.
    pub message: String,
    /// Whether it begins on an empty screen.
    pub clear: bool,
    /// Text for the input, or a message to send at once.
    pub then: Then,
}

impl Switch {
    /// The same session under other conditions: nothing is greeted again.
    pub fn going_on(mut chat: Chat, message: String) -> Self {
        chat.greeting.clear();
        Self {
            chat,
            ended: None,
            message,
            clear: false,
            then: Then::Nothing,
        }
    }
}

/// Something that nobody typed.
pub enum Incoming {
    /// For the model, as if the user had sent it.
    Message(String),
    /// For the model too, but nobody's words: the user sees `line` in its place.
    Notice { line: String, message: String },
    /// For the user, on a line.
    Remark(String),
    /// For the user, as markdown: an answer that was asked for beside.
    Text(String),
}

/// What follows a switch.
pub enum Then {
    Nothing,
    Draft(String),
    Send(String),
}

pub trait Host {
    /// The first conversation. Called when the prompt is on the screen already.
    fn open(&mut self) -> LocalBoxFuture<'_, Result<Chat, String>>;

    /// Carries out a command of the catalogue. Dropped when the user does not want
    /// it any more.
    fn command<'a>(
        &'a mut self,
        conversation: &'a Conversation,
        call: Call,
    ) -> LocalBoxFuture<'a, Outcome>;

    /// The picture on the clipboard, or why there is none.
    fn clipboard_picture(&mut self) -> LocalBoxFuture<'_, Result<Part, String>>;

    /// Stores that nobody is asked before something is thrown away.
    fn stop_confirming(&mut self) -> Result<(), String>;

    /// Stores that a hint was shown, so that it is not shown again.
    fn hint_shown(&mut self, name: &'static str);

    /// Completes a message before it is sent: what it refers to is brought along.
    /// The other half are remarks for the person.
    fn prepare(&mut self, content: Content) -> LocalBoxFuture<'_, (Content, Vec<String>)>;

    /// Resolves with something that came up by itself; messages only while `idle`.
    /// Dropped and called again at will, it must lose nothing.
    fn incoming(&mut self, idle: bool) -> LocalBoxFuture<'_, Incoming>;

    /// A turn ended; `goes_on` when the next one has begun already. What comes of it
    /// arrives through [`Host::incoming`].
    fn after_turn(&mut self, outcome: TurnOutcome, goes_on: bool);

    /// Lets the user edit a text; blocks.
    fn edit(&mut self, draft: &str) -> Result<String, String>;

    /// Facts for the status line that change between turns.
    fn refresh<'a>(&'a mut self, app: &'a mut App) -> LocalBoxFuture<'a, ()>;
}

//! The loop: keys, events of the turn and answers of the program go into the
//! [`App`], its effects go out. Idle, it waits for a key and nothing else.

use std::io;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use hermes_agent::Conversation;
use hermes_types::{Interrupt, SessionId, TurnEvent};
use ratatui::text::Line;
use tokio::sync::mpsc;

use crate::app::{App, Effect, Picker};
use crate::paint::Painter;
use crate::terminal::RawTerminal;

/// Text that streams in is painted at most this often; keys are painted at once.
const FRAME: Duration = Duration::from_millis(15);
/// Spinner and clocks, only while something runs.
const TICK: Duration = Duration::from_millis(100);
/// Events taken in before a key is looked for.
const BATCH: usize = 64;

/// A conversation and what it says.
pub struct Chat {
    pub conversation: Conversation,
    pub events: mpsc::Receiver<TurnEvent>,
}

/// What a command of the program came to.
pub enum Outcome {
    /// Markdown to show.
    Say(String),
    /// The output of a verb.
    Output(String),
    Pick(Picker),
    /// Another conversation takes over.
    Switch {
        chat: Chat,
        message: String,
    },
    /// Text for the input.
    Draft(String),
    /// A message to send now.
    Send(String),
    Quit,
}

/// The program around the screen.
pub trait Host: Send {
    /// The first conversation. Called when the prompt is on the screen already.
    fn open(&mut self) -> BoxFuture<'_, Result<Chat, String>>;

    /// Carries out a command of the catalogue.
    fn command<'a>(
        &'a mut self,
        app: &'a mut App,
        conversation: &'a Conversation,
        name: &'static str,
        arguments: String,
    ) -> BoxFuture<'a, Outcome>;

    /// Lets the user edit a text; blocks.
    fn edit(&mut self, draft: &str) -> Result<String, String>;

    /// Facts for the status line that change between turns.
    fn refresh(&mut self, app: &mut App);
}

/// Runs the chat until the user leaves; returns the session it ended in.
pub async fn run(
    mut app: App,
    host: &mut dyn Host,
    greeting: Vec<Line<'static>>,
    first_message: Option<String>,
) -> io::Result<Option<SessionId>> {
    let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
    app.resize(width.into(), height.into());
    let terminal = RawTerminal::enter()?;
    let mut painter = Painter::new(io::stdout(), width.into());
    painter.frame(&greeting, &app.live(Instant::now()))?;
    let chat = match host.open().await {
        Ok(chat) => chat,
        Err(reason) => {
            painter.finish()?;
            return Err(io::Error::other(reason));
        }
    };
    host.refresh(&mut app);
    let mut screen = Screen {
        app,
        painter,
        terminal,
        chat,
        host,
        leaving: false,
        pending: Vec::new(),
    };
    if let Some(text) = first_message {
        let effects = screen.app.submit_text(&text, Instant::now());
        screen.carry_out(effects).await?;
    }
    screen.paint()?;
    screen.main_loop().await?;
    screen.painter.finish()?;
    screen.chat.conversation.interrupt(Interrupt::Shutdown);
    drop(screen.terminal);
    Ok(screen.chat.conversation.close().await)
}

struct Screen<'h> {
    app: App,
    painter: Painter<io::Stdout>,
    terminal: RawTerminal,
    chat: Chat,
    host: &'h mut dyn Host,
    leaving: bool,
    /// Finished lines for the next frame.
    pending: Vec<Line<'static>>,
}

enum Woken {
    Terminal(Option<io::Result<Event>>),
    Turn(Option<TurnEvent>),
    Tick,
    Signal,
}

impl Screen<'_> {
    async fn main_loop(&mut self) -> io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut input = EventStream::new();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let mut painted = Instant::now();
        let mut dirty = false;
        while !self.leaving {
            let animated = self.app.is_animated();
            let until_tick = if dirty {
                FRAME.saturating_sub(painted.elapsed())
            } else {
                TICK
            };
            let woken = tokio::select! {
                biased;
                event = input.next() => Woken::Terminal(event),
                _ = terminate.recv() => Woken::Signal,
                _ = hang_up.recv() => Woken::Signal,
                event = self.chat.events.recv() => Woken::Turn(event),
                () = tokio::time::sleep(until_tick), if dirty || animated => Woken::Tick,
            };
            let effects = match woken {
                Woken::Terminal(Some(Ok(event))) => self.terminal_event(event)?,
                Woken::Terminal(_) | Woken::Signal => {
                    self.leaving = true;
                    Vec::new()
                }
                Woken::Turn(Some(event)) => {
                    let effects = self.turn_events(event);
                    self.carry_out(effects).await?;
                    dirty = true;
                    if painted.elapsed() < FRAME {
                        continue;
                    }
                    Vec::new()
                }
                Woken::Turn(None) => {
                    self.leaving = true;
                    Vec::new()
                }
                Woken::Tick => Vec::new(),
            };
            self.carry_out(effects).await?;
            self.paint()?;
            painted = Instant::now();
            dirty = false;
        }
        Ok(())
    }

    fn terminal_event(&mut self, event: Event) -> io::Result<Vec<Effect>> {
        Ok(match event {
            Event::Key(key) => self.app.key(key, Instant::now()),
            Event::Paste(text) => self.app.paste(&text),
            Event::Resize(width, height) => {
                self.painter.set_width(width.into());
                self.app.resize(width.into(), height.into());
                Vec::new()
            }
            _ => Vec::new(),
        })
    }

    /// The event, and what else has arrived meanwhile.
    fn turn_events(&mut self, first: TurnEvent) -> Vec<Effect> {
        let now = Instant::now();
        let mut finished = matches!(first, TurnEvent::Finished { .. });
        let mut effects = self.app.turn_event(first, now);
        for _ in 0..BATCH {
            let Ok(event) = self.chat.events.try_recv() else {
                break;
            };
            finished |= matches!(event, TurnEvent::Finished { .. });
            effects.extend(self.app.turn_event(event, now));
        }
        if finished {
            self.host.refresh(&mut self.app);
        }
        effects
    }

    fn paint(&mut self) -> io::Result<()> {
        let finished = std::mem::take(&mut self.pending);
        self.painter
            .frame(&finished, &self.app.live(Instant::now()))
    }

    async fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        let mut effects = std::collections::VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            match effect {
                Effect::Print(lines) => self.pending.extend(lines),
                Effect::Send(content) => {
                    if let Err(error) = self.chat.conversation.send(content) {
                        effects.extend(self.app.command_done(&error.to_string()));
                    }
                }
                Effect::Interrupt => self.chat.conversation.interrupt(Interrupt::User),
                Effect::Steer(text) => self.chat.conversation.steer(&text),
                Effect::Answer(asked) => {
                    self.chat.conversation.answer(asked);
                }
                Effect::Command { name, arguments } => {
                    self.paint()?;
                    effects.extend(self.command(name, arguments).await);
                }
                Effect::Copy(text) => {
                    self.painter
                        .raw(&format!("\x1b]52;c;{}\x07", BASE64.encode(text)))?;
                    effects.extend(self.app.command_done("Copied."));
                }
                Effect::Bell => self.painter.raw("\x07")?,
                Effect::ClearScreen => self.painter.clear()?,
                Effect::OpenEditor(draft) => {
                    self.painter.finish()?;
                    let edited = self.terminal.outside(|| self.host.edit(&draft))?;
                    match edited {
                        Ok(text) => self.app.draft(text.trim_end_matches('\n')),
                        Err(reason) => effects.extend(self.app.command_done(&reason)),
                    }
                }
                Effect::Suspend => {
                    self.painter.finish()?;
                    self.terminal.outside(|| {
                        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP);
                    })?;
                }
                Effect::Quit => self.leaving = true,
            }
        }
        Ok(())
    }

    async fn command(&mut self, name: &'static str, arguments: String) -> Vec<Effect> {
        let outcome = self
            .host
            .command(&mut self.app, &self.chat.conversation, name, arguments)
            .await;
        let effects = match outcome {
            Outcome::Say(text) => self.app.command_done(&text),
            Outcome::Output(text) => self.app.command_output(&text),
            Outcome::Pick(picker) => {
                self.app.pick(picker);
                Vec::new()
            }
            Outcome::Switch { chat, message } => {
                let old = std::mem::replace(&mut self.chat, chat);
                old.conversation.close().await;
                self.app.command_done(&message)
            }
            Outcome::Draft(text) => {
                self.app.draft(&text);
                Vec::new()
            }
            Outcome::Send(text) => self.app.submit_text(&text, Instant::now()),
            Outcome::Quit => vec![Effect::Quit],
        };
        self.host.refresh(&mut self.app);
        effects
    }
}

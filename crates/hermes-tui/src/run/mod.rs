//! The loop: keys, events of the turn and answers of the program go into the
//! [`App`], its effects go out. Idle, it waits for a key and nothing else. While
//! a command of the program runs, keys are taken and the turn goes on.

mod burst;
mod command;
mod effects;
mod signals;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use hermes_types::{Interrupt, Part, SessionId, TurnEvent, TurnOutcome};
use ratatui::text::Line;

use crate::app::{App, Effect};
use crate::error::ChatError;
use crate::host::{Chat, Host, Incoming, Outcome};
use crate::markdown::wrap;
use crate::paint::Painter;
use crate::terminal::RawTerminal;
pub use signals::Signals;

/// Text that streams in is painted at most this often; keys are painted at once.
const FRAME: Duration = Duration::from_millis(8);
/// Spinner and clocks, only while something runs.
const TICK: Duration = Duration::from_millis(100);
/// Events taken in before a key is looked for.
const BATCH: usize = 64;

/// Lines that were made before the width was known.
fn fitted(lines: &[Line<'static>], width: usize) -> Vec<Line<'static>> {
    let wrapped = |line: &Line<'static>| wrap(&line.spans, width.max(12), &[], &[]);
    lines.iter().flat_map(wrapped).collect()
}

/// What the chat begins with.
#[derive(Default)]
pub struct Beginning {
    /// Stands above the first prompt.
    pub greeting: Vec<Line<'static>>,
    /// Pictures for the first message.
    pub pictures: Vec<Part>,
}

/// How a chat ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The session that it ended in.
    pub session: Option<SessionId>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Runs the chat until the user leaves.
pub async fn run(
    mut app: App,
    host: &mut dyn Host,
    beginning: Beginning,
) -> Result<Ended, ChatError> {
    let (width, height) = crossterm::terminal::size().unwrap_or((80, 24));
    app.resize(width.into(), height.into());
    let terminal = RawTerminal::enter()?;
    let mut painter = Painter::new(io::stdout(), width.into());
    for picture in beginning.pictures {
        app.attach_picture(picture);
    }
    let greeting = fitted(&beginning.greeting, width.into());
    painter.frame(&greeting, &app.live(Instant::now()))?;
    let mut input = EventStream::new();
    let mut signals = Signals::new()?;
    let opened = open(&mut app, host, &mut painter, &mut input, &mut signals).await;
    let (chat, deferred) = match opened {
        Ok(Some(opened)) => opened,
        Ok(None) => {
            painter.finish()?;
            return Ok(Ended {
                session: None,
                signal: signals.received(),
            });
        }
        Err(error) => {
            painter.finish()?;
            return Err(error);
        }
    };
    host.refresh(&mut app).await;
    let kept = app.preferences().redrawn_lines;
    let mut screen = Screen {
        app,
        painter,
        terminal,
        input,
        signals,
        chat,
        host,
        leaving: false,
        broken: false,
        pending: Vec::new(),
        printed: Printed::new(kept),
        pasted_at: None,
    };
    screen.printed.keep(&greeting);
    let opening = std::mem::take(&mut screen.chat.greeting);
    screen.pending.extend(fitted(&opening, width.into()));
    let shown = screen.converse(deferred).await;
    // The terminal may be gone by now; the session is closed all the same.
    let Screen {
        terminal,
        chat,
        broken,
        signals,
        ..
    } = screen;
    chat.conversation.interrupt(Interrupt::Shutdown);
    // Nobody reads any more, and nothing may wait for a reader.
    drop(chat.events);
    drop(terminal);
    let last = chat.conversation.session();
    match chat.conversation.close(Some("cli_close")).await {
        Some(session) if !broken => {
            shown?;
            Ok(Ended {
                session: Some(session),
                signal: signals.received(),
            })
        }
        _ => Err(ChatError::ConversationBroke { session: last }),
    }
}

/// Opens the conversation while keys are taken already. What needs the
/// conversation is put off until it is there; `None` when the user left before.
async fn open(
    app: &mut App,
    host: &mut dyn Host,
    painter: &mut Painter<io::Stdout>,
    input: &mut EventStream,
    signals: &mut Signals,
) -> Result<Option<(Chat, Vec<Effect>)>, ChatError> {
    let mut deferred = Vec::new();
    let mut opening = host.open();
    loop {
        let event = tokio::select! {
            biased;
            opened = &mut opening => {
                let chat = opened.map_err(ChatError::Open)?;
                return Ok(Some((chat, deferred)));
            }
            event = input.next() => match event {
                Some(Ok(event)) => event,
                _ => return Ok(None),
            },
            () = signals.arrived() => return Ok(None),
        };
        let mut finished = Vec::new();
        for effect in terminal_event(app, painter, event) {
            match effect {
                Effect::Print(lines) => finished.extend(lines),
                Effect::Quit => return Ok(None),
                effect => deferred.push(effect),
            }
        }
        painter.frame(&finished, &app.live(Instant::now()))?;
    }
}

fn terminal_event(app: &mut App, painter: &mut Painter<io::Stdout>, event: Event) -> Vec<Effect> {
    match event {
        Event::Key(key) => app.key(key, Instant::now()),
        Event::Paste(text) => app.paste(&text, Instant::now()),
        Event::Resize(width, height) => {
            painter.set_width(width.into());
            app.resize(width.into(), height.into());
            Vec::new()
        }
        _ => Vec::new(),
    }
}

struct Screen<'h> {
    app: App,
    painter: Painter<io::Stdout>,
    terminal: RawTerminal,
    input: EventStream,
    signals: Signals,
    chat: Chat,
    host: &'h mut dyn Host,
    leaving: bool,
    /// The conversation ended by itself.
    broken: bool,
    /// Finished lines for the next frame.
    pending: Vec<Line<'static>>,
    printed: Printed,
    /// When keys were last taken for a paste.
    pasted_at: Option<Instant>,
}

/// The last finished lines, to be drawn again.
struct Printed {
    lines: VecDeque<Line<'static>>,
    most: usize,
}

impl Printed {
    fn new(most: usize) -> Self {
        Self {
            lines: VecDeque::new(),
            most,
        }
    }

    fn keep(&mut self, lines: &[Line<'static>]) {
        let skip = lines.len().saturating_sub(self.most);
        self.lines.extend(lines.iter().skip(skip).cloned());
        let surplus = self.lines.len().saturating_sub(self.most);
        self.lines.drain(..surplus);
    }
}

enum Woken {
    Terminal(Option<io::Result<Event>>),
    Turn(Option<TurnEvent>),
    Incoming(Incoming),
    Command(Outcome),
    Tick,
    Signal,
}

/// When the screen was painted last, and whether it is behind.
struct Frames {
    painted: Instant,
    dirty: bool,
}

impl Frames {
    fn new() -> Self {
        Self {
            painted: Instant::now(),
            dirty: false,
        }
    }

    fn until_next(&self) -> Duration {
        match self.dirty {
            true => FRAME.saturating_sub(self.painted.elapsed()),
            false => TICK,
        }
    }

    fn done(&mut self) {
        self.painted = Instant::now();
        self.dirty = false;
    }

    /// Whether what streams in may wait for the next frame.
    fn may_wait(&mut self) -> bool {
        self.dirty = true;
        self.painted.elapsed() < FRAME
    }
}

impl Screen<'_> {
    /// From the first message to the last; the screen is clean afterwards.
    async fn converse(&mut self, deferred: Vec<Effect>) -> io::Result<()> {
        self.carry_out(deferred).await?;
        self.paint()?;
        self.main_loop().await?;
        // What ran until now does not vanish with the live area.
        let left = self.app.left_behind(Instant::now());
        self.pending.extend(left);
        let cleaned = self.paint().and_then(|()| self.painter.finish());
        match self.signals.hung_up() {
            true => Ok(()),
            false => cleaned,
        }
    }

    async fn main_loop(&mut self) -> io::Result<()> {
        let mut frames = Frames::new();
        while !self.leaving {
            let animated = self.app.is_animated();
            let idle = !self.app.is_working();
            let woken = tokio::select! {
                biased;
                event = self.input.next() => Woken::Terminal(event),
                () = self.signals.arrived() => Woken::Signal,
                event = self.chat.events.recv() => Woken::Turn(event),
                news = self.host.incoming(idle) => Woken::Incoming(news),
                () = tokio::time::sleep(frames.until_next()), if frames.dirty || animated => Woken::Tick,
            };
            let effects = match woken {
                Woken::Terminal(Some(Ok(event))) => self.typed(event).await?,
                Woken::Incoming(Incoming::Message(text)) => {
                    self.app.submit_text(&text, Instant::now())
                }
                Woken::Incoming(Incoming::Notice { line, message }) => {
                    self.app.submit_notice(&line, message, Instant::now())
                }
                Woken::Incoming(Incoming::Remark(text)) => self.app.remark(&text),
                Woken::Incoming(Incoming::Text(text)) => {
                    // One question less is under way.
                    self.host.refresh(&mut self.app).await;
                    self.app.beside(&text)
                }
                Woken::Terminal(_) | Woken::Signal => {
                    self.leaving = true;
                    Vec::new()
                }
                Woken::Turn(Some(event)) => {
                    let (effects, finished) = turn_events(&mut self.app, &mut self.chat, event);
                    if let Some(outcome) = finished {
                        self.host.after_turn(outcome, self.app.is_working());
                        self.host.refresh(&mut self.app).await;
                    }
                    self.carry_out(effects).await?;
                    if frames.may_wait() {
                        continue;
                    }
                    Vec::new()
                }
                Woken::Turn(None) => {
                    self.leaving = true;
                    self.broken = true;
                    Vec::new()
                }
                Woken::Tick => {
                    self.app.tick(Instant::now());
                    Vec::new()
                }
                Woken::Command(_) => Vec::new(),
            };
            self.carry_out(effects).await?;
            self.paint()?;
            frames.done();
        }
        Ok(())
    }

    fn paint(&mut self) -> io::Result<()> {
        let finished = std::mem::take(&mut self.pending);
        self.printed.keep(&finished);
        self.painter
            .frame(&finished, &self.app.live(Instant::now()))
    }
}

/// The event and what else has arrived meanwhile, up to the end of a turn.
fn turn_events(
    app: &mut App,
    chat: &mut Chat,
    first: TurnEvent,
) -> (Vec<Effect>, Option<TurnOutcome>) {
    let now = Instant::now();
    let mut effects = Vec::new();
    let mut next = Some(first);
    for _ in 0..BATCH {
        let Some(event) = next else { break };
        let finished = ended(&event);
        effects.extend(app.turn_event(event, now));
        if finished.is_some() {
            return (effects, finished);
        }
        next = chat.events.try_recv().ok();
    }
    if let Some(event) = next {
        let finished = ended(&event);
        effects.extend(app.turn_event(event, now));
        return (effects, finished);
    }
    (effects, None)
}

fn ended(event: &TurnEvent) -> Option<TurnOutcome> {
    match event {
        TurnEvent::Finished { outcome } => Some(outcome.clone()),
        _ => None,
    }
}

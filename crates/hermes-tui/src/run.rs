//! The loop: keys, events of the turn and answers of the program go into the
//! [`App`], its effects go out. Idle, it waits for a key and nothing else. While
//! a command of the program runs, keys are taken and the turn goes on.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use hermes_types::{Content, Interrupt, Part, SessionId, TurnEvent, TurnOutcome};
use ratatui::text::Line;

use crate::app::{App, Effect};
use crate::error::ChatError;
use crate::host::{Chat, Host, Incoming, Outcome, Switch, Then};
use crate::markdown::wrap;
use crate::paint::Painter;
use crate::terminal::RawTerminal;

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

/// Runs the chat until the user leaves; returns the session it ended in.
pub async fn run(
    mut app: App,
    host: &mut dyn Host,
    beginning: Beginning,
) -> Result<Option<SessionId>, ChatError> {
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
    let opened = open(&mut app, host, &mut painter, &mut input).await;
    let (chat, deferred) = match opened {
        Ok(Some(opened)) => opened,
        Ok(None) => {
            painter.finish()?;
            return Ok(None);
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
        chat,
        host,
        leaving: false,
        broken: false,
        pending: Vec::new(),
        printed: VecDeque::new(),
        kept,
    };
    screen.remember(&greeting);
    let opening = std::mem::take(&mut screen.chat.greeting);
    screen.pending.extend(fitted(&opening, width.into()));
    screen.carry_out(deferred).await?;
    screen.paint()?;
    screen.main_loop().await?;
    screen.paint()?;
    screen.painter.finish()?;
    screen.chat.conversation.interrupt(Interrupt::Shutdown);
    drop(screen.terminal);
    let last = screen.chat.conversation.session();
    let session = screen.chat.conversation.close(Some("cli_close")).await;
    match session {
        Some(session) if !screen.broken => Ok(Some(session)),
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
        Event::Paste(text) => app.paste(&text),
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
    chat: Chat,
    host: &'h mut dyn Host,
    leaving: bool,
    /// The conversation ended by itself.
    broken: bool,
    /// Finished lines for the next frame.
    pending: Vec<Line<'static>>,
    /// The last finished lines, to be drawn again.
    printed: VecDeque<Line<'static>>,
    kept: usize,
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
    async fn main_loop(&mut self) -> io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let mut frames = Frames::new();
        while !self.leaving {
            let animated = self.app.is_animated();
            let idle = !self.app.is_working();
            let woken = tokio::select! {
                biased;
                event = self.input.next() => Woken::Terminal(event),
                _ = terminate.recv() => Woken::Signal,
                _ = hang_up.recv() => Woken::Signal,
                event = self.chat.events.recv() => Woken::Turn(event),
                news = self.host.incoming(idle) => Woken::Incoming(news),
                () = tokio::time::sleep(frames.until_next()), if frames.dirty || animated => Woken::Tick,
            };
            let effects = match woken {
                Woken::Terminal(Some(Ok(event))) => {
                    terminal_event(&mut self.app, &mut self.painter, event)
                }
                Woken::Incoming(Incoming::Message(text)) => {
                    self.app.submit_text(&text, Instant::now())
                }
                Woken::Incoming(Incoming::Remark(text)) => self.app.remark(&text),
                Woken::Incoming(Incoming::Text(text)) => self.app.beside(&text),
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
        self.remember(&finished);
        self.painter
            .frame(&finished, &self.app.live(Instant::now()))
    }

    fn remember(&mut self, lines: &[Line<'static>]) {
        let skip = lines.len().saturating_sub(self.kept);
        self.printed.extend(lines.iter().skip(skip).cloned());
        let surplus = self.printed.len().saturating_sub(self.kept);
        self.printed.drain(..surplus);
    }

    async fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            let more = match effect {
                Effect::Print(lines) => {
                    self.pending.extend(lines);
                    Vec::new()
                }
                Effect::Send(content) => self.send(content).await,
                Effect::Interrupt => {
                    self.chat.conversation.interrupt(Interrupt::User);
                    Vec::new()
                }
                Effect::Steer(text) => {
                    self.chat.conversation.steer(&text);
                    Vec::new()
                }
                Effect::Answer(asked) => {
                    self.chat.conversation.answer(asked);
                    Vec::new()
                }
                Effect::Command { name, arguments } => self.command(name, arguments).await?,
                // Nothing runs any more when it comes here.
                Effect::CancelCommand => {
                    self.app.command_cancelled();
                    Vec::new()
                }
                Effect::StopConfirming => match self.host.stop_confirming() {
                    Ok(()) => Vec::new(),
                    Err(reason) => self.app.remark(&reason),
                },
                Effect::ClipboardPicture => match self.host.clipboard_picture().await {
                    Ok(part) => {
                        self.app.attach_picture(part);
                        Vec::new()
                    }
                    Err(reason) => self.app.remark(&reason),
                },
                Effect::Copy(text) => {
                    self.painter
                        .raw(&format!("\x1b]52;c;{}\x07", BASE64.encode(text)))?;
                    self.app.command_done("Copied.")
                }
                Effect::Bell => {
                    self.painter.raw("\x07")?;
                    Vec::new()
                }
                Effect::ClearScreen => {
                    self.printed.clear();
                    self.pending.clear();
                    self.painter.clear()?;
                    Vec::new()
                }
                Effect::Redraw => {
                    self.painter.clear()?;
                    let again = std::mem::take(&mut self.printed);
                    self.pending.splice(0..0, again);
                    Vec::new()
                }
                Effect::OpenEditor(draft) => {
                    self.painter.finish()?;
                    let edited = self.terminal.outside(|| self.host.edit(&draft))?;
                    match edited {
                        Ok(text) => {
                            self.app.draft(text.trim_end_matches('\n'));
                            Vec::new()
                        }
                        Err(reason) => self.app.command_done(&reason),
                    }
                }
                Effect::Suspend => {
                    self.painter.finish()?;
                    self.terminal.outside(|| {
                        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP);
                    })?;
                    Vec::new()
                }
                Effect::Quit => {
                    self.leaving = true;
                    Vec::new()
                }
            };
            // What an effect leads to comes before what came after it.
            for effect in more.into_iter().rev() {
                effects.push_front(effect);
            }
        }
        Ok(())
    }

    async fn send(&mut self, content: Content) -> Vec<Effect> {
        let (content, remarks) = self.host.prepare(content).await;
        let mut effects: Vec<Effect> = remarks
            .iter()
            .flat_map(|remark| self.app.remark(remark))
            .collect();
        if let Err(error) = self.chat.conversation.send(content) {
            self.app.turn_lost();
            effects.extend(self.app.command_done(&error.to_string()));
        }
        effects
    }

    /// Carries a command out. Meanwhile keys are taken, the turn goes on, and
    /// Ctrl+C leaves the command alone.
    async fn command(&mut self, name: &'static str, arguments: String) -> io::Result<Vec<Effect>> {
        self.paint()?;
        let width = self.app.page().width;
        let mut later = Vec::new();
        let mut finished = None;
        let outcome = {
            let mut running = self
                .host
                .command(&self.chat.conversation, name, arguments, width);
            let mut frames = Frames::new();
            loop {
                let woken = tokio::select! {
                    biased;
                    outcome = &mut running => Woken::Command(outcome),
                    event = self.input.next() => Woken::Terminal(event),
                    Some(event) = self.chat.events.recv() => Woken::Turn(Some(event)),
                    () = tokio::time::sleep(frames.until_next()) => Woken::Tick,
                };
                let effects = match woken {
                    Woken::Command(outcome) => break Some(outcome),
                    Woken::Terminal(Some(Ok(event))) => {
                        terminal_event(&mut self.app, &mut self.painter, event)
                    }
                    Woken::Terminal(_) => {
                        self.leaving = true;
                        break None;
                    }
                    Woken::Turn(Some(event)) => {
                        // What the event leads to needs the program, which is busy.
                        finished = ended(&event).or(finished);
                        let turned = self.app.turn_event(event, Instant::now());
                        later.extend(without_lines(turned, &mut self.pending));
                        if frames.may_wait() {
                            continue;
                        }
                        Vec::new()
                    }
                    _ => Vec::new(),
                };
                let mut cancelled = false;
                for effect in without_lines(effects, &mut self.pending) {
                    match effect {
                        Effect::CancelCommand => cancelled = true,
                        Effect::Interrupt => self.chat.conversation.interrupt(Interrupt::User),
                        Effect::Steer(text) => self.chat.conversation.steer(&text),
                        Effect::Answer(asked) => drop(self.chat.conversation.answer(asked)),
                        effect => later.push(effect),
                    }
                }
                if cancelled {
                    break None;
                }
                let finished = std::mem::take(&mut self.pending);
                self.printed.extend(finished.iter().cloned());
                let surplus = self.printed.len().saturating_sub(self.kept);
                self.printed.drain(..surplus);
                self.painter
                    .frame(&finished, &self.app.live(Instant::now()))?;
                frames.done();
            }
        };
        let mut effects = match outcome {
            Some(outcome) => self.came_to(outcome).await,
            None => {
                self.app.command_cancelled();
                Vec::new()
            }
        };
        if let Some(outcome) = finished {
            self.host.after_turn(outcome, self.app.is_working());
        }
        self.host.refresh(&mut self.app).await;
        effects.extend(later);
        effects.extend(self.app.next_in_queue(Instant::now()));
        Ok(effects)
    }

    async fn came_to(&mut self, outcome: Outcome) -> Vec<Effect> {
        match outcome {
            Outcome::Say(text) => self.app.command_done(&text),
            Outcome::Output(text) => self.app.command_output(&text),
            Outcome::Pick(picker) => {
                self.app.pick(picker);
                Vec::new()
            }
            Outcome::Switch(switch) => self.switch(switch).await,
            Outcome::Draft(text) => {
                self.app.draft(&text);
                Vec::new()
            }
            Outcome::Send(text) => self.app.submit_text(&text, Instant::now()),
            Outcome::Again(text) => self.app.typed(&text, Instant::now()),
            Outcome::ShowReasoning(show, text) => {
                self.app.show_reasoning(show);
                self.app.command_done(&text)
            }
            Outcome::Quit => vec![Effect::Quit],
        }
    }

    async fn switch(&mut self, switch: Switch) -> Vec<Effect> {
        let Switch {
            mut chat,
            ended,
            message,
            clear,
            then,
        } = switch;
        let greeting = std::mem::take(&mut chat.greeting);
        let old = std::mem::replace(&mut self.chat, chat);
        old.conversation.close(ended).await;
        self.app.conversation_changed();
        let mut effects = Vec::new();
        if clear {
            effects.push(Effect::ClearScreen);
        }
        let width = self.app.page().width + 1;
        effects.push(Effect::Print(fitted(&greeting, width)));
        effects.extend(self.app.command_done(&message));
        match then {
            Then::Nothing => {}
            Then::Draft(text) => self.app.draft(&text),
            Then::Send(text) => effects.extend(self.app.submit_text(&text, Instant::now())),
        }
        effects
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

/// Printed lines go to `lines`, the other effects are returned.
fn without_lines(effects: Vec<Effect>, lines: &mut Vec<Line<'static>>) -> Vec<Effect> {
    let mut others = Vec::new();
    for effect in effects {
        match effect {
            Effect::Print(more) => lines.extend(more),
            effect => others.push(effect),
        }
    }
    others
}

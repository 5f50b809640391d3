//! The loop: keys, events of the turn and answers of the program go into the
//! [`App`], its effects go out. Idle, it waits for a key and nothing else.

use std::io;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use crossterm::event::{Event, EventStream};
use futures_util::StreamExt as _;
use hermes_types::{Content, Interrupt, SessionId, TurnEvent};
use ratatui::text::Line;

use crate::app::{App, Effect};
use crate::host::{Chat, Host, Incoming, Outcome, Switch, Then};
use crate::markdown::wrap;
use crate::paint::Painter;
use crate::terminal::RawTerminal;

/// Text that streams in is painted at most this often; keys are painted at once.
const FRAME: Duration = Duration::from_millis(15);
/// Spinner and clocks, only while something runs.
const TICK: Duration = Duration::from_millis(100);
/// Events taken in before a key is looked for.
const BATCH: usize = 64;

/// Lines that were made before the width was known.
fn fitted(lines: &[Line<'static>], width: usize) -> Vec<Line<'static>> {
    let wrapped = |line: &Line<'static>| wrap(&line.spans, width.max(12), &[], &[]);
    lines.iter().flat_map(wrapped).collect()
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
    painter.frame(&fitted(&greeting, width.into()), &app.live(Instant::now()))?;
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
    screen.pending.append(&mut screen.chat.greeting);
    if let Some(text) = first_message {
        let effects = screen.app.submit_text(&text, Instant::now());
        screen.carry_out(effects).await?;
    }
    screen.carry_out(deferred).await?;
    screen.paint()?;
    screen.main_loop(input).await?;
    screen.paint()?;
    screen.painter.finish()?;
    screen.chat.conversation.interrupt(Interrupt::Shutdown);
    drop(screen.terminal);
    Ok(screen.chat.conversation.close(Some("cli_close")).await)
}

/// Opens the conversation while keys are taken already. What needs the
/// conversation is put off until it is there; `None` when the user left before.
async fn open(
    app: &mut App,
    host: &mut dyn Host,
    painter: &mut Painter<io::Stdout>,
    input: &mut EventStream,
) -> io::Result<Option<(Chat, Vec<Effect>)>> {
    let mut deferred = Vec::new();
    let mut opening = host.open();
    loop {
        let event = tokio::select! {
            biased;
            opened = &mut opening => {
                let chat = opened.map_err(io::Error::other)?;
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
    chat: Chat,
    host: &'h mut dyn Host,
    leaving: bool,
    /// Finished lines for the next frame.
    pending: Vec<Line<'static>>,
}

enum Woken {
    Terminal(Option<io::Result<Event>>),
    Turn(Option<TurnEvent>),
    Incoming(Incoming),
    Tick,
    Signal,
}

impl Screen<'_> {
    async fn main_loop(&mut self, mut input: EventStream) -> io::Result<()> {
        use tokio::signal::unix::{SignalKind, signal};
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
            let idle = !self.app.is_working();
            let woken = tokio::select! {
                biased;
                event = input.next() => Woken::Terminal(event),
                _ = terminate.recv() => Woken::Signal,
                _ = hang_up.recv() => Woken::Signal,
                event = self.chat.events.recv() => Woken::Turn(event),
                news = self.host.incoming(idle) => Woken::Incoming(news),
                () = tokio::time::sleep(until_tick), if dirty || animated => Woken::Tick,
            };
            let effects = match woken {
                Woken::Terminal(Some(Ok(event))) => {
                    terminal_event(&mut self.app, &mut self.painter, event)
                }
                Woken::Incoming(Incoming::Message(text)) => {
                    self.app.submit_text(&text, Instant::now())
                }
                Woken::Incoming(Incoming::Remark(text)) => self.app.remark(&text),
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
                Effect::Send(content) => effects.extend(self.send(content).await),
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
            Outcome::Switch(switch) => self.switch(switch).await,
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

    async fn switch(&mut self, switch: Switch) -> Vec<Effect> {
        let Switch {
            mut chat,
            ended,
            message,
            then,
        } = switch;
        let greeting = std::mem::take(&mut chat.greeting);
        let old = std::mem::replace(&mut self.chat, chat);
        old.conversation.close(ended).await;
        self.app.conversation_changed();
        let mut effects = vec![Effect::Print(greeting)];
        effects.extend(self.app.command_done(&message));
        match then {
            Then::Nothing => {}
            Then::Draft(text) => self.app.draft(&text),
            Then::Send(text) => effects.extend(self.app.submit_text(&text, Instant::now())),
        }
        effects
    }
}

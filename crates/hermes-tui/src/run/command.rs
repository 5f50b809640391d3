//! A command of the program, while keys are taken and the turn goes on.

use std::io;
use std::time::Instant;

use futures_util::StreamExt as _;
use hermes_types::Interrupt;
use ratatui::text::Line;

use super::{Frames, Screen, Woken, ended, fitted, terminal_event};
use crate::app::Effect;
use crate::host::{Call, Outcome, Switch, Then};

impl Screen<'_> {
    /// Carries a command out. Meanwhile keys are taken, the turn goes on, and
    /// Ctrl+C leaves the command alone.
    pub(super) async fn command(
        &mut self,
        name: &'static str,
        arguments: String,
    ) -> io::Result<Vec<Effect>> {
        self.paint()?;
        let call = Call {
            name,
            arguments,
            width: self.app.page().width,
            working: self.app.is_working(),
        };
        let mut later = Vec::new();
        let mut finished = None;
        let outcome = {
            let mut running = self.host.command(&self.chat.conversation, call);
            let mut frames = Frames::new();
            loop {
                let woken = tokio::select! {
                    biased;
                    outcome = &mut running => Woken::Command(outcome),
                    event = self.input.next() => Woken::Terminal(event),
                    () = self.signals.arrived() => Woken::Signal,
                    Some(event) = self.chat.events.recv() => Woken::Turn(Some(event)),
                    () = tokio::time::sleep(frames.until_next()) => Woken::Tick,
                };
                let effects = match woken {
                    Woken::Command(outcome) => break Some(outcome),
                    Woken::Terminal(Some(Ok(event))) => {
                        terminal_event(&mut self.app, &mut self.painter, event)
                    }
                    Woken::Terminal(_) | Woken::Signal => {
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
                self.printed.keep(&finished);
                self.painter
                    .frame(&finished, &self.app.live(Instant::now()))?;
                frames.done();
            }
        };
        let mut effects = match outcome {
            Some(outcome) => self.came_to(name, outcome).await,
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

    async fn came_to(&mut self, name: &'static str, outcome: Outcome) -> Vec<Effect> {
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
            Outcome::Later { arguments, say } => self.app.follows_turn(name, arguments, &say),
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
        drop(old.events);
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

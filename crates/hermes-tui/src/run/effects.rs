//! What the screen does for the [`App`]: each effect, one after the other.

use std::collections::VecDeque;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hermes_types::{Content, Interrupt};

use super::Screen;
use crate::app::Effect;

impl Screen<'_> {
    pub(super) async fn carry_out(&mut self, effects: Vec<Effect>) -> io::Result<()> {
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
                Effect::HintShown(name) => {
                    self.host.hint_shown(name);
                    Vec::new()
                }
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
                    self.printed.lines.clear();
                    self.pending.clear();
                    self.painter.clear()?;
                    Vec::new()
                }
                Effect::Redraw => {
                    self.painter.clear()?;
                    let again = std::mem::take(&mut self.printed.lines);
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
}

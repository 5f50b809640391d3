//! The screen without a terminal: keys and events go in, frames come out.

mod dialogs;
mod input;
mod states;

use std::path::Path;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hermes_agent::slash;
use hermes_types::{
    Answer, ApprovalChoice, Ask, AskId, AskKind, Cost, SessionId, StopReason, TurnOutcome, Usage,
};
use insta::assert_snapshot;

use super::*;

struct Words;

impl Completer for Words {
    fn arguments(&self, command: &str) -> Vec<(String, String)> {
        match command {
            "busy" => ["interrupt", "queue", "steer"]
                .map(|w| (w.to_owned(), String::new()))
                .to_vec(),
            _ => Vec::new(),
        }
    }

    fn commands(&self) -> Vec<(String, String)> {
        [("stand-up", "How to stand up"), ("hi", "runs echo hi")]
            .map(|(name, about)| (name.to_owned(), about.to_owned()))
            .to_vec()
    }

    fn directory(&self) -> &Path {
        Path::new("/")
    }

    fn user_home(&self) -> &Path {
        Path::new("/root")
    }
}

struct Table {
    app: App,
    now: Instant,
    printed: String,
    effects: Vec<Effect>,
}

impl Table {
    fn new() -> Self {
        Self::with(Preferences::default())
    }

    fn with(preferences: Preferences) -> Self {
        let preferences = Preferences {
            theme: Theme::plain(),
            ..preferences
        };
        let status = Status::new("demo", "~/project", "local");
        let app = App::new(preferences, History::default(), Box::new(Words), status);
        Self {
            app,
            now: Instant::now(),
            printed: String::new(),
            effects: Vec::new(),
        }
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Print(lines) => {
                    for line in lines {
                        let text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
                        self.printed.push_str(text.trim_end());
                        self.printed.push('\n');
                    }
                }
                other => self.effects.push(other),
            }
        }
    }

    /// Long enough for a question to come up.
    fn pause(&mut self) {
        self.now += Duration::from_millis(600);
        self.app.tick(self.now);
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        let effects = self.app.key(KeyEvent::new(code, modifiers), self.now);
        self.take(effects);
    }

    fn key(&mut self, code: KeyCode) {
        self.press(code, KeyModifiers::NONE);
    }

    fn control(&mut self, c: char) {
        self.press(KeyCode::Char(c), KeyModifiers::CONTROL);
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.key(KeyCode::Char(c));
        }
    }

    fn enter(&mut self, text: &str) {
        self.type_text(text);
        self.key(KeyCode::Enter);
    }

    fn event(&mut self, event: TurnEvent) {
        let effects = self.app.turn_event(event, self.now);
        self.take(effects);
    }

    fn finish(&mut self, reason: StopReason, answer: &str, error: Option<&str>) {
        self.event(TurnEvent::Finished {
            outcome: TurnOutcome {
                session: SessionId::new("s"),
                reason,
                answer: answer.to_owned(),
                error: error.map(str::to_owned),
                usage: Usage::default(),
                cost: Cost::default(),
                api_calls: 1,
                pending_steer: None,
            },
        });
    }

    /// The printed lines, a rule, and the live area with the cursor as `▏`.
    fn screen(&self) -> String {
        let live = self.app.live(self.now);
        let mut out = self.printed.clone();
        out.push_str("────\n");
        for (row, line) in live.lines.iter().enumerate() {
            let mut text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
            if let Some((at, column)) = live.cursor
                && at == row
            {
                let mut used = 0;
                let place = text
                    .char_indices()
                    .find(|(_, c)| {
                        let here = used >= column;
                        used += crate::markdown::display_width(&c.to_string());
                        here
                    })
                    .map_or(text.len(), |(at, _)| at);
                text.insert(place, '▏');
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out
    }
}

fn approval(command: &str) -> TurnEvent {
    let kind = AskKind::Approval {
        command: command.into(),
        reason: "recursive delete".into(),
        keys: vec!["recursive delete".into()],
        permanent: true,
    };
    TurnEvent::Ask {
        ask: Ask {
            id: AskId(7),
            kind,
            timeout_seconds: 60,
        },
    }
}

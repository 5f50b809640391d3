//! The conversation in a real terminal.

mod choosing;
mod commands;
mod demo;
mod dialogs;
mod endings;
mod goals;
mod input;
mod keys;
mod models;
mod screen;
mod settings;
mod setup;
mod turns;

use std::process::Command;

use hermes_testkit::model::{ModelServer, Recorded, Reply};
use hermes_testkit::tmux::Terminal;

use super::support::Scratch;

/// A home whose model is the scripted one.
struct Stage {
    scratch: Scratch,
    server: ModelServer,
}

impl Stage {
    fn new() -> Self {
        Self::with("")
    }

    /// `more` is appended to the configuration.
    fn with(more: &str) -> Self {
        let (scratch, server) = (Scratch::new(), ModelServer::start());
        // Names of sessions come from another model, so that they take no reply away.
        let side = format!(
            "  context_length: 200000\nauxiliary:\n  title_generation:\n    provider: custom\n    model: titles\n    base_url: {}\n{more}",
            server.url()
        );
        scratch.config_for(&server, &side);
        server.fallback(|request| match request.model() {
            "titles" => Reply::text("A name"),
            _ => Reply::error(500, "no scripted reply is left"),
        });
        Self { scratch, server }
    }

    /// The next reply of the conversation's model.
    fn push(&self, reply: Reply) {
        self.server.push_for(ModelServer::DEFAULT_MODEL, reply);
    }

    /// What the conversation's model was asked.
    fn requests(&self) -> Vec<Recorded> {
        let mut requests = self.server.requests();
        requests.retain(|request| request.model() == ModelServer::DEFAULT_MODEL);
        requests
    }

    fn command(&self, words: &[&str]) -> Command {
        self.scratch.command(words)
    }

    /// A chat of 80 columns and 24 rows, with its prompt on the screen.
    fn chat(&self, words: &[&str]) -> Terminal {
        self.chat_sized(words, 80, 24)
    }

    fn chat_sized(&self, words: &[&str], columns: u16, rows: u16) -> Terminal {
        let terminal = Terminal::start(&self.command(words), columns, rows);
        terminal.wait_for("❯");
        terminal
    }

    /// What the model was asked last.
    fn last_question(&self) -> String {
        let requests = self.requests();
        let last = requests.last().expect("a request");
        last.last_message()["content"]
            .as_str()
            .unwrap_or_else(|| panic!("{:?}", last.last_message()))
            .to_owned()
    }
}

/// Where the input is: the last line with a prompt sign.
fn input_line(screen: &str) -> &str {
    screen
        .lines()
        .rev()
        .find(|line| line.contains('❯'))
        .unwrap_or_else(|| panic!("no prompt on the screen:\n{screen}"))
}

//! What is left of the terminal when something inside breaks. This very program
//! is the chat, started once more as a child in a terminal.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use hermes_agent::prompt::Prompt;
use hermes_agent::{Agent, Conversation, Options, Setup, Tally};
use hermes_home::Clock;
use hermes_llm::{DeltaStream, Model, ModelError, Request};
use hermes_testkit::TestHome;
use hermes_testkit::process::child_test;
use hermes_testkit::tmux::Terminal;
use hermes_tools::Registry;
use hermes_tui::{
    App, Beginning, Call, Chat, ChatError, Completer, History, Host, Incoming, Outcome,
    Preferences, Status,
};
use hermes_types::{Content, Cost, Part, TurnOutcome, Usage};

const CHILD: &str = "HERMES_TUI_BROKEN_CHAT";

/// Never answers: it panics.
struct Panics;

impl Model for Panics {
    fn stream<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Result<DeltaStream, ModelError>> {
        panic!("a defect in the middle of a turn")
    }

    fn name(&self) -> &str {
        "panics"
    }

    fn provider(&self) -> &str {
        "test"
    }

    fn context_window(&self) -> u64 {
        1_000
    }

    fn cost(&self, _: &Usage) -> Cost {
        Cost::default()
    }
}

struct BrokenHost {
    home: TestHome,
}

impl Host for BrokenHost {
    fn open(&mut self) -> LocalBoxFuture<'_, Result<Chat, String>> {
        let setup = Setup {
            model: Arc::new(Panics),
            summarizer: None,
            titler: None,
            viewer: None,
            tools: Registry::new(),
            state: None,
            prompt: Arc::new(Prompt::bare(self.home.home(), None, Clock::System)),
            spend: hermes_agent::spend::Spend::unlimited(),
            todos: None,
            delegated: Tally::default(),
            spill: None,
            options: Options::default(),
            clock: Clock::System,
        };
        let (conversation, events) =
            Conversation::start(|control, events| Agent::new(setup, control, events));
        let chat = Chat {
            conversation,
            events,
            greeting: Vec::new(),
        };
        async move { Ok(chat) }.boxed_local()
    }

    fn command<'a>(&'a mut self, _: &'a Conversation, _: Call) -> LocalBoxFuture<'a, Outcome> {
        panic!("a defect in the program around the screen")
    }

    fn clipboard_picture(&mut self) -> LocalBoxFuture<'_, Result<Part, String>> {
        async { Err("no clipboard".to_owned()) }.boxed_local()
    }

    fn stop_confirming(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn hint_shown(&mut self, _: &'static str) {}

    fn prepare(&mut self, content: Content) -> LocalBoxFuture<'_, (Content, Vec<String>)> {
        async move { (content, Vec::new()) }.boxed_local()
    }

    fn incoming(&mut self, _: bool) -> LocalBoxFuture<'_, Incoming> {
        std::future::pending().boxed_local()
    }

    fn after_turn(&mut self, _: TurnOutcome, _: bool) {}

    fn edit(&mut self, draft: &str) -> Result<String, String> {
        Ok(draft.to_owned())
    }

    fn refresh<'a>(&'a mut self, _: &'a mut App) -> LocalBoxFuture<'a, ()> {
        async {}.boxed_local()
    }
}

struct NoWords;

impl Completer for NoWords {
    fn arguments(&self, _: &str) -> Vec<(String, String)> {
        Vec::new()
    }

    fn directory(&self) -> &std::path::Path {
        std::path::Path::new("/")
    }

    fn user_home(&self) -> &std::path::Path {
        std::path::Path::new("/")
    }
}

#[test]
fn broken_chat() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut host = BrokenHost {
        home: TestHome::new(),
    };
    let app = App::new(
        Preferences::default(),
        History::default(),
        Box::new(NoWords),
        Status::new("panics", "/", "local"),
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    match runtime.block_on(hermes_tui::run(app, &mut host, Beginning::default())) {
        Err(ChatError::ConversationBroke { .. }) => println!("\nthe chat said that it broke"),
        other => println!("\nunexpected: {other:?}"),
    }
}

fn start() -> Terminal {
    let command = child_test("suite::tmux::broken_chat", &[(CHILD, "1")]);
    let terminal = Terminal::start(&command, 80, 24);
    terminal.wait_for("❯");
    terminal
}

fn is_usable(terminal: &Terminal) {
    terminal.enter("clear; stty -a");
    let settings = terminal.wait_for("extproc");
    for word in ["icanon", "echo", "isig", "icrnl", "opost"] {
        let is_on = settings.split_whitespace().any(|setting| setting == word);
        assert!(is_on, "{word}: {settings}");
    }
    assert!(terminal.cursor().2, "the cursor is hidden");
}

#[test]
fn a_conversation_that_breaks_is_told_and_the_terminal_is_left_clean() {
    let terminal = start();
    terminal
        .enter("hello")
        .wait_for("the chat said that it broke");
    terminal.exit_code();
    is_usable(&terminal);
}

#[test]
fn a_panic_leaves_a_terminal_that_can_be_used() {
    let terminal = start();
    terminal
        .enter("/status")
        .wait_for("a defect in the program around the screen");
    assert_eq!(terminal.exit_code(), 101);
    is_usable(&terminal);
}

//! The scripted model server as a program, for measuring by hand:
//!
//! `cargo run --release -p hermes-testkit --example scripted_model -- PORT [CALLS]`
//!
//! Answers every conversation without delay: first `CALLS` (default 0) calls of
//! `terminal` running `true`, one per request, then the text `done`.

use hermes_testkit::model::{ModelServer, Reply};
use serde_json::json;

#[expect(clippy::print_stdout, reason = "a program for people")]
fn main() {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().ok());
    let port = numbers.next().flatten().unwrap_or(0);
    let calls = usize::from(numbers.next().flatten().unwrap_or(0u16));
    let server = ModelServer::start_on(port);
    server.fallback(move |request| {
        let done = request
            .messages()
            .iter()
            .rev()
            .take_while(|message| message["role"] != "user")
            .filter(|message| message["role"] == "tool")
            .count();
        if done < calls {
            Reply::tool_call("terminal", json!({"command": "true"}))
        } else {
            Reply::text("done")
        }
    });
    println!("{}", server.url());
    loop {
        std::thread::park();
    }
}

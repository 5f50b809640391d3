//! One question to one endpoint, for trying a server by hand and for measuring what
//! this crate costs a start:
//!
//! `cargo run --release -p hermes-llm --example ask -- URL MODEL [API_MODE] [PROMPT]`
//!
//! The answer goes to stdout, times since the start of `main` to stderr.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;
use hermes_config::Config;
use hermes_home::{Clock, Environment, Home};
use hermes_http::Http;
use hermes_llm::resolve::Selection;
use hermes_llm::{Delta, Models, Request, http_settings};
use hermes_types::Message;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let mut words = std::env::args().skip(1);
    let (Some(url), Some(model)) = (words.next(), words.next()) else {
        return Err("usage: ask URL MODEL [API_MODE] [PROMPT]".into());
    };
    let selection = Selection {
        provider: Some("custom".to_owned()),
        model: Some(model),
        base_url: Some(url),
        api_mode: words.next(),
        api_key: None,
    };
    let prompt = words.next().unwrap_or_else(|| "hi".to_owned());
    let environment = Environment::of_process();
    let home = Home::locate(&environment);
    let config = Config::load_without_file(&home, &environment, &[])?;
    let http = Http::new(http_settings(&config));
    let models = Models::new(config, home, http, Clock::System);
    let resolved = models.resolve(&selection)?;
    eprintln!("resolved  {:>8.2?}", started.elapsed());
    let model = models.open_single(resolved)?;
    let request = Request::new("", vec![Arc::new(Message::user(prompt.as_str()))]);
    let mut stream = hermes_llm::Model::stream(&model, &request).await?;
    eprintln!("answering {:>8.2?}", started.elapsed());
    while let Some(delta) = stream.next().await {
        if let Delta::Text(text) = delta? {
            print!("{text}");
        }
    }
    println!();
    eprintln!("complete  {:>8.2?}", started.elapsed());
    Ok(())
}

//! Verbs from within the chat: the same parser, the same output, captured.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Context, Out, entry};

/// Runs `hermes NAME ARGUMENTS` and returns what it printed.
pub(super) async fn run(name: &str, arguments: &str, context: &Context, width: usize) -> String {
    let Some(rest) = shlex::split(arguments) else {
        return "A quotation mark is not closed.".to_owned();
    };
    let mut words: Vec<OsString> = vec!["hermes".into()];
    words.extend(
        context
            .overrides
            .iter()
            .map(|(key, value)| format!("--config={key}={value}").into()),
    );
    words.push(name.into());
    words.extend(rest.into_iter().map(OsString::from));
    // Whatever the profile was chosen by: this is its home.
    let environment = context.environment.clone();
    let clock = context.clock.clone();
    let captured = Captured::default();
    let copy = captured.clone();
    // Verbs may run a runtime of their own, which a thread of this one must not.
    let done = tokio::task::spawn_blocking(move || {
        let mut out = Out::into_writers(Box::new(copy.clone()), Box::new(copy), width);
        entry::run_captured(words, environment, clock, &mut out);
    });
    if let Err(error) = done.await {
        return format!("The command failed inside: {error}");
    }
    captured.text()
}

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

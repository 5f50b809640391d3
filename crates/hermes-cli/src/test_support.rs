//! For tests inside this crate: a context over any directory and an output that is
//! kept.

use std::cell::OnceCell;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use hermes_home::profile::SelectedBy;
use hermes_home::{Clock, Environment, Home};
use tempfile::TempDir;

use crate::cli::RunOptions;
use crate::{Context, Out};

/// What was printed to stdout.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An output of 80 columns and what it printed.
pub(crate) fn captured() -> (Out, Kept) {
    let kept = Kept::default();
    let out = Out::into_writers(Box::new(kept.clone()), Box::new(io::sink()), 80);
    (out, kept)
}

/// A home with the sessions that Python Hermes 0.16.0 left, at the moment when it
/// printed the golden pages about them. The directory goes with the guard.
pub(crate) fn with_reference_state() -> (TempDir, Context) {
    let home = tempfile::tempdir().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hermes-store/tests/fixtures");
    fs::copy(
        fixtures.join("state-0.16.0.db"),
        home.path().join("state.db"),
    )
    .unwrap();
    let clock = Clock::fixed("2026-05-31T12:00:00Z".parse().unwrap());
    let context = Context::for_tests(home.path(), clock);
    (home, context)
}

impl Context {
    /// A call in this home, with no options and no variables.
    pub(crate) fn for_tests(home: &Path, clock: Clock) -> Self {
        Self {
            environment: Environment::default(),
            home: Home::at(home, home),
            selected_by: SelectedBy::Default,
            clock,
            overrides: Vec::new(),
            global: RunOptions::default(),
            oneshot: None,
            config: OnceCell::new(),
            policy: OnceCell::new(),
        }
    }
}

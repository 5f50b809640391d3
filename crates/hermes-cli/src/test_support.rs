//! For tests inside this crate: a context over any directory and an output that is
//! kept.

use std::cell::OnceCell;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use hermes_home::profile::SelectedBy;
use hermes_home::{Clock, Environment, Home};

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

//! Asking for a secret without showing it.

use std::io::{self, BufRead, IsTerminal};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

use crate::{CommandError, Out};

/// Reads one line. On a terminal nothing of it is shown; otherwise it is read from
/// a pipe, so that a password manager can hand it over.
pub(crate) fn hidden(question: &str, out: &mut Out) -> Result<String, CommandError> {
    let stdin = io::stdin();
    let _echo = if stdin.is_terminal() {
        out.stderr_line(question);
        Some(Silent::new()?)
    } else {
        None
    };
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    if stdin.is_terminal() {
        // The line break was not shown either.
        out.stderr_line("");
    }
    Ok(line.trim().to_owned())
}

/// The terminal shows nothing until this is dropped.
pub(crate) struct Silent {
    before: Termios,
}

impl Silent {
    pub(crate) fn new() -> Result<Self, CommandError> {
        let before = tcgetattr(io::stdin()).map_err(io::Error::from)?;
        let mut silent = before.clone();
        silent.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &silent).map_err(io::Error::from)?;
        Ok(Self { before })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // A terminal that is gone needs no echo.
        let _ = tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &self.before);
    }
}

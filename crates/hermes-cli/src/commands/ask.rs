//! How a verb asks a person: for a line, for a secret, for one of a list.
//!
//! Ctrl+C at any question ends the verb with exit code 130, and the terminal is as
//! it was: while a question is open the key is read like any other instead of ending
//! the process in the middle, which would leave a hidden prompt hidden for good.
//! Escape, or the end of the input, leaves only the question.

use std::fs::File;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::fd::AsFd;

use hermes_tui::{PickItem, Picked};
use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};

use crate::output::wrap;
use crate::{CommandError, ErrorKind, Out};

/// What Ctrl+C types.
const CTRL_C: u8 = 3;
/// Longer than any answer.
const MAX_BYTES: usize = 64 * 1024;

/// One line, without spaces around it; `None` at the end of the input.
pub(crate) fn line(question: &str, out: &mut Out) -> Result<Option<String>, CommandError> {
    let open = Open::new(Echo::Shown)?;
    write!(out, "{question}")?;
    out.flush()?;
    let is_open = open.is_some();
    let answer = read(open)?;
    if is_open && answer.is_none() {
        // Nobody typed the line break.
        writeln!(out)?;
    }
    Ok(answer)
}

/// A line that is not shown. Without a terminal it is read from a pipe, so that a
/// password manager can hand it over.
pub(crate) fn hidden(question: &str, out: &mut Out) -> Result<Option<String>, CommandError> {
    let open = Open::new(Echo::Hidden)?;
    if open.is_some() {
        out.stderr_line(question);
    }
    let is_open = open.is_some();
    let answer = read(open);
    if is_open {
        // The line break was not shown either.
        out.stderr_line("");
    }
    answer
}

/// One of a list; `None` when the person leaves the question.
pub(crate) fn choose(title: &str, items: Vec<PickItem>) -> Result<Option<String>, CommandError> {
    match hermes_tui::pick(title, items)? {
        Picked::Chosen(value) => Ok(Some(value)),
        Picked::Left => Ok(None),
        Picked::Interrupted => Err(interrupted()),
    }
}

pub(crate) fn item(value: impl Into<String>, label: &str, detail: &str) -> PickItem {
    PickItem {
        value: value.into(),
        label: label.to_owned(),
        detail: detail.to_owned(),
    }
}

/// A sentence that is broken between words, however narrow the screen.
pub(crate) fn tell(sentence: &str, out: &mut Out) -> Result<(), CommandError> {
    let width = out.width();
    writeln!(out, "{}", wrap(sentence, width, ""))?;
    out.flush()?;
    Ok(())
}

/// Ctrl+C at a question. Whoever stored something before says so instead.
pub(crate) fn interrupted() -> CommandError {
    CommandError::new(ErrorKind::Interrupted, "interrupted; nothing was changed")
}

fn read(open: Option<Open>) -> Result<Option<String>, CommandError> {
    let Some(_open) = open else {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line)?;
        return Ok((read > 0).then(|| line.trim().to_owned()));
    };
    // The terminal hands over a line at a time, so nothing is read ahead here.
    let mut terminal = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut typed = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let count = match terminal.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if count == 0 {
            break;
        }
        typed.extend_from_slice(&buffer[..count]);
        if typed.contains(&CTRL_C) {
            return Err(interrupted());
        }
        if typed.ends_with(b"\n") || typed.len() > MAX_BYTES {
            break;
        }
    }
    let text = String::from_utf8_lossy(&typed);
    Ok((!typed.is_empty()).then(|| text.trim().to_owned()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echo {
    Shown,
    Hidden,
}

/// A question on a terminal, until dropped.
struct Open {
    before: Termios,
}

impl Open {
    /// `None` when there is no terminal to ask on.
    fn new(echo: Echo) -> Result<Option<Self>, CommandError> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let before = tcgetattr(io::stdin()).map_err(io::Error::from)?;
        let mut during = before.clone();
        // Ctrl+C ends the line instead of the process.
        during.local_flags.remove(LocalFlags::ISIG);
        during.control_chars[SpecialCharacterIndices::VEOL as usize] = CTRL_C;
        let when = match echo {
            Echo::Shown => SetArg::TCSADRAIN,
            Echo::Hidden => {
                during.local_flags.remove(LocalFlags::ECHO);
                SetArg::TCSAFLUSH
            }
        };
        tcsetattr(io::stdin(), when, &during).map_err(io::Error::from)?;
        Ok(Some(Self { before }))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &self.before);
    }
}

/// The terminal shows nothing until this is dropped, for those who read themselves.
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

//! The terminal's modes, set while the chat runs and put back however it ends:
//! a normal return, a panic, or a signal that is handled. After kill -9 only
//! modes remain that any shell sets anew with its next prompt.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

static RAW: AtomicBool = AtomicBool::new(false);

const ENTER: &str = "\x1b[?2004h";
/// Paste marks off, cursor on, styles off, synchronised output ended.
const LEAVE: &str = "\x1b[?2004l\x1b[?25h\x1b[0m\x1b[?2026l";

/// Raw mode and paste marks, as long as this lives.
pub(crate) struct RawTerminal;

impl RawTerminal {
    pub(crate) fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        if !RAW.swap(true, Ordering::SeqCst) {
            let previous = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                previous(panic);
            }));
        }
        put(ENTER)?;
        Ok(Self)
    }

    /// Runs something that owns the terminal itself: an editor, a shell.
    pub(crate) fn outside<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        restore();
        let result = work();
        enable_raw_mode()?;
        put(ENTER)?;
        Ok(result)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    // Nothing can be done about a terminal that is gone.
    let _ = put(LEAVE);
    let _ = disable_raw_mode();
}

fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

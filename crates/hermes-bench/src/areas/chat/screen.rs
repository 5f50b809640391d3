//! The program on a terminal of its own: bytes that it writes, with the moment
//! they arrived, and keys.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use nix::pty::{Winsize, openpty};

/// Nothing here takes longer unless it is broken.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a program asks a terminal for its cursor with, and an answer.
const WHERE: &[u8] = b"\x1b[6n";
const HERE: &[u8] = b"\x1b[1;1R";

#[derive(Default)]
struct Written {
    bytes: Vec<u8>,
    /// Where each piece begins, and when it arrived.
    pieces: Vec<(usize, Instant)>,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    written: Mutex<Written>,
    grown: Condvar,
}

/// Dropping it kills the program.
pub(super) struct Screen {
    child: Child,
    master: File,
    shared: Arc<Shared>,
    pub(super) started: Instant,
}

impl Screen {
    pub(super) fn start(program: &Path, home: &Path, words: &[&str]) -> Result<Self> {
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pair = openpty(Some(&size), None).context("no pseudo-terminal")?;
        let another = |fd: &OwnedFd| fd.try_clone().context("no more descriptors");
        let mut command = Command::new(program);
        command
            .args(words)
            .env("HERMES_HOME", home)
            .env("TERM", "xterm-256color")
            .current_dir(home)
            .stdin(another(&pair.slave)?)
            .stdout(another(&pair.slave)?)
            .stderr(pair.slave);
        let started = Instant::now();
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        // The command holds the child's side open as long as it lives here.
        drop(command);
        let shared = Arc::<Shared>::default();
        let copy = Arc::clone(&shared);
        let mut reader = File::from(another(&pair.master)?);
        std::thread::spawn(move || read(&mut reader, &copy));
        Ok(Self {
            child,
            master: File::from(pair.master),
            shared,
            started,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How much was written so far: where to look from.
    pub(super) fn position(&self) -> usize {
        let written = self
            .shared
            .written
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        written.bytes.len()
    }

    pub(super) fn press(&self, keys: &str) -> Result<Instant> {
        let now = Instant::now();
        (&self.master).write_all(keys.as_bytes())?;
        Ok(now)
    }

    /// When `text` had arrived, looking from `position` on; and what follows it.
    pub(super) fn seen(&self, text: &str, position: usize) -> Result<(Instant, usize)> {
        let deadline = Instant::now() + PATIENCE;
        let mut written = self
            .shared
            .written
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut from = position;
        loop {
            let found = written.bytes[from..]
                .windows(text.len())
                .position(|window| window == text.as_bytes());
            if let Some(at) = found {
                let end = from + at + text.len();
                let piece = written.pieces.partition_point(|(start, _)| *start < end);
                let when = written.pieces[piece.saturating_sub(1)].1;
                return Ok((when, end));
            }
            from = written.bytes.len().saturating_sub(text.len()).max(position);
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || written.ended {
                let tail = written.bytes.len().saturating_sub(2_000);
                bail!(
                    "the screen never showed {text:?}; it ends {:?}",
                    String::from_utf8_lossy(&written.bytes[tail..])
                );
            }
            written = self
                .shared
                .grown
                .wait_timeout(written, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Already gone is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(terminal: &mut File, shared: &Shared) {
    let mut buffer = [0; 64 * 1024];
    // The kernel answers with an error when the other side is gone.
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        let now = Instant::now();
        let bytes = &buffer[..count];
        if bytes.windows(WHERE.len()).any(|window| window == WHERE) {
            let _ = terminal.write_all(HERE);
        }
        let mut written = shared
            .written
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let start = written.bytes.len();
        written.pieces.push((start, now));
        written.bytes.extend_from_slice(bytes);
        shared.grown.notify_all();
    }
    let mut written = shared
        .written
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    written.ended = true;
    shared.grown.notify_all();
}

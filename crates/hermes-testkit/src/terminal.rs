//! A child on a pseudo-terminal that can only print lines: what a person at a dumb
//! terminal sees and types. Dropping it kills it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};

use crate::PATIENCE;

#[derive(Default)]
struct Screen {
    /// Everything printed since it was last forgotten, and whether more can come.
    state: Mutex<(String, bool)>,
    changed: Condvar,
}

pub struct Terminal {
    child: Child,
    master: File,
    screen: Arc<Screen>,
}

impl Terminal {
    /// Starts the command with the terminal as its three streams.
    pub fn start(mut command: Command) -> Self {
        let pair = openpty(None, None).expect("a pseudo-terminal");
        // What is typed would be printed back among what the child prints.
        let mut settings = tcgetattr(&pair.slave).expect("settings of the terminal");
        settings.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(&pair.slave, SetArg::TCSANOW, &settings).expect("turn the echo off");
        let another = |fd: &OwnedFd| fd.try_clone().expect("a descriptor more");
        command
            .env("TERM", "dumb")
            .stdin(another(&pair.slave))
            .stdout(another(&pair.slave))
            .stderr(pair.slave);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("start {command:?}: {error}"));
        // The command holds the child's side open as long as it lives here.
        drop(command);
        let screen = Arc::new(Screen::default());
        let mut reader = File::from(another(&pair.master));
        let shown = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut bytes = [0; 16 * 1024];
            // The kernel answers with an error when the other side is gone.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]);
                shown.state.lock().unwrap().0.push_str(&text);
                shown.changed.notify_all();
            }
            shown.state.lock().unwrap().1 = true;
            shown.changed.notify_all();
        });
        Self {
            child,
            master: File::from(pair.master),
            screen,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Types a line. The kernel takes at most 4095 bytes of one.
    pub fn type_line(&self, text: &str) {
        assert!(text.len() < 4095, "a terminal cannot take such a line");
        // A child that was killed reads nothing; the test will notice elsewhere.
        let _ = (&self.master).write_all(format!("{text}\n").as_bytes());
    }

    /// Waits for a text; fails the test when it does not come.
    pub fn wait_for(&self, needle: &str) {
        assert!(
            self.shows(needle, PATIENCE),
            "the terminal never showed {needle:?}; it shows {:?}",
            self.screen.state.lock().unwrap().0
        );
    }

    /// Waits for a text as long as that and as the child lives.
    pub fn shows(&self, needle: &str, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.screen.state.lock().unwrap();
        loop {
            if state.0.contains(needle) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.1 || left.is_zero() {
                return false;
            }
            state = self.screen.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Forgets what was printed so far.
    pub fn forget(&self) {
        self.screen.state.lock().unwrap().0.clear();
    }

    /// Waits for the end of the child.
    pub fn wait(mut self) -> std::process::ExitStatus {
        self.child.wait().expect("wait for a child")
    }

    /// SIGKILL; everything that was printed before.
    pub fn kill9(mut self) -> String {
        self.child.kill().expect("kill a child");
        self.child.wait().expect("wait for a child");
        let mut state = self.screen.state.lock().unwrap();
        while !state.1 {
            state = self.screen.changed.wait(state).unwrap();
        }
        std::mem::take(&mut state.0)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Already gone is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

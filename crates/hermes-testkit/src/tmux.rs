//! A real terminal: a tmux server of its own, one pane, and a shell in it that
//! runs the program and then says how it ended. What a test sees is what a person
//! would see, and what it sends are keys.
//!
//! Nothing sleeps for a fixed time: a test waits until the screen shows what it
//! expects, and fails with the screen when that does not come.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::PATIENCE;

/// Between two looks at the screen; tmux has no event for "the screen changed".
const LOOK: Duration = Duration::from_millis(20);

const SETTINGS: &str = "\
set -g default-terminal tmux-256color
set -g status off
set -g escape-time 0
set -g history-limit 50000
set -s exit-empty off
";

pub struct Terminal {
    directory: TempDir,
}

impl Terminal {
    /// Runs `command` in a terminal of this size. After it a shell with the prompt
    /// `$ ` takes over, below a line `[exit CODE]`.
    pub fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("hermes-tmux-")
            .tempdir()
            .expect("make a directory for tmux");
        let terminal = Self { directory };
        std::fs::write(terminal.path("tmux.conf"), SETTINGS).expect("write tmux.conf");
        std::fs::write(terminal.path("run.sh"), script(command)).expect("write the script");
        let started = Command::new("tmux")
            .env_remove("TMUX")
            .args(["-u", "-f"])
            .arg(terminal.path("tmux.conf"))
            .arg("-S")
            .arg(terminal.path("socket"))
            .args(["new-session", "-d", "-x", &columns.to_string()])
            .args(["-y", &rows.to_string()])
            .args(["bash", "--noprofile", "--rcfile"])
            .arg(terminal.path("run.sh"))
            .arg("-i")
            .output()
            .expect("tmux is installed");
        assert!(started.status.success(), "{started:?}");
        terminal.wait_for("$");
        terminal.enter("run");
        terminal
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn tmux<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Output {
        Command::new("tmux")
            .arg("-u")
            .arg("-S")
            .arg(self.path("socket"))
            .args(words)
            .output()
            .expect("tmux runs")
    }

    fn ask(&self, words: &[&str]) -> String {
        let output = self.tmux(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is visible, without blanks at the ends of lines.
    pub fn screen(&self) -> String {
        trimmed(&self.ask(&["capture-pane", "-p"]))
    }

    /// What is visible, with colours and styles as escape sequences.
    pub fn coloured_screen(&self) -> String {
        self.ask(&["capture-pane", "-p", "-e"])
    }

    /// Everything that was printed, what scrolled away first. Lines that the
    /// terminal broke are joined again.
    pub fn scrollback(&self) -> String {
        trimmed(&self.ask(&["capture-pane", "-p", "-J", "-S", "-"]))
    }

    /// Column and row of the cursor, and whether it is shown.
    pub fn cursor(&self) -> (u16, u16, bool) {
        let text = self.ask(&[
            "display-message",
            "-p",
            "#{cursor_x} #{cursor_y} #{cursor_flag}",
        ]);
        let mut numbers = text.split_whitespace().map(|n| n.parse::<u16>().unwrap());
        let mut next = || numbers.next().expect("three numbers");
        (next(), next(), next() == 1)
    }

    /// The process id of the program under test, while it runs.
    pub fn program(&self) -> u32 {
        let shell = self.ask(&["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"))
                .unwrap_or_default();
            if let Some(pid) = children.split_whitespace().next() {
                return pid.parse().expect("process ids are numbers");
            }
            assert!(Instant::now() < deadline, "the program does not run");
            std::thread::sleep(LOOK);
        }
    }

    /// Closes the terminal, as a window is closed: what runs in it gets a hang-up.
    pub fn close(&self) {
        self.ask(&["kill-session"]);
    }

    /// Types a text, character by character.
    pub fn type_text(&self, text: &str) -> &Self {
        self.ask(&["send-keys", "-l", "--", text]);
        self
    }

    /// Presses keys by tmux's names for them: `Enter`, `C-c`, `Up`, `M-Enter`.
    pub fn keys(&self, names: &[&str]) -> &Self {
        let mut words = vec!["send-keys"];
        words.extend(names);
        self.ask(&words);
        self
    }

    /// Types a line and presses Enter.
    pub fn enter(&self, text: &str) -> &Self {
        self.type_text(text).keys(&["Enter"])
    }

    /// Pastes, with the marks around it when the program asked for them.
    pub fn paste(&self, text: &str) -> &Self {
        let file = self.path("clipboard");
        std::fs::write(&file, text).expect("write the clipboard");
        let name = file.to_string_lossy();
        self.ask(&["load-buffer", &name]);
        self.ask(&["paste-buffer", "-p", "-r"]);
        self
    }

    pub fn resize(&self, columns: u16, rows: u16) -> &Self {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.ask(&["resize-window", "-x", &columns, "-y", &rows]);
        self
    }

    /// Waits until the text is on the screen; returns the screen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?} on the screen"), |screen| {
            screen.contains(text)
        })
    }

    /// Waits until the text is not on the screen any more.
    pub fn wait_gone(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?} to leave the screen"), |screen| {
            !screen.contains(text)
        })
    }

    pub fn wait_until(&self, what: &str, mut is: impl FnMut(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is(&screen) {
                return screen;
            }
            assert!(
                Instant::now() < deadline,
                "waited in vain for {what}; the screen is:\n{screen}"
            );
            std::thread::sleep(LOOK);
        }
    }

    /// Waits until the program has ended; returns its exit code.
    pub fn exit_code(&self) -> i32 {
        let screen = self.wait_for("[exit ");
        let (_, rest) = screen.rsplit_once("[exit ").expect("it is there");
        rest.split(']')
            .next()
            .and_then(|code| code.parse().ok())
            .unwrap_or_else(|| panic!("no code on the screen:\n{screen}"))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The pane's processes get a hang-up; a server that is gone is as good.
        let _ = self.tmux(["kill-server"]);
    }
}

/// A start-up file for the shell with a function that runs the command: with its
/// variables and no others, except the one that says which terminal this is.
fn script(command: &Command) -> String {
    let mut text = String::from("PS1='$ '\nrun() {\nprintf '\\033[H\\033[2J\\033[3J'\n");
    if let Some(directory) = command.get_current_dir() {
        let _ = writeln!(text, "cd {}", quoted(directory.as_os_str()));
    }
    text.push_str("env -i TERM=\"$TERM\"");
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            let _ = write!(text, " {}={}", name.to_string_lossy(), quoted(value));
        }
    }
    let _ = write!(text, " {}", quoted(command.get_program()));
    for argument in command.get_args() {
        let _ = write!(text, " {}", quoted(argument));
    }
    text.push_str("\nprintf '\\n[exit %s]\\n' \"$?\"\n}\n");
    text
}

fn quoted(word: &OsStr) -> String {
    format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"))
}

fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

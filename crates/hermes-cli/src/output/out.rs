//! The stdout and stderr of one command.

use std::io::{self, BufWriter, IsTerminal, LineWriter, Write};

use hermes_home::{Environment, env};
use serde::Serialize;

use super::Style;

/// Columns when neither a terminal nor `COLUMNS` says otherwise.
const DEFAULT_WIDTH: usize = 80;

/// A writer for stdout that remembers whether its reader has gone, with a line to
/// stderr beside it. Libraries take it as `&mut dyn Write`.
pub struct Out {
    stdout: Box<dyn Write + Send>,
    stderr: Box<dyn Write + Send>,
    reader_is_gone: bool,
    stdout_is_terminal: bool,
    /// Whether a person can be asked through stdin.
    attended: bool,
    /// Written into memory, for somebody who owns the terminal.
    captured: bool,
    stdout_style: Style,
    stderr_style: Style,
    width: usize,
}

impl Out {
    pub fn of_process(environment: &Environment) -> Self {
        let stdout_is_terminal = io::stdout().is_terminal();
        let plain = environment.get_non_empty(env::NO_COLOR).is_some()
            || environment.get(env::TERM) == Some("dumb");
        let asked = environment
            .get_non_empty(env::COLUMNS)
            .and_then(|text| text.parse().ok());
        let width = if stdout_is_terminal {
            terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
        } else {
            None
        };
        let stdout: Box<dyn Write + Send> = if stdout_is_terminal {
            Box::new(LineWriter::new(io::stdout()))
        } else {
            Box::new(BufWriter::with_capacity(64 * 1024, io::stdout()))
        };
        Self {
            stdout,
            stderr: Box::new(io::stderr()),
            reader_is_gone: false,
            stdout_is_terminal,
            attended: io::stdin().is_terminal(),
            captured: false,
            stdout_style: Style {
                enabled: stdout_is_terminal && !plain,
            },
            stderr_style: Style {
                enabled: io::stderr().is_terminal() && !plain,
            },
            width: width
                .or(asked)
                .filter(|width| *width > 0)
                .unwrap_or(DEFAULT_WIDTH),
        }
    }

    /// Plain output into given writers, for tests and for slash commands.
    pub fn into_writers(
        stdout: Box<dyn Write + Send>,
        stderr: Box<dyn Write + Send>,
        width: usize,
    ) -> Self {
        Self {
            stdout,
            stderr,
            reader_is_gone: false,
            stdout_is_terminal: false,
            attended: false,
            captured: true,
            stdout_style: Style::default(),
            stderr_style: Style::default(),
            width,
        }
    }

    /// Columns that a line of stdout may fill.
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn is_terminal(&self) -> bool {
        self.stdout_is_terminal
    }

    /// Whether somebody else owns the terminal, so that no program may take it.
    pub fn is_captured(&self) -> bool {
        self.captured
    }

    /// Whether a question would reach a person. Never for captured output.
    pub fn is_attended(&self) -> bool {
        self.attended
    }

    pub fn style(&self) -> Style {
        self.stdout_style
    }

    pub fn stderr_style(&self) -> Style {
        self.stderr_style
    }

    /// True once a write found that nobody reads stdout any more.
    pub fn reader_is_gone(&self) -> bool {
        self.reader_is_gone
    }

    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.write_all(text.as_bytes())?;
        self.write_all(b"\n")
    }

    /// Pretty-printed JSON and a newline.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *self, value)?;
        self.write_all(b"\n")
    }

    /// A remark for the person beside the data.
    pub fn warning(&mut self, text: &str) {
        let label = self.stderr_style.warning("warning:");
        self.stderr_line(&format!("{label} {text}"));
    }

    pub fn stderr_line(&mut self, text: &str) {
        // Stdout first, so that both appear in the order they were written.
        let _ = self.flush();
        // When stderr is gone too there is nobody to tell.
        let _ = writeln!(self.stderr, "{text}");
    }

    pub(crate) fn styled(&mut self, text: &clap::builder::StyledStr) -> io::Result<()> {
        let text = render(text, self.stdout_style);
        self.write_all(text.as_bytes())
    }

    pub(crate) fn styled_to_stderr(&mut self, text: &clap::builder::StyledStr) {
        let text = render(text, self.stderr_style);
        self.stderr_line(text.trim_end());
    }

    /// Everything written so far reaches its reader.
    pub fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.reader_is_gone |= error.kind() == io::ErrorKind::BrokenPipe;
        }
        result
    }
}

fn render(text: &clap::builder::StyledStr, style: Style) -> String {
    if style.enabled {
        text.ansi().to_string()
    } else {
        text.to_string()
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.stdout.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.stdout.flush();
        self.note(result)
    }
}

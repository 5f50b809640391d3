//! One resident shell at the other end of a wire: opening it, asking it, and
//! handing it over to a call.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::AsyncWriteExt;

use super::request::CallRequest;
use super::wire::{Frame, Wire};

const RESIDENT: &str = include_str!("resident.sh");
const PROTOCOL: &str = "1";

/// From here on starting a program costs less than reading byte by byte.
const LONG_BODY: usize = 16 << 10;

/// Longest record we accept; ours are far shorter.
const RECORD_LIMIT: usize = 64 << 10;

/// The command that makes a resident shell out of an exec or a login.
pub fn resident_command() -> Vec<String> {
    vec!["sh".to_owned(), "-c".to_owned(), one_line(RESIDENT)]
}

/// The script as one line: engines list processes with their arguments as they are,
/// and a line of ours must not look like a process of somebody else's.
fn one_line(source: &str) -> String {
    let script = script(source);
    let mut text = String::with_capacity(script.len());
    let mut opens = true;
    for line in script.lines().map(str::trim) {
        if !text.is_empty() {
            text.push_str(if opens { " " } else { "; " });
        }
        text.push_str(line);
        let is_pattern = line.ends_with(')') && !line.contains('(');
        let last = line.rsplit(' ').next().unwrap_or_default();
        opens = is_pattern || ["{", "do", "then", "else", "in", ";;"].contains(&last);
    }
    text
}

/// Whether a command line is that of a resident shell.
pub(crate) fn is_resident(command: &str) -> bool {
    command.starts_with("sh -c exec 3>&2 2>/dev/null")
}

/// Without the comments: they would travel with every exec.
pub(crate) fn script(source: &str) -> String {
    source
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Why a channel is of no use any more. None of these says that a command ran.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It ended; with what the other side said last, and the client's exit code.
    #[error("the channel into the sandbox closed{}", said(text))]
    Closed { text: String, code: Option<i32> },
    #[error("the sandbox did not answer within {} s", limit.as_secs_f32())]
    Silent { limit: Duration },
    #[error("the channel into the sandbox answered something unexpected: {0}")]
    Garbled(String),
    #[error("{0}")]
    Open(String),
}

fn said(text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

/// What the sandbox has, as its shell found it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    pub bash: bool,
    pub setsid: bool,
    pub cat: bool,
    pub head: bool,
}

/// An idle channel: nothing runs over it.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) wire: Wire,
    pub(crate) tools: Tools,
    pub(crate) records: Records,
}

impl Link {
    /// Waits for the resident shell to say hello.
    pub(crate) async fn open(wire: Wire, limit: Duration) -> Result<Self, Fault> {
        let mut link = Self {
            wire,
            tools: Tools::default(),
            records: Records::default(),
        };
        let hello = within(limit, link.hello()).await?;
        let mut words = hello.split(' ').skip(1);
        if words.next() != Some(PROTOCOL) {
            return Err(Fault::Garbled(hello));
        }
        for tool in words.skip(1) {
            match tool {
                "bash" => link.tools.bash = true,
                "setsid" => link.tools.setsid = true,
                "cat" => link.tools.cat = true,
                "head" => link.tools.head = true,
                _ => {}
            }
        }
        Ok(link)
    }

    /// Everything said before the greeting, on either stream, explains why it
    /// does not come.
    async fn hello(&mut self) -> Result<String, Fault> {
        let mut before = String::new();
        loop {
            while let Some(record) = self.records.next()? {
                if record.starts_with("hello ") {
                    return Ok(record);
                }
                before.push_str(&record);
                before.push('\n');
                before.truncate(before.floor_char_boundary(4096));
            }
            match self.frame().await.map_err(|error| closed_by(&error))? {
                Frame::Control(bytes) | Frame::Output(bytes) => self.records.push(&bytes),
                Frame::End(code) => {
                    let text = before + &self.records.rest();
                    return Err(Fault::Closed { text, code });
                }
            }
        }
    }

    /// Hands the request over without starting it. Nothing has run when this
    /// fails, and nothing runs before [`Self::go`].
    pub(crate) async fn prepare(
        &mut self,
        request: &CallRequest,
        nonce: &str,
        mark: u64,
        limit: Duration,
    ) -> Result<(), Fault> {
        let body = request.body(mark, self.tools.setsid);
        let verb = if request.takes_the_channel() {
            "take"
        } else {
            "run"
        };
        let counted = match self.tools.head && body.len() > LONG_BODY {
            true => Counted::Bytes,
            false => Counted::Lines,
        };
        let text = framed(&format!("{verb} {{}} {nonce}"), &body, counted);
        within(limit, async {
            self.write(&text).await?;
            let answer = self.record().await?;
            if answer.strip_suffix(" ready") == Some(nonce) {
                return Ok(());
            }
            Err(Fault::Garbled(answer))
        })
        .await
    }

    /// From here on the command may have had effects. An error means that the
    /// word did not get away.
    pub(crate) async fn go(&mut self) -> Result<(), Fault> {
        self.write(b"go\n").await
    }

    /// Evaluates text in the resident shell itself; it answers with one record.
    pub(crate) async fn evaluate(&mut self, text: &str, limit: Duration) -> Result<String, Fault> {
        within(limit, async {
            self.tell(text).await?;
            self.record().await
        })
        .await
    }

    /// The same without an answer.
    pub(crate) async fn tell(&mut self, text: &str) -> Result<(), Fault> {
        let text = framed("do {}", text.as_bytes(), Counted::Lines);
        self.write(&text).await
    }

    /// Leaves in order: the other side must not take it for our death.
    pub(crate) async fn close(mut self) {
        let leave = async {
            let _ = self.write(b"bye\n").await;
            let _ = self.wire.input.shutdown().await;
        };
        let _ = tokio::time::timeout(Duration::from_millis(200), leave).await;
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let written = async {
            self.wire.input.write_all(bytes).await?;
            self.wire.input.flush().await
        };
        written.await.map_err(|error| closed_by(&error))
    }

    /// The next record. Between calls nobody may write to the output.
    async fn record(&mut self) -> Result<String, Fault> {
        loop {
            if let Some(record) = self.records.next()? {
                return Ok(record);
            }
            match self.frame().await.map_err(|error| closed_by(&error))? {
                Frame::Control(bytes) => self.records.push(&bytes),
                Frame::Output(bytes) => {
                    return Err(Fault::Garbled(format!("{} stray bytes", bytes.len())));
                }
                Frame::End(code) => {
                    return Err(Fault::Closed {
                        text: self.records.rest(),
                        code,
                    });
                }
            }
        }
    }

    pub(crate) async fn frame(&mut self) -> io::Result<Frame> {
        std::future::poll_fn(|context| self.wire.frames.poll_frame(context)).await
    }
}

fn closed_by(error: &io::Error) -> Fault {
    Fault::Closed {
        text: error.to_string(),
        code: None,
    }
}

/// How the other side knows where a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Lines,
    /// Needs a program to read them.
    Bytes,
}

/// `{}` in the header becomes the length of the body.
fn framed(header: &str, body: &[u8], counted: Counted) -> Vec<u8> {
    let body = body.trim_ascii_end();
    let length = match counted {
        Counted::Lines => body.split(|byte| *byte == b'\n').count().to_string(),
        Counted::Bytes => format!("-{}", body.len()),
    };
    let mut text = header.replace("{}", &length).into_bytes();
    text.push(b'\n');
    text.extend_from_slice(body);
    if counted == Counted::Lines {
        text.push(b'\n');
    }
    text
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    tokio::time::timeout(limit, work)
        .await
        .unwrap_or(Err(Fault::Silent { limit }))
}

/// Control bytes cut into lines.
#[derive(Debug, Default)]
pub(crate) struct Records {
    buffer: BytesMut,
}

impl Records {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn next(&mut self) -> Result<Option<String>, Fault> {
        let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') else {
            if self.buffer.len() > RECORD_LIMIT {
                return Err(Fault::Garbled("a record without end".to_owned()));
            }
            return Ok(None);
        };
        let line = self.buffer.split_to(end + 1);
        let text = String::from_utf8_lossy(&line[..end]);
        Ok(Some(text.trim_end_matches('\r').to_owned()))
    }

    fn rest(&mut self) -> String {
        String::from_utf8_lossy(&self.buffer.split()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_counts_the_lines_of_the_body() {
        let lines = |header, body| framed(header, body, Counted::Lines);
        assert_eq!(lines("run {} n", b"a\nb\n"), b"run 2 n\na\nb\n");
        assert_eq!(lines("do {}", b"x"), b"do 1\nx\n");
        assert_eq!(
            framed("run {} n", b"a\nb\n", Counted::Bytes),
            b"run -3 n\na\nb"
        );
    }

    #[test]
    fn records_are_lines_however_they_arrive() {
        let mut records = Records::default();
        records.push(b"one\ntw");
        assert_eq!(records.next(), Ok(Some("one".to_owned())));
        assert_eq!(records.next(), Ok(None));
        records.push(b"o\r\n");
        assert_eq!(records.next(), Ok(Some("two".to_owned())));
        records.push(&vec![b'x'; RECORD_LIMIT + 1]);
        assert!(records.next().is_err());
    }

    #[test]
    fn comments_do_not_travel() {
        assert!(!script(RESIDENT).contains('#') || !script(RESIDENT).contains("# "));
        assert!(script(RESIDENT).starts_with("exec 3>&2"));
        assert!(is_resident(&resident_command().join(" ")));
        assert!(!one_line(RESIDENT).contains('\n'));
    }
}

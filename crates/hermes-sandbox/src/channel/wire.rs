//! What a channel runs over: three streams to a process inside the sandbox.
//!
//! An engine's socket gives them multiplexed, a client program (`docker exec`,
//! `ssh`) as pipes; a [`Wire`] hides the difference.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use hermes_process::{Process, Reader};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

const READ: usize = 64 << 10;

/// A piece of what the other side wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Output(Bytes),
    Control(Bytes),
    /// Both streams have ended; with the client's exit code, where there is one.
    End(Option<i32>),
}

pub trait Frames: Send {
    /// Like a stream, but `End` repeats. Losing a `Pending` loses no bytes.
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Frame>>;
}

pub struct Wire {
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    pub frames: Box<dyn Frames>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

impl Wire {
    /// Over the pipes of a client program. Dropping the wire ends the client.
    pub fn over_process(process: Process) -> io::Result<Self> {
        let missing = || io::Error::other("the client was started without pipes");
        let input: Box<dyn AsyncWrite + Send + Unpin> = match process.take_stdin() {
            Some(input) => Box::new(input),
            None => Box::new(tokio::io::sink()),
        };
        let output = process.take_stdout().ok_or_else(missing)?;
        let control = process.take_stderr().ok_or_else(missing)?;
        Ok(Self {
            input,
            frames: Box::new(Pipes {
                process: std::sync::Arc::new(process),
                output: Some(output),
                control: Some(control),
                buffer: BytesMut::new(),
                exit: None,
            }),
        })
    }
}

struct Pipes {
    process: std::sync::Arc<Process>,
    output: Option<Reader>,
    control: Option<Reader>,
    buffer: BytesMut,
    exit: Option<Pin<Box<dyn Future<Output = Option<i32>> + Send>>>,
}

impl Frames for Pipes {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Frame>> {
        // Records first: they are few, and somebody waits for each.
        if let Some(bytes) = poll_side(&mut self.control, &mut self.buffer, context)? {
            return Poll::Ready(Ok(Frame::Control(bytes)));
        }
        if let Some(bytes) = poll_side(&mut self.output, &mut self.buffer, context)? {
            return Poll::Ready(Ok(Frame::Output(bytes)));
        }
        if self.control.is_some() || self.output.is_some() {
            return Poll::Pending;
        }
        let process = self.process.clone();
        let exit = self.exit.get_or_insert_with(|| {
            Box::pin(async move { process.wait().await.ok().map(|exit| exit.shell_code()) })
        });
        let code = ready!(exit.as_mut().poll(context));
        self.exit = Some(Box::pin(std::future::ready(code)));
        Poll::Ready(Ok(Frame::End(code)))
    }
}

/// Reads what is there; a read that is not ready loses nothing by being dropped.
pub(crate) fn poll_read(
    reader: &mut (impl AsyncRead + Unpin),
    context: &mut Context<'_>,
    buffer: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    buffer.reserve(READ);
    pin!(reader.read_buf(buffer)).poll(context)
}

/// `None`: nothing now, and the side is set to `None` when it has ended.
fn poll_side(
    side: &mut Option<Reader>,
    buffer: &mut BytesMut,
    context: &mut Context<'_>,
) -> io::Result<Option<Bytes>> {
    let Some(reader) = side else {
        return Ok(None);
    };
    match poll_read(reader, context, buffer) {
        Poll::Pending => Ok(None),
        Poll::Ready(Ok(0)) => {
            *side = None;
            Ok(None)
        }
        Poll::Ready(Ok(_)) => Ok(Some(buffer.split().freeze())),
        Poll::Ready(Err(error)) => Err(error),
    }
}

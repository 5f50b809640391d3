//! The ends of a child's streams that we hold: pipes, or both directions of a
//! terminal.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;

use crate::command::WindowSize;
use crate::sys;

/// What the child writes. Ends when nobody holds the other side any more, which
/// may be long after the child: descendants inherit it.
#[derive(Debug)]
pub struct Reader(ReaderKind);

#[derive(Debug)]
enum ReaderKind {
    Pipe(pipe::Receiver),
    Terminal(Arc<AsyncFd<OwnedFd>>),
}

/// What the child reads. Dropping it is the end of input.
#[derive(Debug)]
pub struct Writer(WriterKind);

#[derive(Debug)]
enum WriterKind {
    Pipe(pipe::Sender),
    Terminal(Arc<AsyncFd<OwnedFd>>),
}

/// Changes the size of a child's terminal.
#[derive(Clone, Debug)]
pub struct Resizer(Arc<AsyncFd<OwnedFd>>);

impl Resizer {
    pub fn resize(&self, size: WindowSize) -> io::Result<()> {
        sys::resize(self.0.as_fd(), size)
    }
}

impl Reader {
    /// Lets the child write this many bytes ahead of us, where the system allows it:
    /// fewer turns for much output.
    pub fn widen(&self, bytes: usize) {
        if let (ReaderKind::Pipe(pipe), Ok(bytes)) = (&self.0, i32::try_from(bytes)) {
            // Refused for whoever has many wide pipes already; nothing depends on it.
            let _ = fcntl(pipe.as_fd(), FcntlArg::F_SETPIPE_SZ(bytes));
        }
    }

    pub(crate) fn pipe(descriptor: OwnedFd) -> io::Result<Self> {
        pipe::Receiver::from_owned_fd(descriptor).map(|pipe| Self(ReaderKind::Pipe(pipe)))
    }
}

impl Writer {
    pub(crate) fn pipe(descriptor: OwnedFd) -> io::Result<Self> {
        pipe::Sender::from_owned_fd(descriptor).map(|pipe| Self(WriterKind::Pipe(pipe)))
    }

    /// A terminal has no end of input; this is what a person types instead.
    pub fn end_of_input_byte(&self) -> Option<u8> {
        matches!(self.0, WriterKind::Terminal(_)).then_some(4)
    }
}

/// Both directions of a terminal. `master` must not block.
pub(crate) fn terminal(master: OwnedFd) -> io::Result<(Reader, Writer, Resizer)> {
    let shared = Arc::new(sys::register(master)?);
    Ok((
        Reader(ReaderKind::Terminal(shared.clone())),
        Writer(WriterKind::Terminal(shared.clone())),
        Resizer(shared),
    ))
}

impl AsyncRead for Reader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().0 {
            ReaderKind::Pipe(pipe) => Pin::new(pipe).poll_read(context, buffer),
            ReaderKind::Terminal(terminal) => loop {
                let mut guard = ready!(terminal.poll_read_ready(context))?;
                let attempt = guard.try_io(|inner| {
                    match nix::unistd::read(inner.get_ref(), buffer.initialize_unfilled()) {
                        Ok(count) => Ok(count),
                        // The last process closed the terminal: Linux says EIO, not end of file.
                        Err(Errno::EIO) => Ok(0),
                        Err(errno) => Err(errno.into()),
                    }
                });
                match attempt {
                    Ok(Ok(count)) => {
                        buffer.advance(count);
                        return Poll::Ready(Ok(()));
                    }
                    Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(Err(error)) => return Poll::Ready(Err(error)),
                    Err(_would_block) => {}
                }
            },
        }
    }
}

impl AsyncWrite for Writer {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().0 {
            WriterKind::Pipe(pipe) => Pin::new(pipe).poll_write(context, bytes),
            WriterKind::Terminal(terminal) => loop {
                let mut guard = ready!(terminal.poll_write_ready(context))?;
                let attempt = guard.try_io(|inner| Ok(nix::unistd::write(inner.get_ref(), bytes)?));
                match attempt {
                    Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(outcome) => return Poll::Ready(outcome),
                    Err(_would_block) => {}
                }
            },
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

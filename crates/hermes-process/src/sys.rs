//! The one module with `unsafe`: system calls that neither the standard library
//! nor nix offers as safe functions, and the hook between fork and exec.
//!
//! Between fork and exec only async-signal-safe calls are allowed, because the
//! child is a copy of one thread of a process that had many. [`prepare`] calls
//! `setsid`, `setpgid`, `ioctl`, `prctl`, `getppid` and `setrlimit`, allocates
//! nothing and takes no lock.
#![expect(
    unsafe_code,
    reason = "the named exception: each block states why it is sound"
)]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;

use nix::libc;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid, setpgid, setsid};
use tokio::io::unix::AsyncFd;

use crate::command::{Grouping, WindowSize};
use crate::mark::Mark;

/// What the child does to itself before it becomes another program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preparation {
    pub(crate) grouping: Grouping,
    /// Standard input is a terminal that shall control the new session.
    pub(crate) controlling_terminal: bool,
    /// Die with the thread that forked; holds the pid of the owner.
    pub(crate) die_with: Option<Pid>,
    pub(crate) mark: Mark,
}

/// Arranges for `preparation` to run in the child.
pub(crate) fn prepare(command: &mut std::process::Command, preparation: Preparation) {
    let hook = move || -> io::Result<()> {
        match preparation.grouping {
            Grouping::Session => {
                setsid()?;
            }
            Grouping::Group => setpgid(Pid::from_raw(0), Pid::from_raw(0))?,
            Grouping::Inherit => {}
        }
        if preparation.controlling_terminal {
            // SAFETY: TIOCSCTTY takes an integer; descriptor 0 is the terminal's
            // end that was set up as standard input.
            if unsafe { libc::ioctl(0, libc::TIOCSCTTY, 0) } == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        if let Some(owner) = preparation.die_with {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            // The owner may have died between fork and the line above.
            if getppid() != owner {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        // Without the mark the tree is found by session and parents alone.
        let _ = preparation.mark.apply();
        // Whatever else whoever started us left open is not the child's. Kernels
        // before 5.11 do not know the call; then only our own are closed.
        // SAFETY: integers only; a direct system call, so async-signal-safe.
        unsafe {
            libc::syscall(
                libc::SYS_close_range,
                3,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
        }
        Ok(())
    };
    // SAFETY: the hook makes only async-signal-safe calls, see the module header.
    unsafe {
        command.pre_exec(hook);
    }
}

/// A descriptor of a process. Readable once the process has ended.
#[derive(Debug)]
pub(crate) struct PidFd(OwnedFd);

impl PidFd {
    pub(crate) fn open(pid: i32) -> io::Result<Self> {
        // SAFETY: pidfd_open takes two integers and returns a new descriptor
        // (always close-on-exec) or -1.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
        if descriptor == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just returned this descriptor, nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    pub(crate) fn send(&self, signal: Signal) -> io::Result<()> {
        // SAFETY: a valid descriptor, a valid signal, no siginfo, no flags.
        let outcome = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.0.as_raw_fd(),
                signal as libc::c_int,
                std::ptr::null::<libc::siginfo_t>(),
                0,
            )
        };
        if outcome == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Hands a descriptor to the reactor of the current runtime.
pub(crate) fn register<T: Into<OwnedFd>>(descriptor: T) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd is open until it is dropped, is dropped by the AsyncFd
    // that owns it, and always names the same descriptor.
    unsafe { AsyncFd::register(descriptor.into()) }.map_err(io::Error::from)
}

impl From<PidFd> for OwnedFd {
    fn from(descriptor: PidFd) -> Self {
        descriptor.0
    }
}

pub(crate) fn resize(terminal: BorrowedFd<'_>, size: WindowSize) -> io::Result<()> {
    let size = libc::winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: TIOCSWINSZ reads one winsize, which lives through the call.
    if unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &size) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

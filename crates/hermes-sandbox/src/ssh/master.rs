//! The shared connection: found or made before channels are opened over it.
//!
//! It is made apart from them, because a client that becomes the shared connection
//! by itself would take it along when it ends.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use hermes_home::{Lock, LockKind};
use hermes_process::{Command, Grouping, Limits, Output, OwnerDeath, output};

use super::login::SshLogin;

const CONNECT_LIMIT: Duration = Duration::from_secs(15);
const CHECK_LIMIT: Duration = Duration::from_secs(5);
const MAX_OUTPUT: usize = 16 << 10;

/// Makes sure that the shared connection is there. An error is a sentence.
pub(super) async fn ensure(login: &SshLogin) -> Result<(), String> {
    if is_up(login).await {
        return Ok(());
    }
    let directory = login.control_directory();
    let lock = login.control_path().with_extension("lock");
    // Two processes that start at once make one connection.
    let lock = tokio::task::spawn_blocking(move || {
        prepare(&directory)?;
        Lock::acquire(&lock, LockKind::Exclusive)
    });
    let _lock = match lock.await {
        Ok(Ok(lock)) => lock,
        Ok(Err(error)) => return Err(format!("SSH connection failed: {error}")),
        Err(error) => return Err(format!("SSH connection failed: {error}")),
    };
    if is_up(login).await {
        return Ok(());
    }
    connect(login).await
}

async fn is_up(login: &SshLogin) -> bool {
    // No socket, no question.
    if tokio::fs::symlink_metadata(login.control_path())
        .await
        .is_err()
    {
        return false;
    }
    matches!(control(login, "check").await, Ok(captured) if captured.success())
}

/// Ends the shared connection, for everybody who uses it.
pub(super) async fn hang_up(login: &SshLogin) {
    let _ = control(login, "exit").await;
}

async fn control(
    login: &SshLogin,
    what: &str,
) -> Result<hermes_process::Captured, hermes_process::OutputError> {
    let command = Command::new(&login.program)
        .args(login.arguments("no"))
        .args(["-O", what])
        .arg(login.destination());
    output(command, limits(CHECK_LIMIT)).await
}

async fn connect(login: &SshLogin) -> Result<(), String> {
    let errors = tempfile::tempfile()
        .and_then(|file| Ok((file.try_clone()?, file)))
        .map_err(|error| format!("SSH connection failed: {error}"))?;
    // A file, because the connection that stays would keep a pipe open.
    let command = Command::new(&login.program)
        .args(login.arguments("yes"))
        .args(["-f", "-N", "-T"])
        .arg(login.destination())
        .stdout(Output::File(errors.0))
        .stderr(Output::Merge)
        .owner_death(OwnerDeath::LeaveRunning)
        .grouping(Grouping::Session);
    let outcome = output(command, limits(CONNECT_LIMIT)).await;
    match outcome {
        Ok(captured) if captured.success() => Ok(()),
        Ok(_) => Err(format!(
            "SSH connection failed: {} ({})",
            said(errors.1),
            login.name()
        )),
        Err(hermes_process::OutputError::Timeout { .. }) => Err(format!(
            "SSH connection to {} timed out after {} s",
            login.name(),
            CONNECT_LIMIT.as_secs()
        )),
        Err(error) => Err(format!("SSH connection failed: {error}")),
    }
}

fn said(mut file: std::fs::File) -> String {
    use std::io::{Read, Seek};
    let mut text = String::new();
    let read = file
        .rewind()
        .and_then(|()| file.take(MAX_OUTPUT as u64).read_to_string(&mut text));
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    match (read, last) {
        (Ok(_), Some(line)) => line.trim().to_owned(),
        _ => "ssh gave no reason".to_owned(),
    }
}

fn limits(timeout: Duration) -> Limits {
    Limits {
        timeout,
        max_bytes: MAX_OUTPUT,
    }
}

/// Ours alone: whoever can write there can take the connection over.
fn prepare(directory: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(directory)?;
    if !found.is_dir() || found.uid() != nix::unistd::getuid().as_raw() {
        return Err(io::Error::other(format!(
            "{} belongs to somebody else",
            directory.display()
        )));
    }
    if found.permissions().mode() & 0o077 != 0 {
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

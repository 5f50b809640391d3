//! The gateway of one home, as its files tell: `gateway.pid` names the process,
//! and pid and start time together decide whether it still runs. The process table
//! is never searched; another home's gateway is not ours.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hermes_home::Home;
use hermes_process::Identity;
use nix::sys::signal::Signal;
use serde::Deserialize;

use crate::{CommandError, ErrorKind};

/// How long a gateway may take to end by itself.
const GRACE: Duration = Duration::from_secs(10);
/// After SIGKILL the kernel needs a moment.
const LAST_GRACE: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct PidFile {
    pid: i32,
    /// Clock ticks after boot, as both implementations write it.
    start_time: Option<u64>,
}

/// The running gateway of this home.
pub(crate) fn running(home: &Home) -> Option<Identity> {
    let text = fs::read_to_string(home.join("gateway.pid")).ok()?;
    let file: PidFile = match serde_json::from_str(&text) {
        Ok(file) => file,
        // Older versions wrote the bare number.
        Err(_) => PidFile {
            pid: text.trim().parse().ok()?,
            start_time: None,
        },
    };
    let identity = Identity::of(file.pid)?;
    let same = file
        .start_time
        .is_none_or(|start| start == identity.start_ticks);
    (same && identity.is_alive()).then_some(identity)
}

/// Ends the gateway of this home: SIGTERM, then SIGKILL. True when there was one.
pub(crate) fn stop(home: &Home) -> Result<bool, CommandError> {
    let Some(identity) = running(home) else {
        return Ok(false);
    };
    for (signal, patience) in [(Signal::SIGTERM, GRACE), (Signal::SIGKILL, LAST_GRACE)] {
        identity.signal(signal);
        let deadline = Instant::now() + patience;
        while identity.is_alive() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        if !identity.is_alive() {
            return Ok(true);
        }
    }
    Err(CommandError::new(
        ErrorKind::Busy,
        format!(
            "the gateway of this profile (pid {}) does not end",
            identity.pid
        ),
    ))
}

/// The unit file of a profile's gateway in the user's service manager, if it was
/// installed for this very home.
pub(crate) fn user_service(home: &Home) -> Option<(String, PathBuf)> {
    let name = format!("hermes-gateway-{}.service", home.profile_name());
    let path = home.user_home().join(".config/systemd/user").join(&name);
    let text = fs::read_to_string(&path).ok()?;
    text.contains(&home.path().display().to_string())
        .then_some((name, path))
}

//! Which process, beyond doubt: pid, start time and boot.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::proc_fs;
use crate::sys::PidFd;

/// A pid alone may have been recycled; pid and start time may repeat after a reboot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub pid: i32,
    /// Clock ticks after boot, field 22 of `/proc/<pid>/stat`.
    pub start_ticks: u64,
    pub boot_id: String,
}

impl Identity {
    /// `None` when no such process exists.
    pub fn of(pid: i32) -> Option<Self> {
        proc_fs::stat(pid).map(|stat| Self {
            pid,
            start_ticks: stat.start_ticks,
            boot_id: boot_id().to_owned(),
        })
    }

    pub fn of_this_process() -> Self {
        let pid = i32::try_from(std::process::id()).unwrap_or(0);
        Self::of(pid).unwrap_or(Self {
            pid,
            start_ticks: 0,
            boot_id: boot_id().to_owned(),
        })
    }

    /// Whether this very process still runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        self.exists(|stat| !stat.is_dead())
    }

    /// Whether the pid still belongs to this process, as a zombie too.
    pub(crate) fn is_current(&self) -> bool {
        self.exists(|_| true)
    }

    fn exists(&self, accept: impl Fn(&proc_fs::Stat) -> bool) -> bool {
        self.boot_id == boot_id()
            && proc_fs::stat(self.pid)
                .is_some_and(|stat| stat.start_ticks == self.start_ticks && accept(&stat))
    }

    /// A descriptor that can only mean this process, or `None` when it is gone.
    pub(crate) fn open(&self) -> Option<PidFd> {
        let descriptor = PidFd::open(self.pid).ok()?;
        self.is_current().then_some(descriptor)
    }

    /// Waits until this process has ended; it need not be a child of ours.
    pub async fn ended(&self) {
        let Some(descriptor) = self.open() else {
            // Gone, or a kernel without pidfds.
            while self.is_alive() {
                tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            }
            return;
        };
        match crate::sys::register(descriptor) {
            Ok(descriptor) => drop(descriptor.readable().await),
            Err(_) => {
                while self.is_alive() {
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                }
            }
        }
    }

    /// Whether the process was started with these variables. `false` also when its
    /// environment is not ours to read.
    pub fn was_started_with(&self, variables: &[(&str, &str)]) -> bool {
        let Ok(bytes) = std::fs::read(format!("/proc/{}/environ", self.pid)) else {
            return false;
        };
        let has = |(name, value): &(&str, &str)| {
            let wanted = format!("{name}={value}");
            bytes
                .split(|byte| *byte == 0)
                .any(|it| it == wanted.as_bytes())
        };
        variables.iter().all(has) && self.is_current()
    }

    /// The oldest living process that was started with these variables: whoever
    /// brought them into a tree, since children inherit them.
    pub fn oldest_started_with(variables: &[(&str, &str)]) -> Option<Self> {
        let mut all = proc_fs::all();
        all.sort_by_key(|stat| stat.start_ticks);
        all.iter()
            .filter(|stat| !stat.is_dead())
            .map(|stat| Self {
                pid: stat.pid,
                start_ticks: stat.start_ticks,
                boot_id: boot_id().to_owned(),
            })
            .find(|process| process.was_started_with(variables))
    }

    /// Seconds since 1970 when the process started, to a hundredth or so.
    pub fn started_at(&self) -> Option<f64> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let boot: f64 = text
            .lines()
            .find_map(|line| line.strip_prefix("btime "))?
            .trim()
            .parse()
            .ok()?;
        let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok()??;
        Some(boot + self.start_ticks as f64 / per_second as f64)
    }

    /// Sends a signal to this process and no other. `false` when it is gone or
    /// not ours to signal.
    pub fn signal(&self, signal: nix::sys::signal::Signal) -> bool {
        match self.open() {
            Some(descriptor) => descriptor.send(signal).is_ok(),
            // Kernels without pidfds: the window between look and signal is tiny.
            None => {
                self.is_current()
                    && nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid), signal).is_ok()
            }
        }
    }
}

/// Changes with every boot; empty where the kernel does not tell.
pub(crate) fn boot_id() -> &'static str {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    BOOT_ID.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_what_it_was_started_with() {
        let (name, value) = std::env::vars()
            .find(|(name, value)| !name.is_empty() && !value.is_empty())
            .unwrap();
        let me = Identity::of_this_process();
        assert!(me.was_started_with(&[(&name, &value)]));
        assert!(!me.was_started_with(&[(&name, &value), (&name, "something else")]));
        assert!(Identity::oldest_started_with(&[(&name, &value)]).is_some());
        assert_eq!(
            Identity::oldest_started_with(&[("HERMES_NOBODY", "1")]),
            None
        );
    }

    #[test]
    fn this_process_is_alive_and_a_recycled_pid_is_not_it() {
        let me = Identity::of_this_process();
        assert!(me.is_alive());
        assert!(!me.boot_id.is_empty());
        let earlier = Identity {
            start_ticks: me.start_ticks - 1,
            ..me.clone()
        };
        assert!(!earlier.is_alive());
        let before_reboot = Identity {
            boot_id: "another".to_owned(),
            ..me
        };
        assert!(!before_reboot.is_alive());
    }
}

//! Which files a process writes, and with which limits.

use std::path::Path;

use hermes_home::{Clock, FilePolicy};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::layer::{FileLayer, Sink};
use super::line::{Component, Level};
use super::rotating_file::{Limits, RotatingFile};

const MEGABYTE: u64 = 1024 * 1024;

/// What kind of process logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Chat, one-shot runs, workers.
    Agent,
    Gateway,
    Dashboard,
}

/// `logging.*` of the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub level: Level,
    pub limits: Limits,
    /// `security.redact_secrets`.
    pub redact: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            level: Level::Info,
            limits: Limits {
                bytes: 5 * MEGABYTE,
                backups: 3,
            },
            redact: true,
        }
    }
}

/// Starts logging for the rest of the process. The directory must exist. Calling it
/// a second time does nothing.
pub fn start(directory: &Path, settings: Settings, role: Role, policy: &FilePolicy, clock: Clock) {
    let layer = file_layer(directory, settings, role, policy, clock);
    let least = match settings.level {
        Level::Debug => tracing::Level::DEBUG,
        Level::Info => tracing::Level::INFO,
        Level::Warning => tracing::Level::WARN,
        Level::Error | Level::Critical => tracing::Level::ERROR,
    };
    // errors.log wants warnings even when agent.log does not.
    let least = least.max(tracing::Level::WARN);
    let filter = tracing_subscriber::filter::LevelFilter::from_level(least);
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(layer)
        .try_init();
}

pub(crate) fn file_layer(
    directory: &Path,
    settings: Settings,
    role: Role,
    policy: &FilePolicy,
    clock: Clock,
) -> FileLayer {
    let sink = |name: &str, megabytes: u64, backups, least, component| Sink {
        file: RotatingFile::new(
            directory.join(name),
            Limits {
                bytes: megabytes * MEGABYTE,
                backups,
            },
            policy.log_file_bits(),
        ),
        least,
        component,
    };
    let mut sinks = vec![
        Sink {
            file: RotatingFile::new(
                directory.join("agent.log"),
                settings.limits,
                policy.log_file_bits(),
            ),
            least: settings.level,
            component: None,
        },
        sink("errors.log", 2, 2, Level::Warning, None),
    ];
    match role {
        Role::Agent => {}
        Role::Gateway => {
            sinks.push(sink(
                "gateway.log",
                5,
                3,
                Level::Info,
                Some(Component::Gateway),
            ));
        }
        Role::Dashboard => sinks.push(sink("gui.log", 10, 5, Level::Info, Some(Component::Gui))),
    }
    FileLayer::new(sinks, clock, settings.redact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{TimeZone, Utc};
    use hermes_home::{Environment, Home};
    use pretty_assertions::assert_eq;

    #[test]
    fn events_land_in_the_files_that_want_them_with_session_and_without_secrets() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path(), directory.path());
        let policy = FilePolicy::of(&Environment::default(), &home);
        let clock = Clock::fixed(Utc.timestamp_millis_opt(1_780_000_000_123).unwrap());
        let head = clock
            .now_local()
            .format("%Y-%m-%d %H:%M:%S,123")
            .to_string();
        let layer = file_layer(
            directory.path(),
            Settings::default(),
            Role::Gateway,
            &policy,
            clock,
        );
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "hermes_gateway::run", platforms = 2, "running");
            let span = tracing::info_span!("turn", session = "s1");
            let _inside = span.enter();
            let forged = "a\n2026-05-30 10:05:03,788 ERROR agent: forged";
            tracing::info!(target: "hermes_sandbox", name = forged, other = %forged, "refused");
            tracing::warn!(target: "hermes_llm", "key sk-or-v1-0123456789abcdef0123456789abcdef");
        });
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap();
        let agent = read("agent.log");
        let lines: Vec<&str> = agent.lines().collect();
        assert_eq!(
            lines[0],
            format!("{head} INFO gateway.run: running platforms=2")
        );
        assert!(lines[1].contains("refused name=a\\n2026"), "{agent}");
        assert!(lines[1].contains("other=a\\n2026"), "{agent}");
        assert_eq!(lines.len(), 3, "{agent}");
        assert!(
            lines[2].starts_with(&format!("{head} WARNING [s1] agent.llm: key ")),
            "{agent}"
        );
        assert!(!agent.contains("89abcdef01"), "{agent}");
        assert_eq!(read("errors.log").lines().collect::<Vec<_>>(), [lines[2]]);
        assert_eq!(read("gateway.log").lines().collect::<Vec<_>>(), [lines[0]]);
    }
}

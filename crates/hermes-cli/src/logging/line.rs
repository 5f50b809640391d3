//! `2026-05-30 10:05:03,788 INFO [session] logger.name: message`, read and written.
//!
//! A line without that head belongs to the record before it (a traceback).

use std::fmt;

use chrono::{DateTime, Local, NaiveDateTime, TimeZone};
use clap::ValueEnum;

const TIME_FORMAT: &str = "%Y-%m-%d %H:%M:%S,%3f";
const TIME_LENGTH: usize = "2026-05-30 10:05:03,788".len();

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Warning,
    Error,
    Critical,
}

impl Level {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_uppercase().as_str() {
            "DEBUG" => Self::Debug,
            "INFO" => Self::Info,
            "WARNING" => Self::Warning,
            "ERROR" => Self::Error,
            "CRITICAL" => Self::Critical,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Critical => "CRITICAL",
        }
    }
}

impl From<tracing::Level> for Level {
    fn from(level: tracing::Level) -> Self {
        match level {
            tracing::Level::TRACE | tracing::Level::DEBUG => Self::Debug,
            tracing::Level::INFO => Self::Info,
            tracing::Level::WARN => Self::Warning,
            tracing::Level::ERROR => Self::Error,
        }
    }
}

/// A part of the program, known by the prefixes of its loggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Component {
    Gateway,
    Agent,
    Tools,
    Cli,
    Cron,
    Gui,
}

impl Component {
    fn prefixes(self) -> &'static [&'static str] {
        match self {
            Self::Gateway => &["gateway", "hermes_plugins"],
            Self::Agent => &["agent", "run_agent", "model_tools", "batch_runner"],
            Self::Tools => &["tools"],
            Self::Cli => &["hermes_cli", "cli"],
            Self::Cron => &["cron"],
            Self::Gui => &[
                "hermes_cli.web_server",
                "hermes_cli.pty_bridge",
                "tui_gateway",
                "uvicorn",
            ],
        }
    }

    pub fn covers(self, logger: &str) -> bool {
        self.prefixes()
            .iter()
            .any(|prefix| logger.starts_with(prefix))
    }
}

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    time: &'a str,
    pub level: Level,
    pub session: Option<&'a str>,
    pub logger: &'a str,
    pub message: &'a str,
}

impl<'a> Record<'a> {
    /// `None` for a continuation line.
    pub fn parse(line: &'a str) -> Option<Self> {
        let (time, rest) = line.split_at_checked(TIME_LENGTH)?;
        let shaped = time.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            10 => byte == b' ',
            13 | 16 => byte == b':',
            19 => byte == b',',
            _ => byte.is_ascii_digit(),
        });
        if !shaped {
            return None;
        }
        let (level, rest) = rest.strip_prefix(' ')?.split_once(' ')?;
        let (session, rest) = match rest
            .strip_prefix('[')
            .and_then(|text| text.split_once("] "))
        {
            Some((session, rest)) => (Some(session), rest),
            None => (None, rest),
        };
        let (logger, message) = rest
            .split_once(": ")
            .unwrap_or((rest.trim_end_matches(':'), ""));
        Some(Self {
            time,
            level: Level::parse(level)?,
            session,
            logger,
            message,
        })
    }

    /// Logs are written in local time.
    pub fn time(&self) -> Option<DateTime<Local>> {
        let naive = NaiveDateTime::parse_from_str(self.time, TIME_FORMAT).ok()?;
        Local.from_local_datetime(&naive).earliest()
    }
}

/// The parts of a line that is to be written.
#[derive(Debug)]
pub(crate) struct NewLine<'a> {
    pub(crate) time: DateTime<Local>,
    pub(crate) level: Level,
    pub(crate) session: Option<&'a str>,
    pub(crate) logger: &'a str,
    pub(crate) message: &'a str,
}

impl fmt::Display for NewLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} ",
            self.time.format(TIME_FORMAT),
            self.level.name()
        )?;
        if let Some(session) = self.session {
            write!(f, "[{session}] ")?;
        }
        write!(f, "{}: {}", self.logger, self.message)
    }
}

/// The logger under which a module of ours writes: the names that the reference
/// uses for the same part of the program, so that `--component` finds both.
pub(crate) fn logger_of(target: &str) -> String {
    const CRATES: &[(&str, &str)] = &[
        ("hermes_agent", "agent"),
        ("hermes_llm", "agent.llm"),
        ("hermes_http", "agent.http"),
        ("hermes_knowledge", "agent.knowledge"),
        ("hermes_tools", "tools"),
        ("hermes_sandbox", "tools.sandbox"),
        ("hermes_mcp", "tools.mcp"),
        ("hermes_gateway", "gateway"),
        ("hermes_platforms", "gateway.platforms"),
        ("hermes_cron", "cron"),
        ("hermes_web", "hermes_cli.web_server"),
        ("hermes_tui", "cli.tui"),
    ];
    let (krate, path) = target.split_once("::").unwrap_or((target, ""));
    let head = CRATES.iter().find(|(name, _)| *name == krate).map_or_else(
        || match krate.strip_prefix("hermes_") {
            Some("cli") => "hermes_cli".to_owned(),
            Some(room) => format!("hermes_cli.{room}"),
            None => krate.to_owned(),
        },
        |(_, logger)| (*logger).to_owned(),
    );
    if path.is_empty() {
        head
    } else {
        format!("{head}.{}", path.replace("::", "."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_head_is_told_from_a_continuation() {
        let line = "2026-05-21 14:00:03,388 INFO [20260521_140001_d07837] agent.loop: API call: 2";
        let record = Record::parse(line).unwrap();
        assert_eq!(record.level, Level::Info);
        assert_eq!(record.session, Some("20260521_140001_d07837"));
        assert_eq!(
            (record.logger, record.message),
            ("agent.loop", "API call: 2")
        );
        for line in [
            "",
            "Traceback (most recent call last):",
            "  File \"x\"",
            "2026-05-21 later",
            "é",
        ] {
            assert_eq!(Record::parse(line), None, "{line:?}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let time = Local.timestamp_millis_opt(1_780_000_000_123).unwrap();
        let text = NewLine {
            time,
            level: Level::Warning,
            session: Some("s"),
            logger: "tools.x",
            message: "m",
        }
        .to_string();
        let record = Record::parse(&text).unwrap();
        assert_eq!(record.time(), Some(time));
        assert_eq!((record.level, record.session), (Level::Warning, Some("s")));
        assert_eq!((record.logger, record.message), ("tools.x", "m"));
    }

    #[test]
    fn our_modules_log_under_the_references_prefixes() {
        assert_eq!(logger_of("hermes_agent::turn::retry"), "agent.turn.retry");
        assert_eq!(logger_of("hermes_store::door"), "hermes_cli.store.door");
        assert_eq!(logger_of("hermes_cli"), "hermes_cli");
        assert_eq!(logger_of("reqwest::connect"), "reqwest.connect");
        assert!(Component::Tools.covers(&logger_of("hermes_sandbox::docker")));
        assert!(Component::Cli.covers(&logger_of("hermes_kanban::board")));
    }
}

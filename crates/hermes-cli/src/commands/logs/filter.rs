//! Which records are shown. Continuation lines share the fate of their head.

use chrono::{DateTime, Local};

use crate::logging::{Component, Level, Record};

#[derive(Debug, Default)]
pub(super) struct Filter {
    pub(super) level: Option<Level>,
    pub(super) session: Option<String>,
    pub(super) since: Option<DateTime<Local>>,
    pub(super) component: Option<Component>,
}

impl Filter {
    pub(super) fn is_empty(&self) -> bool {
        self.level.is_none()
            && self.session.is_none()
            && self.since.is_none()
            && self.component.is_none()
    }

    pub(super) fn accepts(&self, record: &Record<'_>, line: &str) -> bool {
        self.level.is_none_or(|least| record.level >= least)
            && self
                .component
                .is_none_or(|component| component.covers(record.logger))
            && self
                .session
                .as_ref()
                .is_none_or(|session| line.contains(session.as_str()))
            && !self.is_too_old(record)
    }

    /// Logs are in order of time, so everything before such a record is too old as
    /// well.
    pub(super) fn is_too_old(&self, record: &Record<'_>) -> bool {
        match (self.since, record.time()) {
            (Some(since), Some(time)) => time < since,
            _ => false,
        }
    }
}

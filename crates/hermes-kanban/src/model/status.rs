//! The closed sets a task row draws from.

use std::fmt;

use serde::{Serialize, Serializer};

/// Where a task stands. `Other` is a word we do not know, written by a newer
/// release: such a row is shown and left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    Triage,
    Todo,
    Scheduled,
    Ready,
    Running,
    Blocked,
    Review,
    Done,
    Archived,
    Other,
}

impl Status {
    /// In the order in which boards show their columns.
    pub const ALL: [Status; 9] = [
        Status::Triage,
        Status::Todo,
        Status::Scheduled,
        Status::Ready,
        Status::Running,
        Status::Blocked,
        Status::Review,
        Status::Done,
        Status::Archived,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Triage => "triage",
            Status::Todo => "todo",
            Status::Scheduled => "scheduled",
            Status::Ready => "ready",
            Status::Running => "running",
            Status::Blocked => "blocked",
            Status::Review => "review",
            Status::Done => "done",
            Status::Archived => "archived",
            Status::Other => "other",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == text)
    }

    pub(crate) fn from_stored(text: &str) -> Self {
        Self::parse(text).unwrap_or(Status::Other)
    }

    /// Done or archived: a parent in this state no longer holds its children.
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Done | Status::Archived)
    }

    pub fn icon(self) -> char {
        match self {
            Status::Todo => '◻',
            Status::Ready => '▶',
            Status::Running => '●',
            Status::Scheduled => '⏱',
            Status::Blocked => '⊘',
            Status::Done => '✓',
            Status::Archived => '—',
            Status::Triage | Status::Review | Status::Other => '?',
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// What kind of directory a worker works in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WorkspaceKind {
    /// Made for the task, removed when it is done.
    #[default]
    Scratch,
    /// A directory of the user's.
    Dir,
    /// A git worktree with a branch of its own.
    Worktree,
}

impl WorkspaceKind {
    pub fn as_str(self) -> &'static str {
        match self {
            WorkspaceKind::Scratch => "scratch",
            WorkspaceKind::Dir => "dir",
            WorkspaceKind::Worktree => "worktree",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "scratch" => Some(WorkspaceKind::Scratch),
            "dir" => Some(WorkspaceKind::Dir),
            "worktree" => Some(WorkspaceKind::Worktree),
            _ => None,
        }
    }
}

impl fmt::Display for WorkspaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for WorkspaceKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_reads_back_from_its_name() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
        assert_eq!(Status::parse("other"), None);
        assert_eq!(Status::from_stored("waiting_for_godot"), Status::Other);
    }
}

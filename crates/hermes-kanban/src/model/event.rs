//! What happened to a task, in order. Event ids are the cursor of every reader.

use std::fmt;

use hermes_types::TaskId;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

macro_rules! kinds {
    ($($variant:ident = $text:literal),* $(,)?) => {
        /// Every kind of event that is ever written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind { $($variant),* }

        impl EventKind {
            pub const ALL: &'static [EventKind] = &[$(EventKind::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $(EventKind::$variant => $text),* }
            }
        }
    };
}

kinds! {
    Created = "created",
    Assigned = "assigned",
    Linked = "linked",
    Unlinked = "unlinked",
    Commented = "commented",
    Attached = "attached",
    AttachmentRemoved = "attachment_removed",
    Promoted = "promoted",
    PromotedManual = "promoted_manual",
    Claimed = "claimed",
    ClaimRejected = "claim_rejected",
    ClaimExtended = "claim_extended",
    Spawned = "spawned",
    Heartbeat = "heartbeat",
    TipScratchWorkspace = "tip_scratch_workspace",
    Completed = "completed",
    CompletionBlockedHallucination = "completion_blocked_hallucination",
    SuspectedHallucinatedReferences = "suspected_hallucinated_references",
    Edited = "edited",
    Blocked = "blocked",
    Unblocked = "unblocked",
    Scheduled = "scheduled",
    Specified = "specified",
    Decomposed = "decomposed",
    Reclaimed = "reclaimed",
    Crashed = "crashed",
    ProtocolViolation = "protocol_violation",
    RateLimited = "rate_limited",
    TimedOut = "timed_out",
    Stale = "stale",
    SpawnFailed = "spawn_failed",
    GaveUp = "gave_up",
    RespawnGuarded = "respawn_guarded",
    Archived = "archived",
    Status = "status",
    Reprioritized = "reprioritized",
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A stored event. The kind stays text: a newer release may write others.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub id: i64,
    pub task_id: TaskId,
    pub run_id: Option<i64>,
    pub kind: String,
    pub payload: Option<Value>,
    pub created_at: i64,
}

impl Event {
    pub fn is(&self, kind: EventKind) -> bool {
        self.kind == kind.as_str()
    }

    pub fn payload_str(&self, key: &str) -> Option<&str> {
        self.payload.as_ref()?.get(key)?.as_str()
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Event", 4)?;
        out.serialize_field("kind", &self.kind)?;
        out.serialize_field("payload", &self.payload)?;
        out.serialize_field("created_at", &self.created_at)?;
        out.serialize_field("run_id", &self.run_id)?;
        out.end()
    }
}

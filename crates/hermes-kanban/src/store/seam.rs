//! What a board can be asked, whoever keeps it.
//!
//! This is the door for a second implementation: boards that span hosts come to lie
//! in a server, and everything outside of [`super`] speaks to [`BoardStore`] only, in
//! the words of the model and the state machine. A write is one transaction that
//! reads the task, lets [`crate::machine::transition`] decide, and writes the row by
//! compare-and-swap together with its run and its events. Hosts are data here: who
//! looks at processes is the dispatcher, and only at those of its own host.

use std::collections::HashMap;
use std::fmt::Debug;

use hermes_types::TaskId;
use serde_json::{Map, Value};

use super::{
    BoardStats, ClaimRequest, Collected, CompletionRequest, Deferral, Delivery, EventFilter,
    Examined, GuardFacts, Linked, ListFilter, ListSort, NewChild, ReadyTask, Remark, StatusCounts,
    SubscriptionKey, TaskRow, TaskView, TickFacts,
};
use crate::error::KanbanError;
use crate::machine::{Failed, Fence, NewTask, Release};
use crate::model::{
    Attachment, Event, EventKind, PublicTask, Run, Status, Subscription, Task, WorkerIdentity,
};

/// Everything a board does. One thread uses it at a time.
pub trait BoardStore:
    Attaching
    + Claiming
    + Commenting
    + Completing
    + Creating
    + Following
    + Examining
    + Collecting
    + Identifying
    + Deciding
    + Linking
    + Telling
    + Promoting
    + Reading
    + Counting
    + Planning
    + Triaging
    + Debug
    + Send
{
    fn now(&self) -> i64;

    /// Consecutive failures before a task is blocked, unless it says otherwise.
    fn failure_limit(&self) -> i64;
}

/// Files that belong to tasks.
pub trait Attaching {
    fn attach(
        &self,
        id: &TaskId,
        filename: &str,
        stored_path: &str,
        content_type: Option<&str>,
        size: i64,
        by: Option<&str>,
    ) -> Result<Attachment, KanbanError>;
    fn attachments(&self, id: &TaskId) -> Result<Vec<Attachment>, KanbanError>;
    fn attachment(&self, attachment: i64) -> Result<Option<Attachment>, KanbanError>;
    /// Forgets the row; gives back what it was so that the file can go too.
    fn detach(&self, attachment: i64) -> Result<Option<Attachment>, KanbanError>;
}

/// Who has a task, and for how long.
pub trait Claiming {
    /// Claims one task. Open parents send it back to `todo` and are an error.
    fn claim(&self, id: &TaskId, request: &ClaimRequest) -> Result<Task, KanbanError>;
    /// Claims what can be had of `ids` in one transaction; what somebody else took
    /// meanwhile is left out. `place` says where a task will be worked on, where that
    /// is known before anything is made: it is written down with the claim, so that a
    /// worker finds its files also when its dispatcher dies right afterwards.
    fn claim_many(
        &self,
        ids: &[TaskId],
        request: &ClaimRequest,
        place: &dyn Fn(&Task) -> Option<String>,
    ) -> Result<Vec<Task>, KanbanError>;
    /// Keeps a claim whose lock the caller holds. `false` when it is not theirs.
    fn extend_claim(&self, id: &TaskId, lock: &str, ttl: i64) -> Result<bool, KanbanError>;
    /// The worker is alive; with its lock the claim is kept as well.
    fn heartbeat(
        &self,
        id: &TaskId,
        note: Option<&str>,
        fence: Fence,
        lock: Option<(&str, i64)>,
    ) -> Result<Task, KanbanError>;
}

/// What people and workers say.
pub trait Commenting {
    /// Gives back the comment's id.
    fn comment(&self, id: &TaskId, author: &str, body: &str) -> Result<i64, KanbanError>;
}

/// Finishing a task.
pub trait Completing {
    /// Ends the task well; children that waited for it only are ready afterwards.
    /// Cards that do not exist or belong to others refuse the whole completion.
    fn complete(&self, id: &TaskId, request: &CompletionRequest) -> Result<Task, KanbanError>;
}

/// New tasks.
pub trait Creating {
    fn create(&self, new: &NewTask) -> Result<Task, KanbanError>;
    /// All or none, in the order of the cards. `Err` carries the position of the
    /// card that was refused.
    fn create_many(&self, cards: &[NewTask]) -> Result<Vec<Task>, (usize, KanbanError)>;
}

/// Events in the order in which they happened.
pub trait Following {
    fn latest_event_id(&self) -> Result<i64, KanbanError>;
    /// At most `count` events after `after`, oldest first.
    fn events_after(
        &self,
        after: i64,
        filter: &EventFilter,
        count: usize,
    ) -> Result<Vec<Event>, KanbanError>;
    /// Changes when another connection has committed; cheap to ask.
    fn data_version(&self) -> Result<i64, KanbanError>;
    /// Event ids that should be there and are not, at the end of the log: what a
    /// lost write-ahead log leaves behind. Only the newest are looked at, because
    /// collection removes old ones on purpose.
    fn event_gaps(&self, newest: i64) -> Result<Vec<(i64, i64)>, KanbanError>;
}

/// Facts for diagnostics.
pub trait Examining {
    /// In the order of the board. `ready_before`: ready tasks made later than this
    /// cannot have waited too long.
    fn examine(
        &self,
        only: Option<&TaskId>,
        ready_before: i64,
    ) -> Result<Vec<Examined>, KanbanError>;
}

/// What nobody needs any more.
pub trait Collecting {
    /// Drops events of finished tasks from before `older_than`. What a subscriber
    /// has not been told yet stays.
    fn collect(&self, older_than: i64) -> Result<Collected, KanbanError>;
}

/// Which process works on which run.
pub trait Identifying {
    /// Workers that were started, in one transaction: pid on task and run, event,
    /// identity. A task that was taken away meanwhile is skipped; its worker finds
    /// out when it checks in.
    fn launched(&self, workers: &[(TaskId, WorkerIdentity)]) -> Result<(), KanbanError>;
    /// A worker takes up its run; refused when the run is not its own any more.
    fn check_in(&self, id: &TaskId, identity: &WorkerIdentity) -> Result<(), KanbanError>;
    /// How the worker's process ended; kept for everybody, because the exit status
    /// itself can be had once, by its parent.
    fn record_exit(
        &self,
        run: i64,
        exit_code: Option<i64>,
        signal: Option<i64>,
    ) -> Result<(), KanbanError>;
    fn identity(&self, run: i64) -> Result<Option<WorkerIdentity>, KanbanError>;
}

/// What people, workers and dispatchers do to a task that exists.
pub trait Deciding {
    fn block(
        &self,
        id: &TaskId,
        reason: Option<&str>,
        fence: Fence,
        remark: Option<Remark<'_>>,
    ) -> Result<Task, KanbanError>;
    fn schedule(
        &self,
        id: &TaskId,
        reason: Option<&str>,
        fence: Fence,
        remark: Option<Remark<'_>>,
    ) -> Result<Task, KanbanError>;
    fn unblock(&self, id: &TaskId, remark: Option<Remark<'_>>) -> Result<Task, KanbanError>;
    /// `None` takes the task away from everybody.
    fn assign(&self, id: &TaskId, assignee: Option<&str>) -> Result<Task, KanbanError>;
    /// The dispatcher's default for tasks that nobody was named for, all in one
    /// transaction; tasks that somebody assigned meanwhile are left out.
    fn assign_default(&self, ids: &[TaskId], assignee: &str) -> Result<Vec<TaskId>, KanbanError>;
    /// Takes a claim back, if `run` is still the task's open run. The caller has
    /// ended the worker first.
    fn release(&self, id: &TaskId, run: Option<i64>, release: Release)
    -> Result<Task, KanbanError>;
    /// Counts a failure of `run`, and blocks the task when that was one too many.
    fn fail(&self, id: &TaskId, run: Option<i64>, failed: Failed) -> Result<Task, KanbanError>;
    /// A live worker behind an expired claim keeps it.
    fn extend_for_live_worker(
        &self,
        id: &TaskId,
        run: Option<i64>,
        ttl: i64,
    ) -> Result<Task, KanbanError>;
    /// Blocks a ready task that was deferred too often.
    fn give_up(&self, id: &TaskId, error: &str, trigger: &str) -> Result<Task, KanbanError>;
    /// Puts a task away; its children no longer wait for it.
    fn archive(&self, id: &TaskId, fence: Fence) -> Result<Task, KanbanError>;
    /// Removes an archived task with everything that belongs to it. The caller
    /// removes its files. `false` when it is not archived.
    fn delete_archived(&self, id: &TaskId) -> Result<bool, KanbanError>;
    /// Another column, as a board is dragged. Children of a task that comes back
    /// to life wait again.
    fn move_to(&self, id: &TaskId, status: Status) -> Result<Task, KanbanError>;
    fn reprioritize(&self, id: &TaskId, priority: i64) -> Result<Task, KanbanError>;
    fn edit_text(
        &self,
        id: &TaskId,
        title: Option<&str>,
        body: Option<&str>,
    ) -> Result<Task, KanbanError>;
    /// Corrects what a finished task says about itself.
    fn edit_result(
        &self,
        id: &TaskId,
        result: &str,
        summary: Option<&str>,
        metadata: Option<&Map<String, Value>>,
    ) -> Result<Task, KanbanError>;
    /// Where workers work, found out after their tasks were claimed: path, and the
    /// branch of a worktree.
    fn set_workspaces(
        &self,
        places: &[(TaskId, String, Option<String>)],
    ) -> Result<(), KanbanError>;
    /// An event that is only that.
    fn note(&self, id: &TaskId, kind: EventKind, payload: &Value) -> Result<(), KanbanError>;
    /// Tells once that scratch directories are removed when a task is done.
    fn tip_scratch_workspace(&self, id: &TaskId) -> Result<(), KanbanError>;
}

/// What waits for what.
pub trait Linking {
    fn link(&self, parent: &TaskId, child: &TaskId) -> Result<Linked, KanbanError>;
    /// `false` when there was no such link. What the link held is let go.
    fn unlink(&self, parent: &TaskId, child: &TaskId) -> Result<bool, KanbanError>;
    fn parents(&self, task: &TaskId) -> Result<Vec<TaskId>, KanbanError>;
    fn children(&self, task: &TaskId) -> Result<Vec<TaskId>, KanbanError>;
}

/// Subscriptions and the outbox behind them.
pub trait Telling {
    /// Subscribing again fills in an owner that was missing and changes nothing else.
    fn subscribe(
        &self,
        key: &SubscriptionKey,
        user: Option<&str>,
        owner: Option<&str>,
    ) -> Result<(), KanbanError>;
    fn unsubscribe(&self, key: &SubscriptionKey) -> Result<bool, KanbanError>;
    fn subscriptions(&self, task: Option<&TaskId>) -> Result<Vec<Subscription>, KanbanError>;
    /// What is to be told; `None` when there is nothing. Writes nothing: a gateway asks
    /// every few seconds.
    fn pending_events(&self, key: &SubscriptionKey) -> Result<Option<Delivery>, KanbanError>;
    /// These events are safe elsewhere. `false` when somebody else was quicker, and
    /// they are that one's.
    fn acknowledge(&self, key: &SubscriptionKey, delivery: &Delivery) -> Result<bool, KanbanError>;
    /// Puts events back that could not be told; `false` when somebody has moved on.
    fn put_back(&self, key: &SubscriptionKey, delivery: &Delivery) -> Result<bool, KanbanError>;
}

/// Letting go of tasks that nothing holds any more.
pub trait Promoting {
    /// Promotes what can be promoted; gives back how many. Writes nothing, and
    /// takes no lock, when there is nothing to promote.
    fn recompute_ready(&self) -> Result<usize, KanbanError>;
    /// What [`Board::recompute_ready`] would promote.
    fn promotable(&self) -> Result<Vec<Task>, KanbanError>;
    /// A person says go. With `dry_run` the answer only.
    fn promote(
        &self,
        id: &TaskId,
        actor: &str,
        reason: Option<&str>,
        forced: bool,
        dry_run: bool,
    ) -> Result<Task, KanbanError>;
}

/// Tasks: one, many, and one with everything around it.
pub trait Reading {
    fn find(&self, id: &TaskId) -> Result<Option<Task>, KanbanError>;
    fn task(&self, id: &TaskId) -> Result<Task, KanbanError>;
    fn list(&self, filter: &ListFilter, sort: ListSort) -> Result<Vec<Task>, KanbanError>;
    /// The same in the shape that is printed, handed over one by one.
    fn list_public(
        &self,
        filter: &ListFilter,
        sort: ListSort,
        visit: &mut dyn FnMut(PublicTask<'_>),
    ) -> Result<(), KanbanError>;
    /// The same with only what a line shows, handed over one by one.
    fn list_rows(
        &self,
        filter: &ListFilter,
        sort: ListSort,
        visit: &mut dyn FnMut(TaskRow),
    ) -> Result<(), KanbanError>;
    /// Everything about one task, from one moment.
    fn view(&self, id: &TaskId) -> Result<TaskView, KanbanError>;
    fn runs(&self, id: &TaskId) -> Result<Vec<Run>, KanbanError>;
    fn run(&self, run: i64) -> Result<Option<Run>, KanbanError>;
    /// The newest completed run of each of these tasks.
    fn newest_completed_run(&self, id: &TaskId) -> Result<Option<Run>, KanbanError>;
    /// What `profile` finished lately on other tasks, newest first, with titles.
    fn recent_work(
        &self,
        profile: &str,
        except: &TaskId,
        count: usize,
    ) -> Result<Vec<(Run, String)>, KanbanError>;
    /// Tasks whose id begins with `prefix`, for completion in a shell; of these
    /// statuses, or with none all that are not archived.
    fn ids_with_prefix(
        &self,
        prefix: &str,
        statuses: &[Status],
        count: usize,
    ) -> Result<Vec<(TaskId, String)>, KanbanError>;
}

/// How many of what.
pub trait Counting {
    /// Every task counts, archived ones too.
    fn status_counts(&self) -> Result<StatusCounts, KanbanError>;
    /// Without archived tasks, in one pass.
    fn stats(&self) -> Result<BoardStats, KanbanError>;
}

/// What a dispatcher must know, in few questions.
pub trait Planning {
    fn tick_facts(&self) -> Result<TickFacts, KanbanError>;
    /// Unclaimed tasks that are ready and in review.
    fn tick_counts(&self) -> Result<(usize, usize), KanbanError>;
    /// Waiting tasks in the order in which they are served.
    fn waiting(
        &self,
        status: Status,
        offset: usize,
        count: Option<usize>,
    ) -> Result<Vec<ReadyTask>, KanbanError>;
    /// Guard facts of these tasks; tasks without any are left out.
    fn guard_facts(
        &self,
        tasks: &[ReadyTask],
        comments_since: i64,
    ) -> Result<HashMap<TaskId, GuardFacts>, KanbanError>;
    /// Writes deferrals down: a new event when the reason is new, else the count of
    /// the one that is there. One transaction for all.
    fn record_deferrals(&self, deferrals: &[Deferral]) -> Result<(), KanbanError>;
}

/// Rough tasks and what becomes of them.
pub trait Triaging {
    fn in_triage(&self, tenant: Option<&str>) -> Result<Vec<Task>, KanbanError>;
    /// Gives a rough task its words and lets it go.
    fn specify(
        &self,
        id: &TaskId,
        title: Option<&str>,
        body: Option<&str>,
        assignee: Option<&str>,
        author: &str,
    ) -> Result<Task, KanbanError>;
    /// Splits a task: its parts become cards, it becomes the child of all of them,
    /// so that it wakes when they are done. With `hold` the parts wait until a
    /// person unblocks them.
    fn decompose(
        &self,
        id: &TaskId,
        parts: &[NewChild],
        root_assignee: Option<&str>,
        author: &str,
        hold: bool,
    ) -> Result<Vec<TaskId>, KanbanError>;
}

//! The verbs, and what several of them take.

use clap::{Args as ClapArgs, Subcommand};

use super::*;

pub(in crate::command) const SHORT_HELP: &str = "usage: hermes kanban [--board SLUG] <action>\n\
     create, list, show, claim, complete, block, dispatch, …; `hermes kanban --help` lists all";

#[derive(ClapArgs, Debug)]
pub struct Args {
    /// Board to work on instead of the current one
    #[arg(long, value_name = "SLUG", global = true)]
    pub board: Option<String>,

    #[command(subcommand)]
    pub verb: Option<Verb>,
}

#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Make the board's database and say what comes next
    Init,
    /// Manage boards
    Boards(BoardsArgs),
    /// Make a task, or many from a file of JSON lines
    Create(CreateArgs),
    /// List tasks
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Show a task with its comments, events and runs
    Show(ShowArgs),
    /// Give a task to a profile, or to nobody (`none`)
    Assign(AssignArgs),
    /// Take a task back from its worker
    Reclaim(ReclaimArgs),
    /// Give a task to another profile
    Reassign(ReassignArgs),
    /// Find tasks that need a person
    #[command(visible_alias = "diag")]
    Diagnostics(DiagnosticsArgs),
    /// Let a task wait for another
    Link(LinkArgs),
    /// Remove a dependency
    Unlink(LinkArgs),
    /// Claim a ready task by hand
    Claim(ClaimArgs),
    /// Comment on a task
    Comment(CommentArgs),
    /// Mark tasks as done
    Complete(CompleteArgs),
    /// Correct the result of a finished task
    Edit(EditArgs),
    /// Block tasks until somebody unblocks them
    Block(ParkArgs),
    /// Set tasks aside for later
    Schedule(ParkArgs),
    /// Let blocked or scheduled tasks go on
    Unblock(UnblockArgs),
    /// Make waiting tasks ready by hand
    Promote(PromoteArgs),
    /// Put tasks away, or remove archived ones
    Archive(ArchiveArgs),
    /// Follow one task's events
    Tail(TailArgs),
    /// Follow all events of the board
    Watch(WatchArgs),
    /// Make one round: settle, promote, start workers
    Dispatch(DispatchArgs),
    /// Keep making rounds in the foreground
    Daemon(DaemonArgs),
    /// Count tasks
    Stats(JsonArgs),
    /// Tell a chat about a task
    NotifySubscribe(SubscribeArgs),
    /// List who is told about what
    NotifyList(NotifyListArgs),
    /// Stop telling a chat about a task
    NotifyUnsubscribe(UnsubscribeArgs),
    /// Print a worker's log
    Log(LogArgs),
    /// List the attempts at a task
    Runs(RunsArgs),
    /// Say that a task is being worked on
    Heartbeat(HeartbeatArgs),
    /// List profiles and assignees with their tasks
    Assignees(JsonArgs),
    /// Print what a worker is told about a task
    Context(TaskArgs),
    /// Let a model turn a rough task into a clear one
    Specify(TriageArgs),
    /// Let a model split a rough task into parts
    Decompose(TriageArgs),
    /// Remove what nobody needs any more
    Gc(GcArgs),
}

#[derive(ClapArgs, Debug)]
pub struct TaskArgs {
    /// Id of the task
    pub task_id: String,
}

#[derive(ClapArgs, Debug)]
pub struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

//! What can be typed.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use crate::store::ListSort;

pub(super) const SHORT_HELP: &str = "usage: hermes kanban [--board SLUG] <action>\n\
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

#[derive(ClapArgs, Debug)]
pub struct BoardsArgs {
    #[command(subcommand)]
    pub verb: Option<BoardsVerb>,
}

#[derive(Subcommand, Debug)]
pub enum BoardsVerb {
    /// List boards
    #[command(visible_alias = "ls")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Boards marked as archived too
        #[arg(long)]
        all: bool,
    },
    /// Make a board, or change what is said about it
    #[command(visible_alias = "new")]
    Create {
        /// Short name: small letters, digits, - and _
        slug: String,
        /// Name for people
        #[arg(long)]
        name: Option<String>,
        /// What the board is for
        #[arg(long)]
        description: Option<String>,
        /// Sign shown beside the name
        #[arg(long)]
        icon: Option<String>,
        /// Colour for screens that have one
        #[arg(long)]
        color: Option<String>,
        /// Directory for tasks that name none
        #[arg(long)]
        default_workdir: Option<String>,
        /// Make it the current board
        #[arg(long)]
        switch: bool,
    },
    /// Archive a board, or delete it
    #[command(visible_alias = "remove")]
    Rm {
        /// Short name of the board
        slug: String,
        /// Remove the directory instead of archiving it
        #[arg(long)]
        delete: bool,
    },
    /// Delete a board and all it holds
    Delete {
        /// Short name of the board
        slug: String,
    },
    /// Make a board the current one
    #[command(visible_alias = "use")]
    Switch {
        /// Short name of the board
        slug: String,
    },
    /// Show the current board
    #[command(visible_alias = "current")]
    Show,
    /// Change a board's display name
    Rename {
        /// Short name of the board, which stays
        slug: String,
        /// The new name for people
        name: String,
    },
    /// Set or clear the directory for tasks that name none
    SetDefaultWorkdir {
        /// Short name of the board
        slug: String,
        /// An absolute directory; without it the setting is cleared
        path: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InitialStatusArg {
    Blocked,
    Running,
}

#[derive(ClapArgs, Debug)]
pub struct CreateArgs {
    /// What is to be done, in one line
    #[arg(required_unless_present = "from")]
    pub title: Option<String>,
    /// Make one task per JSON line of FILE (`-` is standard input), all or none
    #[arg(long, value_name = "FILE", conflicts_with_all = ["title", "body", "parent", "idempotency_key"])]
    pub from: Option<String>,
    /// What the worker must know: the goal, the limits, how to tell that it is done
    #[arg(long)]
    pub body: Option<String>,
    /// Profile whose worker does it [default: kanban.default_assignee, else nobody]
    #[arg(long, value_name = "PROFILE")]
    pub assignee: Option<String>,
    /// A task this one waits for; may be repeated
    #[arg(long, value_name = "TASK")]
    pub parent: Vec<String>,
    /// scratch, worktree, worktree:<path> or dir:<path>
    #[arg(long, default_value = "scratch")]
    pub workspace: String,
    /// Branch of a worktree
    #[arg(long)]
    pub branch: Option<String>,
    /// Label that keeps the tasks of one client or project together
    #[arg(long)]
    pub tenant: Option<String>,
    /// Higher goes first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    pub priority: i64,
    /// Leave it for specification first
    #[arg(long)]
    pub triage: bool,
    /// With a key that a task has already, that task is the answer
    #[arg(long)]
    pub idempotency_key: Option<String>,
    /// Time a worker gets, after which it is ended: 300, 90s, 30m, 2h or 1d
    #[arg(long, value_name = "DURATION")]
    pub max_runtime: Option<String>,
    /// Who asks for it
    #[arg(long, default_value = "user")]
    pub created_by: String,
    /// A skill its worker loads; may be repeated
    #[arg(long, value_name = "NAME")]
    pub skill: Vec<String>,
    /// Failures in a row before it is blocked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub max_retries: Option<i64>,
    /// Work on until a judge is satisfied
    #[arg(long)]
    pub goal: bool,
    /// With --goal: turns before it is blocked
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub goal_max_turns: Option<i64>,
    /// `blocked` holds it until somebody unblocks it; `running` is the ordinary start
    #[arg(long, value_enum)]
    pub initial_status: Option<InitialStatusArg>,
    /// Print the task as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatusArg {
    Archived,
    Blocked,
    Done,
    Ready,
    Review,
    Running,
    Scheduled,
    Todo,
    Triage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortArg {
    Assignee,
    Created,
    CreatedDesc,
    Priority,
    PriorityDesc,
    Status,
    Title,
    Updated,
}

impl From<SortArg> for ListSort {
    fn from(sort: SortArg) -> Self {
        match sort {
            SortArg::Assignee => ListSort::Assignee,
            SortArg::Created => ListSort::Created,
            SortArg::CreatedDesc => ListSort::CreatedDesc,
            SortArg::Priority => ListSort::Priority,
            SortArg::PriorityDesc => ListSort::PriorityDesc,
            SortArg::Status => ListSort::Status,
            SortArg::Title => ListSort::Title,
            SortArg::Updated => ListSort::Updated,
        }
    }
}

#[derive(ClapArgs, Debug)]
pub struct ListArgs {
    /// Only tasks of the profile in use
    #[arg(long)]
    pub mine: bool,
    /// Only tasks of this profile
    #[arg(long, value_name = "PROFILE")]
    pub assignee: Option<String>,
    /// Only tasks with this status
    #[arg(long, value_enum)]
    pub status: Option<StatusArg>,
    /// Only tasks of this tenant
    #[arg(long)]
    pub tenant: Option<String>,
    /// Only tasks created in this session
    #[arg(long)]
    pub session: Option<String>,
    /// Archived tasks too
    #[arg(long)]
    pub archived: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Order of the list [default: priority]
    #[arg(long, value_enum)]
    pub sort: Option<SortArg>,
    /// Only tasks of this workflow template
    #[arg(long, value_name = "ID")]
    pub workflow_template_id: Option<String>,
    /// Only tasks at this step of a workflow
    #[arg(long, value_name = "KEY")]
    pub step_key: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateType {
    Status,
    Outcome,
}

#[derive(ClapArgs, Debug)]
pub struct StateArgs {
    /// Show only runs whose status or outcome is --state-name
    #[arg(long, value_enum)]
    pub state_type: Option<StateType>,
    /// The status or outcome that --state-type is about, such as running or crashed
    #[arg(long, value_name = "VALUE")]
    pub state_name: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub struct ShowArgs {
    /// Id of the task
    pub task_id: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub state: StateArgs,
}

#[derive(ClapArgs, Debug)]
pub struct RunsArgs {
    /// Id of the task
    pub task_id: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub state: StateArgs,
}

#[derive(ClapArgs, Debug)]
pub struct AssignArgs {
    /// Id of the task
    pub task_id: String,
    /// A profile, or none, -, null
    #[arg(allow_hyphen_values = true)]
    pub profile: String,
}

#[derive(ClapArgs, Debug)]
pub struct ReclaimArgs {
    /// Id of the task
    pub task_id: String,
    /// Why, for the task's history
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub struct ReassignArgs {
    /// Id of the task
    pub task_id: String,
    /// The new assignee; none, - or null for nobody
    #[arg(allow_hyphen_values = true)]
    pub profile: String,
    /// Take it back from a running worker first
    #[arg(long)]
    pub reclaim: bool,
    /// Why, for the task's history
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SeverityArg {
    Warning,
    Error,
    Critical,
}

#[derive(ClapArgs, Debug)]
pub struct DiagnosticsArgs {
    /// Only findings at least this bad
    #[arg(long, value_enum)]
    pub severity: Option<SeverityArg>,
    /// Only findings about this task
    #[arg(long, value_name = "TASK")]
    pub task: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs, Debug)]
pub struct LinkArgs {
    /// The task to wait for
    pub parent_id: String,
    /// The task that waits
    pub child_id: String,
}

#[derive(ClapArgs, Debug)]
pub struct ClaimArgs {
    /// Id of the task
    pub task_id: String,
    /// Seconds until the claim ends unless it is kept up
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(1..))]
    pub ttl: Option<i64>,
}

#[derive(ClapArgs, Debug)]
pub struct CommentArgs {
    /// Id of the task
    pub task_id: String,
    /// The comment; words are joined with spaces
    #[arg(required = true)]
    pub text: Vec<String>,
    /// Who says it [default: the profile in use]
    #[arg(long)]
    pub author: Option<String>,
    /// Cut the text to N characters
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_len: Option<u64>,
}

#[derive(ClapArgs, Debug)]
pub struct CompleteArgs {
    /// Ids of the tasks
    #[arg(required = true)]
    pub task_ids: Vec<String>,
    /// What came out of it, kept on the task
    #[arg(long)]
    pub result: Option<String>,
    /// What was done, kept on the run and handed to tasks that waited for it
    #[arg(long)]
    pub summary: Option<String>,
    /// A JSON object for whoever works on with the result
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub struct EditArgs {
    /// Id of a finished task
    pub task_id: String,
    /// The new result
    #[arg(long)]
    pub result: String,
    /// The new summary of its last run
    #[arg(long)]
    pub summary: Option<String>,
    /// A JSON object that replaces the metadata of its last run
    #[arg(long, value_name = "JSON")]
    pub metadata: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub struct ParkArgs {
    /// Id of the task
    pub task_id: String,
    /// Why; it is added to the task as a comment
    pub reason: Vec<String>,
    /// More tasks
    #[arg(long, num_args = 1.., value_name = "TASK")]
    pub ids: Vec<String>,
}

#[derive(ClapArgs, Debug)]
pub struct UnblockArgs {
    /// Ids of the tasks
    #[arg(required = true)]
    pub task_ids: Vec<String>,
    /// What has changed; it is added to the task as a comment
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub struct PromoteArgs {
    /// Id of the task
    pub task_id: String,
    /// Why, for the task's history
    pub reason: Vec<String>,
    /// More tasks
    #[arg(long, num_args = 1.., value_name = "TASK")]
    pub ids: Vec<String>,
    /// Also when tasks it waits for are not done
    #[arg(long)]
    pub force: bool,
    /// Say what would happen and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs, Debug)]
pub struct ArchiveArgs {
    /// Ids of the tasks to put away
    #[arg(required_unless_present = "rm")]
    pub task_ids: Vec<String>,
    /// Remove these archived tasks for good
    #[arg(long, num_args = 1.., value_name = "TASK")]
    pub rm: Vec<String>,
}

#[derive(ClapArgs, Debug)]
pub struct TailArgs {
    /// Id of the task
    pub task_id: String,
    /// Seconds between two looks
    #[arg(long, default_value_t = 1.0)]
    pub interval: f64,
}

#[derive(ClapArgs, Debug)]
pub struct WatchArgs {
    /// Only events of this profile's tasks
    #[arg(long, value_name = "PROFILE")]
    pub assignee: Option<String>,
    /// Only events of this tenant's tasks
    #[arg(long)]
    pub tenant: Option<String>,
    /// Only these kinds of events, separated by commas
    #[arg(long)]
    pub kinds: Option<String>,
    /// Seconds between two looks
    #[arg(long, default_value_t = 0.5)]
    pub interval: f64,
}

#[derive(ClapArgs, Debug)]
pub struct SubscribeArgs {
    /// Id of the task
    pub task_id: String,
    /// Messaging platform, such as telegram
    #[arg(long)]
    pub platform: String,
    /// Chat on that platform
    #[arg(long, allow_hyphen_values = true)]
    pub chat_id: String,
    /// Thread in that chat, if it has threads
    #[arg(long, default_value = "")]
    pub thread_id: String,
    /// Who asked for it
    #[arg(long)]
    pub user_id: Option<String>,
    /// Profile whose gateway delivers
    #[arg(long)]
    pub notifier_profile: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub struct NotifyListArgs {
    /// Only this task
    pub task_id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs, Debug)]
pub struct UnsubscribeArgs {
    /// Id of the task
    pub task_id: String,
    /// Messaging platform, as it was subscribed
    #[arg(long)]
    pub platform: String,
    /// Chat on that platform
    #[arg(long, allow_hyphen_values = true)]
    pub chat_id: String,
    /// Thread in that chat, if it was subscribed with one
    #[arg(long, default_value = "")]
    pub thread_id: String,
}

#[derive(ClapArgs, Debug)]
pub struct LogArgs {
    /// Id of the task
    pub task_id: String,
    /// Only the last BYTES
    #[arg(long, value_name = "BYTES")]
    pub tail: Option<u64>,
}

#[derive(ClapArgs, Debug)]
pub struct HeartbeatArgs {
    /// Id of the task
    pub task_id: String,
    /// What is going on, for the task's history
    #[arg(long)]
    pub note: Option<String>,
    /// The claim's lock; with it the claim is kept as well
    #[arg(long)]
    pub lock: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub struct GcArgs {
    /// Keep events of finished tasks this long
    #[arg(long, default_value_t = 30)]
    pub event_retention_days: u32,
    /// Keep worker logs this long
    #[arg(long, default_value_t = 30)]
    pub log_retention_days: u32,
}

#[derive(ClapArgs, Debug)]
pub struct DispatchArgs {
    /// Say what would happen and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// At most N workers at a time, instead of kanban.max_spawn
    #[arg(long, value_name = "N")]
    pub max: Option<usize>,
    /// Failures in a row before a task is blocked, instead of kanban.failure_limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub failure_limit: Option<i64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs, Debug)]
pub struct DaemonArgs {
    /// Seconds between two rounds, instead of kanban.dispatch_interval_seconds
    #[arg(long, value_name = "SECONDS")]
    pub interval: Option<f64>,
    /// At most N workers at a time, instead of kanban.max_spawn
    #[arg(long, value_name = "N")]
    pub max: Option<usize>,
    /// Failures in a row before a task is blocked, instead of kanban.failure_limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub failure_limit: Option<i64>,
    /// Write the process id here while running
    #[arg(long, value_name = "FILE")]
    pub pidfile: Option<std::path::PathBuf>,
    /// Report rounds in which nothing happened too
    #[arg(short, long)]
    pub verbose: bool,
    /// One round over every board, then end
    #[arg(long)]
    pub once: bool,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
    /// Accepted for the reference's sake; the loop needs no permission
    #[arg(long, hide = true)]
    pub force: bool,
}

#[derive(ClapArgs, Debug)]
pub struct TriageArgs {
    /// Id of a task in triage; or use --all
    pub task_id: Option<String>,
    /// Every task in triage
    #[arg(long)]
    pub all: bool,
    /// With --all: only this tenant's
    #[arg(long)]
    pub tenant: Option<String>,
    /// Who the change is attributed to
    #[arg(long)]
    pub author: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}

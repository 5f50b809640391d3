//! Making, finding and changing tasks.

use clap::{Args as ClapArgs, ValueEnum};

use crate::store::ListSort;

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

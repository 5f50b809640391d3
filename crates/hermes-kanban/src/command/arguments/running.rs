//! Watching what happens, and making it happen.

use clap::Args as ClapArgs;

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

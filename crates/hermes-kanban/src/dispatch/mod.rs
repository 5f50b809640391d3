//! Deciding what runs next, and making it so.
//!
//! [`judge`](Verdict) and [`Planner`] are pure; [`Round`] asks the board, lets them
//! decide and carries it out; the loop in [`daemon`] repeats that, hears of its
//! children's end at once, and explains an idle board. `docs/design/dispatcher.md`
//! has the picture.

mod clock_watch;
pub mod daemon;
mod guard;
mod health;
mod judge;
mod launch;
mod launcher;
mod lock;
mod plan;
mod presence;
pub mod profiles;
mod result;
mod round;
mod settle;

pub use daemon::memory_cap;
pub use guard::{Reason, names_a_pull_request};
pub use health::Health;
pub use judge::{EXIT_MISCONFIGURED, EXIT_RATE_LIMITED, EXIT_TERMINATED, Liveness, Verdict, judge};
pub use launch::{Purpose, Surroundings, worker_command};
pub use launcher::{ProcessLauncher, WorkerExit};
pub use lock::RoundLock;
pub use plan::{Caps, Planned, Planner};
pub use presence::is_someone_dispatching;
pub use result::DispatchResult;
pub use round::{Launcher, Round};

//! `hermes kanban …` and `/kanban …`: one parser, one output.
//!
//! Each verb is a function in a file of its group. Data goes to standard output,
//! remarks and errors to standard error, and a failure has an exit code that is
//! not 0: 1 when it cannot be done, 2 when the words are wrong.

mod arguments;
mod board_info;
mod boards;
mod claim;
pub mod completion;
mod context;
mod create;
mod diagnostics;
mod dispatch;
mod events;
mod format;
mod list;
mod notify;
mod show;
mod slash;
mod tasks;
mod triage;

pub use arguments::{Args, Verb};
pub use context::{Context, Failure, Output, Sink};
pub use slash::slash;

use context::Session;

/// Runs one command; the exit code is 0 unless a failure says otherwise.
pub fn run(args: Args, context: &Context, output: &mut Output<'_>) -> Result<(), Failure> {
    let Some(verb) = args.verb else {
        output.line(arguments::SHORT_HELP)?;
        return Ok(());
    };
    let verb = match verb {
        // Boards are managed by name; `--board` means nothing to them.
        Verb::Boards(boards) => return boards::run(boards, context, output),
        // A loop opens boards itself and keeps them.
        Verb::Daemon(daemon) => {
            return dispatch::daemon(daemon, args.board.as_deref(), context, output);
        }
        other => other,
    };
    let session = Session::open(args.board.as_deref(), &verb, context, output)?;
    match verb {
        Verb::Boards(_) | Verb::Daemon(_) => Ok(()),
        Verb::Dispatch(args) => dispatch::run(args, &session, output),
        Verb::Init => board_info::init(&session, output),
        Verb::Create(args) => create::run(args, &session, output),
        Verb::List(args) => list::run(args, &session, output),
        Verb::Show(args) => show::run(args, &session, output),
        Verb::Assign(args) => tasks::assign(args, &session, output),
        Verb::Reclaim(args) => claim::reclaim(args, &session, output),
        Verb::Reassign(args) => claim::reassign(args, &session, output),
        Verb::Diagnostics(args) => diagnostics::run(args, &session, output),
        Verb::Link(args) => tasks::link(args, &session, output),
        Verb::Unlink(args) => tasks::unlink(args, &session, output),
        Verb::Claim(args) => claim::claim(args, &session, output),
        Verb::Comment(args) => tasks::comment(args, &session, output),
        Verb::Complete(args) => tasks::complete(args, &session, output),
        Verb::Edit(args) => tasks::edit(args, &session, output),
        Verb::Block(args) => tasks::block(args, &session, output),
        Verb::Schedule(args) => tasks::schedule(args, &session, output),
        Verb::Unblock(args) => tasks::unblock(args, &session, output),
        Verb::Promote(args) => tasks::promote(args, &session, output),
        Verb::Archive(args) => tasks::archive(args, &session, output),
        Verb::Tail(args) => events::tail(args, &session, output),
        Verb::Watch(args) => events::watch(args, &session, output),
        Verb::Stats(args) => board_info::stats(args, &session, output),
        Verb::NotifySubscribe(args) => notify::subscribe(args, &session, output),
        Verb::NotifyList(args) => notify::list(args, &session, output),
        Verb::NotifyUnsubscribe(args) => notify::unsubscribe(args, &session, output),
        Verb::Log(args) => board_info::log(args, &session, output),
        Verb::Runs(args) => show::runs(args, &session, output),
        Verb::Heartbeat(args) => claim::heartbeat(args, &session, output),
        Verb::Assignees(args) => board_info::assignees(args, &session, output),
        Verb::Context(args) => show::context(args, &session, output),
        Verb::Specify(args) => triage::run(triage::Way::Specify, args, &session, output),
        Verb::Decompose(args) => triage::run(triage::Way::Decompose, args, &session, output),
        Verb::Gc(args) => board_info::gc(args, &session, output),
    }
}

//! `hermes demo`: the product played in about a minute, in a home of its own that
//! is gone afterwards.
//!
//! Every scene is made of commands that anybody could type; they are shown, run by
//! this same program, and what they print is printed. Nothing is staged but the
//! model, which is the built-in planner and says so.
//!
//! - `stage` owns what must be gone afterwards: the home, the dispatcher, the
//!   container, the image. It is cleared on success, failure, Ctrl+C and SIGTERM.
//! - `image` finds or makes an image without a registry.
//! - `scenes` is the story.
//! - `teller` shows it, to a person or as JSON.

mod image;
mod scenes;
mod stage;
mod teller;

use tokio::signal::unix::{SignalKind, signal};

use stage::Stage;
use teller::Teller;

use crate::{CommandError, Context, ErrorKind, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Keep the home, the board and the container, and say where they are
    #[arg(long)]
    keep: bool,

    /// No pauses for reading
    #[arg(long)]
    fast: bool,

    /// Print the whole story as one JSON object at the end
    #[arg(long)]
    json: bool,

    /// Image of the container [default: the configured one if the engine has it, else one made of this machine's shell]
    #[arg(long, value_name = "NAME")]
    image: Option<String>,

    /// Stay out of container engines
    #[arg(long, conflicts_with = "image")]
    local: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let played = runtime.block_on(play(args, context, out));
    runtime.shutdown_background();
    played
}

async fn play(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let mut teller = Teller::new(out, args.fast || args.json, args.json);
    let mut stage = Stage::set(context)?;
    let ended = tokio::select! {
        ended = scenes::play(args, context, &mut stage, &mut teller) => ended,
        stopped = stop() => Err(stopped),
    };
    let kept = args.keep && ended.is_ok();
    let left = match kept {
        true => stage.keep(),
        false => stage.clear().await,
    };
    if let Err(error) = ended {
        // A story cut short is told by its error, and by what could not be cleared away.
        return Err(left.troubles.into_iter().fold(error, CommandError::hint));
    }
    teller.finish(&left)
}

/// Resolves when somebody wants the demo to end.
async fn stop() -> CommandError {
    let streams = (
        signal(SignalKind::terminate()),
        signal(SignalKind::hangup()),
    );
    let (Ok(mut terminate), Ok(mut hangup)) = streams else {
        return CommandError::user("the signals that end the demo cannot be heard");
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => CommandError::new(ErrorKind::Interrupted, "the demo was interrupted"),
        _ = terminate.recv() => CommandError::new(ErrorKind::Terminated, "the demo was ended"),
        _ = hangup.recv() => CommandError::new(ErrorKind::Terminated, "the demo lost its terminal"),
    }
}

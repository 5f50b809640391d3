//! `hermes sandbox exec`: one command where the agent would run it, in the same
//! shell state, with its output as it comes.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use hermes_sandbox::Target;
use hermes_sandbox::docker::{DockerTarget, session_record};
use hermes_sandbox::session::{
    Ending, RunError, RunOutcome, RunRequest, SessionOptions, ShellSession, Tee, quote,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::world::World;
use crate::{CommandError, Context, ErrorKind, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Seconds after which the command is ended [default: terminal.timeout]
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,

    /// Directory for this command only
    #[arg(long, value_name = "D")]
    workdir: Option<String>,

    /// Whose shell state to use and update
    #[arg(long, value_name = "NAME", default_value = "cli")]
    session: String,

    /// One word is shell text; several are a command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Output chunks on their way to the terminal.
const QUEUE: usize = 16;

pub(crate) async fn run(
    args: Args,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let config = context.config()?;
    let backend = config.string("terminal.backend")?;
    if backend != "docker" {
        return Err(CommandError::new(
            ErrorKind::NotBuilt,
            format!("`hermes sandbox exec` does not reach the backend `{backend}` yet"),
        ));
    }
    let timeout = match args.timeout {
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
            CommandError::usage(format!("`--timeout {seconds}` is not a number of seconds"))
        })?,
        None => {
            Duration::from_secs(u64::try_from(config.integer("terminal.timeout")?).unwrap_or(0))
        }
    };
    let world = World::new(context, out)?;
    let target = Arc::new(DockerTarget::new(
        world.host.clone(),
        world.config.plan.clone(),
    ));
    let session = session(target.clone(), &world, &args.session);
    let (sender, receiver) = mpsc::channel(QUEUE);
    let cancel = CancellationToken::new();
    let request = RunRequest {
        workdir: args.workdir,
        timeout,
        cancel: cancel.clone(),
        tee: Some(Tee::All(sender)),
        output_limit: 0,
        ..RunRequest::new(text(&args.command))
    };
    let outcome = drive(&session, request, receiver, cancel, out).await;
    world.tell(out);
    target.cleanup(false).await;
    if !world.host.finish().await {
        out.warning("a container was still being removed after 15 s");
    }
    finish(outcome, out)
}

fn session(target: Arc<dyn Target>, world: &World, name: &str) -> ShellSession {
    let plan = &world.config.plan;
    let options = SessionOptions {
        environment: world.config.session_environment.clone(),
        record: Some(session_record(&plan.whose.place, name)),
        resume: true,
        ..SessionOptions::starting_in(plan.settings.working_directory.clone())
    };
    ShellSession::new(target, options)
}

fn text(words: &[String]) -> String {
    match words {
        [only] => only.clone(),
        words => {
            let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
            quoted.join(" ")
        }
    }
}

/// Runs the command while its output is written, and ends it on Ctrl-C.
async fn drive(
    session: &ShellSession,
    request: RunRequest,
    mut output: mpsc::Receiver<bytes::Bytes>,
    cancel: CancellationToken,
    out: &mut Out,
) -> Result<RunOutcome, RunError> {
    let mut run = std::pin::pin!(session.run(request));
    let mut outcome = None;
    loop {
        tokio::select! {
            biased;
            chunk = output.recv() => match chunk {
                Some(chunk) => {
                    let written = out.write_all(&chunk).and_then(|()| out.flush());
                    if written.is_err() || out.reader_is_gone() {
                        cancel.cancel();
                    }
                }
                None => match outcome.take() {
                    Some(outcome) => return outcome,
                    None => return run.await,
                },
            },
            done = &mut run, if outcome.is_none() => outcome = Some(done),
            _ = interrupted(), if !cancel.is_cancelled() => cancel.cancel(),
        }
    }
}

async fn interrupted() {
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminate => {}
    }
}

fn finish(outcome: Result<RunOutcome, RunError>, out: &mut Out) -> Result<Exit, CommandError> {
    let outcome = outcome.map_err(|error| CommandError::new(ErrorKind::Remote, error))?;
    let unsure = |left: &Option<hermes_sandbox::EndError>, out: &mut Out| {
        if let Some(error) = left {
            out.warning(&error.to_string());
        }
    };
    match &outcome.ending {
        Ending::Exited(code) => Ok(Exit(u8::try_from(*code & 0xff).unwrap_or(1))),
        Ending::TimedOut { left } => {
            unsure(left, out);
            Err(CommandError::new(
                ErrorKind::TimedOut,
                "the command ran out of time and was ended",
            ))
        }
        Ending::Interrupted { left } => {
            unsure(left, out);
            Err(CommandError::new(
                ErrorKind::Interrupted,
                "the command was interrupted and ended",
            ))
        }
        Ending::Lost(reason) => Err(CommandError::new(
            ErrorKind::Remote,
            format!(
                "{reason}; the command was started and may have had effects, and was not run again"
            ),
        )),
    }
}

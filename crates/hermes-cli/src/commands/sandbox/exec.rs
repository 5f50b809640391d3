//! `hermes sandbox exec`: one command where the agent would run it, in the same
//! shell state, with its output as it comes.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use hermes_sandbox::docker::{session_file, session_records};
use hermes_sandbox::session::{
    Ending, RunError, RunOutcome, RunRequest, SessionOptions, ShellSession, Tee, quote,
};
use hermes_sandbox::settings::FrontEnd;
use hermes_sandbox::{SandboxError, Sandboxes, SandboxesPlan};
use hermes_tools::StateHandle;
use hermes_types::SessionId;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::world::{KEY, Notices, engine_error, host_user};
use crate::{CommandError, Context, ErrorKind, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Seconds after which the command is ended [default: terminal.timeout]
    #[arg(long, value_name = "S")]
    timeout: Option<f64>,

    /// Directory for this command only
    #[arg(long, value_name = "D")]
    workdir: Option<String>,

    /// Whose shell state to use and update: a name of your own, or the id of a conversation that is running
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
    let notices = Notices::default();
    let sandboxes = Sandboxes::new(SandboxesPlan {
        config: Arc::new(context.config()?.clone()),
        home: context.home.clone(),
        environment: context.environment.clone(),
        front_end: FrontEnd::Terminal,
        launched_in: std::env::current_dir().ok(),
        user: host_user(),
        clock: context.clock.clone(),
        notify: notices.collector(),
    });
    let settings = sandboxes.settings().map_err(sandbox_error)?;
    let timeout = match args.timeout {
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
            CommandError::usage(format!("`--timeout {seconds}` is not a number of seconds"))
        })?,
        None => settings.timeout,
    };
    let sandbox = sandboxes.get(KEY).map_err(sandbox_error)?;
    let backend = settings.backend.as_str();
    let shell = shell_of(&args.session, context).await;
    let options = SessionOptions {
        record: Some(session_records(&settings.sandbox_dir, backend).join(session_file(&shell))),
        resume: true,
        ..sandbox.session_options().clone()
    };
    let session = ShellSession::new(sandbox.target().clone(), options);
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
    notices.tell(out);
    if !sandboxes.close().await {
        out.warning("a container was still being removed after 15 s");
    }
    notices.tell(out);
    finish(outcome, out)
}

/// The name of a conversation's shell: that of its first session. Any other name is
/// the user's own.
async fn shell_of(name: &str, context: &Context) -> String {
    let path = context.home.state_db();
    if !name.starts_with(|c: char| c.is_ascii_digit()) || !path.exists() {
        return name.to_owned();
    }
    let Ok(state) = StateHandle::open(path, context.clock.clone()) else {
        return name.to_owned();
    };
    let id = SessionId::new(name);
    let first = state
        .run(move |database| database.compression_root(&id))
        .await;
    first.map_or_else(|_| name.to_owned(), |id| id.to_string())
}

pub(crate) fn sandbox_error(error: SandboxError) -> CommandError {
    match error {
        SandboxError::Config(error) => error.into(),
        SandboxError::Engine(error) => engine_error(error),
        error @ SandboxError::Ssh(_) => CommandError::new(ErrorKind::Remote, error),
        error @ SandboxError::NotBuilt(_) => CommandError::new(ErrorKind::NotBuilt, error),
    }
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
) -> (Result<RunOutcome, RunError>, ErrorKind) {
    let mut signalled = ErrorKind::Interrupted;
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
                    Some(outcome) => return (outcome, signalled),
                    None => return (run.await, signalled),
                },
            },
            done = &mut run, if outcome.is_none() => outcome = Some(done),
            signal = interrupted(), if !cancel.is_cancelled() => {
                signalled = signal;
                cancel.cancel();
            }
        }
    }
}

/// Which signal wants the command to end.
async fn interrupted() -> ErrorKind {
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => ErrorKind::Interrupted,
        () = terminate => ErrorKind::Terminated,
    }
}

fn finish(
    (outcome, signalled): (Result<RunOutcome, RunError>, ErrorKind),
    out: &mut Out,
) -> Result<Exit, CommandError> {
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
                signalled,
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

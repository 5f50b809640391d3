//! `hermes kanban`: hands the call to the product, which owns its words.

mod assistant;

use std::io::{self, Write};
use std::sync::Arc;

use hermes_kanban::Host;
use hermes_kanban::command::{self, Failure, Output, Sink};

use crate::{CommandError, Context, Exit, Out};

pub(crate) use hermes_kanban::command::Args;

/// Data to stdout, remarks to stderr.
struct ToOut<'a>(&'a mut Out);

impl Write for ToOut<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Sink for ToOut<'_> {
    fn remark(&mut self, text: &str) {
        self.0.stderr_line(text);
    }
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let kanban = call(context)?;
    let mut sink = ToOut(out);
    match command::run(args, &kanban, &mut Output::to(&mut sink)) {
        Ok(()) => Ok(Exit::SUCCESS),
        Err(Failure::Said { message, exit }) => {
            if !message.is_empty() {
                out.stderr_line(&message);
            }
            Ok(Exit(exit))
        }
        Err(Failure::Output(error)) => Err(error.into()),
    }
}

/// `/kanban …` of a chat: what it printed. Verbs that never end are refused.
pub(crate) async fn slash(text: &str, context: &Context) -> Result<String, CommandError> {
    let kanban = call(context)?;
    let text = text.to_owned();
    // Triage runs a runtime of its own, which a thread of this one must not.
    tokio::task::spawn_blocking(move || command::slash(&text, &kanban))
        .await
        .map_err(|error| CommandError::internal(format!("the command failed inside: {error}")))
}

fn call(context: &Context) -> Result<command::Context, CommandError> {
    Ok(command::Context {
        home: context.home.clone(),
        environment: context.environment.clone(),
        config: context.config()?.clone(),
        overrides: context.overrides.clone(),
        clock: context.clock.clone(),
        host: Host::of_machine(),
        directory: std::env::current_dir()?,
        program: std::env::current_exe()?,
        assistant: Some(Arc::new(assistant::ModelAssistant::new(context)?)),
    })
}

//! What the demo stands on, and clearing it away.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::env;
use hermes_process::{Captured, Command, Limits, OutputError, Process};
use hermes_sandbox::docker::{BINARY, EngineProgram};
use tempfile::TempDir;

use crate::{CommandError, Context};

/// Long enough for a slow machine to make a container.
const PATIENCE: u64 = 90;
/// Between asking the dispatcher to end and ending it.
const GRACE: Duration = Duration::from_secs(5);
const IMAGE_TRIES: u32 = 3;
const IMAGE_WAIT: Duration = Duration::from_millis(400);

pub(super) struct Stage {
    root: TempDir,
    program: PathBuf,
    /// The variables of every command, without what would lead it elsewhere.
    variables: Vec<(String, String)>,
    dispatcher: Option<Process>,
    /// There may be containers to remove.
    has_containers: bool,
    /// An image that is ours to remove, and the engine that has it.
    image: Option<(EngineProgram, String)>,
}

/// What is there when the demo is over.
pub(super) struct Left {
    /// Where the home is kept.
    pub(super) home: Option<PathBuf>,
    /// What could not be cleared away, a sentence each.
    pub(super) troubles: Vec<String>,
}

impl Stage {
    pub(super) fn set(context: &Context) -> Result<Self, CommandError> {
        let root = tempfile::Builder::new().prefix("hermes-demo-").tempdir()?;
        for name in ["home", "project"] {
            fs::create_dir(root.path().join(name))?;
        }
        let mut variables: Vec<(String, String)> = context
            .environment
            .iter()
            .filter(|(name, _)| *name == BINARY || !leads_elsewhere(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let home = root.path().join("home").to_string_lossy().into_owned();
        variables.push((env::HOME.to_owned(), home));
        // What is captured is printed on a terminal of this width, with a margin.
        variables.push((env::COLUMNS.to_owned(), "78".to_owned()));
        Ok(Self {
            root,
            program: std::env::current_exe()?,
            variables,
            dispatcher: None,
            has_containers: false,
            image: None,
        })
    }

    /// Where the commands of the story are run.
    pub(super) fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        Command::new(&self.program)
            .args(arguments.iter().copied())
            .only_env(self.variables.iter().cloned())
            .directory(self.project())
    }

    /// Runs this program to its end.
    pub(super) async fn hermes(&self, arguments: &[&str]) -> Result<Captured, CommandError> {
        self.output(arguments).await.map_err(CommandError::internal)
    }

    async fn output(&self, arguments: &[&str]) -> Result<Captured, OutputError> {
        hermes_process::output(self.command(arguments), Limits::seconds(PATIENCE)).await
    }

    /// Starts the dispatcher; it runs until the stage is cleared.
    pub(super) async fn start_dispatcher(
        &mut self,
        arguments: &[&str],
    ) -> Result<(), CommandError> {
        let process = hermes_process::spawn(self.command(arguments))
            .await
            .map_err(CommandError::internal)?;
        self.dispatcher = Some(process);
        Ok(())
    }

    pub(super) async fn end_dispatcher(&mut self) {
        if let Some(process) = self.dispatcher.take() {
            let _ = process.terminate(GRACE).await;
        }
    }

    /// From here on there may be containers to remove.
    pub(super) fn uses_engine(&mut self) {
        self.has_containers = true;
    }

    pub(super) fn owns_image(&mut self, engine: &EngineProgram, name: String) {
        self.image = Some((engine.clone(), name));
    }

    pub(super) fn keep(mut self) -> Left {
        // A kept dispatcher would have nobody to end it.
        drop(self.dispatcher.take());
        let home = self.root.keep();
        Left {
            home: Some(home.join("home")),
            troubles: Vec::new(),
        }
    }

    /// Ends and removes everything, whatever of it there is.
    pub(super) async fn clear(mut self) -> Left {
        let mut troubles = Vec::new();
        self.end_dispatcher().await;
        if self.has_containers {
            let removed = self.output(&["sandbox", "rm", "--all", "--force"]).await;
            match removed {
                Ok(done) if done.success() => {}
                Ok(done) => troubles.push(done.stderr_text().trim().to_owned()),
                Err(error) => troubles.push(error.to_string()),
            }
        }
        if let Some((engine, image)) = &self.image
            && !remove_image(engine, image).await
        {
            troubles.push(format!(
                "the image {image} may still be there: `{} image rm {image}` removes it",
                engine.name()
            ));
        }
        let path = self.root.path().to_owned();
        if let Err(error) = self.root.close() {
            troubles.push(format!("{} is still there: {error}", path.display()));
        }
        Left {
            home: None,
            troubles,
        }
    }
}

/// Whether the engine has no such image any more. One that was being made when we
/// stopped may appear a moment later.
async fn remove_image(engine: &EngineProgram, image: &str) -> bool {
    let run = |words: [&'static str; 2]| {
        let command = Command::new(&engine.path).args(words).arg(image);
        hermes_process::output(command, Limits::seconds(PATIENCE))
    };
    for _ in 0..IMAGE_TRIES {
        if run(["image", "rm"]).await.is_ok_and(|done| done.success()) {
            return true;
        }
        tokio::time::sleep(IMAGE_WAIT).await;
    }
    run(["image", "inspect"])
        .await
        .is_ok_and(|done| !done.success())
}

/// Variables that would take a command out of the demo's home or change how it works.
fn leads_elsewhere(name: &str) -> bool {
    ["HERMES_", "TERMINAL_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// A path as an argument.
pub(super) fn word(path: &Path) -> String {
    OsString::from(path).to_string_lossy().into_owned()
}

//! Which session `--resume` and `--continue` mean.

use std::path::{Path, PathBuf};

use hermes_tools::StateHandle;
use hermes_types::SessionId;

use crate::cli::RunOptions;
use crate::{CommandError, Context, Out};

/// A session to go on with.
pub(super) struct Found {
    pub(super) id: SessionId,
    title: Option<String>,
    messages: i64,
    /// Who answered last.
    pub(super) model: Option<String>,
    /// Where it was held, when that still exists.
    pub(super) cwd: Option<PathBuf>,
    /// Where it was held, when that does not exist any more.
    gone: Option<PathBuf>,
}

pub(super) async fn find(
    state: &StateHandle,
    options: &RunOptions,
) -> Result<Option<Found>, CommandError> {
    let reference = match (&options.resume, &options.continue_session) {
        (Some(reference), _) => Some(reference.clone()),
        (None, Some(name)) if !name.is_empty() => Some(name.clone()),
        (None, Some(_)) => None,
        (None, None) => return Ok(None),
    };
    let found = state
        .run(move |database| {
            let id = match &reference {
                Some(reference) => Some(database.resolve(reference)?),
                None => match database.newest_of_source("cli")? {
                    Some(id) => Some(id),
                    None => database.newest_of_source("tui")?,
                },
            };
            let Some(id) = id else { return Ok(None) };
            let id = database.resume_target(&id)?;
            Ok(database.session(&id)?.map(|row| Found {
                id,
                title: row.title,
                messages: row.message_count,
                gone: row
                    .cwd
                    .as_ref()
                    .map(PathBuf::from)
                    .filter(|path| !path.is_dir()),
                model: row.model,
                cwd: row.cwd.map(PathBuf::from).filter(|path| path.is_dir()),
            }))
        })
        .await?;
    match found {
        Some(found) => Ok(Some(found)),
        None => Err(CommandError::user("there is no session to continue")
            .hint("`hermes sessions list` shows what can be resumed")),
    }
}

impl Found {
    /// What is going on again.
    pub(super) fn sentence(&self) -> String {
        let title = self
            .title
            .as_deref()
            .map(|title| format!(" \"{title}\""))
            .unwrap_or_default();
        format!(
            "resumed session {}{title} ({} messages)",
            self.id, self.messages
        )
    }

    /// Says that the conversation was held in a directory that is gone, and records
    /// where it goes on. What the model must be told, when that is so.
    pub(super) async fn moved(
        &self,
        cwd: &Path,
        state: &StateHandle,
        out: &mut Out,
    ) -> Result<Option<String>, CommandError> {
        let Some(gone) = &self.gone else {
            return Ok(None);
        };
        out.warning(&format!(
            "{} is gone, where this session was held; it goes on in {}",
            gone.display(),
            cwd.display()
        ));
        let (id, here) = (self.id.clone(), cwd.display().to_string());
        state
            .run(move |database| database.set_cwd(&id, &here).map(drop))
            .await?;
        Ok(Some(format!(
            "[{} does not exist any more. You work in {} now.]",
            gone.display(),
            cwd.display()
        )))
    }

    /// Also where, when that is not where the call was made.
    pub(super) fn announce(&self, cwd: &Path, context: &Context, out: &mut Out) {
        let mut sentence = self.sentence();
        if std::env::current_dir().is_ok_and(|here| here != cwd) {
            sentence.push_str(&format!(" in {}", context.home.display(cwd)));
        }
        out.stderr_line(&sentence);
    }
}

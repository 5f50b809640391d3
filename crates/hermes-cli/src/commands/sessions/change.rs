//! `hermes sessions rename`, `delete` and `prune`.

use hermes_store::{Prune, remove_session_files};

use crate::commands::confirm::{confirm, refused};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct RenameArgs {
    /// Id, the beginning of one, or the present title
    session: String,

    /// The new title; only spaces take the title away
    #[arg(required = true)]
    title: Vec<String>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct DeleteArgs {
    /// Id, the beginning of one, or the title
    session: String,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct PruneArgs {
    /// Only sessions that started more than this many days ago
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    older_than: u32,

    /// Only sessions of this source
    #[arg(long)]
    source: Option<String>,

    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn rename(
    args: &RenameArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let (db, id) = super::open_session(&args.session, context)?;
    let line = match db.set_title(&id, &args.title.join(" "))? {
        Some(title) => format!("Session '{id}' renamed to: {title}"),
        None => format!("Session '{id}' has no title now."),
    };
    out.line(&line)?;
    Ok(Exit::SUCCESS)
}

pub(crate) fn delete(
    args: &DeleteArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let (db, id) = super::open_session(&args.session, context)?;
    let named = db
        .session(&id)?
        .and_then(|session| session.title)
        .map_or_else(String::new, |title| format!(" ({title})"));
    let question = format!("Delete session '{id}'{named} and all its messages?");
    if !confirm(&question, args.yes, out)? {
        return Err(refused());
    }
    db.delete_session(&id)?;
    remove_session_files(&context.home.join("sessions"), &id);
    out.line(&format!("Deleted session '{id}'."))?;
    Ok(Exit::SUCCESS)
}

pub(crate) fn prune(
    args: PruneArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let prune = Prune {
        older_than_days: f64::from(args.older_than),
        source: args.source,
    };
    let Some(db) = super::open(context)? else {
        out.line("Pruned 0 session(s).")?;
        return Ok(Exit::SUCCESS);
    };
    let candidates = db.prunable(&prune)?.len();
    if candidates > 0 {
        let question = format!(
            "Delete {candidates} ended session(s) that started more than {} days ago?",
            args.older_than
        );
        if !confirm(&question, args.yes, out)? {
            return Err(refused());
        }
    }
    let deleted = db.prune(&prune)?;
    for id in &deleted.sessions {
        remove_session_files(&context.home.join("sessions"), id);
    }
    out.line(&format!("Pruned {} session(s).", deleted.sessions.len()))?;
    Ok(Exit::SUCCESS)
}

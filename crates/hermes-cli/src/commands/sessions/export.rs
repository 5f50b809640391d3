//! `hermes sessions export`: JSON lines to a file or to stdout.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hermes_store::{StateDb, StoreError};
use hermes_types::SessionId;

use super::text::masked_session;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// File to write, or `-` for stdout
    output: PathBuf,

    /// Only sessions of this source
    #[arg(long)]
    source: Option<String>,

    /// Only this session: an id, the beginning of one, or a title
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,

    /// Keep secrets as they are
    #[arg(long)]
    no_redact: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let db = super::open(context)?;
    let ids = match (&db, &args.session_id) {
        (Some(db), Some(reference)) => vec![db.resolve(reference)?],
        (None, Some(reference)) => {
            return Err(StoreError::SessionNotFound {
                reference: reference.clone(),
            }
            .into());
        }
        (Some(db), None) => db.export_ids(args.source.as_deref())?,
        (None, None) => Vec::new(),
    };
    if args.output == Path::new("-") {
        write_all(db.as_ref(), &ids, args.no_redact, out)?;
        return Ok(Exit::SUCCESS);
    }
    to_file(&args.output, |file| {
        write_all(db.as_ref(), &ids, args.no_redact, file)
    })?;
    let sessions = if ids.len() == 1 {
        "session"
    } else {
        "sessions"
    };
    out.line(&format!(
        "Exported {} {sessions} to {}",
        ids.len(),
        args.output.display()
    ))?;
    Ok(Exit::SUCCESS)
}

/// One session in memory at a time. Those that were deleted meanwhile are left out.
fn write_all(
    db: Option<&StateDb>,
    ids: &[SessionId],
    secrets: bool,
    writer: &mut dyn Write,
) -> Result<(), CommandError> {
    let Some(db) = db else { return Ok(()) };
    for id in ids {
        if let Some(session) = db.export(id)? {
            let session = if secrets {
                session
            } else {
                masked_session(session)
            };
            serde_json::to_writer(&mut *writer, &session).map_err(io::Error::from)?;
            writer.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Writes beside the target and renames, so that a failed export leaves what was
/// there. Pipes and devices are written as they are.
fn to_file(
    target: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let doing = |error: io::Error| {
        CommandError::user(error).context(format!("cannot write {}", target.display()))
    };
    let special = fs::metadata(target).is_ok_and(|metadata| !metadata.is_file());
    let part = if special {
        target.to_owned()
    } else {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        PathBuf::from(name)
    };
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if !special {
        options.create_new(true);
    }
    let mut file = BufWriter::new(options.open(&part).map_err(doing)?);
    let outcome = fill(&mut file)
        .and_then(|()| finish(file, special).map_err(doing))
        .and_then(|()| {
            if special {
                Ok(())
            } else {
                fs::rename(&part, target).map_err(doing)
            }
        });
    if outcome.is_err() && !special {
        // The error is what matters; a part that stays is named after its target.
        let _ = fs::remove_file(&part);
    }
    outcome
}

fn finish(file: BufWriter<File>, special: bool) -> io::Result<()> {
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    if special { Ok(()) } else { file.sync_all() }
}

//! What another process needs to go on with a session, in a small file.
//!
//! A session of `hermes sandbox exec` outlives its process: the next one resumes it.
//! An agent's session ends with its process, but while it lives others may join it:
//! they read the file, run their command in that state and write the file anew, and
//! the agent's next command notices. The last one to change the state wins.

use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hermes_home::{FileMode, write_atomic};
use serde::{Deserialize, Serialize};

use super::script::Dialect;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) target: String,
    pub(super) snapshot: String,
    /// The one before, which a command that started earlier may still read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<String>,
    pub(super) cwd: String,
    /// Which shell reads the snapshot.
    #[serde(default)]
    pub(super) dialect: Dialect,
}

impl Record {
    /// What the file says about this target; nothing when it cannot be read.
    pub(super) fn read(path: &Path, target: &str) -> Option<Self> {
        let text = std::fs::read(path).ok()?;
        let record: Self = serde_json::from_slice(&text).ok()?;
        (record.target == target).then_some(record)
    }

    pub(super) fn write(&self, path: &Path, lasting: Lasting) -> io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory)?;
        let text = serde_json::to_vec(self)?;
        match lasting {
            Lasting::BeyondUs => write_atomic(path, &text, FileMode::Private),
            // After a power cut nobody asks for it: whole or absent is enough.
            Lasting::WhileWeLive => {
                let mut file = tempfile::NamedTempFile::new_in(directory)?;
                file.write_all(&text)?;
                file.persist(path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    BeyondUs,
    WhileWeLive,
}

/// Tells one version of the file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl Stamp {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        Some(Self {
            inode: meta.ino(),
            seconds: meta.mtime(),
            nanoseconds: meta.mtime_nsec(),
        })
    }
}

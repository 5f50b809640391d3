//! From the host: files that were made or changed over there.
//!
//! The host is not trusted with names: each is checked before anything is written,
//! and what it says goes through a file of ours, not through an archive program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use hermes_home::{FileMode, Lock, LockKind, write_atomic};
use sha2::{Digest, Sha256};

use super::Sync;
use super::forth::{ENTER, STAMP, hex};
use super::manifest::Sent;
use crate::target::{Exit, Launch, Shell, Target};

/// More is not fetched.
const MOST: u64 = 2 << 30;
/// One file larger than this is not what an agent edits.
const LARGEST: u64 = 256 << 20;
const PATIENCE: Duration = Duration::from_secs(120);
/// Between tries.
const PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(4)];
const LONGEST_NAME: usize = 8192;

/// Size and name up to a NUL, then the bytes. `head` keeps the promise when a file
/// grows meanwhile.
const LIST: &str =
    "for f; do s=$(wc -c < \"$f\") && printf '%s %s\\0' $s \"$f\" && head -c $s < \"$f\"; done";

impl Sync {
    /// Names of what was written here.
    pub(super) async fn fetch(
        &self,
        target: &dyn Target,
        sent: &BTreeMap<String, Sent>,
    ) -> Result<Vec<String>, String> {
        let mut pauses = PAUSES.iter();
        let fetched = loop {
            match receive(target).await {
                Ok(file) => break file,
                Err(reason) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(*pause).await,
                    None => return Err(reason),
                },
            }
        };
        let (rules, sent) = (self.rules.clone(), sent.clone());
        let lock = self.home.join(".sync.lock");
        let work = tokio::task::spawn_blocking(move || {
            let _alone = Lock::acquire(&lock, LockKind::Exclusive)?;
            apply(fetched, |name| rules.place_of(name), &sent)
        });
        work.await
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())
    }
}

async fn receive(target: &dyn Target) -> Result<File, String> {
    let script = format!(
        "{ENTER}[ -e {STAMP} ] || exit 0\nexec 2>/dev/null\nfind skills external_skills cache -type f -newer {STAMP} -size -{}k -exec sh -c {} sh {{}} +\nexit 0\n",
        LARGEST >> 10,
        crate::session::quote(LIST)
    );
    let mut running = target
        .launch(Launch::new(script, Shell::Sh))
        .await
        .map_err(|error| error.to_string())?;
    let mut file = tempfile::tempfile().map_err(|error| error.to_string())?;
    let mut size = 0;
    let receiving = async {
        while let Some(chunk) = running.output.recv().await {
            size += chunk.len() as u64;
            if size > MOST {
                return Err("more than 2 GiB changed over there".to_owned());
            }
            file.write_all(&chunk).map_err(|error| error.to_string())?;
        }
        match running.exit.await {
            Exit::Code(0) => Ok(()),
            Exit::Lost(reason) => Err(reason),
            other => Err(format!("listing what changed failed ({other:?})")),
        }
    };
    tokio::time::timeout(PATIENCE, receiving)
        .await
        .unwrap_or_else(|_| Err("fetching took too long".to_owned()))?;
    file.rewind().map_err(|error| error.to_string())?;
    Ok(file)
}

/// Writes what differs from what was sent. Changed on both sides, the other side wins:
/// its change is the newer one, and it is told.
fn apply(
    fetched: File,
    place_of: impl Fn(&str) -> Option<std::path::PathBuf>,
    sent: &BTreeMap<String, Sent>,
) -> io::Result<Vec<String>> {
    let mut stream = BufReader::new(fetched);
    let mut changed = Vec::new();
    while let Some((size, name)) = entry(&mut stream)? {
        let mut bytes = Vec::new();
        stream.by_ref().take(size).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != size {
            return Err(io::Error::other(format!("`{name}` came incomplete")));
        }
        let Some(place) = place_of(&name) else {
            tracing::warn!(name, "a file from over there was refused");
            continue;
        };
        let digest = hex(&Sha256::digest(&bytes));
        let known = sent.get(&name).map(|sent| sent.digest.as_str());
        if known == Some(digest.as_str()) {
            continue;
        }
        match digest_of(&place)? {
            Some(ours) if ours == digest => continue,
            Some(ours) if known != Some(ours.as_str()) => {
                tracing::warn!(name, "changed on both sides; the host's version is kept");
            }
            _ => {}
        }
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        write_atomic(&place, &bytes, FileMode::Keep)?;
        changed.push(name);
    }
    Ok(changed)
}

fn entry(stream: &mut impl BufRead) -> io::Result<Option<(u64, String)>> {
    let mut head = Vec::new();
    stream.take(LONGEST_NAME as u64).read_until(0, &mut head)?;
    if head.is_empty() {
        return Ok(None);
    }
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "the list cannot be read");
    if head.pop() != Some(0) {
        return Err(wrong());
    }
    let text = String::from_utf8(head).map_err(|_| wrong())?;
    let (size, name) = text.split_once(' ').ok_or_else(wrong)?;
    let size: u64 = size.parse().map_err(|_| wrong())?;
    if size > LARGEST {
        return Err(wrong());
    }
    Ok(Some((size, name.to_owned())))
}

/// `None` when there is no such file; a link is refused.
fn digest_of(path: &Path) -> io::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Some(hex(&Sha256::digest(&fs::read(path)?)))),
        Ok(_) => Err(io::Error::other(format!(
            "{} is not a plain file",
            path.display()
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn fetched(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    #[test]
    fn only_what_differs_is_written_and_nothing_else_is_believed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("same"), "same").unwrap();
        fs::write(at("sent"), "old").unwrap();
        let sent = BTreeMap::from([(
            "sent".to_owned(),
            Sent {
                size: 3,
                modified: 0,
                digest: hex(&Sha256::digest(b"old")),
            },
        )]);
        let place = |name: &str| (!name.contains("..")).then(|| at(name));
        let bytes = b"4 same\0same3 sent\0new5 ../x\0wrong3 deep/n w\0abc";
        let changed = apply(fetched(bytes), place, &sent).unwrap();
        assert_eq!(changed, ["sent", "deep/n w"]);
        assert_eq!(fs::read_to_string(at("sent")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("deep/n w")).unwrap(), "abc");
        for broken in [
            &b"99 x\0short"[..],
            b"x y\0abc",
            b"3",
            b"99999999999999 x\0abc",
            b"3 \xff\0abc",
        ] {
            assert!(apply(fetched(broken), place, &sent).is_err());
        }
    }
}

//! To the host: one stream of what is new or changed, and the removal of what is
//! gone here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::archive::{end, header, padding};
use super::files::Shared;
use super::manifest::{self, Sent};
use super::{State, Sync};
use crate::run::run_script;
use crate::session::quote;
use crate::target::{Exit, Launch, Running, Shell, Stdin, Target};

const PATIENCE: Duration = Duration::from_secs(30);
/// For a whole stream.
const STREAM_PATIENCE: Duration = Duration::from_secs(600);
const GRACE: Duration = Duration::from_secs(1);
/// A manifest is far shorter.
const MAX_MANIFEST: usize = 16 << 20;
const CHUNK: usize = 64 << 10;
/// Chunks on their way to the host.
const QUEUE: usize = 4;

/// Into the directory, which nothing but us makes private.
pub(super) const ENTER: &str =
    "[ -n \"$HOME\" ] && cd \"$HOME\" && mkdir -p .hermes && cd .hermes || exit 9\n";

/// When the last stream began: what is newer over there was changed there.
pub(super) const STAMP: &str = ".sync-stamp";
const MANIFEST: &str = ".sync-manifest";

impl Sync {
    pub(super) async fn send(&self, target: &dyn Target, state: &mut State) -> Result<(), String> {
        let rules = self.rules.clone();
        let listed = tokio::task::spawn_blocking(move || rules.list()).await;
        let here: BTreeMap<String, Shared> = listed
            .map_err(|error| error.to_string())?
            .map_err(|error| error.to_string())?
            .into_iter()
            .collect();
        if here.is_empty() && state.sent.as_ref().is_none_or(BTreeMap::is_empty) {
            return Ok(());
        }
        let there = match &state.sent {
            Some(sent) => sent.clone(),
            None => self.ask(target).await?,
        };
        let changed: Vec<(String, Shared)> = here
            .iter()
            .filter(|(name, shared)| !there.get(*name).is_some_and(|sent| sent.is(shared)))
            .map(|(name, shared)| (name.clone(), shared.clone()))
            .collect();
        let gone: Vec<&String> = there
            .keys()
            .filter(|name| !here.contains_key(*name))
            .collect();
        if changed.is_empty() && gone.is_empty() {
            state.sent = Some(there);
            return Ok(());
        }
        let mut script = format!("{ENTER}umask 022\n");
        for name in &gone {
            let _ = writeln!(script, "rm -f -- {}", quote(name));
        }
        let _ = write!(script, ": > {STAMP}\nexec tar -xf -\n");
        let digests = stream(target, script, changed.clone()).await?;
        let mut sent = there;
        sent.retain(|name, _| here.contains_key(name));
        for ((name, shared), digest) in changed.into_iter().zip(digests) {
            let Shared { size, modified, .. } = shared;
            sent.insert(
                name,
                Sent {
                    size,
                    modified,
                    digest,
                },
            );
        }
        self.tell(target, &sent).await?;
        state.sent = Some(sent);
        Ok(())
    }

    /// What the host has from this home.
    async fn ask(&self, target: &dyn Target) -> Result<BTreeMap<String, Sent>, String> {
        let script = format!("{ENTER}cat {MANIFEST} 2>/dev/null\nexit 0\n");
        let done = run_script(target, script, Stdin::Null, MAX_MANIFEST, PATIENCE)
            .await
            .map_err(|error| error.to_string())?;
        if done.code != 0 {
            return Err("`~/.hermes` cannot be made over there".to_owned());
        }
        let text = String::from_utf8_lossy(&done.output);
        Ok(manifest::read(&self.owner(), &text))
    }

    async fn tell(&self, target: &dyn Target, sent: &BTreeMap<String, Sent>) -> Result<(), String> {
        let script =
            format!("{ENTER}umask 077\ncat > {MANIFEST}.new && mv -f {MANIFEST}.new {MANIFEST}\n");
        let bytes = manifest::write(&self.owner(), sent).into_bytes();
        let done = run_script(target, script, Stdin::Bytes(bytes), 4096, PATIENCE)
            .await
            .map_err(|error| error.to_string())?;
        match done.code {
            0 => Ok(()),
            code => Err(format!("the list of files was not stored (code {code})")),
        }
    }

    /// Two homes that share a host must not take each other's files for their own.
    fn owner(&self) -> String {
        let name = nix::unistd::gethostname().unwrap_or_default();
        let path = self.home.path();
        hex(&Sha256::digest(
            format!("{}\0{}", name.to_string_lossy(), path.display()).as_bytes(),
        ))
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Runs the script with the files as its input; their digests.
async fn stream(
    target: &dyn Target,
    script: String,
    files: Vec<(String, Shared)>,
) -> Result<Vec<String>, String> {
    let launch = Launch {
        stdin: Stdin::Pipe,
        ..Launch::new(script, Shell::Sh)
    };
    let running = target
        .launch(launch)
        .await
        .map_err(|error| error.to_string())?;
    let (sender, chunks) = mpsc::channel::<Bytes>(QUEUE);
    let reading = tokio::task::spawn_blocking(move || read(&files, &sender));
    let fed = tokio::time::timeout(STREAM_PATIENCE, feed(running, chunks)).await;
    let read = reading.await.map_err(|error| error.to_string())?;
    fed.unwrap_or_else(|_| Err("sending took too long".to_owned()))?;
    read.map_err(|error| error.to_string())
}

async fn feed(mut running: Running, mut chunks: mpsc::Receiver<Bytes>) -> Result<(), String> {
    let mut said = Vec::new();
    let sending = async {
        while let Some(chunk) = chunks.recv().await {
            if running.control.write(chunk).await.is_err() {
                break;
            }
        }
        let _ = running.control.close_stdin().await;
    };
    let hearing = async {
        while let Some(chunk) = running.output.recv().await {
            let room = 2048_usize.saturating_sub(said.len());
            said.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
    };
    tokio::join!(sending, hearing);
    match running.exit.await {
        Exit::Code(0) => Ok(()),
        Exit::Lost(reason) => Err(reason),
        other => {
            let _ = running.control.terminate(GRACE).await;
            let said = String::from_utf8_lossy(&said);
            Err(format!(
                "tar over there failed ({other:?}): {}",
                said.trim()
            ))
        }
    }
}

/// A file that grows or shrinks meanwhile is cut or filled to the size it was said
/// to have; the next look sends it again.
fn read(files: &[(String, Shared)], out: &mpsc::Sender<Bytes>) -> io::Result<Vec<String>> {
    let gone = || io::Error::other("the host stopped reading");
    let send = |bytes: Vec<u8>| out.blocking_send(bytes.into()).map_err(|_| gone());
    let mut digests = Vec::new();
    for (name, shared) in files {
        let seconds = u64::try_from(shared.modified / 1_000_000_000).unwrap_or(0);
        send(header(name, shared.size, shared.mode, seconds))?;
        digests.push(contents(&shared.source, shared.size, &send)?);
        let padding = padding(shared.size);
        if padding > 0 {
            send(vec![0; padding])?;
        }
    }
    send(end())?;
    Ok(digests)
}

fn contents(
    path: &Path,
    size: u64,
    send: &dyn Fn(Vec<u8>) -> io::Result<()>,
) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut file = match File::open(path) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut left = size;
    while left > 0 {
        let want = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        let mut chunk = vec![0_u8; want];
        let count = match &mut file {
            Some(file) => file.read(&mut chunk)?,
            None => 0,
        };
        let filled = if count == 0 {
            file = None;
            want
        } else {
            count
        };
        chunk.truncate(filled);
        digest.update(&chunk);
        left -= filled as u64;
        send(chunk)?;
    }
    Ok(hex(&digest.finalize()))
}

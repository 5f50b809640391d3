//! Reading the two files of a home, with places for everything that is wrong.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use hermes_home::{Environment, FileMode, FilePolicy, Home, Lock, LockKind, write_atomic};
use serde_json::{Map, Value};

use crate::dotenv::{self, DotEnv, repair};
use crate::error::ConfigError;
use crate::yaml::{Document, Kind, Slot, Syntax, parse};

/// Reads `.env`, and stores its repair where it needs one.
pub(crate) fn load_dotenv(home: &Home, environment: &Environment) -> Result<DotEnv, ConfigError> {
    let dotenv = dotenv::read(&home.env_file(), environment)?;
    if dotenv.repaired.is_some()
        // On a disk that cannot be written the repair holds for this run only.
        && let Err(error) = store_repair(home, environment)
    {
        tracing::debug!(%error, "cannot store the repaired .env");
    }
    Ok(dotenv)
}

/// Repairs what the file holds now: somebody may have written to it since.
fn store_repair(home: &Home, environment: &Environment) -> io::Result<()> {
    if FilePolicy::of(environment, home).managed().is_some() {
        return Ok(());
    }
    let Some(_lock) = Lock::try_acquire(&home.join(LOCK), LockKind::Exclusive)? else {
        // Its holder repairs too.
        return Ok(());
    };
    let file = home.env_file();
    match repair(&fs::read_to_string(&file)?) {
        Some(text) => write_atomic(&file, text.as_bytes(), FileMode::Keep),
        None => Ok(()),
    }
}

/// Held by every writer of either file while it reads, changes and writes.
pub(crate) const LOCK: &str = "config.yaml.lock";

/// More than any person writes; what is larger is not a configuration.
const LARGEST: u64 = 16 << 20;

/// The bytes of a file; a missing one is empty. A pipe is not waited for.
pub(crate) fn read_bytes(file: &Path) -> Result<Vec<u8>, ConfigError> {
    let read = || -> io::Result<Vec<u8>> {
        let kind = fs::metadata(file)?.file_type();
        if kind.is_fifo() || kind.is_socket() {
            return Err(io::Error::other("it is a pipe, not a file"));
        }
        let mut bytes = Vec::new();
        fs::File::open(file)?
            .take(LARGEST + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other("it is larger than 16 MiB"));
        }
        Ok(bytes)
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        outcome => outcome.map_err(|error| ConfigError::Unreadable {
            file: file.to_owned(),
            error,
        }),
    }
}

/// The text of `config.yaml`.
pub(crate) fn read_file(file: &Path) -> Result<String, ConfigError> {
    let bytes = read_bytes(file)?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        let tail = valid.rsplit(|byte| *byte == b'\n').next().unwrap_or(valid);
        ConfigError::Broken {
            file: file.to_owned(),
            line,
            column: String::from_utf8_lossy(tail).chars().count() + 1,
            reason: "the file is not UTF-8 text".to_owned(),
        }
    })
}

/// The document and its top-level map.
pub(crate) fn read_map(
    text: &str,
    file: &Path,
) -> Result<(Document, Map<String, Value>), ConfigError> {
    let broken = |syntax: Syntax| ConfigError::Broken {
        file: file.to_owned(),
        line: syntax.line,
        column: syntax.column,
        reason: syntax.reason,
    };
    let document = parse(text).map_err(broken)?;
    let map = match document.value().map_err(broken)? {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => {
            let (line, column) = document.root.as_ref().map_or((1, 1), |root| {
                let node = document.node(root);
                (node.line, node.column + 1)
            });
            let what = if other.is_array() {
                "a list"
            } else {
                "a single value"
            };
            return Err(ConfigError::Broken {
                file: file.to_owned(),
                line,
                column,
                reason: format!("the file holds {what}, but must hold `key: value` lines"),
            });
        }
    };
    Ok((document, map))
}

/// The line on which a path is written.
pub(crate) fn line_of(document: &Document, path: &str) -> Option<usize> {
    let mut slot: &Slot = document.root.as_ref()?;
    let mut line = None;
    for name in path.split('.') {
        match &document.node(slot).kind {
            Kind::Mapping { pairs, .. } => {
                let (key, value) = pairs
                    .iter()
                    .rev()
                    .find(|(key, _)| document.key_text(key) == Some(name))?;
                line = Some(document.node(key).line);
                slot = value;
            }
            Kind::Sequence { items, .. } => {
                slot = items.get(name.parse::<usize>().ok()?)?;
                line = Some(document.node(slot).line);
            }
            Kind::Scalar { .. } | Kind::Intended(_) => return None,
        }
    }
    line
}

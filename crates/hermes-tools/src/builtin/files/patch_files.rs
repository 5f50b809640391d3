//! A patch of several files: which file every name in it means, and the changes
//! on disk.
//!
//! A file may have several names; it has one path here, without links, so that one
//! operation sees what the one before it did. What is moved or deleted is the name
//! itself: a link stays a link.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hermes_sandbox::{FileKind, Files, MAX_READ, NewFileMode, SandboxPath};

use super::desk::{FileDesk, Located, plain};
use crate::patch::{Content, FileChange, Operation};
use crate::tool::ToolContext;

/// The files of a patch, by their one path.
pub(super) struct PatchFiles {
    /// The operations, with that path in place of every name.
    pub(super) operations: Vec<Operation>,
    places: BTreeMap<String, Place>,
}

struct Place {
    path: SandboxPath,
    located: Located,
    is_link: bool,
}

impl PatchFiles {
    /// Finds every file, and asks the rules about each.
    pub(super) async fn find(
        desk: &FileDesk,
        context: &ToolContext,
        operations: &[Operation],
        cross_profile: bool,
    ) -> Result<Self, String> {
        let mut found = Self {
            operations: Vec::new(),
            places: BTreeMap::new(),
        };
        // By name, for links alone: how often a patch speaks of each.
        let mut links: BTreeMap<String, usize> = BTreeMap::new();
        let moves = |operation: &Operation| {
            matches!(operation, Operation::Move { .. } | Operation::Delete { .. })
        };
        let any_moves = operations.iter().any(moves);
        for operation in operations {
            let mut paths = BTreeMap::new();
            for name in operation.paths() {
                let located = desk.locate(context, name).await?;
                let entry = match any_moves {
                    true => entry_of(&located).await?,
                    false => located.real.clone(),
                };
                let is_link = entry != located.real;
                if is_link {
                    *links.entry(entry.to_string()).or_default() += 1;
                }
                desk.may_write(&located, cross_profile).await?;
                let by_name = moves(operation);
                if by_name {
                    desk.may_write_at(&entry, cross_profile).await?;
                }
                // The answer shows what stood there. What is new, the model knows.
                if !matches!(operation, Operation::Add { .. }) {
                    for path in [&located.real, &located.path, &entry] {
                        desk.policy.refuses_read(path).map_or(Ok(()), Err)?;
                    }
                }
                let path = if by_name { entry } else { located.real.clone() };
                paths.insert(name.to_owned(), path.to_string());
                let place = Place {
                    is_link: is_link && by_name,
                    path: path.clone(),
                    located,
                };
                found.places.entry(path.to_string()).or_insert(place);
            }
            let renamed = operation.renamed(|name| paths.get(name).cloned().unwrap_or_default());
            found.operations.push(renamed);
        }
        for (path, place) in &found.places {
            if place.is_link && links.get(path).is_some_and(|times| *times > 1) {
                return Err(format!(
                    "{path} is a link, which the patch moves or deletes and names once more: make two patches of it"
                ));
            }
        }
        Ok(found)
    }

    /// In sorted order, so that two patches never wait for each other.
    pub(super) fn to_lock(&self) -> BTreeSet<SandboxPath> {
        let places = self.places.values();
        places
            .flat_map(|place| [place.path.clone(), place.located.real.clone()])
            .collect()
    }

    pub(super) fn located(&self, path: &str) -> Option<&Located> {
        self.places.get(path).map(|place| &place.located)
    }

    pub(super) async fn contents(&self) -> BTreeMap<String, Result<Option<Content>, String>> {
        let mut contents = BTreeMap::new();
        for (path, place) in &self.places {
            contents.insert(path.clone(), place.content().await);
        }
        contents
    }

    /// Files move first, then new contents come, removals last: an error half-way
    /// loses nothing.
    pub(super) async fn carry_out(&self, changes: &[FileChange]) -> Result<(), String> {
        // Which of the files stands where now.
        let mut standing: BTreeMap<&str, &str> = self
            .places
            .iter()
            .filter(|(_, place)| place.is_link || place.located.stat.is_some())
            .map(|(path, _)| (path.as_str(), path.as_str()))
            .collect();
        for operation in &self.operations {
            let Operation::Move { from, to } = operation else {
                continue;
            };
            if let (Some(file), Some(source), Some(target)) = (
                standing.remove(from.as_str()),
                self.places.get(from),
                self.places.get(to),
            ) {
                source.move_to(&target.path).await?;
                standing.insert(to, file);
            }
        }
        let before: BTreeMap<&str, Option<&Content>> = changes
            .iter()
            .map(|change| (change.path.as_str(), change.before.as_ref()))
            .collect();
        for change in changes {
            let there = standing.get(change.path.as_str());
            let there = there.and_then(|file| before.get(file).copied().flatten());
            if let (Some(place), Some(Content::Text(text))) =
                (self.places.get(&change.path), &change.after)
                && there != change.after.as_ref()
            {
                write_checked(&place.located.files, &place.path, text).await?;
            }
        }
        for change in changes {
            if let (Some(place), None) = (self.places.get(&change.path), &change.after)
                && standing.contains_key(change.path.as_str())
            {
                let removed = place.located.files.remove(&place.path).await;
                removed.map_err(|error| plain(&error))?;
            }
        }
        Ok(())
    }
}

impl Place {
    async fn content(&self) -> Result<Option<Content>, String> {
        if self.is_link {
            return Ok(Some(Content::Opaque("it is a link".to_owned())));
        }
        let Some(stat) = &self.located.stat else {
            return Ok(None);
        };
        if stat.kind == FileKind::File && stat.size > MAX_READ {
            let why = format!("it has {} bytes, too many to edit here", stat.size);
            return Ok(Some(Content::Opaque(why)));
        }
        let bytes = read_bytes(&self.located).await?;
        Ok(Some(match String::from_utf8(bytes) {
            Ok(text) => Content::Text(text),
            Err(_) => Content::Opaque("it is not UTF-8 text; edit it with a script".to_owned()),
        }))
    }

    async fn move_to(&self, target: &SandboxPath) -> Result<(), String> {
        let files = &self.located.files;
        if let Some(parent) = target.parent() {
            let made = files.create_directories(&parent).await;
            made.map_err(|error| plain(&error))?;
        }
        let moved = files.rename(&self.path, target).await;
        moved.map_err(|error| plain(&error))
    }
}

/// The name itself, in the directory that it really is in.
async fn entry_of(located: &Located) -> Result<SandboxPath, String> {
    let (Some(parent), Some(name)) = (located.path.parent(), located.path.file_name()) else {
        return Ok(located.real.clone());
    };
    let parent = located.files.resolve(&parent).await;
    Ok(parent.map_err(|error| plain(&error))?.join(name))
}

pub(super) async fn read_bytes(located: &Located) -> Result<Vec<u8>, String> {
    let stat = located.regular()?;
    if stat.size > MAX_READ {
        return Err(format!(
            "{} has {} bytes, too many to edit here",
            located.path, stat.size
        ));
    }
    let bytes = located.files.read(&located.path, 0, MAX_READ).await;
    bytes.map_err(|error| plain(&error))
}

/// Writes and reads back: what is reported as done is on disk.
pub(super) async fn write_checked(
    files: &Arc<dyn Files>,
    path: &SandboxPath,
    text: &str,
) -> Result<(), String> {
    let bytes = text.as_bytes().to_vec();
    let written = files.write(path, bytes, NewFileMode::Ordinary).await;
    written.map_err(|error| plain(&error))?;
    let back = files.read(path, 0, MAX_READ).await;
    if back.map_err(|error| plain(&error))? != text.as_bytes() {
        return Err(format!(
            "{path} was changed by somebody else while it was written; read it again"
        ));
    }
    Ok(())
}

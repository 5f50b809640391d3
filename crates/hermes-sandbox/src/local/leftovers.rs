//! Shell state that a killed Hermes left in the temporary directory.
//!
//! Snapshots hold exported variables, so they are not left to the system's own
//! cleaning. A directory carries the name of the process it belongs to; when that
//! process is gone, whoever comes next removes it.

use std::path::Path;
use std::sync::Once;

use hermes_process::Identity;

/// Beside the snapshots; says whose they are.
const OWNER: &str = "owner";

pub(crate) const PREFIX: &str = "hermes-snap-";

/// Marks a directory of snapshots as ours and, once per process, removes those of
/// processes that are gone.
pub(crate) fn claim(directory: &Path) {
    if let Ok(text) = serde_json::to_vec(&Identity::of_this_process()) {
        // Without the mark the directory is merely not swept.
        let _ = std::fs::write(directory.join(OWNER), text);
    }
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| {
        if let Some(parent) = directory.parent() {
            sweep(parent);
        }
    });
}

fn sweep(temp_dir: &Path) {
    let Ok(entries) = std::fs::read_dir(temp_dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !ours {
            continue;
        }
        let owner = std::fs::read(path.join(OWNER))
            .ok()
            .and_then(|text| serde_json::from_slice::<Identity>(&text).ok());
        // Another user's directory cannot be read, and one without a name is kept.
        if owner.is_some_and(|owner| !owner.is_alive()) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_the_dead_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let directory = |name: &str, owner: Option<Identity>| {
            let path = temp.path().join(name);
            std::fs::create_dir(&path).unwrap();
            if let Some(owner) = owner {
                std::fs::write(path.join(OWNER), serde_json::to_vec(&owner).unwrap()).unwrap();
            }
            path
        };
        let me = Identity::of_this_process();
        let dead = Identity {
            start_ticks: 1,
            ..me.clone()
        };
        let mine = directory("hermes-snap-a", Some(me));
        let left = directory("hermes-snap-b", Some(dead.clone()));
        let named = directory("hermes-snap-c", None);
        let foreign = directory("other-d", Some(dead));
        sweep(temp.path());
        assert!(mine.exists() && !left.exists() && named.exists() && foreign.exists());
    }
}

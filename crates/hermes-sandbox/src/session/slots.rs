//! Names for snapshot files. A command writes to a name nobody else uses; a name is
//! free again when neither the session nor a running command refers to it. So no
//! file is ever written while somebody reads it, and nothing needs to be renamed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers from the lowest free one; shared with other processes by a prefix.
#[derive(Debug)]
pub(super) struct Slots {
    directory: String,
    prefix: String,
    used: Mutex<BTreeSet<u32>>,
}

/// One name, returned when the last reference is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    path: String,
    claim: Option<(Arc<Slots>, u32)>,
}

impl Slots {
    pub(super) fn new(directory: String) -> Arc<Self> {
        let random = uuid::Uuid::new_v4().simple().to_string();
        Arc::new(Self {
            directory,
            prefix: random[..6].to_owned(),
            used: Mutex::new(BTreeSet::new()),
        })
    }

    pub(super) fn directory(&self) -> &str {
        &self.directory
    }

    pub(super) fn claim(self: &Arc<Self>) -> Arc<Slot> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (0..)
            .find(|number| !used.contains(number))
            .unwrap_or(u32::MAX);
        used.insert(number);
        Arc::new(Slot {
            path: format!("{}/{}-{number}.sh", self.directory, self.prefix),
            claim: Some((self.clone(), number)),
        })
    }

    /// A snapshot that another process made.
    pub(super) fn adopt(path: String) -> Arc<Slot> {
        Arc::new(Slot { path, claim: None })
    }
}

impl Slot {
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some((slots, number)) = &self.claim {
            slots
                .used
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_reused_only_when_nobody_holds_it() {
        let slots = Slots::new("/d".to_owned());
        let first = slots.claim();
        let second = slots.claim();
        assert_ne!(first.path(), second.path());
        let name = first.path().to_owned();
        let also_first = first.clone();
        drop(first);
        assert_ne!(slots.claim().path(), name);
        drop(also_first);
        assert_eq!(slots.claim().path(), name);
    }
}

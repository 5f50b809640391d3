//! A board that is open.

use std::ops::Deref;
use std::path::Path;

use super::open::{OpenOptions, SqliteBoard};
use super::seam::BoardStore;
use crate::error::KanbanError;

/// Whoever keeps it: today a SQLite file that other programs work on as well.
#[derive(Debug)]
pub struct Board(Box<dyn BoardStore>);

impl Board {
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Self, KanbanError> {
        Ok(Self(Box::new(SqliteBoard::open(path, options)?)))
    }

    /// A board to look names up in: nothing is made, checked, changed or waited for.
    pub fn glance(path: &Path) -> Result<Self, KanbanError> {
        Ok(Self(Box::new(SqliteBoard::glance(path)?)))
    }

    /// Lets go of a board whose directory is about to be removed.
    pub fn forget(path: &Path) {
        SqliteBoard::forget(path);
    }
}

impl Deref for Board {
    type Target = dyn BoardStore;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref()
    }
}

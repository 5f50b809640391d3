//! What the database says, as a board's error.

use hermes_store::StoreError;

use crate::error::KanbanError;

impl From<StoreError> for KanbanError {
    fn from(error: StoreError) -> Self {
        KanbanError::Storage {
            damaged: error.is_damage(),
            source: Box::new(error),
        }
    }
}

impl From<rusqlite::Error> for KanbanError {
    fn from(error: rusqlite::Error) -> Self {
        let damaged = error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt);
        KanbanError::Storage {
            damaged,
            source: Box::new(error),
        }
    }
}

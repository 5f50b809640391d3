//! Keys that Hermes keeps: `auth.json`, the pool of keys per provider, and the
//! verbs that change it. The file is shared with the Python Hermes; fields that we
//! do not know survive.

mod data;
mod entry;
mod file;
mod manage;
mod pool;

pub use data::AuthData;
pub use entry::{Entry, Status};
pub use file::{AuthError, AuthFile};
pub use manage::{
    Added, LoggedOut, ManageError, Removed, Row, add_key, list, logout, remove, reset,
};
pub use pool::{CredentialPool, PoolSpec, Seed, Strategy};

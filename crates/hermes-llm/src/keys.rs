//! Where the key of a request comes from: one that was given, or a pool.

use std::sync::Arc;

use crate::auth::CredentialPool;
use crate::endpoint::Secret;
use crate::model::ModelError;

/// What a failure says about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyVerdict {
    /// Used up for now: money or rate.
    Exhausted,
    /// Not accepted.
    Refused,
}

#[derive(Clone, Default)]
pub enum Keys {
    /// The endpoint's own key, or none.
    #[default]
    Fixed,
    Pool(Arc<CredentialPool>),
}

impl Keys {
    /// The key to use and, for a pool, how to speak about it later.
    pub(crate) fn choose(&self, fixed: Option<&Secret>) -> (Option<String>, Option<Secret>) {
        match self {
            Self::Pool(pool) => match pool.choose() {
                Some((id, key)) => (Some(id), Some(key)),
                None => (None, fixed.cloned()),
            },
            Self::Fixed => (None, fixed.cloned()),
        }
    }

    /// Whether there are several keys of which one is not resting.
    pub(crate) fn has_another(&self) -> bool {
        match self {
            Self::Pool(pool) => pool.has_another(),
            Self::Fixed => false,
        }
    }

    /// Whether another key may do better.
    pub(crate) fn failed(&self, id: &str, verdict: KeyVerdict, error: &ModelError) -> bool {
        match self {
            Self::Pool(pool) => pool.failed(id, verdict, error),
            Self::Fixed => false,
        }
    }
}

//! The names of models that were known when this program was built: a last resort
//! for people without a network, marked as what it is wherever it is shown.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
struct Snapshot {
    /// The month in which the names were collected.
    month: String,
    providers: BTreeMap<String, Vec<String>>,
}

static SNAPSHOT: LazyLock<Snapshot> = LazyLock::new(|| {
    // The file is part of the program; a test reads it.
    serde_json::from_str(include_str!("../../data/models.json")).unwrap_or_default()
});

/// The models of a provider; none when it serves what its user puts there.
pub fn snapshot_of(provider: &str) -> &'static [String] {
    SNAPSHOT.providers.get(provider).map_or(&[], Vec::as_slice)
}

/// When the names were collected, such as `2026-06`.
pub fn snapshot_month() -> &'static str {
    &SNAPSHOT.month
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::catalogue::{provider, providers};

    #[test]
    fn every_name_is_there_once_and_belongs_to_a_known_provider() {
        assert_eq!(snapshot_month().len(), 7);
        for (id, models) in &SNAPSHOT.providers {
            assert_eq!(provider(id).map(|known| &known.id), Some(id));
            let names: HashSet<_> = models.iter().collect();
            assert_eq!(names.len(), models.len(), "{id}");
            assert!(!models.is_empty(), "{id}");
        }
    }

    #[test]
    fn every_provider_with_a_key_and_an_address_has_something_to_choose() {
        let mut without = Vec::new();
        for provider in providers() {
            if provider.auth.needs_key()
                && !provider.base_url.is_empty()
                && snapshot_of(&provider.id).is_empty()
            {
                without.push(&provider.id);
            }
        }
        assert!(without.is_empty(), "{without:?}");
    }
}

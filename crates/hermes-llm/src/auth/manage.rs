//! What `hermes auth` does: adding, listing, removing and forgiving keys.

use hermes_home::Clock;

use super::pool::new_id;
use super::{AuthData, AuthError, AuthFile, Entry, PoolSpec, Status};
use crate::endpoint::Secret;

#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    #[error("no credential {target} for provider {provider}")]
    NoSuchCredential { provider: String, target: String },
    #[error("{target:?} names several credentials of {provider}; use the number or the id")]
    Ambiguous { provider: String, target: String },
    #[error("the key is empty")]
    EmptyKey,
    #[error("this key is already stored as {label:?}")]
    Duplicate { label: String },
    #[error(transparent)]
    File(#[from] AuthError),
}

/// What was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Added {
    /// Counted from 1.
    pub number: usize,
    pub label: String,
}

/// Stores a key behind those that are there. Without a label it is called
/// `api-key-<n>`. Variables that were removed before count again.
pub fn add_key(
    file: &AuthFile,
    clock: &Clock,
    spec: &PoolSpec,
    key: &Secret,
    label: Option<&str>,
) -> Result<Added, ManageError> {
    if key.expose().trim().is_empty() {
        return Err(ManageError::EmptyKey);
    }
    let key = Secret::new(key.expose().trim());
    file.edit(clock, |data| {
        data.lift_suppression(&spec.name);
        let mut known = spec.entries(data);
        if let Some((entry, _)) = known
            .iter()
            .find(|(entry, other)| *other == key && entry.variable().is_none())
        {
            return Err(ManageError::Duplicate {
                label: entry.label().to_owned(),
            });
        }
        let number = known.len() + 1;
        let label = match label.map(str::trim).filter(|label| !label.is_empty()) {
            Some(label) => label.to_owned(),
            None => format!("api-key-{number}"),
        };
        let entry = Entry::manual(new_id(), &label, number as i64 - 1, &key, &spec.base_url);
        known.push((entry, key));
        store(data, spec, known.into_iter().map(|(entry, _)| entry));
        Ok(Added { number, label })
    })?
}

fn store(data: &mut AuthData, spec: &PoolSpec, entries: impl Iterator<Item = Entry>) {
    let mut entries: Vec<Entry> = entries.collect();
    // Logins and other kinds that we do not list stay behind what we do.
    let others = data
        .entries(&spec.name)
        .into_iter()
        .filter(|entry| entry.variable().is_none() && entry.token().is_none());
    entries.extend(others);
    for (place, entry) in entries.iter_mut().enumerate() {
        entry.set_priority(place as i64);
    }
    data.set_entries(&spec.name, entries);
}

/// One line of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub number: usize,
    pub id: String,
    pub label: String,
    pub auth_type: String,
    pub source: String,
    pub status: Option<Status>,
    /// How many seconds a resting key still rests.
    pub rests_for: Option<f64>,
    /// The one that the next request would use.
    pub next: bool,
}

pub fn list(data: &AuthData, spec: &PoolSpec, clock: &Clock) -> Vec<Row> {
    let now = clock.unix_seconds();
    let entries = spec.entries(data);
    let next = entries
        .iter()
        .position(|(entry, _)| entry.is_available(now));
    entries
        .iter()
        .enumerate()
        .map(|(place, (entry, _))| Row {
            number: place + 1,
            id: entry.id().to_owned(),
            label: entry.label().to_owned(),
            auth_type: entry.auth_type().to_owned(),
            source: entry.source().to_owned(),
            status: entry.status(),
            rests_for: entry
                .rests_until()
                .map(|until| until - now)
                .filter(|left| *left > 0.0),
            next: next == Some(place),
        })
        .collect()
}

/// What was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    pub number: usize,
    pub label: String,
    /// The key lives in this variable: it is ignored from now on, but still set.
    pub variable: Option<String>,
}

/// Removes by number, id or label.
pub fn remove(
    file: &AuthFile,
    clock: &Clock,
    spec: &PoolSpec,
    target: &str,
) -> Result<Removed, ManageError> {
    file.edit(clock, |data| {
        let mut entries = spec.entries(data);
        let place = find(&entries, spec, target)?;
        let (entry, _) = entries.remove(place);
        let variable = entry.variable().map(str::to_owned);
        if variable.is_some() {
            data.suppress(&spec.name, entry.source());
        }
        store(data, spec, entries.into_iter().map(|(entry, _)| entry));
        Ok(Removed {
            number: place + 1,
            label: entry.label().to_owned(),
            variable,
        })
    })?
}

/// What a logout took away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedOut {
    /// Keys and tokens that were stored.
    pub credentials: usize,
    /// There was a login in the browser, made by another program on this home.
    pub login: bool,
}

/// Forgets everything that the file holds for a provider. Variables stay.
pub fn logout(file: &AuthFile, clock: &Clock, spec: &PoolSpec) -> Result<LoggedOut, ManageError> {
    Ok(file.edit(clock, |data| {
        let credentials = data
            .entries(&spec.name)
            .iter()
            .filter(|entry| entry.variable().is_none())
            .count();
        data.set_entries(&spec.name, Vec::new());
        LoggedOut {
            credentials,
            login: data.forget_login(&spec.name),
        }
    })?)
}

fn find(entries: &[(Entry, Secret)], spec: &PoolSpec, target: &str) -> Result<usize, ManageError> {
    let missing = |target: String| ManageError::NoSuchCredential {
        provider: spec.name.clone(),
        target,
    };
    let place_of = |matches: &dyn Fn(&Entry) -> bool| -> Vec<usize> {
        (0..entries.len())
            .filter(|at| matches(&entries[*at].0))
            .collect()
    };
    let by_id = place_of(&|entry| entry.id() == target);
    if let [place] = by_id[..] {
        return Ok(place);
    }
    match place_of(&|entry| entry.label() == target)[..] {
        [place] => return Ok(place),
        [] => {}
        _ => {
            return Err(ManageError::Ambiguous {
                provider: spec.name.clone(),
                target: target.to_owned(),
            });
        }
    }
    match target.trim_start_matches('#').parse::<usize>() {
        Ok(number) if (1..=entries.len()).contains(&number) => Ok(number - 1),
        Ok(number) => Err(missing(format!("#{number}"))),
        Err(_) => Err(missing(format!("{target:?}"))),
    }
}

/// Forgives all keys of a provider; how many had something to be forgiven.
pub fn reset(file: &AuthFile, clock: &Clock, spec: &PoolSpec) -> Result<usize, ManageError> {
    Ok(file.edit(clock, |data| {
        let mut entries = data.entries(&spec.name);
        let forgiven = entries
            .iter_mut()
            .map(Entry::clear)
            .filter(|had| *had)
            .count();
        if forgiven > 0 {
            data.set_entries(&spec.name, entries);
        }
        forgiven
    })?)
}

//! The keys of one provider while a program runs: which one to use next, and what
//! became of it.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

use hermes_home::Clock;

use super::entry::Failure;
use super::{AuthData, AuthFile, Entry, Status};
use crate::endpoint::Secret;
use crate::keys::KeyVerdict;
use crate::model::{ErrorClass, ModelError};

/// Which of several keys is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The first that is not used up.
    #[default]
    FillFirst,
    RoundRobin,
    Random,
    LeastUsed,
}

impl Strategy {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "fill_first" => Self::FillFirst,
            "round_robin" => Self::RoundRobin,
            "random" => Self::Random,
            "least_used" => Self::LeastUsed,
            _ => return None,
        })
    }
}

/// A key that a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    pub variable: String,
    pub key: Secret,
}

/// What a pool is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolSpec {
    /// The name in `auth.json`: a provider's id, or `custom:<name>`.
    pub name: String,
    pub strategy: Strategy,
    pub seeds: Vec<Seed>,
    pub base_url: String,
}

pub struct CredentialPool {
    file: AuthFile,
    /// A file of another home is read, never written.
    writable: bool,
    spec: PoolSpec,
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    entries: Vec<(Entry, Secret)>,
    last: Option<String>,
    requests: HashMap<String, u64>,
}

impl PoolSpec {
    /// The usable entries: those of the file whose key is known, and variables that
    /// the file does not know yet. Entries of variables that are gone are left out.
    pub fn entries(&self, data: &AuthData) -> Vec<(Entry, Secret)> {
        let mut out: Vec<(Entry, Secret)> = Vec::new();
        for entry in data.entries(&self.name) {
            let key = match entry.variable() {
                Some(variable) => self
                    .seeds
                    .iter()
                    .find(|seed| seed.variable == variable)
                    .map(|seed| seed.key.clone()),
                None => entry.token(),
            };
            if let Some(key) = key
                && !data.is_suppressed(&self.name, entry.source())
            {
                out.push((entry, key));
            }
        }
        let front = out.first().map_or(0, |(entry, _)| entry.priority());
        for (place, seed) in self.seeds.iter().enumerate() {
            let source = format!("env:{}", seed.variable);
            let known = out.iter().any(|(entry, _)| entry.source() == source);
            // Two variables with one key are one key.
            let same_key = out.iter().any(|(_, key)| *key == seed.key);
            if !known && !same_key && !data.is_suppressed(&self.name, &source) {
                let priority = front - (self.seeds.len() - place) as i64;
                let entry = Entry::from_variable(
                    new_id(),
                    &seed.variable,
                    priority.max(0),
                    &seed.key,
                    &self.base_url,
                );
                out.insert(place.min(out.len()), (entry, seed.key.clone()));
            }
        }
        out
    }
}

/// Six hexadecimal digits, as the file has them.
pub(super) fn new_id() -> String {
    let bits = RandomState::new().build_hasher().finish();
    format!("{:06x}", bits & 0xff_ffff)
}

impl CredentialPool {
    pub fn new(
        file: AuthFile,
        writable: bool,
        data: &AuthData,
        spec: PoolSpec,
        clock: Clock,
    ) -> Self {
        let entries = spec.entries(data);
        Self {
            file,
            writable,
            spec,
            clock,
            state: Mutex::new(State {
                entries,
                last: None,
                requests: HashMap::new(),
            }),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_empty(&self) -> bool {
        self.state().entries.is_empty()
    }

    /// Whether there are several keys of which one is not resting.
    pub fn has_another(&self) -> bool {
        let now = self.clock.unix_seconds();
        let state = self.state();
        state.entries.len() > 1 && state.entries.iter().any(|(e, _)| e.is_available(now))
    }

    /// The key for the next request. When all are resting, the one that rests
    /// shortest: the provider may have changed its mind, and its refusal is what
    /// makes a fallback take over.
    pub fn choose(&self) -> Option<(String, Secret)> {
        let now = self.clock.unix_seconds();
        let mut state = self.state();
        let available: Vec<usize> = (0..state.entries.len())
            .filter(|at| state.entries[*at].0.is_available(now))
            .collect();
        let at = if available.is_empty() {
            let rest = |at: &usize| {
                let (entry, _) = &state.entries[*at];
                (entry.status() != Some(Status::Dead)).then(|| entry.rests_until().unwrap_or(0.0))
            };
            (0..state.entries.len()).min_by(|a, b| {
                let (a, b) = (rest(a).unwrap_or(f64::MAX), rest(b).unwrap_or(f64::MAX));
                a.total_cmp(&b)
            })?
        } else {
            self.pick(&state, &available)
        };
        let (id, key) = {
            let (entry, key) = &state.entries[at];
            (entry.id().to_owned(), key.clone())
        };
        state.last = Some(id.clone());
        *state.requests.entry(id.clone()).or_default() += 1;
        Some((id, key))
    }

    fn pick(&self, state: &State, available: &[usize]) -> usize {
        let first = available[0];
        match self.spec.strategy {
            Strategy::FillFirst => first,
            Strategy::Random => {
                let bits = RandomState::new().build_hasher().finish();
                available[(bits % available.len() as u64) as usize]
            }
            Strategy::RoundRobin => {
                let last = state
                    .last
                    .as_deref()
                    .and_then(|id| state.entries.iter().position(|(entry, _)| entry.id() == id));
                let next = available.iter().find(|at| last.is_some_and(|l| **at > l));
                *next.unwrap_or(&first)
            }
            Strategy::LeastUsed => available
                .iter()
                .copied()
                .min_by_key(|at| {
                    let entry = &state.entries[*at].0;
                    entry.request_count() + state.requests.get(entry.id()).copied().unwrap_or(0)
                })
                .unwrap_or(first),
        }
    }

    /// Remembers a failure, here and in the file, and says whether another key is
    /// worth a try.
    pub fn failed(&self, id: &str, verdict: KeyVerdict, error: &ModelError) -> bool {
        let now = self.clock.unix_seconds();
        let status = match verdict {
            KeyVerdict::Refused if is_terminal(error) => Status::Dead,
            KeyVerdict::Refused | KeyVerdict::Exhausted => Status::Exhausted,
        };
        let failure = Failure {
            code: error.status,
            reason: reason(error.class),
            message: &error.message,
            reset_at: error.retry_after.map(|wait| now + wait.as_secs_f64()),
        };
        let others = {
            let mut state = self.state();
            let requests = state.requests.remove(id).unwrap_or(0);
            if let Some((entry, _)) = state.entries.iter_mut().find(|(e, _)| e.id() == id) {
                entry.mark(status, &failure, now);
                entry.add_requests(requests);
            }
            state
                .entries
                .iter()
                .any(|(entry, _)| entry.id() != id && entry.is_available(now))
        };
        if let Err(error) = self.store(id, now) {
            // The pool of this process knows; another process will find out itself.
            tracing::warn!(%error, "cannot store the state of a key");
        }
        others
    }

    /// Writes one entry over its older self; entries of others are left alone.
    fn store(&self, id: &str, now: f64) -> Result<(), super::AuthError> {
        let entry = self
            .state()
            .entries
            .iter()
            .find(|(entry, _)| entry.id() == id)
            .map(|(entry, _)| entry.clone());
        let Some(entry) = entry.filter(|_| self.writable) else {
            return Ok(());
        };
        self.file.edit(&self.clock, |data| {
            let mut entries = data.entries(&self.spec.name);
            let known = entries.iter_mut().find(|known| {
                known.id() == id || (known.variable().is_some() && known.source() == entry.source())
            });
            match known {
                Some(known) => *known = entry,
                // Removed meanwhile by somebody: stays removed.
                None if entry.variable().is_none() => {}
                None => entries.insert(0, entry),
            }
            entries.retain(|entry| !entry.is_over(now));
            for (place, entry) in entries.iter_mut().enumerate() {
                entry.set_priority(place as i64);
            }
            data.set_entries(&self.spec.name, entries);
        })
    }
}

/// Reasons after which a token never works again.
const TERMINAL: [&str; 6] = [
    "invalid_grant",
    "token_revoked",
    "refresh_token_reused",
    "invalid_token",
    "token_invalidated",
    "unauthorized_client",
];

fn is_terminal(error: &ModelError) -> bool {
    error
        .code
        .as_deref()
        .is_some_and(|code| TERMINAL.contains(&code))
        || TERMINAL.iter().any(|word| error.message.contains(word))
}

fn reason(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Billing => "billing",
        ErrorClass::RateLimited => "rate_limit",
        ErrorClass::Authentication => "auth",
        _ => "unknown",
    }
}

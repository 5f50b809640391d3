//! Limits on money and tokens: per turn, per session, per day. The day's counter
//! lives in the root home's database, so all profiles, processes and subagents
//! share it. A call reserves its estimate before it is sent and settles the
//! difference after it; a process that dies in between leaves the estimate
//! counted, which errs on the side of the limit.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_home::Clock;
use hermes_store::{StateDb, StoreError};
use hermes_tools::{StateError, StateHandle};
use hermes_types::{Cost, CostStatus, SessionId, Usage};
use serde::{Deserialize, Serialize};

/// Output that a reservation expects when nothing says how long an answer may be. No
/// call is made where less is left.
const USUAL_ANSWER: u32 = 1024;
/// Every model may write this much; where less than that is left, it is told.
const LONG_ANSWER: u32 = 8192;

/// What may be spent; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limit {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpendLimits {
    pub per_turn: Limit,
    pub per_session: Limit,
    pub per_day: Limit,
}

impl SpendLimits {
    fn any(&self) -> bool {
        [self.per_turn, self.per_session, self.per_day]
            .iter()
            .any(|limit| limit.usd.is_some() || limit.tokens.is_some())
    }

    fn counts_money(&self) -> bool {
        [self.per_turn, self.per_session, self.per_day]
            .iter()
            .any(|limit| limit.usd.is_some())
    }
}

/// What was spent, or is about to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Amount {
    pub usd: f64,
    pub tokens: f64,
}

impl Amount {
    pub fn of(usage: &Usage, cost: &Cost) -> Self {
        Self {
            // An unknown price binds nothing; only tokens count then.
            usd: match cost.status {
                CostStatus::Actual | CostStatus::Estimated => cost.usd,
                CostStatus::Included | CostStatus::Unknown => 0.0,
            },
            tokens: usage.total() as f64,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            usd: self.usd + other.usd,
            tokens: self.tokens + other.tokens,
        }
    }

    fn times(self, count: f64) -> Self {
        Self {
            usd: self.usd * count,
            tokens: self.tokens * count,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            usd: self.usd - other.usd,
            tokens: self.tokens - other.tokens,
        }
    }
}

/// Which limit was reached, in words that say what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Reached {
    scope: Scope,
    limit: Limit,
    spent: Amount,
    /// What the call that was not made would have added.
    estimate: Amount,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, key) = match self.scope {
            Scope::Turn => ("this turn", "budget.per_turn"),
            Scope::Session => ("this session", "budget.per_session"),
            Scope::Day => ("today", "budget.per_day"),
        };
        let Self {
            limit,
            spent,
            estimate,
            ..
        } = self;
        let mut standings = Vec::new();
        let mut needs = Vec::new();
        if let Some(usd) = limit.usd {
            standings.push(format!("${:.4} of ${usd:.2}", spent.usd.max(0.0)));
            needs.push(format!("${:.4}", estimate.usd));
        }
        if let Some(tokens) = limit.tokens {
            standings.push(format!("{:.0} of {tokens} tokens", spent.tokens.max(0.0)));
            needs.push(format!("{:.0} tokens", estimate.tokens));
        }
        let standings = standings.join(", ");
        if passes(*limit, *spent, |spent, most| spent >= most) {
            write!(f, "the budget for {what} is used up: {standings}")?;
        } else {
            write!(
                f,
                "the budget for {what} does not allow the next call, which needs about {}: {standings} spent",
                needs.join(" and ")
            )?;
        }
        write!(f, "; raise {key} and resume the session to go on")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Turn,
    Session,
    Day,
}

#[derive(Debug, thiserror::Error)]
pub enum SpendError {
    #[error(transparent)]
    Reached(#[from] Reached),
    #[error("the budget counters cannot be read: {0}")]
    State(#[from] StateError),
}

/// Shared by a conversation and everything it starts.
#[derive(Clone, Default)]
pub struct Spend {
    inner: Option<Arc<Inner>>,
    /// Spends on somebody else's turn, which goes on around it.
    within_turn: bool,
}

struct Inner {
    limits: SpendLimits,
    /// The root home's database.
    ledger: Option<StateHandle>,
    clock: Clock,
    turn: Mutex<Amount>,
    session: Mutex<Option<String>>,
    told_unknown_price: AtomicBool,
}

/// An estimate that is counted until it is settled.
#[must_use = "settle it, or the estimate stays counted"]
pub struct Reservation {
    inner: Option<Arc<Inner>>,
    amount: Amount,
    keys: Vec<String>,
}

impl Spend {
    /// Without limits nothing is counted at all.
    pub fn unlimited() -> Self {
        Self::default()
    }

    pub fn new(limits: SpendLimits, ledger: Option<StateHandle>, clock: Clock) -> Self {
        Self {
            inner: limits.any().then(|| {
                Arc::new(Inner {
                    limits,
                    ledger,
                    clock,
                    turn: Mutex::default(),
                    session: Mutex::default(),
                    told_unknown_price: AtomicBool::new(false),
                })
            }),
            within_turn: false,
        }
    }

    /// For a subagent: what it spends counts to the turn that started it.
    pub fn within_turn(&self) -> Self {
        Self {
            within_turn: true,
            ..self.clone()
        }
    }

    /// A person's turn begins; what subagents spend in it counts as its own.
    pub fn begin_turn(&self, session: &SessionId) {
        if let Some(inner) = self.inner.as_ref().filter(|_| !self.within_turn) {
            *lock(&inner.turn) = Amount::default();
            lock(&inner.session).get_or_insert_with(|| session_key(session));
        }
    }

    /// Names the counter of a session that was continued: its lineage's root.
    pub fn of_lineage(&self, root: &SessionId) {
        if let Some(inner) = &self.inner {
            *lock(&inner.session) = Some(session_key(root));
        }
    }

    /// Whether a limit in dollars cannot bind because no price is known; true once.
    pub fn should_tell_unknown_price(&self, cost: &Cost) -> bool {
        cost.status == CostStatus::Unknown
            && self.inner.as_ref().is_some_and(|inner| {
                inner.limits.counts_money()
                    && !inner.told_unknown_price.swap(true, Ordering::Relaxed)
            })
    }

    /// What the tightest limits still allow; a unit without a limit is `None`.
    async fn left(&self) -> Result<(Option<f64>, Option<f64>), StateError> {
        let standings = self.standings().await?;
        let least = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Ok(standings
            .iter()
            .fold((None, None), |(usd, tokens), (_, limit, spent)| {
                (
                    least(usd, limit.usd.map(|most| most - spent.usd)),
                    least(tokens, limit.tokens.map(|most| most as f64 - spent.tokens)),
                )
            }))
    }

    /// Every limit with what is counted against it.
    async fn standings(&self) -> Result<Vec<(&'static str, Limit, Amount)>, StateError> {
        let Some(inner) = &self.inner else {
            return Ok(Vec::new());
        };
        let turn = *lock(&inner.turn);
        let session = lock(&inner.session).clone();
        let day = day_key(&inner.clock);
        let mut standings = vec![("this turn", inner.limits.per_turn, turn)];
        if let Some(ledger) = &inner.ledger {
            let (session, day) = ledger
                .run(move |database| {
                    let read = |key: Option<String>| -> Result<Amount, StoreError> {
                        let text = match key {
                            Some(key) => database.meta(&key)?,
                            None => None,
                        };
                        let amount = text.and_then(|text| serde_json::from_str(&text).ok());
                        Ok(amount.unwrap_or_default())
                    };
                    Ok((read(session)?, read(Some(day))?))
                })
                .await?;
            standings.push(("this session", inner.limits.per_session, session));
            standings.push(("today", inner.limits.per_day, day));
        }
        Ok(standings)
    }

    /// Reserves a call whose prompt costs `prompt` and each token of whose answer
    /// costs `token`. `cap` is how long the answer may be; the second value is what
    /// the limits made of it. Without a cap, an answer of usual length is reserved,
    /// and a cap is set only where little is left.
    pub async fn reserve_call(
        &self,
        prompt: Amount,
        token: Amount,
        cap: Option<u32>,
    ) -> Result<(Reservation, Option<u32>), SpendError> {
        let mut tries = 0;
        loop {
            let (usd, tokens) = match self.inner {
                Some(_) => self.left().await?,
                None => (None, None),
            };
            let room = [
                tokens.map(|left| (left - prompt.tokens) / token.tokens.max(1.0)),
                usd.filter(|_| token.usd > 0.0)
                    .map(|left| (left - prompt.usd) / token.usd),
            ]
            .into_iter()
            .flatten()
            .reduce(f64::min)
            // Asking for what is not there any more is refused, in words.
            .map(|room| room.max(f64::from(USUAL_ANSWER)));
            let clamped = match (cap, room) {
                (Some(cap), Some(room)) => Some(cap.min(room as u32)),
                (None, Some(room)) if room < f64::from(LONG_ANSWER) => Some(room as u32),
                (cap, _) => cap,
            };
            let output = match (cap, clamped) {
                (Some(_), Some(clamped)) => clamped,
                (_, clamped) => USUAL_ANSWER.min(clamped.unwrap_or(u32::MAX)),
            };
            match self.reserve(prompt.plus(token.times(output.into()))).await {
                Ok(reservation) => return Ok((reservation, clamped)),
                // Another process was faster; what is left now may still do.
                Err(SpendError::Reached(_)) if tries < 3 && output > USUAL_ANSWER => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The limit that is nearest to its end, in words for people: `$0.40 of $1.00
    /// today`. Without a price, those in dollars are named as what they are: not in
    /// force. `None` without limits.
    pub async fn nearest(&self) -> Result<Option<String>, StateError> {
        let Some(inner) = &self.inner else {
            return Ok(None);
        };
        let standings = self.standings().await?;
        let unpriced = inner.told_unknown_price.load(Ordering::Relaxed);
        let mut nearest: Option<(f64, String)> = None;
        for (when, limit, spent) in standings {
            let money = limit.usd.filter(|_| !unpriced).map(|usd| {
                let text = format!("${:.2} of ${usd:.2} {when}", spent.usd.max(0.0));
                (spent.usd / usd.max(f64::EPSILON), text)
            });
            let tokens = limit.tokens.map(|most| {
                let text = format!("{:.0} of {most} tokens {when}", spent.tokens.max(0.0));
                (spent.tokens / (most.max(1) as f64), text)
            });
            for standing in [money, tokens].into_iter().flatten() {
                if nearest
                    .as_ref()
                    .is_none_or(|(share, _)| standing.0 > *share)
                {
                    nearest = Some(standing);
                }
            }
        }
        let words = nearest.map(|(_, text)| text);
        Ok(match unpriced {
            false => words,
            true => Some(
                words
                    .into_iter()
                    .chain(["no price known: dollars do not bind".to_owned()])
                    .collect::<Vec<_>>()
                    .join(", "),
            ),
        })
    }

    /// Counts the estimate, or says which limit it would pass.
    pub async fn reserve(&self, estimate: Amount) -> Result<Reservation, SpendError> {
        let Some(inner) = &self.inner else {
            return Ok(Reservation {
                inner: None,
                amount: estimate,
                keys: Vec::new(),
            });
        };
        {
            let mut turn = lock(&inner.turn);
            check(Scope::Turn, inner.limits.per_turn, *turn, estimate)?;
            *turn = turn.plus(estimate);
        }
        let mut reservation = Reservation {
            inner: Some(Arc::clone(inner)),
            amount: estimate,
            keys: Vec::new(),
        };
        let session = lock(&inner.session).clone();
        let day = day_key(&inner.clock);
        let wanted = [
            (Scope::Session, inner.limits.per_session, session),
            (Scope::Day, inner.limits.per_day, Some(day)),
        ];
        for (scope, limit, key) in wanted {
            let (Some(ledger), Some(key)) = (&inner.ledger, key) else {
                continue;
            };
            if limit == Limit::default() {
                continue;
            }
            let name = key.clone();
            let outcome = ledger
                .run(move |database| {
                    let mut outcome = Ok(());
                    change(database, &name, |current| {
                        outcome = check(scope, limit, current, estimate);
                        if outcome.is_ok() {
                            current.plus(estimate)
                        } else {
                            current
                        }
                    })?;
                    Ok(outcome)
                })
                .await;
            match outcome {
                Ok(Ok(())) => reservation.keys.push(key),
                Ok(Err(reached)) => {
                    reservation.settle(Amount::default()).await?;
                    return Err(reached.into());
                }
                Err(error) => {
                    reservation.settle(Amount::default()).await?;
                    return Err(error.into());
                }
            }
        }
        Ok(reservation)
    }
}

impl Reservation {
    /// Replaces the estimate by what was really spent.
    pub async fn settle(self, actual: Amount) -> Result<(), StateError> {
        let Some(inner) = &self.inner else {
            return Ok(());
        };
        let difference = actual.minus(self.amount);
        {
            let mut turn = lock(&inner.turn);
            *turn = turn.plus(difference);
        }
        let (Some(ledger), false) = (&inner.ledger, self.keys.is_empty()) else {
            return Ok(());
        };
        let keys = self.keys.clone();
        ledger
            .run(move |database| {
                for key in &keys {
                    change(database, key, |current| current.plus(difference))?;
                }
                Ok(())
            })
            .await
    }
}

fn day_key(clock: &Clock) -> String {
    format!("budget:day:{}", clock.now_local().format("%Y-%m-%d"))
}

fn session_key(session: &SessionId) -> String {
    format!("budget:session:{session}")
}

fn change(
    database: &StateDb,
    key: &str,
    edit: impl FnOnce(Amount) -> Amount,
) -> Result<(), StoreError> {
    database
        .update_meta(key, |text| {
            // A counter that cannot be read starts again; it is ours alone.
            let current = text
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default();
            Ok(serde_json::to_string(&edit(current)).ok())
        })
        .map(drop)
}

/// A call may start as long as its estimate still fits.
fn check(scope: Scope, limit: Limit, spent: Amount, estimate: Amount) -> Result<(), Reached> {
    if passes(limit, spent.plus(estimate), |next, most| next > most) {
        Err(Reached {
            scope,
            limit,
            spent,
            estimate,
        })
    } else {
        Ok(())
    }
}

/// Whether either of the two limits is passed, by this comparison.
fn passes(limit: Limit, amount: Amount, over: fn(f64, f64) -> bool) -> bool {
    limit.usd.is_some_and(|most| over(amount.usd, most))
        || limit
            .tokens
            .is_some_and(|most| over(amount.tokens, most as f64))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

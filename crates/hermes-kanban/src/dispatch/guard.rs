//! Should a task that is ready be started again right now?
//!
//! The guard only defers. Every reason has an exit: time, or a person who says
//! that the task may run (unblock, promote, reclaim, assign, move to ready) after
//! the fact that triggered it. (In the reference two of them have none.)

use crate::model::Outcome;
use crate::store::{GuardFacts, ReadyTask};

/// How long a finished task is not started again.
const RECENT_SUCCESS_SECONDS: i64 = 3600;
/// How long a comment with a pull request holds a task.
pub(super) const PULL_REQUEST_SECONDS: i64 = 86_400;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    RateLimitCooldown,
    BlockerAuth,
    RecentSuccess,
    ActivePr,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::RateLimitCooldown => "rate_limit_cooldown",
            Reason::BlockerAuth => "blocker_auth",
            Reason::RecentSuccess => "recent_success",
            Reason::ActivePr => "active_pr",
        }
    }
}

/// The first reason that applies, in the order of the reference.
pub(super) fn guard(
    task: &ReadyTask,
    facts: Option<&GuardFacts>,
    cooldown: i64,
    now: i64,
) -> Option<Reason> {
    let none = GuardFacts::default();
    let facts = facts.unwrap_or(&none);
    let lifted_since = |at: i64| facts.lifted_at.is_some_and(|lifted| lifted >= at);
    let last_ended = facts.last_outcome.as_ref().map_or(0, |(_, at)| *at);
    let rate_limited = facts
        .last_outcome
        .as_ref()
        .is_some_and(|(outcome, _)| outcome == Outcome::RateLimited.as_str());
    if rate_limited {
        if now - last_ended < cooldown {
            return Some(Reason::RateLimitCooldown);
        }
    } else if task
        .last_failure_error
        .as_deref()
        .is_some_and(is_access_problem)
        && !lifted_since(last_ended)
    {
        return Some(Reason::BlockerAuth);
    }
    if let Some(at) = facts.completed_at
        && now - at < RECENT_SUCCESS_SECONDS
        && !lifted_since(at)
    {
        return Some(Reason::RecentSuccess);
    }
    if let Some(at) = facts.pull_request_at
        && now - at < PULL_REQUEST_SECONDS
        && !lifted_since(at)
    {
        return Some(Reason::ActivePr);
    }
    None
}

/// Whether an error says that credentials or an allowance are missing. Whole
/// words only: an author, a pid or a branch name is no reason.
fn is_access_problem(error: &str) -> bool {
    let lower = error.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let single = [
        "quota",
        "ratelimit",
        "auth",
        "authentication",
        "authorization",
        "unauthorized",
        "forbidden",
        "billing",
        "subscription",
    ];
    let pairs = [
        ["rate", "limit"],
        ["access", "denied"],
        ["permission", "denied"],
    ];
    words.iter().any(|word| single.contains(word))
        || words
            .windows(2)
            .any(|pair| pairs.iter().any(|known| pair == known))
        || words
            .windows(3)
            .any(|three| three == ["invalid", "api", "key"])
}

/// `https://github.com/<owner>/<repository>/pull/<number>` somewhere in the text.
pub fn names_a_pull_request(text: &str) -> bool {
    ["https://github.com/", "http://github.com/"]
        .iter()
        .any(|start| {
            text.match_indices(start).any(|(at, _)| {
                let mut parts = text[at + start.len()..].split('/');
                let named = |part: Option<&str>| {
                    part.is_some_and(|p| !p.is_empty() && !p.contains(char::is_whitespace))
                };
                named(parts.next())
                    && named(parts.next())
                    && parts.next() == Some("pull")
                    && parts
                        .next()
                        .is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::TaskId;

    fn task(error: Option<&str>) -> ReadyTask {
        ReadyTask {
            id: TaskId::new("t_00000001"),
            assignee: Some("w".into()),
            failures: 1,
            max_retries: None,
            last_failure_error: error.map(str::to_owned),
            priority: 0,
            created_at: 0,
        }
    }

    fn ended(outcome: &str, at: i64) -> GuardFacts {
        GuardFacts {
            last_outcome: Some((outcome.into(), at)),
            ..GuardFacts::default()
        }
    }

    #[test]
    fn a_rate_limit_defers_until_the_cool_down_is_over() {
        let limited = task(Some("429 rate limit"));
        let facts = ended("rate_limited", 1000);
        let at = |now| guard(&limited, Some(&facts), 300, now);
        assert_eq!(at(1200), Some(Reason::RateLimitCooldown));
        assert_eq!(
            at(1300),
            None,
            "and its error text does not hold it after that"
        );
        assert_eq!(
            guard(&limited, Some(&facts), 0, 1000),
            None,
            "0 switches it off"
        );
    }

    #[test]
    fn only_whole_words_are_access_problems() {
        for error in [
            "Quota exceeded",
            "rate_limit reached",
            "rate-limit",
            "401 Unauthorized",
            "permission denied",
            "invalid API key",
            "auth failed",
            "no billing set up",
        ] {
            assert!(is_access_problem(error), "{error}");
        }
        for error in [
            "pid 403 not alive",
            "pid 429 killed by signal 9",
            "author is unknown",
            "branch feature/authoring is gone",
            "the key is invalid",
            "limit rate",
        ] {
            assert!(!is_access_problem(error), "{error}");
        }
    }

    #[test]
    fn a_person_lifts_what_came_before() {
        let broken = task(Some("unauthorized"));
        let mut facts = ended("crashed", 1000);
        assert_eq!(
            guard(&broken, Some(&facts), 300, 2000),
            Some(Reason::BlockerAuth)
        );
        facts.lifted_at = Some(1500);
        assert_eq!(guard(&broken, Some(&facts), 300, 2000), None);
        facts.last_outcome = Some(("crashed".into(), 1800));
        assert_eq!(
            guard(&broken, Some(&facts), 300, 2000),
            Some(Reason::BlockerAuth)
        );
    }

    #[test]
    fn recent_success_and_an_open_pull_request_defer_for_their_time() {
        let fine = task(None);
        let done = GuardFacts {
            completed_at: Some(1000),
            ..GuardFacts::default()
        };
        assert_eq!(
            guard(&fine, Some(&done), 300, 4599),
            Some(Reason::RecentSuccess)
        );
        assert_eq!(guard(&fine, Some(&done), 300, 4600), None);
        let open = GuardFacts {
            pull_request_at: Some(1000),
            ..GuardFacts::default()
        };
        assert_eq!(
            guard(&fine, Some(&open), 300, 80_000),
            Some(Reason::ActivePr)
        );
        assert_eq!(guard(&fine, Some(&open), 300, 90_000), None);
        assert_eq!(guard(&fine, None, 300, 0), None);
    }

    #[test]
    fn pull_requests_are_recognised_by_their_whole_address() {
        assert!(names_a_pull_request(
            "see https://github.com/a/b/pull/12 please"
        ));
        assert!(!names_a_pull_request("https://github.com/a/b/issues/12"));
        assert!(!names_a_pull_request("https://github.com/a/b/pull/new"));
        assert!(!names_a_pull_request("github.com / a / b / pull / 1"));
    }
}

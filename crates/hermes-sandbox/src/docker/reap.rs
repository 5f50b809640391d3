//! The janitor: which leftovers may go. Pure selection here; the sweep that asks
//! the engine is in [`super::janitor`].
//!
//! Candidates are containers of this profile and this home that have been exited,
//! or created and never started, for longer than the threshold. A running one is
//! never touched, because a sibling may be in the middle of a command; except one
//! that belonged to a single process, which can tell no more that it is done.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::engine::{Container, ContainerId, State};
use super::labels::{self, Identity};

/// Twice the lifetime of an idle environment, at least two minutes.
pub fn threshold(lifetime: Duration) -> Duration {
    2 * lifetime.max(Duration::from_secs(60))
}

/// Worth an inspection: the state and labels fit, and it is not the one in use.
pub fn is_candidate(container: &Container, identity: &Identity, in_use: &ContainerId) -> bool {
    matches!(container.state, State::Exited | State::Created)
        && container.id != *in_use
        && container.label(labels::AGENT) == Some("1")
        && container.label(labels::PROFILE) == Some(identity.profile.as_str())
        && container
            .label(labels::HOME)
            .is_none_or(|home| home == identity.home)
}

/// A running container that was one process's own: worth asking whether that lives.
pub fn may_be_abandoned(container: &Container, identity: &Identity, in_use: &ContainerId) -> bool {
    container.state == State::Running
        && container.id != *in_use
        && container.label(labels::AGENT) == Some("1")
        && container.label(labels::PRIVATE) == Some("1")
        && container.label(labels::PROFILE) == Some(identity.profile.as_str())
        && container.label(labels::HOME) == Some(identity.home.as_str())
}

/// Old enough, by when it finished or, never started, by when it was created.
/// What cannot be dated stays.
pub fn is_overdue(container: &Container, now: DateTime<Utc>, threshold: Duration) -> bool {
    let since = match container.state {
        State::Exited => container.details.as_ref().and_then(|d| d.finished),
        // Only ours are known to be leftovers of a creation that failed; the
        // reference's label alone may belong to one that is just being started.
        State::Created => container.created,
        // Its owner takes the lease right after making it.
        State::Running if container.label(labels::PRIVATE) == Some("1") => container.created,
        _ => None,
    };
    since.is_some_and(|since| (now - since).to_std().is_ok_and(|age| age > threshold))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::engine::Details;
    use super::super::parse;
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        parse::time(text).expect("time")
    }

    fn identity() -> Identity {
        Identity::new("default", "builder", Path::new("/srv/one"))
    }

    fn leftover(state: State, finished: &str) -> Container {
        Container {
            id: ContainerId::new("old"),
            name: "hermes-old".to_owned(),
            state,
            image: "image".to_owned(),
            labels: BTreeMap::from([
                (labels::AGENT.to_owned(), "1".to_owned()),
                (labels::PROFILE.to_owned(), "builder".to_owned()),
            ]),
            created: parse::time("2026-11-15T05:00:00Z"),
            binds: BTreeMap::new(),
            network_mode: None,
            details: Some(Details {
                finished: parse::time(finished),
                ..Details::default()
            }),
        }
    }

    #[test]
    fn the_threshold_is_twice_the_lifetime_and_at_least_two_minutes() {
        assert_eq!(threshold(Duration::from_secs(300)).as_secs(), 600);
        assert_eq!(threshold(Duration::ZERO).as_secs(), 120);
    }

    #[test]
    fn exited_containers_go_by_their_finish_and_created_ones_by_their_creation() {
        let now = at("2026-11-15T08:00:00Z");
        let limit = Duration::from_secs(600);
        assert!(is_overdue(
            &leftover(State::Exited, "2026-11-15T07:24:53.353990984Z"),
            now,
            limit
        ));
        assert!(!is_overdue(
            &leftover(State::Exited, "2026-11-15T07:55:00Z"),
            now,
            limit
        ));
        assert!(!is_overdue(
            &leftover(State::Exited, "0001-01-01T00:00:00Z"),
            now,
            limit
        ));
        assert!(!is_overdue(
            &leftover(State::Exited, "2026-11-15T09:00:00Z"),
            now,
            limit
        ));
        assert!(is_overdue(&leftover(State::Created, ""), now, limit));
        assert!(!is_overdue(
            &leftover(State::Running, "2026-11-15T01:00:00Z"),
            now,
            limit
        ));
    }

    #[test]
    fn only_private_containers_of_this_home_may_be_abandoned() {
        let other = ContainerId::new("in-use");
        let now = at("2026-11-15T08:00:00Z");
        let mut private = leftover(State::Running, "");
        assert!(!may_be_abandoned(&private, &identity(), &other));
        private
            .labels
            .insert(labels::PRIVATE.to_owned(), "1".to_owned());
        assert!(!may_be_abandoned(&private, &identity(), &other), "no home");
        private
            .labels
            .insert(labels::HOME.to_owned(), identity().home);
        assert!(may_be_abandoned(&private, &identity(), &other));
        assert!(!may_be_abandoned(&private, &identity(), &private.id));
        assert!(is_overdue(&private, now, Duration::from_secs(600)));
        assert!(!is_overdue(&private, now, Duration::from_secs(86_400)));
        private
            .labels
            .insert(labels::PROFILE.to_owned(), "x".to_owned());
        assert!(!may_be_abandoned(&private, &identity(), &other));
    }

    #[test]
    fn other_profiles_other_homes_and_the_one_in_use_are_left_alone() {
        let other = ContainerId::new("in-use");
        let mine = leftover(State::Exited, "");
        assert!(is_candidate(&mine, &identity(), &other));
        assert!(!is_candidate(&mine, &identity(), &mine.id));
        let mut profile = mine.clone();
        profile
            .labels
            .insert(labels::PROFILE.to_owned(), "other".to_owned());
        assert!(!is_candidate(&profile, &identity(), &other));
        let mut home = mine.clone();
        home.labels.insert(labels::HOME.to_owned(), "f".repeat(16));
        assert!(!is_candidate(&home, &identity(), &other));
        for state in [
            State::Running,
            State::Paused,
            State::Dead,
            State::Restarting,
        ] {
            let mut c = mine.clone();
            c.state = state;
            assert!(!is_candidate(&c, &identity(), &other));
        }
    }
}

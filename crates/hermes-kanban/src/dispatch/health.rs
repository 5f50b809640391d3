//! Why an idle board is idle, said now and then.

use super::DispatchResult;

/// Rounds without a start before somebody is told.
const ROUNDS: u32 = 6;
/// Seconds between two such lines.
const PAUSE: i64 = 300;

/// Remembers how long nothing was started although something waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    idle_rounds: u32,
    last_said: Option<i64>,
}

impl Health {
    /// A sentence when it is time for one.
    pub fn observe(&mut self, result: &DispatchResult, now: i64) -> Option<String> {
        let waiting = result.waiting_for_slots
            + result.skipped_per_profile_capped.len()
            + result.respawn_guarded.len();
        if waiting == 0 || !result.spawned.is_empty() {
            self.idle_rounds = 0;
            return None;
        }
        self.idle_rounds += 1;
        let quiet = self.last_said.is_some_and(|at| now - at < PAUSE);
        if self.idle_rounds < ROUNDS || quiet {
            return None;
        }
        self.last_said = Some(now);
        Some(format!(
            "{waiting} ready task(s) and nothing started for {} rounds: {}",
            self.idle_rounds,
            reasons(result)
        ))
    }
}

fn reasons(result: &DispatchResult) -> String {
    let mut out = Vec::new();
    if result.waiting_for_slots > 0 {
        out.push(format!(
            "{} wait for a free place ({} running, see kanban.max_spawn and kanban.max_in_progress)",
            result.waiting_for_slots, result.running
        ));
    }
    if !result.skipped_per_profile_capped.is_empty() {
        out.push(format!(
            "{} are held by kanban.max_in_progress_per_profile",
            result.skipped_per_profile_capped.len()
        ));
    }
    if !result.respawn_guarded.is_empty() {
        let mut kinds: Vec<&str> = result
            .respawn_guarded
            .iter()
            .map(|(_, reason)| *reason)
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        out.push(format!(
            "{} are deferred ({}); `hermes kanban unblock` or `promote` lifts that",
            result.respawn_guarded.len(),
            kinds.join(", ")
        ));
    }
    out.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::TaskId;

    #[test]
    fn an_idle_board_is_explained_after_six_rounds_and_not_too_often() {
        let stuck = DispatchResult {
            respawn_guarded: vec![(TaskId::new("t_1"), "blocker_auth")],
            ..DispatchResult::default()
        };
        let mut health = Health::default();
        let said: Vec<i64> = (0..12)
            .map(|round| round * 60)
            .filter(|now| health.observe(&stuck, *now).is_some())
            .collect();
        assert_eq!(said, [300, 600]);
        assert_eq!(health.observe(&DispatchResult::default(), 1000), None);
        assert_eq!(
            health,
            Health {
                idle_rounds: 0,
                last_said: Some(600)
            }
        );
    }
}

//! kill -9 at any point: what was done is on disk, and the session goes on from
//! there. `hermes-bench agent` plays the same at length.

use std::path::Path;
use std::time::Duration;

use hermes_testkit::faults::{KillPoint, Together, killed_turn, talk_together};

const PROGRAM: &str = env!("CARGO_BIN_EXE_hermes");

#[test]
fn a_turn_killed_anywhere_keeps_its_steps_and_completes_after_a_resume() {
    // Spread over the whole turn; the odd microseconds land in different steps.
    for n in 0..10 {
        let point = KillPoint {
            request: 1 + n * 2,
            after: Duration::from_micros((n as u64 * 1_733) % 9_000),
        };
        if let Err(lost) = killed_turn(Path::new(PROGRAM), point) {
            panic!("{lost}");
        }
    }
}

#[test]
fn conversations_in_processes_that_are_killed_lose_nothing_they_acknowledged() {
    let plan = Together {
        conversations: 3,
        turns: 10,
        kill_one_of: 4,
        seed: 11,
    };
    let report = talk_together(Path::new(PROGRAM), &plan);
    assert!(
        report.lost.is_empty() && report.faults.is_empty(),
        "{report:#?}"
    );
    // Questions, results and answers of three times ten turns, less what was killed.
    assert!(report.kills > 2 && report.acknowledged > 50, "{report:#?}");
}

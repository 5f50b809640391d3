use hermes_testkit::{Scrub, TestHome};

#[test]
fn what_differs_between_runs_is_replaced() {
    let home = TestHome::new();
    let text = format!(
        "{}/state.db of 20260531_120000_a1b2c3 at 2026-05-31T12:00:00.123Z took 12 ms on 127.0.0.1:4711, pid 99, {}/a",
        home.path().display(),
        home.project().display(),
    );
    assert_eq!(
        Scrub::of(&home).apply(&text),
        "[HOME]/state.db of [SESSION] at [TIME] took [DURATION] on [ADDRESS], pid [PID], [PROJECT]/a"
    );
}

#[test]
fn a_home_is_gone_when_dropped() {
    let home = TestHome::new();
    home.write("deep/er/file", "x");
    assert_eq!(home.read("deep/er/file"), "x");
    let base = home.base().to_owned();
    drop(home);
    assert!(!base.exists());
}

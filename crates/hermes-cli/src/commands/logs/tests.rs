//! The verb over a log of the reference, with a clock that stands where the
//! recorded outputs were made.

use chrono::{TimeZone, Utc};
use hermes_home::Clock;
use pretty_assertions::assert_eq;

use super::*;
use crate::test_support::captured;

const LOG: &str = "\
2026-05-30 10:00:00,000 INFO agent.loop: first
2026-05-30 10:00:01,000 ERROR [s1] tools.terminal: failed
Traceback (most recent call last):
  File \"x.py\"
2026-05-30 10:00:02,000 WARNING run_agent: third
continued
2026-05-31 11:59:00,000 INFO cron.scheduler: s1 is over
";

struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new(log: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("logs")).unwrap();
        std::fs::write(directory.path().join("logs/agent.log"), log).unwrap();
        Self { directory }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("logs/agent.log")
    }

    /// The lines after the header.
    fn lines(&self, words: &str) -> Vec<String> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: Args,
        }
        let line: Line =
            clap::Parser::parse_from(std::iter::once("logs").chain(words.split_whitespace()));
        // Times in logs are local; the clock stands at noon there.
        let noon = chrono::Local
            .with_ymd_and_hms(2026, 5, 31, 12, 0, 0)
            .unwrap();
        let context = Context::for_tests(
            self.directory.path(),
            Clock::fixed(noon.with_timezone(&Utc)),
        );
        let (mut out, shared) = captured();
        run(line.args, &context, &mut out).unwrap();
        shared.text().lines().skip(1).map(str::to_owned).collect()
    }
}

#[test]
fn without_a_filter_the_last_lines_are_shown() {
    let fixture = Fixture::new(LOG);
    assert_eq!(
        fixture.lines("-n2"),
        [
            "continued",
            "2026-05-31 11:59:00,000 INFO cron.scheduler: s1 is over"
        ]
    );
    assert_eq!(fixture.lines("").len(), 7);
}

#[test]
fn continuation_lines_share_the_fate_of_their_head() {
    let fixture = Fixture::new(LOG);
    assert_eq!(
        fixture.lines("--level error"),
        [
            "2026-05-30 10:00:01,000 ERROR [s1] tools.terminal: failed",
            "Traceback (most recent call last):",
            "  File \"x.py\"",
        ]
    );
    assert_eq!(
        fixture.lines("--component agent -n 1"),
        [
            "2026-05-30 10:00:02,000 WARNING run_agent: third",
            "continued"
        ]
    );
}

#[test]
fn filters_reach_as_far_back_as_needed() {
    let noise = "2026-05-31 11:00:00,000 DEBUG gateway.run: tick\n".repeat(5000);
    let fixture = Fixture::new(&format!("{LOG}{noise}"));
    assert_eq!(fixture.lines("--session s1 -n 2").len(), 4);
    assert_eq!(fixture.lines("--component tools").len(), 3);
}

#[test]
fn since_counts_from_now() {
    let fixture = Fixture::new(LOG);
    assert_eq!(fixture.lines("--since 2m").len(), 1);
    assert_eq!(fixture.lines("--since 59s").len(), 0);
    assert_eq!(fixture.lines("--since 26h").len(), 7);
}

#[test]
fn following_survives_rotation_and_keeps_the_filter() {
    let fixture = Fixture::new(LOG);
    let (mut out, shared) = captured();
    let filter = Filter {
        level: Some(Level::Warning),
        ..Filter::default()
    };
    let mut follower = follow::Follower::at_end(&fixture.path()).unwrap();
    let append = |text: &str| {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(fixture.path())
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    let head = "2026-05-31 12:00:00,000";
    append(&format!(
        "{head} ERROR a: one\n  trace\n{head} INFO a: hidden\n  hidden too\n{head} ERR"
    ));
    follower.step(&filter, &mut out).unwrap();
    append("OR a: two\n");
    std::fs::rename(fixture.path(), fixture.path().with_extension("log.1")).unwrap();
    append(&format!("{head} WARNING a: three\n"));
    follower.step(&filter, &mut out).unwrap();
    std::fs::write(fixture.path(), format!("{head} ERROR a: 4\n")).unwrap();
    follower.step(&filter, &mut out).unwrap();
    assert_eq!(
        shared.text(),
        format!(
            "{head} ERROR a: one\n  trace\n{head} ERROR a: two\n{head} WARNING a: three\n{head} ERROR a: 4\n"
        )
    );
}

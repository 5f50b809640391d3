use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_sandbox::local::LocalTarget;
use hermes_sandbox::session::{RunOutcome, RunRequest, SessionOptions, ShellSession};

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// A session on this machine with directories of its own.
pub(super) struct Bed {
    pub(super) session: Arc<ShellSession>,
    pub(super) work: tempfile::TempDir,
    _temp: tempfile::TempDir,
}

pub(super) fn path() -> String {
    std::env::var("PATH").unwrap()
}

pub(super) fn bed() -> Bed {
    bed_with(|_| {})
}

pub(super) fn bed_with(change: impl FnOnce(&mut SessionOptions)) -> Bed {
    let temp = tempfile::tempdir().unwrap();
    let work = tempfile::tempdir().unwrap();
    let target = LocalTarget::new(
        temp.path().to_str().unwrap(),
        vec![("PATH".to_owned(), path())],
    );
    let mut options =
        SessionOptions::starting_in(work.path().canonicalize().unwrap().to_str().unwrap());
    options.environment = vec![
        ("HOME".to_owned(), work.path().to_str().unwrap().to_owned()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
    ];
    change(&mut options);
    Bed {
        session: Arc::new(ShellSession::new(Arc::new(target), options)),
        work,
        _temp: temp,
    }
}

impl Bed {
    pub(super) async fn outcome(&self, command: &str) -> RunOutcome {
        self.session.run(RunRequest::new(command)).await.unwrap()
    }

    /// Output and code.
    pub(super) async fn run(&self, command: &str) -> (String, i32) {
        let outcome = self.outcome(command).await;
        (outcome.output.joined(), outcome.ending.code())
    }

    pub(super) async fn out(&self, command: &str) -> String {
        let (output, code) = self.run(command).await;
        assert_eq!(code, 0, "{command}: {output}");
        output
    }

    pub(super) fn directory(&self) -> String {
        self.work
            .path()
            .canonicalize()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    }
}

/// A number of seconds no other test sleeps for.
pub(super) fn unique_sleep() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    format!(
        "4{nanos:09}.{:05}{:03}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::SeqCst)
    )
}

/// Living `sleep`s of that number.
pub(super) fn alive(number: &str) -> Vec<i32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(number)
        })
        .collect()
}

/// Waits for a state of the world that no descriptor announces.
pub(super) async fn eventually(what: &str, limit: Duration, check: impl Fn() -> bool) {
    let deadline = Instant::now() + limit;
    while !check() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

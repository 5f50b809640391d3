use std::path::Path;
use std::time::{Duration, Instant};

use hermes_process::{Command, Output};

/// A shell whose descendants can be counted by the unique number they sleep for.
pub(super) fn shell(script: impl Into<String>) -> Command {
    Command::new("bash")
        .args(["-c".to_owned(), script.into()])
        .stdout(Output::Pipe)
        .stderr(Output::Merge)
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
        "3{:09}.{:05}{:03}",
        nanos,
        std::process::id(),
        NEXT.fetch_add(1, Ordering::SeqCst)
    )
}

/// Living processes whose command line mentions `text`.
pub(super) fn alive(text: &str) -> Vec<i32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let path = format!("/proc/{pid}");
            let line = std::fs::read(Path::new(&path).join("cmdline")).unwrap_or_default();
            let stat = std::fs::read_to_string(Path::new(&path).join("stat")).unwrap_or_default();
            let zombie = stat
                .rsplit(')')
                .next()
                .unwrap_or("")
                .trim_start()
                .starts_with('Z');
            // Only the sleepers: the shells carry the number in their script too.
            line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(text) && !zombie
        })
        .collect()
}

/// Waits for a state of the world that no descriptor announces.
pub(super) fn eventually(what: &str, limit: Duration, check: impl Fn() -> bool) {
    let deadline = Instant::now() + limit;
    while !check() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

//! Who condenses a session: a text that says which process it is, so that another
//! can tell when that process is gone and need not wait for its lock to lapse.

use hermes_process::Identity;

const MARK: &str = "hermes";

/// This process, and this attempt of it.
pub(super) fn new() -> String {
    let me = Identity::of_this_process();
    format!(
        "{MARK} {} {} {} {} {}",
        me.pid,
        me.start_ticks,
        me.boot_id,
        namespace(),
        uuid::Uuid::new_v4().simple()
    )
}

/// Whether the holder was a process that would be seen here and is not there any
/// more. Others' locks, and those of other machines and containers, only lapse.
pub(super) fn is_gone(holder: &str) -> bool {
    let words: Vec<&str> = holder.split(' ').collect();
    let [MARK, pid, start, boot, place, _] = words[..] else {
        return false;
    };
    let (Ok(pid), Ok(start_ticks)) = (pid.parse(), start.parse()) else {
        return false;
    };
    let here = Identity::of_this_process().boot_id == boot && namespace() == place;
    let process = Identity {
        pid,
        start_ticks,
        boot_id: boot.to_owned(),
    };
    here && !process.is_alive()
}

/// Process ids mean something only within their namespace.
fn namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid")
        .map(|link| link.display().to_string())
        .unwrap_or_else(|_| "-".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_was_here_can_be_gone() {
        let mine = new();
        assert!(!is_gone(&mine), "{mine}");
        let pid = std::process::id().to_string();
        // The same number, another process.
        let words: Vec<&str> = mine.split(' ').collect();
        let earlier = mine.replacen(words[2], "1", 1);
        assert!(is_gone(&earlier), "{earlier}");
        let elsewhere = earlier.replacen(words[3], "another-boot", 1);
        assert!(!is_gone(&elsewhere));
        assert!(!is_gone(&format!("{pid}:whatever")));
        assert!(!is_gone("other process"));
    }
}

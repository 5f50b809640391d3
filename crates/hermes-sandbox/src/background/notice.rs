//! Things to tell the agent without being asked, and the breaker that keeps them
//! from becoming a flood.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::Notify;

use super::entry::Owner;

/// Notices waiting to be read; the oldest go first.
const QUEUE: usize = 256;
/// More than this many watch events within the span trip the breaker.
const BURST: usize = 15;
const BURST_SPAN: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    Completion {
        session_id: String,
        owner: Owner,
        command: String,
        /// `None` when nobody could see how it ended.
        exit_code: Option<i32>,
        output: String,
    },
    WatchMatch {
        session_id: String,
        owner: Owner,
        command: String,
        pattern: String,
        output: String,
        suppressed: u32,
    },
    WatchDisabled {
        session_id: String,
        owner: Owner,
        command: String,
        suppressed: u32,
    },
    WatchOverflowTripped {
        owner: Owner,
    },
    WatchOverflowReleased {
        owner: Owner,
        suppressed: u32,
    },
}

impl Notice {
    pub fn owner(&self) -> &Owner {
        match self {
            Notice::Completion { owner, .. }
            | Notice::WatchMatch { owner, .. }
            | Notice::WatchDisabled { owner, .. }
            | Notice::WatchOverflowTripped { owner }
            | Notice::WatchOverflowReleased { owner, .. } => owner,
        }
    }

    /// The same for the person at the screen, in one line.
    pub fn line(&self) -> String {
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        match self {
            Notice::Completion {
                session_id,
                command,
                exit_code,
                ..
            } => {
                let code = exit_code.map_or_else(
                    || "an unknown exit code".to_owned(),
                    |code| format!("exit code {code}"),
                );
                format!("process {session_id} ended with {code}: {}", first(command))
            }
            Notice::WatchMatch {
                session_id,
                command,
                pattern,
                ..
            } => format!(
                "process {session_id} printed \"{pattern}\": {}",
                first(command)
            ),
            Notice::WatchDisabled { session_id, .. } => format!(
                "process {session_id} prints what is watched for too often; only its end is told now"
            ),
            Notice::WatchOverflowTripped { .. } => format!(
                "too much is printed that is watched for; nothing of it is told for {} seconds",
                SILENCE.as_secs()
            ),
            Notice::WatchOverflowReleased { suppressed, .. } => {
                format!("what is watched for is told again; {suppressed} were left out")
            }
        }
    }

    /// The message that a front end puts into the conversation.
    pub fn message(&self) -> String {
        match self {
            Notice::Completion {
                session_id,
                command,
                exit_code,
                output,
                ..
            } => {
                let code = exit_code.map_or_else(|| "unknown".to_owned(), |code| code.to_string());
                format!(
                    "[IMPORTANT: Background process {session_id} completed (exit code {code}).\nCommand: {command}\nOutput:\n{output}]"
                )
            }
            Notice::WatchMatch {
                session_id,
                command,
                pattern,
                output,
                suppressed,
                ..
            } => {
                let more = match suppressed {
                    0 => String::new(),
                    1 => "\n(1 earlier match was not reported)".to_owned(),
                    count => format!("\n({count} earlier matches were not reported)"),
                };
                format!(
                    "[IMPORTANT: Background process {session_id} matched watch pattern \"{pattern}\".\nCommand: {command}\nMatched output:\n{output}{more}]"
                )
            }
            Notice::WatchDisabled {
                session_id,
                command,
                ..
            } => format!(
                "[IMPORTANT: Background process {session_id} matches its watch patterns too often; they are off now and you will be told when it ends.\nCommand: {command}]"
            ),
            Notice::WatchOverflowTripped { .. } => format!(
                "[IMPORTANT: Too many watch matches at once; matches of background processes are not reported for {} seconds.]",
                SILENCE.as_secs()
            ),
            Notice::WatchOverflowReleased { suppressed, .. } => format!(
                "[IMPORTANT: Watch matches are reported again; {suppressed} were left out.]"
            ),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Notices {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Notice>,
    recent: VecDeque<Instant>,
    silent: Option<Silence>,
}

#[derive(Debug)]
struct Silence {
    suppressed: u32,
    owner: Owner,
}

impl Notices {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(&self, state: &mut State, notice: Notice) {
        if state.queue.len() == QUEUE {
            state.queue.pop_front();
        }
        state.queue.push_back(notice);
        self.arrived.notify_waiters();
    }

    /// Always delivered.
    pub(super) fn push(&self, notice: Notice) {
        let mut state = self.lock();
        self.enqueue(&mut state, notice);
    }

    /// Delivered unless too many come at once. `true` when this one started the
    /// silence: the caller ends it after [`Self::silence`].
    pub(super) fn push_watch(&self, notice: Notice, now: Instant) -> bool {
        let mut state = self.lock();
        if let Some(silence) = &mut state.silent {
            silence.suppressed += 1;
            return false;
        }
        while state
            .recent
            .front()
            .is_some_and(|then| now.duration_since(*then) >= BURST_SPAN)
        {
            state.recent.pop_front();
        }
        if state.recent.len() >= BURST {
            let owner = notice.owner().clone();
            state.recent.clear();
            state.silent = Some(Silence {
                suppressed: 1,
                owner: owner.clone(),
            });
            self.enqueue(&mut state, Notice::WatchOverflowTripped { owner });
            return true;
        }
        state.recent.push_back(now);
        self.enqueue(&mut state, notice);
        false
    }

    pub(super) fn silence() -> Duration {
        SILENCE
    }

    pub(super) fn end_silence(&self) {
        let mut state = self.lock();
        if let Some(silence) = state.silent.take() {
            let notice = Notice::WatchOverflowReleased {
                owner: silence.owner,
                suppressed: silence.suppressed,
            };
            self.enqueue(&mut state, notice);
        }
    }

    /// Takes what `wanted` accepts, in order.
    pub(super) fn take(&self, wanted: impl Fn(&Notice) -> bool) -> Vec<Notice> {
        let mut state = self.lock();
        let (taken, left): (Vec<Notice>, Vec<Notice>) =
            state.queue.drain(..).partition(|notice| wanted(notice));
        state.queue = left.into();
        taken
    }

    /// Resolves when a notice arrives after the call.
    pub(super) async fn arrival(self: &Arc<Self>) {
        self.arrived.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn watch(number: u32) -> Notice {
        Notice::WatchMatch {
            session_id: format!("proc_{number}"),
            owner: Owner::default(),
            command: "c".to_owned(),
            pattern: "p".to_owned(),
            output: "o".to_owned(),
            suppressed: 0,
        }
    }

    #[test]
    fn a_flood_is_cut_and_its_end_is_told() {
        let notices = Notices::default();
        let now = Instant::now();
        for number in 0..15 {
            assert!(!notices.push_watch(watch(number), now));
        }
        assert!(notices.push_watch(watch(15), now));
        assert!(!notices.push_watch(watch(16), now));
        let taken = notices.take(|_| true);
        assert_eq!(taken.len(), 16);
        assert_eq!(
            taken[15],
            Notice::WatchOverflowTripped {
                owner: Owner::default()
            }
        );
        notices.end_silence();
        assert_eq!(
            notices.take(|_| true),
            vec![Notice::WatchOverflowReleased {
                owner: Owner::default(),
                suppressed: 2
            }]
        );
        assert!(!notices.push_watch(watch(17), now));
        assert_eq!(notices.take(|_| true), vec![watch(17)]);
    }

    #[test]
    fn a_slow_stream_never_trips() {
        let notices = Notices::default();
        let now = Instant::now();
        for number in 0..100 {
            assert!(
                !notices.push_watch(watch(number), now + Duration::from_secs(u64::from(number)))
            );
        }
        assert_eq!(notices.take(|_| true).len(), 100);
    }

    #[test]
    fn messages_have_the_shape_agents_know() {
        let notice = Notice::Completion {
            session_id: "proc_1".to_owned(),
            owner: Owner::default(),
            command: "make".to_owned(),
            exit_code: Some(2),
            output: "tail".to_owned(),
        };
        assert_eq!(
            notice.message(),
            "[IMPORTANT: Background process proc_1 completed (exit code 2).\nCommand: make\nOutput:\ntail]"
        );
        assert_eq!(
            watch(3).message(),
            "[IMPORTANT: Background process proc_3 matched watch pattern \"p\".\nCommand: c\nMatched output:\no]"
        );
    }
}

//! One turn at a time in one conversation, whoever runs it. A process that is in
//! the middle of a turn holds a lock on a file beside the database; it vanishes with
//! the process. Whoever gets it next first looks at what the other one wrote. What a
//! call of a dead process left open is closed under this lock only: the call of a
//! living one is not dead.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::{Lock, LockKind};
use hermes_tools::StateError;
use hermes_types::SessionId;

use crate::agent::Agent;
use crate::history::History;

/// How long a turn waits for another process to end its own.
const PATIENCE: Duration = Duration::from_secs(5);
/// Nobody tells when a lock is given up.
const LOOK_AGAIN: Duration = Duration::from_millis(40);

/// The conversation is ours until this is dropped.
pub(crate) struct Hold {
    path: PathBuf,
    _lock: Lock,
}

/// What an attempt came to.
pub(crate) enum Taken {
    Ours(Hold),
    /// Of this process, when it says.
    Theirs(Option<u32>),
}

/// Whether a turn may begin.
pub(crate) enum Turn {
    /// `None` where nothing is stored and nobody else can know the conversation.
    Ours(Option<Hold>),
    Refused(String),
    Interrupted,
}

impl Hold {
    /// `first` is the session that the conversation began in.
    pub(crate) fn take(database: &Path, first: &SessionId) -> io::Result<Taken> {
        let name: String = first
            .as_str()
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let path = database.with_file_name(format!(".turn-{name}.lock"));
        loop {
            let Some(lock) = Lock::try_acquire(&path, LockKind::Exclusive)? else {
                let holder = fs::read_to_string(&path).unwrap_or_default();
                return Ok(Taken::Theirs(holder.trim().parse().ok()));
            };
            // Its last owner may have removed the file that we opened.
            if lock.is_at(&path) {
                fs::write(&path, std::process::id().to_string())?;
                return Ok(Taken::Ours(Self { path, _lock: lock }));
            }
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Still locked: nobody else can have taken it.
        let _ = fs::remove_file(&self.path);
    }
}

impl Agent {
    /// Takes the conversation for a turn and brings what is in memory up to date.
    pub(crate) async fn hold(&mut self) -> Result<Turn, StateError> {
        let first = self.first.clone();
        let given_up = tokio::time::Instant::now() + PATIENCE;
        let mut told = false;
        loop {
            let holder = match self.session.take(&first).await? {
                None => return Ok(Turn::Ours(None)),
                Some((Taken::Ours(hold), news)) => {
                    if let Some(news) = news {
                        self.adopt(news);
                    }
                    return Ok(Turn::Ours(Some(hold)));
                }
                Some((Taken::Theirs(holder), _)) => holder,
            };
            let who = match holder {
                Some(pid) => format!("process {pid}"),
                None => "another process".to_owned(),
            };
            let id = &self.session.id;
            if tokio::time::Instant::now() >= given_up {
                return Ok(Turn::Refused(format!(
                    "session {id} is in use: {who} is in the middle of a turn; nothing was asked; wait until it has ended, or start another session"
                )));
            }
            if !told {
                told = true;
                self.events
                    .notice(format!("session {id} is in use; waiting for {who}"))
                    .await;
            }
            let cancel = self.control.cancel_token();
            tokio::select! {
                () = cancel.cancelled() => return Ok(Turn::Interrupted),
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Another process went on with the conversation in between.
    fn adopt(&mut self, news: crate::session::News) {
        if let (Some(todos), Some(text)) = (&self.setup.todos, &news.todo) {
            todos.restore(text);
        }
        self.history = History::from_stored(news.messages);
        self.compression.observe(None, 0);
        self.control.set_session(&self.session.id);
        if let Some(system) = self.session.system.clone() {
            self.system_changed(system);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_nothing_stays_behind() {
        let place = tempfile::tempdir().unwrap();
        let database = place.path().join("state.db");
        let session = SessionId::new("20260101_000000_ab/cd");
        let Taken::Ours(hold) = Hold::take(&database, &session).unwrap() else {
            panic!("nobody else is there");
        };
        assert!(matches!(
            Hold::take(&database, &session).unwrap(),
            Taken::Theirs(Some(pid)) if pid == std::process::id()
        ));
        let other = Hold::take(&database, &SessionId::new("other")).unwrap();
        assert!(matches!(other, Taken::Ours(_)));
        drop((hold, other));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        assert!(matches!(
            Hold::take(&database, &session).unwrap(),
            Taken::Ours(_)
        ));
    }
}

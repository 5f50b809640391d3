//! The password for `sudo`, from wherever it may come.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hermes_sandbox::command::rewrite::{sudo_use, sudo_with_password};
use hermes_sandbox::settings::{Backend, TerminalSettings};
use hermes_sandbox::target::Stdin;
use hermes_sandbox::{Sandbox, run_script};
use hermes_types::{Answer, AskKind};

use crate::tool::ToolContext;

const ASK_PATIENCE: Duration = Duration::from_secs(45);
const PROBE_PATIENCE: Duration = Duration::from_secs(3);
/// Passwords remembered at a time.
const SESSIONS: usize = 256;

/// Remembers passwords per session, in memory only.
#[derive(Default)]
pub(super) struct SudoPasswords {
    by_session: Mutex<HashMap<String, String>>,
}

/// A command ready to run.
pub(super) struct Prepared {
    pub(super) command: String,
    pub(super) stdin: Stdin,
}

impl SudoPasswords {
    /// Gives `sudo` its password where there is one; otherwise the command stays as
    /// it is and sudo says itself what it lacks.
    pub(super) async fn prepare(
        &self,
        context: &ToolContext,
        sandbox: &Sandbox,
        settings: &TerminalSettings,
        command: String,
    ) -> Prepared {
        if !sudo_use(&command).called {
            return unchanged(command);
        }
        match self.password(context, sandbox, settings, &command).await {
            Some(password) => Prepared {
                command: sudo_with_password(&command),
                stdin: Stdin::Bytes(format!("{password}\n").into_bytes()),
            },
            None => unchanged(command),
        }
    }

    async fn password(
        &self,
        context: &ToolContext,
        sandbox: &Sandbox,
        settings: &TerminalSettings,
        command: &str,
    ) -> Option<String> {
        if let Some(password) = &settings.sudo_password {
            return Some(password.clone());
        }
        let session = context.session.as_str();
        if let Some(password) = self.remembered(session) {
            return Some(password);
        }
        if sandbox.backend() == Backend::Local && asking_is_useless(sandbox).await {
            return None;
        }
        if !context.asker.is_attended() {
            return None;
        }
        let question = AskKind::Sudo {
            command: command.to_owned(),
        };
        match context.asker.ask(question, ASK_PATIENCE).await {
            Answer::Text { text } if !text.is_empty() => {
                self.remember(session, &text);
                Some(text)
            }
            _ => None,
        }
    }

    fn remembered(&self, session: &str) -> Option<String> {
        let known = self
            .by_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.get(session).cloned()
    }

    fn remember(&self, session: &str, password: &str) {
        let mut known = self
            .by_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= SESSIONS {
            known.clear();
        }
        known.insert(session.to_owned(), password.to_owned());
    }
}

fn unchanged(command: String) -> Prepared {
    Prepared {
        command,
        stdin: Stdin::Null,
    }
}

/// What a shell says about a program that is not there.
const NOT_FOUND: i32 = 127;

/// Looks where a login shell looks, because commands run in one.
const PROBE: &str = "if bash -lc 'command -v sudo' >/dev/null 2>&1; then exec bash -lc 'sudo -n true'; fi\n\
    command -v sudo >/dev/null 2>&1 || exit 127\n\
    exec sudo -n true";

/// Whether no password is needed, or there is no sudo that could take one.
async fn asking_is_useless(sandbox: &Sandbox) -> bool {
    let probe = run_script(
        &**sandbox.target(),
        PROBE,
        Stdin::Null,
        1024,
        PROBE_PATIENCE,
    );
    probe
        .await
        .is_ok_and(|outcome| matches!(outcome.code, 0 | NOT_FOUND))
}

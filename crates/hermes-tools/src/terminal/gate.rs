//! May this command run?
//!
//! The order of decisions: what is never allowed; a password the model made up;
//! a user who wants no questions; what was approved before; a person; and where no
//! person can be asked, what the configuration says.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_sandbox::Sandbox;
use hermes_types::{Answer, ApprovalChoice, AskKind};

use crate::approval::examine;
use crate::tool::ToolContext;

/// Decides about one command.
pub trait Gate: Send + Sync {
    fn admit<'a>(
        &'a self,
        context: &'a ToolContext,
        sandbox: &'a Sandbox,
        command: &'a str,
    ) -> BoxFuture<'a, Admission>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// With what the result should say about it, when somebody decided.
    Allowed { note: Option<String> },
    /// `outcome` is `denied` or `timeout` when it was a decision, not a rule.
    Blocked {
        message: String,
        outcome: Option<&'static str>,
    },
}

/// What decides where nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nobody {
    Deny,
    Allow,
    Judge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApprovalPolicy {
    /// No questions: `approvals.mode: off`, `--yolo`.
    pub off: bool,
    /// Let a model decide first: `approvals.mode: smart`.
    pub smart: bool,
    /// `approvals.worker_mode`, or `approvals.cron_mode` for scheduled work.
    pub unattended: Nobody,
    /// How long a person may take.
    pub patience: Duration,
    /// A password for sudo is configured, so `sudo -S` may have it.
    pub sudo_password: bool,
}

/// Keys that a person allowed for good (`command_allowlist`).
pub trait Allowlist: Send + Sync {
    fn contains(&self, key: &str) -> bool;
    /// Remembers the keys; failing to store them is logged, not told.
    fn add<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, ()>;
}

/// A model that judges commands.
pub trait Judge: Send + Sync {
    fn judge<'a>(&'a self, command: &'a str, reasons: &'a [String]) -> BoxFuture<'a, Verdict>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Approve,
    Deny,
    Unsure,
}

/// Sessions whose approvals are remembered; more forget the oldest first.
const SESSIONS: usize = 1024;

pub struct ApprovalGate {
    policy: ApprovalPolicy,
    allowlist: Arc<dyn Allowlist>,
    judge: Option<Arc<dyn Judge>>,
    approved: Mutex<HashMap<String, BTreeSet<String>>>,
    /// One question at a time; an answer may settle the next.
    asking: tokio::sync::Semaphore,
}

impl ApprovalGate {
    pub fn new(
        policy: ApprovalPolicy,
        allowlist: Arc<dyn Allowlist>,
        judge: Option<Arc<dyn Judge>>,
    ) -> Self {
        Self {
            policy,
            allowlist,
            judge,
            approved: Mutex::new(HashMap::new()),
            asking: tokio::sync::Semaphore::new(1),
        }
    }

    fn is_approved(&self, session: &str, key: &str) -> bool {
        self.allowlist.contains(key)
            || self
                .approved
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .get(session)
                .is_some_and(|keys| keys.contains(key))
    }

    fn approve_for(&self, session: &str, keys: &[String]) {
        let mut approved = self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        if approved.len() >= SESSIONS && !approved.contains_key(session) {
            approved.clear();
        }
        approved
            .entry(session.to_owned())
            .or_default()
            .extend(keys.iter().cloned());
    }

    async fn decide(&self, context: &ToolContext, sandbox: &Sandbox, command: &str) -> Admission {
        let findings = examine(command);
        // A container is the wall; only what reaches through it is looked at.
        if sandbox.backend().is_container() && !touches_host(sandbox, command) {
            return Admission::Allowed { note: None };
        }
        if let Some(what) = findings.hardline {
            return rule(format!(
                "BLOCKED (hardline): {what}. This is never run here, whoever agrees; do not look for a way around it."
            ));
        }
        if findings.sudo_stdin && !self.policy.sudo_password {
            return rule(
                "BLOCKED: `sudo -S` with a password of your own is never run. Use `sudo` as it is; a password is asked for where there is somebody to ask.".to_owned(),
            );
        }
        if self.policy.off {
            return Admission::Allowed { note: None };
        }
        let session = context.session.as_str();
        let open = |gate: &Self| -> Vec<String> {
            findings
                .dangerous
                .iter()
                .filter(|key| !gate.is_approved(session, key))
                .map(|key| (*key).to_owned())
                .collect()
        };
        if open(self).is_empty() {
            return Admission::Allowed { note: None };
        }
        // Never closed, so this waits and does not fail.
        let _turn = self.asking.acquire().await;
        let keys = open(self);
        if keys.is_empty() {
            return Admission::Allowed { note: None };
        }
        let attended = context.asker.is_attended();
        if self.policy.smart || (!attended && self.policy.unattended == Nobody::Judge) {
            let verdict = match &self.judge {
                Some(judge) => judge.judge(command, &keys).await,
                None => Verdict::Unsure,
            };
            match verdict {
                Verdict::Approve => {
                    self.approve_for(session, &keys);
                    return allowed(format!("approved automatically: {}", keys.join("; ")));
                }
                Verdict::Deny => {
                    return denied(
                        format!("BLOCKED: judged too risky ({}).", keys.join("; ")),
                        "denied",
                    );
                }
                Verdict::Unsure => {}
            }
        }
        if !attended {
            return match self.policy.unattended {
                Nobody::Allow => allowed(format!(
                    "nobody asked, allowed by approvals.worker_mode: {}",
                    keys.join("; ")
                )),
                Nobody::Deny | Nobody::Judge => denied(
                    format!(
                        "BLOCKED: {} needs a person's approval and nobody can be asked here (approvals.worker_mode).",
                        keys.join("; ")
                    ),
                    "denied",
                ),
            };
        }
        self.ask(context, command, keys).await
    }

    async fn ask(&self, context: &ToolContext, command: &str, keys: Vec<String>) -> Admission {
        let reason = keys.join("; ");
        let question = AskKind::Approval {
            command: command.to_owned(),
            reason: reason.clone(),
            keys: keys.clone(),
            permanent: true,
        };
        match context.asker.ask(question, self.policy.patience).await {
            Answer::Approval {
                choice: ApprovalChoice::Once,
            } => allowed(format!("approved by the user once: {reason}")),
            Answer::Approval {
                choice: ApprovalChoice::Session,
            } => {
                self.approve_for(context.session.as_str(), &keys);
                allowed(format!("approved by the user for this session: {reason}"))
            }
            Answer::Approval {
                choice: ApprovalChoice::Always,
            } => {
                self.approve_for(context.session.as_str(), &keys);
                self.allowlist.add(&keys).await;
                allowed(format!("approved by the user for good: {reason}"))
            }
            Answer::Approval {
                choice: ApprovalChoice::Deny,
            } => denied(
                format!("BLOCKED: the user denied this command ({reason})."),
                "denied",
            ),
            Answer::Text { .. } | Answer::None => denied(
                format!("BLOCKED: nobody answered the question about this command ({reason})."),
                "timeout",
            ),
        }
    }
}

impl Gate for ApprovalGate {
    fn admit<'a>(
        &'a self,
        context: &'a ToolContext,
        sandbox: &'a Sandbox,
        command: &'a str,
    ) -> BoxFuture<'a, Admission> {
        Box::pin(self.decide(context, sandbox, command))
    }
}

/// Whether a command in a container names a writable directory of the host, or
/// would run in one.
fn touches_host(sandbox: &Sandbox, command: &str) -> bool {
    sandbox
        .mounts()
        .mounts()
        .iter()
        .any(|mount| mount.writable && command.contains(mount.sandbox.as_str()))
}

fn rule(message: String) -> Admission {
    Admission::Blocked {
        message,
        outcome: None,
    }
}

fn allowed(note: String) -> Admission {
    Admission::Allowed { note: Some(note) }
}

fn denied(message: String, outcome: &'static str) -> Admission {
    Admission::Blocked {
        message: format!(
            "{message} Do not try it again, rephrase it or work around it; go another way or say what you need."
        ),
        outcome: Some(outcome),
    }
}

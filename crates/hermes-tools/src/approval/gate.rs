//! May this run?
//!
//! The order of decisions: a container is the wall, unless the command reaches a
//! directory of the host; what is never allowed; a password the model made up; a
//! user who wants no questions; what was approved before; a model, where one is
//! to judge; a person; and where no person can be asked, what the configuration
//! says. Nothing here runs or changes anything.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use hermes_sandbox::{Sandbox, SandboxPath};
use hermes_types::{Answer, ApprovalChoice, AskKind, ToolOutput};
use serde_json::{Value, json};

use super::allowlist::Allowlist;
use super::judge::{Judge, Verdict};
use super::normalize::normalize;
use super::policy::{ApprovalPolicy, Nobody};
use super::reach::reaches_host;
use super::scripts::{Script, Shelf};
use super::shell::{self, Known};
use super::{Findings, examine_knowing};
use crate::tool::ToolContext;

/// The key under which whole scripts are approved.
const SCRIPT_KEY: &str = "execute_code";

/// Variables that are remembered at most.
const MOST_VARIABLES: usize = 128;

/// A host behind ssh may be late by this much.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);

/// Decides about what an agent wants to run.
pub trait Gate: Send + Sync {
    /// One command that would start in `cwd`.
    fn admit<'a>(
        &'a self,
        context: &'a ToolContext,
        sandbox: &'a Sandbox,
        cwd: &'a str,
        command: &'a str,
    ) -> BoxFuture<'a, Admission>;

    /// A script that may do anything, and whose commands are looked at one by one.
    fn admit_script<'a>(
        &'a self,
        context: &'a ToolContext,
        sandbox: &'a Sandbox,
        script: &'a str,
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

impl Admission {
    /// What the model reads instead of a result.
    pub fn refusal(message: &str, outcome: Option<&'static str>) -> ToolOutput {
        let mut value =
            json!({"output": "", "exit_code": -1, "error": message, "status": "blocked"});
        if let Some(outcome) = outcome {
            value["outcome"] = Value::from(outcome);
            value["user_consent"] = Value::from(false);
        }
        ToolOutput {
            failed: true,
            ..ToolOutput::json(&value)
        }
    }
}

/// "No questions in this conversation", switched by people while it runs. Clones
/// are the same switch.
#[derive(Clone, Debug, Default)]
pub struct Yolo(Arc<AtomicBool>);

impl Yolo {
    pub fn new(on: bool) -> Self {
        Self(Arc::new(AtomicBool::new(on)))
    }

    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, on: bool) {
        self.0.store(on, Ordering::Relaxed);
    }
}

/// The gate of one conversation and its subagents, who share its tools: what was
/// approved for the session holds for all of them.
pub struct ApprovalGate {
    policy: ApprovalPolicy,
    allowlist: Arc<dyn Allowlist>,
    judge: Mutex<Option<Arc<dyn Judge>>>,
    yolo: Yolo,
    approved: Mutex<BTreeSet<String>>,
    /// Values that commands gave to variables: the next command meets them again.
    variables: Mutex<HashMap<String, String>>,
    /// When the conversation began, in nanoseconds of the epoch, with some allowance for
    /// clocks that differ.
    since: i128,
    /// One question at a time; an answer may settle the next.
    asking: tokio::sync::Semaphore,
}

impl ApprovalGate {
    pub fn new(
        policy: ApprovalPolicy,
        allowlist: Arc<dyn Allowlist>,
        judge: Option<Arc<dyn Judge>>,
        yolo: Yolo,
    ) -> Self {
        Self {
            policy,
            allowlist,
            judge: Mutex::new(judge),
            yolo,
            approved: Mutex::default(),
            variables: Mutex::default(),
            // Compared with times of files, which come from the same clock.
            since: nanos(SystemTime::now().checked_sub(CLOCKS_DIFFER)),
            asking: tokio::sync::Semaphore::new(1),
        }
    }

    pub fn yolo(&self) -> &Yolo {
        &self.yolo
    }

    /// Who judges from now on: the conversation's model may change.
    pub fn set_judge(&self, judge: Arc<dyn Judge>) {
        *self.judge.lock().unwrap_or_else(PoisonError::into_inner) = Some(judge);
    }

    /// Forgets what was approved for the session: a new one begins.
    pub fn forget(&self) {
        self.approved().clear();
        self.variables().clear();
    }

    fn variables(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.variables
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known when a command starts.
    fn known(&self, cwd: &str) -> Known {
        Known {
            place: cwd.starts_with('/').then(|| cwd.to_owned()),
            variables: self.variables().clone(),
        }
    }

    /// What the command leaves behind for the next.
    fn remember(&self, cwd: &str, command: &str) {
        if !command.contains('=') {
            return;
        }
        let text = normalize(command);
        let (commands, after) = shell::parse_knowing(&text, &self.known(cwd));
        let mut variables = self.variables();
        for (name, value) in shell::lasting(&commands, &after) {
            if variables.len() < MOST_VARIABLES || variables.contains_key(&name) {
                variables.insert(name, value);
            }
        }
    }

    fn approved(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.approved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wants_no_questions(&self) -> bool {
        self.policy.off || self.yolo.is_on()
    }

    fn open_keys(&self, keys: &[String]) -> Vec<String> {
        let approved = self.approved();
        keys.iter()
            .filter(|key| !approved.contains(*key) && !self.allowlist.contains(key))
            .cloned()
            .collect()
    }

    async fn command(
        &self,
        context: &ToolContext,
        sandbox: &Sandbox,
        cwd: &str,
        command: &str,
    ) -> Admission {
        let contained = sandbox.backend().is_container();
        if contained && self.is_walled(sandbox) {
            return Admission::Allowed { note: None };
        }
        let admission = self.look_at(context, sandbox, cwd, command).await;
        if matches!(admission, Admission::Allowed { .. }) {
            self.remember(cwd, command);
        }
        admission
    }

    async fn look_at(
        &self,
        context: &ToolContext,
        sandbox: &Sandbox,
        cwd: &str,
        command: &str,
    ) -> Admission {
        let contained = sandbox.backend().is_container();
        let known = self.known(cwd);
        let mut findings = examine_knowing(command, &known);
        if !known.variables.is_empty() && command.contains('$') {
            // A script may have changed them since.
            let place = known.place.clone();
            let variables = HashMap::new();
            findings.include(&examine_knowing(command, &Known { place, variables }));
        }
        let mut text = command.to_owned();
        if contained
            && (!findings.is_clean() || findings.sudo_stdin)
            && !self.reaches_host(sandbox, cwd, &known, command).await
        {
            findings = Findings::default();
        }
        for script in self.scripts(sandbox, cwd, &known, command).await {
            if contained
                && !self
                    .script_reaches_host(sandbox, cwd, &known, &script)
                    .await
            {
                continue;
            }
            findings.include(&script.findings);
            text = format!("{text}\n{}", script.reasons());
        }
        if findings.is_clean() && !findings.sudo_stdin {
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
        let keys: Vec<String> = findings.dangerous.iter().map(|&key| key.into()).collect();
        self.decide(context, &text, &keys).await
    }

    /// Scripts that the command runs from files, where there is something in them.
    async fn scripts(
        &self,
        sandbox: &Sandbox,
        cwd: &str,
        known: &Known,
        command: &str,
    ) -> Vec<Script> {
        let Some(cwd) = SandboxPath::absolute(cwd) else {
            return Vec::new();
        };
        let mut variables = sandbox.session_options().environment.iter();
        let home = variables.find(|(name, _)| name == "HOME");
        let shelf = Shelf {
            files: &**sandbox.files(),
            cwd: &cwd,
            home: home
                .map(|(_, home)| home.as_str())
                .or(sandbox.backend().is_container().then_some("/root"))
                .and_then(SandboxPath::absolute),
            since: self.since,
            known,
        };
        shelf.scripts(command).await
    }

    async fn script_reaches_host(
        &self,
        sandbox: &Sandbox,
        cwd: &str,
        known: &Known,
        script: &Script,
    ) -> bool {
        if script.is_shell {
            return self.reaches_host(sandbox, cwd, known, &script.text).await;
        }
        // Of other languages only the paths can be read.
        let here = SandboxPath::absolute(cwd);
        sandbox.exposed().iter().any(|mount| {
            script.text.contains(mount.as_str())
                || here.as_ref().is_none_or(|cwd| cwd.below(mount).is_some())
        })
    }

    async fn script(&self, context: &ToolContext, sandbox: &Sandbox, script: &str) -> Admission {
        // A person at a terminal is asked about each command; a subagent cannot ask.
        let asked_later = !self.policy.ask_for_scripts && context.asker.is_attended();
        if asked_later || (sandbox.backend().is_container() && self.is_walled(sandbox)) {
            return Admission::Allowed { note: None };
        }
        self.decide(context, script, &[SCRIPT_KEY.to_owned()]).await
    }

    fn is_walled(&self, sandbox: &Sandbox) -> bool {
        self.policy.trust_mounts || sandbox.exposed().is_empty()
    }

    async fn reaches_host(
        &self,
        sandbox: &Sandbox,
        cwd: &str,
        known: &Known,
        command: &str,
    ) -> bool {
        if self.is_walled(sandbox) {
            return false;
        }
        match SandboxPath::absolute(cwd) {
            Some(cwd) => {
                let files = &**sandbox.files();
                reaches_host(files, sandbox.exposed(), &cwd, known, command).await
            }
            None => true,
        }
    }

    async fn decide(&self, context: &ToolContext, text: &str, keys: &[String]) -> Admission {
        if self.wants_no_questions() || self.open_keys(keys).is_empty() {
            return Admission::Allowed { note: None };
        }
        // Never closed, so this waits and does not fail.
        let _turn = self.asking.acquire().await;
        // While others were asked, the answer to this may have been given.
        let keys = self.open_keys(keys);
        if self.wants_no_questions() || keys.is_empty() {
            return Admission::Allowed { note: None };
        }
        let attended = context.asker.is_attended();
        if self.policy.smart || (!attended && self.policy.unattended == Nobody::Judge) {
            match self.judged(text, &keys).await {
                Verdict::Approve => {
                    self.approved().extend(keys.iter().cloned());
                    return allowed(format!(
                        "approved by the judging model: {}",
                        keys.join("; ")
                    ));
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
        if attended {
            self.ask(context, text, keys).await
        } else {
            self.without_a_person(&keys)
        }
    }

    async fn judged(&self, text: &str, keys: &[String]) -> Verdict {
        let judge = self
            .judge
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match judge {
            Some(judge) => judge.judge(text, keys).await,
            None => Verdict::Unsure,
        }
    }

    fn without_a_person(&self, keys: &[String]) -> Admission {
        let (what, key) = (keys.join("; "), self.policy.unattended_key);
        match self.policy.unattended {
            Nobody::Allow => allowed(format!("nobody was asked, {key} allows it: {what}")),
            Nobody::Deny | Nobody::Judge => denied(
                format!(
                    "BLOCKED: this needs a person's approval ({what}) and nobody can be asked here; {key} decides then."
                ),
                "denied",
            ),
        }
    }

    async fn ask(&self, context: &ToolContext, text: &str, keys: Vec<String>) -> Admission {
        let reason = keys.join("; ");
        let question = AskKind::Approval {
            command: text.to_owned(),
            reason: reason.clone(),
            keys: keys.clone(),
            permanent: true,
        };
        let answer = tokio::select! {
            answer = context.asker.ask(question, self.policy.patience) => answer,
            () = context.cancel.cancelled() => Answer::None,
        };
        let choice = match answer {
            Answer::Approval { choice } => choice,
            Answer::Text { .. } | Answer::Cancelled | Answer::None => {
                return denied(
                    format!(
                        "BLOCKED: nobody answered the question about this ({reason}). Silence is not consent."
                    ),
                    "timeout",
                );
            }
        };
        match choice {
            ApprovalChoice::Once => allowed(format!("approved by the user once: {reason}")),
            ApprovalChoice::Session => {
                self.approved().extend(keys);
                allowed(format!("approved by the user for this session: {reason}"))
            }
            ApprovalChoice::Always => {
                self.approved().extend(keys.iter().cloned());
                match self.allowlist.add(&keys).await {
                    Ok(()) => allowed(format!("approved by the user for good: {reason}")),
                    Err(error) => {
                        tracing::warn!(%error, "an approval for good was not stored");
                        allowed(format!("approved by the user for this session: {reason}"))
                    }
                }
            }
            ApprovalChoice::Deny => denied(
                format!("BLOCKED: the user denied this ({reason})."),
                "denied",
            ),
        }
    }
}

impl Gate for ApprovalGate {
    fn admit<'a>(
        &'a self,
        context: &'a ToolContext,
        sandbox: &'a Sandbox,
        cwd: &'a str,
        command: &'a str,
    ) -> BoxFuture<'a, Admission> {
        Box::pin(self.command(context, sandbox, cwd, command))
    }

    fn admit_script<'a>(
        &'a self,
        context: &'a ToolContext,
        sandbox: &'a Sandbox,
        script: &'a str,
    ) -> BoxFuture<'a, Admission> {
        Box::pin(self.script(context, sandbox, script))
    }
}

fn nanos(time: Option<SystemTime>) -> i128 {
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as i128)
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

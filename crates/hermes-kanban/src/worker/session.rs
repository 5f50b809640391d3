//! A worker's life: it takes up its run, is heard of while it works, and says on
//! the board how it ended before it exits.
//!
//! The front end runs turns and asks [`WorkerSession::after_turn`] what comes next.
//! Every ending is written by the worker itself, because a dispatcher that made
//! one round does not wait for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_types::TaskId;

use super::assignment::{Assignment, Goal};
use super::images::image_references;
use crate::dispatch::{EXIT_MISCONFIGURED, EXIT_RATE_LIMITED, EXIT_TERMINATED};
use crate::error::KanbanError;
use crate::host::Host;
use crate::machine::{Failed, FailureKind, Fence, Refusal, Release, clip};
use crate::model::Status;
use crate::store::Board;

/// Between two heartbeats that activity causes.
const PULSE: Duration = Duration::from_secs(60);
/// How much of the last answer a block shows.
const REASON_CHARS: usize = 1000;

/// How a turn ended, as far as the board is concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    Answered {
        text: String,
    },
    /// The provider said to come back later, or that an allowance is used up.
    RateLimited {
        message: String,
    },
    /// A budget of money or tokens is used up.
    BudgetReached {
        message: String,
    },
    OutOfIterations {
        used: u32,
        max: u32,
    },
    Failed {
        message: String,
    },
    /// No key, no such provider, a broken file: another worker would fail alike.
    Misconfigured {
        message: String,
    },
    /// SIGTERM or another end from outside.
    Interrupted,
}

/// What the front end does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another turn of the same conversation.
    Say(String),
    /// Ask the goal judge; its answer goes to [`WorkerSession::judged`].
    Judge {
        system: String,
        user: String,
    },
    Exit(u8),
}

/// Why a worker may not begin.
#[derive(Debug)]
pub enum NotMine {
    /// The run was taken away before it began, or was never this process's.
    RunIsOver(Refusal),
    Board(KanbanError),
}

/// One worker process.
pub struct WorkerSession {
    board: Arc<Mutex<Board>>,
    assignment: Assignment,
    claim_ttl: i64,
    last_pulse: Mutex<Option<Instant>>,
    turns: u32,
    nudged: bool,
    last_answer: String,
}

impl WorkerSession {
    /// Takes up the run: from here on the board knows this process by pid, start
    /// time and boot, also if the dispatcher died right after starting it.
    pub fn check_in(
        board: Arc<Mutex<Board>>,
        assignment: Assignment,
        host: &Host,
        claim_ttl: i64,
    ) -> Result<Self, NotMine> {
        if let Some(run) = assignment.run {
            let outcome = lock(&board).check_in(&assignment.task, &host.this_worker(run));
            match outcome {
                Ok(()) => {}
                Err(KanbanError::Refused(refusal)) => return Err(NotMine::RunIsOver(refusal)),
                Err(error) => return Err(NotMine::Board(error)),
            }
        }
        Ok(Self {
            board,
            assignment,
            claim_ttl,
            last_pulse: Mutex::new(None),
            turns: 0,
            nudged: false,
            last_answer: String::new(),
        })
    }

    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// Pictures that the task's text names, for the first turn.
    pub fn images(&self, user_home: &std::path::Path) -> Result<Vec<String>, KanbanError> {
        let task = self.board().task(&self.assignment.task)?;
        Ok(image_references(
            task.body.as_deref().unwrap_or_default(),
            user_home,
        ))
    }

    /// Something happened: a chunk came, a tool ran. At most once a minute this
    /// becomes a heartbeat that keeps the claim; it never fails the work.
    pub fn pulse(&self) {
        {
            let mut last = self
                .last_pulse
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if last.is_some_and(|at| at.elapsed() < PULSE) {
                return;
            }
            *last = Some(Instant::now());
        }
        let lock = self
            .assignment
            .lock
            .as_deref()
            .map(|lock| (lock, self.claim_ttl));
        let beat = self
            .board()
            .heartbeat(&self.assignment.task, None, self.fence(), lock);
        if let Err(error) = beat {
            tracing::debug!(%error, "no heartbeat");
        }
    }

    /// Records what the turn's end means and says what comes next.
    pub fn after_turn(&mut self, end: TurnEnd) -> Result<Next, KanbanError> {
        self.turns += 1;
        if let TurnEnd::Interrupted = end {
            return self.interrupted();
        }
        if !self.is_open()? {
            return Ok(Next::Exit(0));
        }
        match end {
            TurnEnd::Answered { text } => {
                self.last_answer = text;
                match self.assignment.goal {
                    Some(goal) => self.toward(goal),
                    None => self.remind_or_block(),
                }
            }
            TurnEnd::RateLimited { message } => {
                let release = Release::RateLimited {
                    exit_code: EXIT_RATE_LIMITED,
                    error: message,
                };
                self.settle(|board, id, run| board.release(id, run, release).map(drop))?;
                Ok(Next::Exit(75))
            }
            TurnEnd::BudgetReached { message } => {
                self.block(&format!("budget reached: {message}"))?;
                Ok(Next::Exit(1))
            }
            TurnEnd::OutOfIterations { used, max } => {
                let error = format!("the agent used {used} of {max} iterations without finishing");
                let kind = FailureKind::BudgetExhausted {
                    used: used.into(),
                    max: max.into(),
                };
                self.fail(kind, error)?;
                Ok(Next::Exit(1))
            }
            TurnEnd::Failed { message } => {
                let pid = i64::from(std::process::id());
                self.fail(
                    FailureKind::Crashed {
                        pid,
                        exit: Some(("code", 1)),
                    },
                    message,
                )?;
                Ok(Next::Exit(1))
            }
            TurnEnd::Misconfigured { message } => {
                let exit = Some(("code", EXIT_MISCONFIGURED));
                let pid = i64::from(std::process::id());
                self.give_up(FailureKind::Crashed { pid, exit }, message)?;
                Ok(Next::Exit(78))
            }
            TurnEnd::Interrupted => self.interrupted(),
        }
    }

    /// What the judge said about the last answer. An error means: go on.
    pub fn judged(&mut self, verdict: Result<String, String>) -> Result<Next, KanbanError> {
        if !self.is_open()? {
            return Ok(Next::Exit(0));
        }
        let (done, reason) = match &verdict {
            Ok(text) => read_verdict(text),
            Err(reason) => (false, reason.clone()),
        };
        if done {
            return self.remind_or_block();
        }
        let max = self.assignment.goal.map_or(0, |goal| goal.max_turns);
        if self.turns >= max {
            self.block(&format!(
                "goal not reached after {} of {max} turns; the judge said: {reason}",
                self.turns
            ))?;
            return Ok(Next::Exit(0));
        }
        Ok(Next::Say(format!(
            "The goal of task {} is not reached yet: {reason}\nWork on. When it is reached, call \
             kanban_complete; when you cannot go on, call kanban_block.",
            self.assignment.task
        )))
    }

    fn toward(&mut self, goal: Goal) -> Result<Next, KanbanError> {
        let task = self.board().task(&self.assignment.task)?;
        let system = "You judge whether a piece of work reached its goal. Answer with one JSON \
                      object: {\"done\": true or false, \"reason\": \"one sentence\"}."
            .to_owned();
        let user = format!(
            "Goal: {}\n{}\n\nTurn {} of {}. The worker's last report:\n{}",
            task.title,
            task.body.as_deref().unwrap_or_default(),
            self.turns,
            goal.max_turns,
            self.last_answer
        );
        Ok(Next::Judge { system, user })
    }

    /// One reminder; a worker that still reports nothing has its last words put on
    /// the board as the reason of a block.
    fn remind_or_block(&mut self) -> Result<Next, KanbanError> {
        if !self.nudged {
            self.nudged = true;
            return Ok(Next::Say(format!(
                "Task {} is still open. Call kanban_complete with a short summary if the work is \
                 done, or kanban_block with the reason if it is not. Do one of the two now.",
                self.assignment.task
            )));
        }
        let said = self.last_answer.trim();
        let reason = if said.is_empty() {
            "the worker ended without a report".to_owned()
        } else {
            format!(
                "the worker ended without a report; it last said: {}",
                clip(said, REASON_CHARS)
            )
        };
        self.block(&reason)?;
        Ok(Next::Exit(0))
    }

    /// The claim stays for the dispatcher, which finds the note and gives the task
    /// back without blaming it.
    fn interrupted(&self) -> Result<Next, KanbanError> {
        if let Some(run) = self.assignment.run {
            self.board().record_exit(run, Some(EXIT_TERMINATED), None)?;
        }
        Ok(Next::Exit(143))
    }

    /// Whether the task still waits for a word from this worker.
    fn is_open(&self) -> Result<bool, KanbanError> {
        let task = self.board().find(&self.assignment.task)?;
        Ok(task.is_some_and(|task| match self.assignment.run {
            Some(run) => task.current_run_id == Some(run),
            None => matches!(task.status, Status::Running | Status::Ready),
        }))
    }

    fn block(&self, reason: &str) -> Result<(), KanbanError> {
        let fence = self.fence();
        self.settle(|board, id, _| board.block(id, Some(reason), fence, None).map(drop))
    }

    /// The task may be tried again, unless it failed too often.
    fn fail(&self, kind: FailureKind, error: String) -> Result<(), KanbanError> {
        self.report(kind, error, false)
    }

    /// Trying again would not help: people must look at it.
    fn give_up(&self, kind: FailureKind, error: String) -> Result<(), KanbanError> {
        self.report(kind, error, true)
    }

    fn report(&self, kind: FailureKind, error: String, at_once: bool) -> Result<(), KanbanError> {
        let fence = self.fence();
        let report = Failed {
            kind,
            error,
            at_once,
            fence,
        };
        self.settle(|board, id, run| board.fail(id, run, report).map(drop))
    }

    /// A refusal means that somebody else has decided meanwhile.
    fn settle(
        &self,
        act: impl FnOnce(&Board, &TaskId, Option<i64>) -> Result<(), KanbanError>,
    ) -> Result<(), KanbanError> {
        match act(&self.board(), &self.assignment.task, self.assignment.run) {
            Err(error) if error.is_refusal() => Ok(()),
            outcome => outcome,
        }
    }

    fn fence(&self) -> Fence {
        self.assignment.run.map_or(Fence::Open, Fence::Run)
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        lock(&self.board)
    }
}

/// A panic while holding leaves a board that is as good as before: every write is
/// one transaction.
pub(crate) fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `{"done": …, "reason": …}` somewhere in the text; anything else is "not yet".
fn read_verdict(text: &str) -> (bool, String) {
    let parsed = text
        .find('{')
        .zip(text.rfind('}'))
        .filter(|(start, end)| start < end)
        .and_then(|(start, end)| {
            serde_json::from_str::<serde_json::Value>(&text[start..=end]).ok()
        });
    match parsed {
        Some(value) => (
            value.get("done").and_then(serde_json::Value::as_bool) == Some(true),
            value
                .get("reason")
                .and_then(|reason| reason.as_str())
                .unwrap_or("no reason given")
                .to_owned(),
        ),
        None => (false, clip(text.trim(), 200)),
    }
}

//! A goal that a conversation works towards turn by turn, until a judge is
//! satisfied. Pure: the state, what a turn's end means for it, what the judge is
//! asked and what its answer means. Stored as JSON under `goal:<session>`, in the
//! form of Python Hermes.

use hermes_types::SessionId;
use serde::{Deserialize, Serialize};

/// Verdicts in a row that cannot be read before somebody has to look.
const UNREADABLE: u32 = 3;
/// What the judge gets to see of goal and answer.
const GOAL_CHARS: usize = 2_000;
const ANSWER_CHARS: usize = 4_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalStatus {
    #[default]
    Active,
    Paused,
    Done,
    Cleared,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Goal {
    pub goal: String,
    pub status: GoalStatus,
    pub turns_used: u32,
    pub max_turns: u32,
    pub created_at: f64,
    pub last_turn_at: f64,
    pub last_verdict: Option<String>,
    pub last_reason: Option<String>,
    pub paused_reason: Option<String>,
    pub consecutive_parse_failures: u32,
    pub subgoals: Vec<String>,
    /// What others wrote there stays.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// What follows a turn or a verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum GoalStep {
    Nothing,
    /// Ask the judge: system text and question.
    Judge {
        system: String,
        user: String,
    },
    /// Tell the user.
    Tell(String),
    /// Tell the user how far it is, and the model to go on.
    GoOn {
        progress: String,
        message: String,
    },
}

impl Goal {
    pub fn new(goal: &str, max_turns: u32, now: f64) -> Self {
        Self {
            goal: goal.to_owned(),
            max_turns: max_turns.max(1),
            created_at: now,
            ..Self::default()
        }
    }

    /// Where it is kept.
    pub fn key(session: &SessionId) -> String {
        format!("goal:{session}")
    }

    pub fn pause(&mut self, why: &str) {
        self.status = GoalStatus::Paused;
        self.paused_reason = Some(why.to_owned());
    }

    /// Goes on after a pause, with all its turns again.
    pub fn resume(&mut self) {
        self.status = GoalStatus::Active;
        self.paused_reason = None;
        self.turns_used = 0;
        self.consecutive_parse_failures = 0;
    }

    /// A turn ended. `next_is_queued` when the user has said something meanwhile.
    pub fn after_turn(
        &mut self,
        answer: &str,
        interrupted: bool,
        next_is_queued: bool,
        now: chrono::DateTime<chrono::Local>,
    ) -> GoalStep {
        if self.status != GoalStatus::Active {
            return GoalStep::Nothing;
        }
        if interrupted {
            self.pause("interrupted");
            return GoalStep::Tell("The goal is paused; `/goal resume` goes on.".to_owned());
        }
        if next_is_queued || answer.trim().is_empty() {
            return GoalStep::Nothing;
        }
        self.turns_used += 1;
        self.last_turn_at = now.timestamp_millis() as f64 / 1e3;
        let system = "You judge whether a conversation has reached its goal. Answer with one JSON object and \
                      nothing else: {\"done\": true or false, \"reason\": \"one sentence\"}. Be strict: what is only \
                      announced is not done."
            .to_owned();
        let user = format!(
            "Goal:\n{}\n{}\nIt is {}.\n\nThe last answer:\n{}",
            first(&self.goal, GOAL_CHARS),
            self.listed(),
            now.format("%Y-%m-%d %H:%M %Z"),
            last(answer.trim(), ANSWER_CHARS)
        );
        GoalStep::Judge { system, user }
    }

    /// What the judge said; an error means to go on.
    pub fn judged(&mut self, verdict: Result<&str, &str>) -> GoalStep {
        let (done, reason) = match verdict {
            Err(error) => (false, format!("the judge could not be asked: {error}")),
            Ok(text) => match parse(text) {
                Some(read) => {
                    self.consecutive_parse_failures = 0;
                    read
                }
                None => {
                    self.consecutive_parse_failures += 1;
                    if self.consecutive_parse_failures >= UNREADABLE {
                        self.pause("the judge's verdicts cannot be read");
                        return GoalStep::Tell(
                            "The goal is paused: three verdicts in a row could not be read. Choose another \
                             judge (`auxiliary.goal_judge`), then `/goal resume`."
                                .to_owned(),
                        );
                    }
                    (false, "the verdict could not be read".to_owned())
                }
            },
        };
        self.last_verdict = Some(if done { "done" } else { "continue" }.to_owned());
        self.last_reason = Some(reason.clone());
        if done {
            self.status = GoalStatus::Done;
            return GoalStep::Tell(format!("✓ Goal achieved: {reason}"));
        }
        if self.turns_used >= self.max_turns {
            self.pause("all turns are used");
            return GoalStep::Tell(format!(
                "The goal is paused after {} turns: {reason}. `/goal resume` allows as many again.",
                self.turns_used
            ));
        }
        GoalStep::GoOn {
            progress: format!(
                "Goal, turn {} of {}: {reason}",
                self.turns_used, self.max_turns
            ),
            message: format!(
                "[Go on towards the goal. It is not reached yet: {reason}]\n\nGoal: {}\n{}",
                self.goal,
                self.listed()
            ),
        }
    }

    /// One paragraph for people.
    pub fn told(&self) -> String {
        let state = match self.status {
            GoalStatus::Active => "active".to_owned(),
            GoalStatus::Paused => match &self.paused_reason {
                Some(why) => format!("paused ({why})"),
                None => "paused".to_owned(),
            },
            GoalStatus::Done => "reached".to_owned(),
            GoalStatus::Cleared => "cleared".to_owned(),
        };
        let reason = match &self.last_reason {
            Some(reason) => format!(" Last verdict: {reason}."),
            None => String::new(),
        };
        format!(
            "Goal: {}\n\n{state}, {} of {} turns used.{reason}\n{}",
            self.goal,
            self.turns_used,
            self.max_turns,
            self.listed()
        )
    }

    fn listed(&self) -> String {
        let lines = self.subgoals.iter().enumerate();
        lines
            .map(|(index, text)| format!("{}. {}\n", index + 1, first(text, GOAL_CHARS)))
            .collect()
    }
}

/// The object in the answer, with or without a fence around it.
fn parse(text: &str) -> Option<(bool, String)> {
    let object = &text[text.find('{')?..=text.rfind('}')?];
    let value: serde_json::Value = serde_json::from_str(object).ok()?;
    let reason = value["reason"].as_str().unwrap_or("no reason was given");
    Some((value["done"].as_bool()?, reason.trim().to_owned()))
}

fn first(text: &str, chars: usize) -> &str {
    let end = text
        .char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at);
    &text[..end]
}

fn last(text: &str, chars: usize) -> &str {
    let skip = text.chars().count().saturating_sub(chars);
    let start = text
        .char_indices()
        .nth(skip)
        .map_or(text.len(), |(at, _)| at);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn after(goal: &mut Goal, answer: &str) -> GoalStep {
        goal.after_turn(answer, false, false, chrono::Local::now())
    }

    #[test]
    fn a_goal_goes_on_until_the_judge_is_satisfied() {
        let mut goal = Goal::new("ship it", 5, 1.0);
        goal.subgoals.push("with tests".into());
        let GoalStep::Judge { user, .. } = after(&mut goal, "half done") else {
            panic!("no question");
        };
        assert!(
            user.contains("ship it")
                && user.contains("1. with tests")
                && user.contains("half done")
        );
        let step = goal.judged(Ok(
            "```json\n{\"done\": false, \"reason\": \"no tests\"}\n```",
        ));
        assert!(
            matches!(&step, GoalStep::GoOn { message, .. } if message.contains("no tests")),
            "{step:?}"
        );
        after(&mut goal, "all done");
        assert_eq!(
            goal.judged(Ok(r#"{"done": true, "reason": "it is shipped"}"#)),
            GoalStep::Tell("✓ Goal achieved: it is shipped".into())
        );
        assert_eq!((goal.status, goal.turns_used), (GoalStatus::Done, 2));
        assert_eq!(after(&mut goal, "more"), GoalStep::Nothing);
    }

    #[test]
    fn it_pauses_when_interrupted_unreadable_or_out_of_turns() {
        let mut goal = Goal::new("x", 10, 0.0);
        goal.after_turn("a", true, false, chrono::Local::now());
        assert_eq!(goal.status, GoalStatus::Paused);
        goal.resume();
        for _ in 0..3 {
            after(&mut goal, "a");
            goal.judged(Ok("I think so"));
        }
        assert_eq!(goal.status, GoalStatus::Paused);
        let mut goal = Goal::new("x", 1, 0.0);
        after(&mut goal, "a");
        goal.judged(Err("timeout"));
        assert_eq!(goal.status, GoalStatus::Paused);
        // Nothing is counted for what the user asked in between.
        let mut goal = Goal::new("x", 1, 0.0);
        assert_eq!(
            goal.after_turn("a", false, true, chrono::Local::now()),
            GoalStep::Nothing
        );
        assert_eq!(after(&mut goal, "  "), GoalStep::Nothing);
        assert_eq!(goal.turns_used, 0);
    }

    #[test]
    fn the_stored_form_is_the_other_programs() {
        let stored = r#"{"goal":"g","status":"paused","turns_used":2,"max_turns":20,"created_at":1.0,
            "last_turn_at":2.0,"last_verdict":"continue","last_reason":"r","paused_reason":"p",
            "consecutive_parse_failures":1,"subgoals":["a"],"added_later":true}"#;
        let goal: Goal = serde_json::from_str(stored).unwrap();
        assert_eq!((goal.status, goal.turns_used), (GoalStatus::Paused, 2));
        let again: serde_json::Value =
            serde_json::from_str(&serde_json::to_string(&goal).unwrap()).unwrap();
        assert_eq!(
            again,
            serde_json::from_str::<serde_json::Value>(stored).unwrap()
        );
    }
}

//! `/goal` and `/subgoal`: the conversation goes on by itself until a judge says
//! that the goal is reached. The judge is asked beside the keys.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hermes_agent::goal::{Goal, GoalStatus, GoalStep};
use hermes_llm::{Auxiliary, Request, RequestLimits};
use hermes_store::{StateDb, StoreError};
use hermes_tools::{StateError, StateHandle};
use hermes_tui::{Incoming, Outcome};
use hermes_types::{Message, SessionId, StopReason, TurnOutcome};

use super::host::ChatHost;
use crate::CommandError;
use crate::wiring::open_models;

const LIMITS: RequestLimits = RequestLimits {
    max_output_tokens: Some(4_096),
    temperature: Some(0.0),
    effort: None,
};

pub(super) async fn goal(host: &mut ChatHost, words: &str) -> Result<Outcome, CommandError> {
    let Some(session) = host.session() else {
        return Ok(Outcome::Say("There is no session yet.".to_owned()));
    };
    let mut goal = load(&host.state, &session).await?;
    let said = match (words, &mut goal) {
        ("" | "status", None) => "There is no goal: `/goal TEXT` sets one.".to_owned(),
        ("" | "status", Some(goal)) => goal.told(),
        ("pause" | "resume" | "clear", None) => "There is no goal.".to_owned(),
        ("pause", Some(goal)) => {
            goal.pause("by the user");
            "The goal is paused; `/goal resume` goes on.".to_owned()
        }
        ("clear", Some(goal)) => {
            goal.status = GoalStatus::Cleared;
            "The goal is cleared.".to_owned()
        }
        ("resume", Some(goal)) => {
            goal.resume();
            let text = format!("[Go on towards the goal.]\n\nGoal: {}", goal.goal);
            store(&host.state, &session, goal).await?;
            return Ok(Outcome::Send(text));
        }
        (text, _) => {
            let turns = host.context.config()?.integer("goals.max_turns")?;
            let now = host.context.clock.now().timestamp_millis() as f64 / 1e3;
            let goal = Goal::new(text, u32::try_from(turns).unwrap_or(1), now);
            store(&host.state, &session, &goal).await?;
            return Ok(Outcome::Send(text.to_owned()));
        }
    };
    if let Some(goal) = &goal {
        store(&host.state, &session, goal).await?;
    }
    Ok(Outcome::Say(said))
}

pub(super) async fn subgoal(host: &mut ChatHost, words: &str) -> Result<Outcome, CommandError> {
    let loaded = match host.session() {
        Some(session) => {
            let goal = load(&host.state, &session).await?;
            goal.map(|goal| (session, goal))
        }
        None => None,
    };
    let Some((session, mut goal)) = loaded else {
        return Ok(Outcome::Say(
            "There is no goal to add to: `/goal TEXT` sets one.".to_owned(),
        ));
    };
    match words.split_once(' ').unwrap_or((words, "")) {
        ("", _) => return Ok(Outcome::Say(goal.told())),
        ("clear", "") => goal.subgoals.clear(),
        ("remove", number) => {
            let at = number
                .trim()
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_sub(1))
                .filter(|at| *at < goal.subgoals.len());
            let Some(at) = at else {
                return Err(CommandError::usage(format!(
                    "`{}` is the number of none of {}",
                    number.trim(),
                    goal.subgoals.len()
                )));
            };
            goal.subgoals.remove(at);
        }
        _ => goal.subgoals.push(words.to_owned()),
    }
    store(&host.state, &session, &goal).await?;
    Ok(Outcome::Say(goal.told()))
}

/// What the end of a turn means for the goal, found out beside the conversation.
pub(super) fn after_turn(host: &ChatHost, outcome: TurnOutcome, goes_on: bool) {
    let Some(wired) = &host.wired else { return };
    let Ok(models) = open_models(&host.context) else {
        return;
    };
    let judge = Auxiliary::new(models, wired.main_model());
    let (state, news, next) = (
        host.state.clone(),
        host.news.clone(),
        host.next_turn.clone(),
    );
    let (sent, now) = (host.sent(), host.context.clock.now_local());
    let before = sent.load(Ordering::Relaxed);
    tokio::spawn(async move {
        let session = outcome.session.clone();
        let Ok(Some(mut goal)) = load(&state, &session).await else {
            return;
        };
        let interrupted = outcome.reason == StopReason::Interrupted;
        let mut step = goal.after_turn(&outcome.answer, interrupted, goes_on, now);
        if let GoalStep::Judge { system, user } = &step {
            let mut request = Request::new(
                system.as_str(),
                vec![Arc::new(Message::user(user.as_str()))],
            );
            request.limits = LIMITS;
            let verdict = judge.ask("goal_judge", &request).await;
            let verdict = verdict
                .map(|answer| answer.text)
                .map_err(|error| error.to_string());
            step = goal.judged(verdict.as_deref().map_err(String::as_str));
        }
        if step != GoalStep::Nothing
            && let Err(error) = store(&state, &session, &goal).await
        {
            tracing::warn!(%error, "the goal was not stored");
        }
        // A chat that is gone hears of nothing.
        match step {
            GoalStep::Tell(text) => drop(news.send(Incoming::Remark(text)).await),
            // The user has said something meanwhile: that comes first.
            GoalStep::GoOn { progress, message } if sent.load(Ordering::Relaxed) == before => {
                let _ = news.send(Incoming::Remark(progress)).await;
                let _ = next.send(message).await;
            }
            _ => {}
        }
    });
}

/// The goal of the session, or of the one it was condensed from.
async fn load(state: &StateHandle, session: &SessionId) -> Result<Option<Goal>, StateError> {
    let id = session.clone();
    state
        .run(move |database: &StateDb| {
            let mut ids = vec![id.clone()];
            ids.extend(database.ancestors(&id)?);
            for id in ids {
                if let Some(text) = database.meta(&Goal::key(&id))? {
                    let goal: Option<Goal> = serde_json::from_str(&text).ok();
                    return Ok(goal.filter(|goal| goal.status != GoalStatus::Cleared));
                }
            }
            Ok(None)
        })
        .await
}

async fn store(state: &StateHandle, session: &SessionId, goal: &Goal) -> Result<(), StateError> {
    let (key, goal) = (Goal::key(session), goal.clone());
    state
        .run(move |database: &StateDb| -> Result<(), StoreError> {
            // A goal is plain data; it can always be written.
            let text = serde_json::to_string(&goal).unwrap_or_default();
            database.set_meta(&key, &text)
        })
        .await
}

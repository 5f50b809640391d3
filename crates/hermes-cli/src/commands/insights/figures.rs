//! Adding up. Days and hours are those of the local clock.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, Local, NaiveDate, Timelike};
use hermes_store::{SessionFigures, StateDb, StoreError};
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Default, Serialize)]
pub(super) struct Figures {
    pub(super) sessions: usize,
    pub(super) messages: i64,
    pub(super) user_messages: i64,
    pub(super) tool_calls: i64,
    pub(super) input_tokens: i64,
    pub(super) output_tokens: i64,
    pub(super) total_tokens: i64,
    /// Of sessions whose price is known.
    pub(super) cost_usd: f64,
    pub(super) active_seconds: f64,
    /// Sessions that ended, which are those with a length.
    pub(super) ended_sessions: usize,
    pub(super) first_day: Option<NaiveDate>,
    pub(super) last_day: Option<NaiveDate>,
    pub(super) models: Vec<Share>,
    pub(super) platforms: Vec<Share>,
    pub(super) tools: Vec<(String, i64)>,
    pub(super) skills: Vec<Skill>,
    /// Monday first.
    pub(super) weekdays: [i64; 7],
    pub(super) hours: [i64; 24],
    pub(super) active_days: usize,
    pub(super) best_streak: usize,
    pub(super) notable: Vec<Notable>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Share {
    pub(super) name: String,
    pub(super) sessions: i64,
    pub(super) messages: i64,
    pub(super) tokens: i64,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) loads: i64,
    pub(super) edits: i64,
    pub(super) last_used: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Record {
    Longest,
    Messages,
    Tokens,
    ToolCalls,
}

#[derive(Debug, Serialize)]
pub(super) struct Notable {
    pub(super) what: Record,
    pub(super) value: f64,
    pub(super) session: String,
    pub(super) started_at: f64,
}

pub(super) fn local(seconds: f64) -> DateTime<Local> {
    DateTime::from_timestamp_micros((seconds * 1e6) as i64)
        .unwrap_or_default()
        .with_timezone(&Local)
}

pub(super) fn gather(
    db: &StateDb,
    since: f64,
    source: Option<&str>,
) -> Result<Figures, StoreError> {
    let sessions = db.figures_since(since, source)?;
    let mut figures = Figures {
        sessions: sessions.len(),
        user_messages: db.user_messages_since(since, source)?,
        ..Figures::default()
    };
    let mut models: BTreeMap<String, Share> = BTreeMap::new();
    let mut platforms: BTreeMap<String, Share> = BTreeMap::new();
    let mut days = BTreeSet::new();
    for session in &sessions {
        figures.messages += session.messages;
        figures.tool_calls += session.tool_calls;
        figures.input_tokens += session.input_tokens;
        figures.output_tokens += session.output_tokens;
        figures.total_tokens += session.tokens();
        figures.cost_usd += session.cost_usd.unwrap_or(0.0);
        if let Some(seconds) = session.seconds() {
            figures.active_seconds += seconds;
            figures.ended_sessions += 1;
        }
        let began = local(session.started_at);
        days.insert(began.date_naive());
        figures.weekdays[began.weekday().num_days_from_monday() as usize] += 1;
        figures.hours[began.hour() as usize] += 1;
        let model = session.model.as_deref().unwrap_or("unknown");
        let model = model.rsplit('/').next().unwrap_or(model);
        add(&mut models, model, session);
        add(&mut platforms, &session.source, session);
    }
    figures.first_day = days.first().copied();
    figures.last_day = days.last().copied();
    figures.active_days = days.len();
    figures.best_streak = best_streak(&days);
    figures.models = sorted(models, |share| (share.tokens, share.sessions));
    figures.platforms = sorted(platforms, |share| (share.sessions, share.tokens));
    figures.notable = notable(&sessions);
    tools(db, since, source, &mut figures)?;
    Ok(figures)
}

fn add(shares: &mut BTreeMap<String, Share>, name: &str, session: &SessionFigures) {
    let share = shares.entry(name.to_owned()).or_default();
    share.name = name.to_owned();
    share.sessions += 1;
    share.messages += session.messages;
    share.tokens += session.tokens();
}

/// Largest first; equal ones by name.
fn sorted<K: Ord>(shares: BTreeMap<String, Share>, key: impl Fn(&Share) -> K) -> Vec<Share> {
    let mut shares: Vec<Share> = shares.into_values().collect();
    shares.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
    shares
}

fn best_streak(days: &BTreeSet<NaiveDate>) -> usize {
    let (mut best, mut current) = (0, 0);
    let mut before: Option<NaiveDate> = None;
    for day in days {
        let follows = before.and_then(|before| before.succ_opt()) == Some(*day);
        current = if follows { current + 1 } else { 1 };
        best = best.max(current);
        before = Some(*day);
    }
    best
}

fn notable(sessions: &[SessionFigures]) -> Vec<Notable> {
    type Measure = fn(&SessionFigures) -> f64;
    let measures: [(Record, Measure); 4] = [
        // A minute at least: shorter ones are no conversation.
        (Record::Longest, |session| {
            session.seconds().filter(|s| *s >= 60.0).unwrap_or(0.0)
        }),
        (Record::Messages, |session| session.messages as f64),
        (Record::Tokens, |session| session.tokens() as f64),
        (Record::ToolCalls, |session| session.tool_calls as f64),
    ];
    measures
        .into_iter()
        .filter_map(|(what, measure)| {
            let best = sessions.iter().reduce(|best, other| {
                if measure(other) > measure(best) {
                    other
                } else {
                    best
                }
            })?;
            (measure(best) > 0.0).then(|| Notable {
                what,
                value: measure(best),
                session: best.id.clone(),
                started_at: best.started_at,
            })
        })
        .collect()
}

fn tools(
    db: &StateDb,
    since: f64,
    source: Option<&str>,
    figures: &mut Figures,
) -> Result<(), StoreError> {
    let mut tools: BTreeMap<String, i64> = BTreeMap::new();
    let mut skills: BTreeMap<String, Skill> = BTreeMap::new();
    db.tool_calls_since(since, source, |at, text| {
        let Ok(Value::Array(calls)) = serde_json::from_str(text) else {
            return; // a row that nobody can read counts for nothing
        };
        for call in &calls {
            let function = &call["function"];
            let Some(name) = function["name"].as_str() else {
                continue;
            };
            *tools.entry(name.to_owned()).or_default() += 1;
            if let "skill_view" | "skill_manage" = name {
                let arguments = function["arguments"].as_str().unwrap_or("{}");
                let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
                let Some(skill) = arguments["name"].as_str() else {
                    continue;
                };
                let entry = skills.entry(skill.to_owned()).or_default();
                entry.name = skill.to_owned();
                entry.last_used = entry.last_used.max(at);
                match name {
                    "skill_view" => entry.loads += 1,
                    _ => entry.edits += 1,
                }
            }
        }
    })?;
    figures.tools = tools.into_iter().collect();
    figures
        .tools
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    figures.skills = skills.into_values().collect();
    figures
        .skills
        .sort_by_key(|skill| std::cmp::Reverse(skill.loads + skill.edits));
    Ok(())
}

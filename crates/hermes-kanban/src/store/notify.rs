//! Subscriptions and the outbox behind them.
//!
//! The outbox is the event log itself: what lies after a subscription's cursor is
//! still to be told. Looking moves nothing. Whoever has the events safe, in a ledger of
//! its own or with the people, moves the cursor by compare-and-swap: a deliverer that
//! is killed in between finds them again, and of several one gets each event.

use hermes_types::TaskId;
use rusqlite::params;

use super::apply::load;
use super::open::SqliteBoard;
use super::rows;
use super::seam::Telling;
use crate::error::KanbanError;
use crate::model::{Event, EventKind, Subscription};

/// What identifies a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionKey {
    pub task_id: TaskId,
    pub platform: String,
    pub chat_id: String,
    pub thread_id: String,
}

impl From<&Subscription> for SubscriptionKey {
    fn from(subscription: &Subscription) -> Self {
        Self {
            task_id: subscription.task_id.clone(),
            platform: subscription.platform.clone(),
            chat_id: subscription.chat_id.clone(),
            thread_id: subscription.thread_id.clone(),
        }
    }
}

/// Events taken from the outbox, and the cursor before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    pub events: Vec<Event>,
    pub from: i64,
    pub to: i64,
}

/// What people are told about.
const TOLD: &[EventKind] = &[
    EventKind::Completed,
    EventKind::Blocked,
    EventKind::GaveUp,
    EventKind::Crashed,
    EventKind::TimedOut,
];

impl Telling for SqliteBoard {
    fn subscribe(
        &self,
        key: &SubscriptionKey,
        user: Option<&str>,
        owner: Option<&str>,
    ) -> Result<(), KanbanError> {
        let now = self.now();
        self.database.write(|tx| {
            load(tx, &key.task_id)?;
            tx.execute(
                "INSERT INTO kanban_notify_subs (task_id, platform, chat_id, thread_id, user_id,
                     notifier_profile, created_at, last_event_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0)
                 ON CONFLICT (task_id, platform, chat_id, thread_id) DO UPDATE SET
                     notifier_profile = COALESCE(NULLIF(notifier_profile, ''),
                                                 excluded.notifier_profile)",
                params![
                    key.task_id.as_str(),
                    key.platform,
                    key.chat_id,
                    key.thread_id,
                    user,
                    owner,
                    now
                ],
            )?;
            Ok(())
        })
    }

    fn unsubscribe(&self, key: &SubscriptionKey) -> Result<bool, KanbanError> {
        self.database.write(|tx| {
            let removed = tx.execute(
                "DELETE FROM kanban_notify_subs WHERE task_id = ?1 AND platform = ?2
                     AND chat_id = ?3 AND thread_id = ?4",
                params![
                    key.task_id.as_str(),
                    key.platform,
                    key.chat_id,
                    key.thread_id
                ],
            )?;
            Ok(removed > 0)
        })
    }

    fn subscriptions(&self, task: Option<&TaskId>) -> Result<Vec<Subscription>, KanbanError> {
        Ok(self
            .database
            .connection()
            .prepare_cached(&format!(
                "SELECT {} FROM kanban_notify_subs WHERE ?1 IS NULL OR task_id = ?1
                 ORDER BY created_at, task_id",
                rows::SUBSCRIPTION_COLUMNS
            ))?
            .query_map([task.map(TaskId::as_str)], rows::subscription)?
            .collect::<Result<_, _>>()?)
    }

    fn pending_events(&self, key: &SubscriptionKey) -> Result<Option<Delivery>, KanbanError> {
        pending(self.database.connection(), key)
    }

    fn acknowledge(&self, key: &SubscriptionKey, delivery: &Delivery) -> Result<bool, KanbanError> {
        self.database
            .write(|tx| set_cursor(tx, key, delivery.from, delivery.to))
    }

    fn put_back(&self, key: &SubscriptionKey, delivery: &Delivery) -> Result<bool, KanbanError> {
        self.database
            .write(|tx| set_cursor(tx, key, delivery.to, delivery.from))
    }
}

/// What lies behind the cursor of a subscription.
fn pending(
    connection: &rusqlite::Connection,
    key: &SubscriptionKey,
) -> Result<Option<Delivery>, KanbanError> {
    let kinds: Vec<&str> = TOLD.iter().map(|kind| kind.as_str()).collect();
    let cursor: Option<i64> = connection
        .prepare_cached(
            "SELECT last_event_id FROM kanban_notify_subs WHERE task_id = ?1
                 AND platform = ?2 AND chat_id = ?3 AND thread_id = ?4",
        )?
        .query_map(
            params![
                key.task_id.as_str(),
                key.platform,
                key.chat_id,
                key.thread_id
            ],
            |row| row.get(0),
        )?
        .next()
        .transpose()?;
    let Some(from) = cursor else {
        return Ok(None);
    };
    let events: Vec<Event> = connection
        .prepare_cached(&format!(
            "SELECT {} FROM task_events WHERE task_id = ?1 AND id > ?2
                 AND kind IN (SELECT value FROM json_each(?3)) ORDER BY id",
            rows::EVENT_COLUMNS
        ))?
        .query_map(
            params![key.task_id.as_str(), from, crate::model::python(&kinds)],
            rows::event,
        )?
        .collect::<Result<_, _>>()?;
    let Some(to) = events.last().map(|event| event.id) else {
        return Ok(None);
    };
    Ok(Some(Delivery { events, from, to }))
}

fn set_cursor(
    tx: &rusqlite::Transaction<'_>,
    key: &SubscriptionKey,
    from: i64,
    to: i64,
) -> Result<bool, KanbanError> {
    let moved = tx
        .prepare_cached(
            "UPDATE kanban_notify_subs SET last_event_id = ?6 WHERE task_id = ?1 AND platform = ?2
                 AND chat_id = ?3 AND thread_id = ?4 AND last_event_id = ?5",
        )?
        .execute(params![
            key.task_id.as_str(),
            key.platform,
            key.chat_id,
            key.thread_id,
            from,
            to
        ])?;
    Ok(moved == 1)
}

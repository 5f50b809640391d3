//! Who is told about what.

use super::arguments::{NotifyListArgs, SubscribeArgs, UnsubscribeArgs};
use super::context::{Failure, Output, Session, task_id};
use crate::store::SubscriptionKey;

fn channel(platform: &str, chat: &str, thread: &str) -> String {
    if thread.is_empty() {
        format!("{platform}:{chat}")
    } else {
        format!("{platform}:{chat}:{thread}")
    }
}

pub(super) fn subscribe(
    args: SubscribeArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let key = SubscriptionKey {
        task_id: task_id(&args.task_id),
        platform: args.platform,
        chat_id: args.chat_id,
        thread_id: args.thread_id,
    };
    let owner = args
        .notifier_profile
        .unwrap_or_else(|| session.context.home.profile_name());
    session
        .board
        .subscribe(&key, args.user_id.as_deref(), Some(&owner))?;
    let to = channel(&key.platform, &key.chat_id, &key.thread_id);
    output.line(format!("Subscribed {to} to {}", key.task_id))?;
    Ok(())
}

pub(super) fn list(
    args: NotifyListArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let task = args.task_id.as_deref().map(task_id);
    let rows = session.board.subscriptions(task.as_ref())?;
    if args.json {
        output.json(&rows)?;
        return Ok(());
    }
    if rows.is_empty() {
        output.line("(no subscriptions)")?;
    }
    for row in rows {
        let to = channel(&row.platform, &row.chat_id, &row.thread_id);
        let owner = row
            .notifier_profile
            .map(|name| format!("  owner={name}"))
            .unwrap_or_default();
        output.line(format!(
            "  {}  {to}  (since event {}){owner}",
            row.task_id, row.last_event_id
        ))?;
    }
    Ok(())
}

pub(super) fn unsubscribe(
    args: UnsubscribeArgs,
    session: &Session<'_>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let key = SubscriptionKey {
        task_id: task_id(&args.task_id),
        platform: args.platform,
        chat_id: args.chat_id,
        thread_id: args.thread_id,
    };
    if !session.board.unsubscribe(&key)? {
        return Err(Failure::failed("(no such subscription)"));
    }
    output.line(format!("Unsubscribed from {}", key.task_id))?;
    Ok(())
}

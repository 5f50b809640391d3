//! Whether anybody hands out tasks at the moment.

use std::fs;

use hermes_home::{Home, Lock, LockKind};
use hermes_process::Identity;
use serde_json::Value;

use crate::boards::Boards;
use crate::settings::Settings;

/// A dispatcher of ours holds its lock; a gateway has a live pid file.
pub fn is_someone_dispatching(boards: &Boards, home: &Home, settings: &Settings) -> bool {
    let lock = boards.dispatcher_lock();
    if lock.exists() && matches!(Lock::try_acquire(&lock, LockKind::Exclusive), Ok(None)) {
        return true;
    }
    settings.dispatch_in_gateway
        && [home.root(), home.path()]
            .iter()
            .any(|directory| gateway_lives(&directory.join("gateway.pid")))
}

fn gateway_lives(file: &std::path::Path) -> bool {
    let Ok(text) = fs::read_to_string(file) else {
        return false;
    };
    let value: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let number = value.get("pid").unwrap_or(&value).as_i64();
    let Some(process) = number
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(Identity::of)
    else {
        return false;
    };
    let started = value.get("start_time").and_then(Value::as_u64);
    process.is_alive() && started.is_none_or(|ticks| ticks == process.start_ticks)
}

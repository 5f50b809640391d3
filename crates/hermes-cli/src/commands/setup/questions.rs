//! How setup asks.

use std::io::{self, BufRead, Write};

use hermes_tui::PickItem;

use crate::{CommandError, Out};

/// Lets the person choose; `None` when they leave.
pub(super) fn choose(title: &str, items: Vec<PickItem>) -> Result<Option<String>, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    Ok(runtime.block_on(hermes_tui::pick(title, items))?)
}

pub(super) fn item(value: &str, label: &str, detail: &str) -> PickItem {
    PickItem {
        value: value.to_owned(),
        label: label.to_owned(),
        detail: detail.to_owned(),
    }
}

/// One line; Enter alone is empty.
pub(super) fn line(question: &str, out: &mut Out) -> Result<String, CommandError> {
    write!(out, "{question}")?;
    out.flush()?;
    let mut text = String::new();
    io::stdin().lock().read_line(&mut text)?;
    Ok(text.trim().to_owned())
}

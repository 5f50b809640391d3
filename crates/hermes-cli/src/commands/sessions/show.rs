//! `hermes sessions show`: one conversation to read.

use std::io::Write;

use hermes_store::StoredMessage;
use hermes_types::{Content, Part, Role};

use super::text::moment;
use crate::{CommandError, Context, Exit, Out};

/// Tool results are long and rarely what one looks for.
const TOOL_RESULT_LINES: usize = 10;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Id, the beginning of one, or the title
    session: String,

    /// Tool results in full
    #[arg(long)]
    full: bool,

    /// Print the session as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let (db, id) = super::open_session(&args.session, context)?;
    if args.json {
        out.json(&db.export(&id)?)?;
        return Ok(Exit::SUCCESS);
    }
    if let Some(session) = db.session(&id)? {
        let title = session.title.as_deref().unwrap_or("(no title)");
        let style = out.style();
        writeln!(out, "{}", style.heading(title))?;
        writeln!(
            out,
            "{id}  {}  {}  {}  {} messages, {} tool calls",
            session.source,
            session.model.as_deref().unwrap_or("no model"),
            moment(session.started_at),
            session.message_count,
            session.tool_call_count
        )?;
        if let Some(reason) = &session.end_reason {
            writeln!(out, "ended: {reason}")?;
        }
        let tip = db.compression_tip(&id)?;
        if tip != id {
            writeln!(out, "continued in {tip}")?;
        }
    }
    for stored in db.messages(&id)? {
        print(&stored, args.full, out)?;
    }
    Ok(Exit::SUCCESS)
}

fn print(stored: &StoredMessage, full: bool, out: &mut Out) -> Result<(), CommandError> {
    let message = &stored.message;
    let style = out.style();
    let who = match (&message.role, &message.tool_name) {
        (Role::Tool, Some(tool)) => format!("tool {tool}"),
        (role, _) => role.as_str().to_owned(),
    };
    let heading = format!("{who}  {}", moment(stored.timestamp));
    writeln!(out, "\n{}", style.faint(&heading))?;
    let text = visible(&message.content);
    let lines: Vec<&str> = text.lines().collect();
    let shown = if message.role == Role::Tool && !full {
        lines.len().min(TOOL_RESULT_LINES)
    } else {
        lines.len()
    };
    for line in &lines[..shown] {
        out.line(line)?;
    }
    if shown < lines.len() {
        out.line(&format!("… {} more lines", lines.len() - shown))?;
    }
    for call in &message.tool_calls {
        out.line(&format!("→ {} {}", call.name, call.arguments))?;
    }
    Ok(())
}

/// Text without what would steer the terminal.
fn visible(content: &Content) -> String {
    let text = match content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => text.as_str(),
                Part::Image { .. } => "[image]",
            })
            .collect::<Vec<_>>()
            .join("\n"),
    };
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

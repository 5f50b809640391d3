//! `hermes sessions show`: one conversation to read.

use std::io::Write;

use hermes_store::StoredMessage;
use hermes_types::{Content, Part, Redaction, Role, redact};

use super::text::{masked_session, moment};
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

    /// Keep secrets as they are
    #[arg(long)]
    no_redact: bool,

    /// Print the session as one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let (db, id) = super::open_session(&args.session, context)?;
    if args.json {
        let session = db.export(&id)?;
        out.json(&if args.no_redact {
            session
        } else {
            session.map(masked_session)
        })?;
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
        print(&stored, args, out)?;
    }
    Ok(Exit::SUCCESS)
}

fn print(stored: &StoredMessage, args: &Args, out: &mut Out) -> Result<(), CommandError> {
    let message = &stored.message;
    let style = out.style();
    let who = match (&message.role, &message.tool_name) {
        (Role::Tool, Some(tool)) => format!("tool {tool}"),
        (role, _) => role.as_str().to_owned(),
    };
    let heading = format!("{who}  {}", moment(stored.timestamp));
    writeln!(out, "\n{}", style.faint(&heading))?;
    let shown_text = |text: &str| {
        if args.no_redact {
            visible(text)
        } else {
            visible(&redact(text, Redaction::Text))
        }
    };
    let text = shown_text(&with_image_marks(&message.content));
    let lines: Vec<&str> = text.lines().collect();
    let shown = if message.role == Role::Tool && !args.full {
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
        out.line(&format!("→ {} {}", call.name, shown_text(&call.arguments)))?;
    }
    Ok(())
}

fn with_image_marks(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => text.as_str(),
                Part::Image { .. } => "[image]",
            })
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

/// Text without what would steer the terminal.
fn visible(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

//! `hermes sessions search`: the search that the agent's own tool uses.

use std::io::Write;

use clap::ValueEnum;
use hermes_store::{SearchHit, SearchOrder, SearchRequest};
use hermes_types::{Redaction, Role, redact};

use super::text::moment;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
#[command(after_help = "\
Words must all occur. \"a phrase\" keeps its order, `word*` matches beginnings, and
AND, OR, NOT in capitals stand between words. Chinese, Japanese and Korean text is
found without spaces.")]
pub(crate) struct Args {
    /// What to look for
    #[arg(required = true)]
    query: Vec<String>,

    /// The newest message first, instead of the best match
    #[arg(long)]
    newest: bool,

    /// Only messages of this role, repeatable
    #[arg(long)]
    role: Vec<RoleName>,

    /// Only sessions of this source, repeatable
    #[arg(long)]
    source: Vec<String>,

    /// How many messages
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RoleName {
    User,
    Assistant,
    Tool,
    System,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::User => Role::User,
            RoleName::Assistant => Role::Assistant,
            RoleName::Tool => Role::Tool,
            RoleName::System => Role::System,
        }
    }
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let mut request = SearchRequest::new(args.query.join(" "));
    if args.newest {
        request.order = SearchOrder::Newest;
    }
    request.roles = args.role.into_iter().map(Role::from).collect();
    request.sources = args.source;
    request.limit = args.limit;
    let mut hits = match super::open(context)? {
        Some(db) => db.search(&request)?,
        None => Vec::new(),
    };
    for hit in &mut hits {
        let mask = |text: &mut String| *text = redact(text, Redaction::Text).into_owned();
        mask(&mut hit.snippet);
        hit.context
            .iter_mut()
            .for_each(|line| mask(&mut line.content));
    }
    if args.json {
        out.json(&hits)?;
    } else if hits.is_empty() {
        out.line("No messages found.")?;
    } else {
        for hit in &hits {
            print(hit, out)?;
        }
    }
    Ok(Exit::SUCCESS)
}

fn print(hit: &SearchHit, out: &mut Out) -> Result<(), CommandError> {
    let style = out.style();
    let title = hit
        .title
        .as_deref()
        .map_or_else(String::new, |title| format!("  {title}"));
    let heading = format!(
        "{}  {}  {}{title}",
        hit.session_id,
        moment(hit.timestamp),
        hit.role
    );
    writeln!(out, "{}", style.heading(&heading))?;
    let mut snippet: String = hit
        .snippet
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if style.enabled {
        snippet = snippet
            .replace(">>>", "\u{1b}[1;33m")
            .replace("<<<", "\u{1b}[0m");
    }
    writeln!(out, "  {}", snippet.trim())?;
    Ok(())
}

//! `hermes skills`: what procedures the agent can load.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use clap::{Subcommand, ValueEnum};
use hermes_agent::build::skill_library;
use hermes_knowledge::skills::{Library, Skill};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show the installed skills
    List {
        /// Only skills that came from here
        #[arg(long, value_enum, default_value = "all")]
        source: Source,
        /// Leave out disabled ones
        #[arg(long)]
        enabled_only: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a skill, or one of its files
    View {
        /// The skill
        name: String,
        /// A file of the skill, such as references/api.md
        file: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Source {
    All,
    Hub,
    Builtin,
    Local,
}

impl Source {
    fn as_str(self) -> &'static str {
        match self {
            Source::All => "all",
            Source::Hub => "hub",
            Source::Builtin => "builtin",
            Source::Local => "local",
        }
    }
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let config = context.config_or_defaults(out)?;
    let library = skill_library(&config, &context.home, "cli", Vec::new())?;
    match args.action {
        Action::List {
            source,
            enabled_only,
            json,
        } => list(&library, source, enabled_only, json, out),
        Action::View { name, file } => view(&library, &name, file.as_deref(), out),
    }
}

struct Row {
    skill: Skill,
    source: Source,
    trust: String,
    enabled: bool,
}

fn list(
    library: &Library,
    source: Source,
    enabled_only: bool,
    json: bool,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let origins = Origins::read(&library.local);
    let mut rows: Vec<Row> = library
        .all()
        .into_iter()
        .map(|skill| {
            let (source, trust) = origins.of(&skill);
            Row {
                enabled: library.is_enabled(&skill),
                skill,
                source,
                trust,
            }
        })
        .filter(|row| source == Source::All || row.source == source)
        .filter(|row| row.enabled || !enabled_only)
        .collect();
    rows.sort_by(|a, b| (a.skill.group(), &a.skill.name).cmp(&(b.skill.group(), &b.skill.name)));
    if json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| {
                serde_json::json!({
                    "name": row.skill.name,
                    "category": row.skill.category,
                    "description": row.skill.description,
                    "source": row.source.as_str(),
                    "trust": row.trust,
                    "enabled": row.enabled,
                    "path": row.skill.directory,
                })
            })
            .collect();
        out.json(&rows)?;
        return Ok(Exit::SUCCESS);
    }
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            [
                row.skill.name.clone(),
                row.skill.group().to_owned(),
                row.source.as_str().to_owned(),
                row.trust.clone(),
                if row.enabled { "enabled" } else { "disabled" }.to_owned(),
            ]
        })
        .collect();
    table(
        out,
        "Installed Skills",
        &["Name", "Category", "Source", "Trust", "Status"],
        &cells,
    )?;
    let count = |wanted: Source| rows.iter().filter(|row| row.source == wanted).count();
    let enabled = rows.iter().filter(|row| row.enabled).count();
    writeln!(
        out,
        "{} hub-installed, {} builtin, {} local — {enabled} enabled, {} disabled\n",
        count(Source::Hub),
        count(Source::Builtin),
        count(Source::Local),
        rows.len() - enabled
    )?;
    Ok(Exit::SUCCESS)
}

fn view(
    library: &Library,
    name: &str,
    file: Option<&str>,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let skill = library.resolve(name).map_err(|error| {
        CommandError::user(error).hint("`hermes skills list` shows what there is")
    })?;
    let text = match file {
        Some(file) => library.view_file(name, file).map_err(CommandError::user)?["content"]
            .as_str()
            .unwrap_or("")
            .to_owned(),
        None => std::fs::read_to_string(skill.file())?,
    };
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        writeln!(out)?;
    }
    Ok(Exit::SUCCESS)
}

/// Where skills came from, as far as files beside them tell.
struct Origins {
    hub: HashMap<String, String>,
    builtin: Vec<String>,
}

impl Origins {
    fn read(skills: &Path) -> Self {
        let lock: Value = std::fs::read(skills.join(".hub/lock.json"))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let hub = lock["installed"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, entry)| {
                let trust = entry["trust_level"].as_str().unwrap_or("community");
                (name.clone(), trust.to_owned())
            })
            .collect();
        let builtin = std::fs::read_to_string(skills.join(".bundled_manifest"))
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.split(':').next())
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
            .collect();
        Self { hub, builtin }
    }

    fn of(&self, skill: &Skill) -> (Source, String) {
        if let Some(trust) = self.hub.get(&skill.name) {
            return (Source::Hub, trust.clone());
        }
        if self.builtin.contains(&skill.name) {
            return (Source::Builtin, "builtin".to_owned());
        }
        (Source::Local, "local".to_owned())
    }
}

/// The reference's kind of table, so that scripts that read it go on working.
fn table(
    out: &mut dyn Write,
    title: &str,
    header: &[&str; 5],
    rows: &[[String; 5]],
) -> io::Result<()> {
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            rows.iter()
                .map(|row| row[column].width())
                .chain([header[column].width()])
                .max()
                .unwrap_or(0)
        })
        .collect();
    let rule = |left: &str, fill: &str, middle: &str, right: &str| {
        let parts: Vec<String> = widths.iter().map(|width| fill.repeat(width + 2)).collect();
        format!("{left}{}{right}", parts.join(middle))
    };
    let line = |cells: &[&str], bar: &str| {
        let parts: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!(" {cell}{} ", " ".repeat(width - cell.width())))
            .collect();
        format!("{bar}{}{bar}", parts.join(bar))
    };
    let total = widths.iter().map(|width| width + 3).sum::<usize>() + 1;
    let left = total.saturating_sub(title.width()) / 2;
    let right = total.saturating_sub(title.width() + left);
    writeln!(out, "{}{title}{}", " ".repeat(left), " ".repeat(right))?;
    writeln!(out, "{}", rule("┏", "━", "┳", "┓"))?;
    writeln!(out, "{}", line(header, "┃"))?;
    writeln!(out, "{}", rule("┡", "━", "╇", "┩"))?;
    for row in rows {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        writeln!(out, "{}", line(&cells, "│"))?;
    }
    writeln!(out, "{}", rule("└", "─", "┴", "┘"))
}

//! `kanban boards …`.

use serde_json::{Value, json};

use super::arguments::{BoardsArgs, BoardsVerb};
use super::context::{Context, Failure, Output, open_options, unknown_board};
use crate::boards::{Boards, RemovedBoard, Selection, Slug};
use crate::error::KanbanError;
use crate::settings::Settings;
use crate::store::{Board, OpenOptions, StatusCounts};

pub(super) fn run(
    args: BoardsArgs,
    context: &Context,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let boards = Boards::locate(&context.home, &context.environment);
    match args.verb.unwrap_or(BoardsVerb::List {
        json: false,
        all: false,
    }) {
        BoardsVerb::List { json, all } => list(&boards, context, json, all, output),
        BoardsVerb::Create {
            slug,
            name,
            description,
            icon,
            color,
            default_workdir,
            switch,
        } => {
            let fields = [
                ("name", name),
                ("description", description),
                ("icon", icon),
                ("color", color),
                ("default_workdir", default_workdir),
            ];
            create(&boards, context, &slug, fields, switch, output)
        }
        BoardsVerb::Rm { slug, delete } => remove(&boards, context, &slug, delete, output),
        BoardsVerb::Delete { slug } => remove(&boards, context, &slug, true, output),
        BoardsVerb::Switch { slug } => {
            let slug = existing(&boards, "switch", &slug)?;
            boards
                .set_current(&slug)
                .map_err(KanbanError::io(boards.root()))?;
            output.line(format!("Active board is now '{slug}'."))?;
            let here = Selection::active(&boards, &context.environment).slug;
            if here != slug {
                output.remark(format!(
                    "kanban: here '{here}' stays in use, because {} names it",
                    crate::env::BOARD
                ));
            }
            Ok(())
        }
        BoardsVerb::Show => show(&boards, context, output),
        BoardsVerb::Rename { slug, name } => {
            let slug = existing(&boards, "rename", &slug)?;
            let name = name.trim();
            if name.is_empty() {
                return Err(Failure::usage("kanban boards rename: the name is empty"));
            }
            write(&boards, context, &slug, "name", json!(name))?;
            output.line(format!("Board '{slug}' renamed to '{name}'."))?;
            Ok(())
        }
        BoardsVerb::SetDefaultWorkdir { slug, path } => {
            let slug = existing(&boards, "set-default-workdir", &slug)?;
            match path
                .as_deref()
                .map(str::trim)
                .filter(|path| !path.is_empty())
            {
                Some(path) => {
                    check_workdir(path)?;
                    write(&boards, context, &slug, "default_workdir", json!(path))?;
                    output.line(format!("Board '{slug}' default workdir set to '{path}'."))?;
                }
                None => {
                    write(&boards, context, &slug, "default_workdir", Value::Null)?;
                    output.line(format!("Board '{slug}' default workdir cleared."))?;
                }
            }
            Ok(())
        }
    }
}

fn check_workdir(path: &str) -> Result<(), Failure> {
    if path.starts_with('/') || path.starts_with("~/") {
        Ok(())
    } else {
        Err(Failure::usage(format!(
            "kanban boards: the default workdir '{path}' is relative; give it as /… or ~/…"
        )))
    }
}

fn existing(boards: &Boards, verb: &str, text: &str) -> Result<Slug, Failure> {
    let command = format!("kanban boards {verb}");
    let slug = Slug::parse(text).map_err(|error| Failure::usage(format!("{command}: {error}")))?;
    if boards.exists(&slug) {
        Ok(slug)
    } else {
        Err(unknown_board(&command, &slug))
    }
}

fn write(
    boards: &Boards,
    context: &Context,
    slug: &Slug,
    key: &str,
    value: Value,
) -> Result<(), Failure> {
    let mut metadata = boards.metadata(slug);
    metadata.set(key, value);
    let directory = boards.directory(slug);
    metadata
        .write(&directory, context.clock.now().timestamp())
        .map_err(KanbanError::io(directory))?;
    Ok(())
}

/// Counts of a board that may never have been opened.
fn counts(boards: &Boards, context: &Context, slug: &Slug) -> Result<StatusCounts, KanbanError> {
    let database = boards.paths(slug).database;
    if !database.exists() {
        return Ok(StatusCounts::new());
    }
    let settings = Settings::read(&context.config, &context.environment);
    Board::open(&database, &open_options(context, &settings))?.status_counts()
}

pub(super) fn join_counts(counts: &StatusCounts) -> String {
    counts
        .iter()
        .map(|(status, n)| format!("{status}={n}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn list(
    boards: &Boards,
    context: &Context,
    json: bool,
    all: bool,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let current = Selection::active(boards, &context.environment).slug;
    let slugs: Vec<Slug> = boards
        .list()
        .into_iter()
        .filter(|slug| all || !boards.metadata(slug).is_archived())
        .collect();
    let mut rows = Vec::new();
    if !json {
        output.line(format!("    {:<24}  {:<28}  COUNTS", "SLUG", "NAME"))?;
    }
    for slug in &slugs {
        let metadata = boards.metadata(slug);
        let (counts, trouble) = match counts(boards, context, slug) {
            Ok(counts) => (counts, None),
            Err(error) => {
                output.remark(format!("kanban: board '{slug}': {error}"));
                (StatusCounts::new(), Some(error))
            }
        };
        let state = trouble.as_ref().map(|error| match error.is_damage() {
            true => "corrupt",
            false => "unreadable",
        });
        if json {
            let mut row = metadata.fields().clone();
            row.insert("db_path".to_owned(), json!(boards.paths(slug).database));
            row.insert("is_current".to_owned(), json!(*slug == current));
            row.insert("counts".to_owned(), json!(counts));
            row.insert("total".to_owned(), json!(counts.values().sum::<i64>()));
            if let (Some(state), Some(error)) = (state, &trouble) {
                row.insert("state".to_owned(), json!(state));
                row.insert("error".to_owned(), json!(error.to_string()));
            }
            rows.push(Value::Object(row));
        } else {
            let mark = if *slug == current { "●" } else { " " };
            let shown = match state {
                Some(state) => format!("({state})"),
                None if counts.is_empty() => "(empty)".to_owned(),
                None => join_counts(&counts),
            };
            output.line(format!(
                "{mark}   {slug:<24}  {:<28}  {shown}",
                metadata.name()
            ))?;
        }
    }
    if json {
        output.json(&rows)?;
        return Ok(());
    }
    output.line(format!("\nCurrent board: {current}"))?;
    if slugs.len() > 1 {
        output.line("Switch boards with `hermes kanban boards switch <slug>`.")?;
    }
    Ok(())
}

fn create(
    boards: &Boards,
    context: &Context,
    text: &str,
    fields: [(&str, Option<String>); 5],
    switch: bool,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let slug = Slug::parse(text)
        .map_err(|error| Failure::usage(format!("kanban boards create: {error}")))?;
    let existed = boards.exists(&slug);
    let directory = boards.directory(&slug);
    let mut metadata = boards.metadata(&slug);
    let mut changed = !directory.join("board.json").exists();
    for (key, value) in fields {
        if let Some(value) = value {
            if key == "default_workdir" {
                check_workdir(&value)?;
            }
            metadata.set(key, json!(value));
            changed = true;
        }
    }
    if changed {
        metadata
            .write(&directory, context.clock.now().timestamp())
            .map_err(KanbanError::io(&directory))?;
    }
    let settings = Settings::read(&context.config, &context.environment);
    let paths = boards.paths(&slug);
    Board::open(&paths.database, &open_options(context, &settings))?;
    if switch {
        boards
            .set_current(&slug)
            .map_err(KanbanError::io(boards.root()))?;
    }
    let what = if existed { "already exists" } else { "created" };
    output.line(format!("Board '{slug}' {what}."))?;
    output.line(format!("  Display name: {}", metadata.name()))?;
    output.line(format!("  DB path:      {}", paths.database.display()))?;
    if switch {
        output.line(format!("Active board is now '{slug}'."))?;
    } else {
        output.line(format!(
            "  Use `hermes kanban boards switch {slug}` to make it current."
        ))?;
    }
    Ok(())
}

fn remove(
    boards: &Boards,
    context: &Context,
    text: &str,
    delete: bool,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let slug =
        Slug::parse(text).map_err(|error| Failure::usage(format!("kanban boards rm: {error}")))?;
    if slug.is_default() {
        return Err(Failure::failed(
            "kanban boards rm: the 'default' board cannot be removed",
        ));
    }
    if !boards.exists(&slug) {
        return Err(unknown_board("kanban boards rm", &slug));
    }
    refuse_while_workers_live(boards, context, &slug)?;
    Board::forget(&boards.paths(&slug).database);
    let removed = if delete {
        boards.delete(&slug)
    } else {
        boards.archive(&slug, context.clock.now().timestamp())
    };
    match removed.map_err(KanbanError::io(boards.directory(&slug)))? {
        RemovedBoard::Deleted => output.line(format!("Board '{slug}' deleted."))?,
        RemovedBoard::Archived(path) => {
            output.line(format!("Board '{slug}' archived → {}", path.display()))?;
            output.line("Recover by moving the directory back to <root>/kanban/boards/<slug>/.")?;
        }
    }
    Ok(())
}

/// A worker whose board goes away would make an empty file in its place.
fn refuse_while_workers_live(
    boards: &Boards,
    context: &Context,
    slug: &Slug,
) -> Result<(), Failure> {
    let database = boards.paths(slug).database;
    // A file that cannot be opened has nobody who works with it.
    let Some(board) = database
        .exists()
        .then(|| Board::open(&database, &OpenOptions::default()).ok())
        .flatten()
    else {
        return Ok(());
    };
    let living: Vec<_> = board
        .tick_facts()?
        .running
        .into_iter()
        .filter(|task| context.host.find(task.worker()).is_some())
        .map(|task| task.id)
        .collect();
    if living.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "kanban boards rm: workers are busy with {}; take the tasks back first with \
         `hermes kanban --board {slug} reclaim ID`",
        crate::error::join(&living)
    )))
}

fn show(boards: &Boards, context: &Context, output: &mut Output<'_>) -> Result<(), Failure> {
    let slug = Selection::active(boards, &context.environment).slug;
    let metadata = boards.metadata(&slug);
    let counts = counts(boards, context, &slug)?;
    output.line(format!("Current board: {slug}"))?;
    output.line(format!("  Display name: {}", metadata.name()))?;
    if !metadata.description().is_empty() {
        output.line(format!("  Description:  {}", metadata.description()))?;
    }
    output.line(format!(
        "  DB path:      {}",
        boards.paths(&slug).database.display()
    ))?;
    let total: i64 = counts.values().sum();
    let detail = if counts.is_empty() {
        String::new()
    } else {
        format!(" ({})", join_counts(&counts))
    };
    output.line(format!("  Tasks:        {total} total{detail}"))?;
    Ok(())
}

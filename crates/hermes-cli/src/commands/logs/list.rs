//! `hermes logs list`.

use std::fs;
use std::io::Write;

use crate::output::{Column, Table, human};
use crate::{CommandError, Context, Exit, Out};

pub(super) fn run(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let directory = context.home.logs_dir();
    let now = context.clock.now();
    let mut files: Vec<(String, fs::Metadata)> = fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            Some((
                entry.file_name().into_string().ok()?,
                entry.metadata().ok()?,
            ))
        })
        .filter(|(name, metadata)| metadata.is_file() && name.ends_with(".log"))
        .collect();
    files.sort_by(|left, right| left.0.cmp(&right.0));
    if files.is_empty() {
        writeln!(out, "No logs in {} yet.", context.home.display(&directory))?;
        return Ok(Exit::SUCCESS);
    }
    writeln!(out, "Logs in {}:", context.home.display(&directory))?;
    let mut table = Table::new([
        Column::new("File").flexible(12),
        Column::new("Size").right(),
        Column::new("Changed"),
    ]);
    for (name, metadata) in files {
        let age = metadata
            .modified()
            .map(|time| human::ago(now, time.into()))
            .unwrap_or_default();
        table.row([name, human::bytes(metadata.len()), age]);
    }
    table.print(out)?;
    Ok(Exit::SUCCESS)
}

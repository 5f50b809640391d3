//! `hermes auth` with a person: the keys of all providers, and what can be done
//! with each.

use std::io::Write;

use hermes_llm::auth::Row;
use hermes_llm::catalogue;

use super::{Keys, line};
use crate::commands::ask::{choose, item};
use crate::{CommandError, Exit, Out};

const ADD: &str = "add";
const REMOVE: &str = "remove";
const RESET: &str = "reset";

impl Keys<'_> {
    /// Asks until the person leaves. What was done stays done.
    pub(super) fn menu(&self, out: &mut Out) -> Result<Exit, CommandError> {
        loop {
            let fresh = Keys::of(self.context)?;
            let listed = fresh.listed(None)?;
            let mut items = vec![item(ADD, "Store a key", "of any provider")];
            for (pool, rows) in &listed {
                for row in rows {
                    items.push(item(
                        format!("{pool}\n{}", row.id),
                        &format!("{pool} {}", line(row).trim_end()),
                        "",
                    ));
                }
            }
            let Some(chosen) = choose("Keys (Esc when done)", items)? else {
                return Ok(Exit::SUCCESS);
            };
            if chosen == ADD {
                fresh.add_asked(out)?;
                out.flush()?;
                continue;
            }
            let (pool, id) = chosen.split_once('\n').unwrap_or((&chosen, ""));
            let row = listed
                .iter()
                .filter(|(name, _)| name == pool)
                .flat_map(|(_, rows)| rows)
                .find(|row| row.id == id);
            if let Some(row) = row {
                fresh.act(pool, row, out)?;
                out.flush()?;
            }
        }
    }

    fn add_asked(&self, out: &mut Out) -> Result<(), CommandError> {
        let items = catalogue::providers()
            .iter()
            .filter(|provider| provider.auth.takes_key())
            .map(|provider| {
                let variable = provider.keys.first().map_or("", String::as_str);
                item(&provider.id, &provider.label, variable)
            })
            .collect();
        match choose("Whose key?", items)? {
            Some(provider) => self.add(&provider, None, None, out).map(drop),
            None => Ok(()),
        }
    }

    fn act(&self, pool: &str, row: &Row, out: &mut Out) -> Result<(), CommandError> {
        let items = vec![
            item(
                RESET,
                &format!("Use all keys of {pool} again"),
                "whatever they were refused for",
            ),
            item(REMOVE, "Remove it", ""),
        ];
        let title = format!("{pool} #{} {}", row.number, row.label);
        match choose(&title, items)?.as_deref() {
            Some(REMOVE) => self.remove(pool, &row.id, out).map(drop),
            Some(_) => self.reset(pool, out).map(drop),
            None => Ok(()),
        }
    }
}

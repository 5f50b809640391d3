//! Titles: clean, short, unique, and numbered along a lineage (`Name #2`).

use hermes_types::SessionId;
use rusqlite::{Connection, OptionalExtension, params};

use super::StateDb;
use crate::StoreError;

const MAX_CHARS: usize = 100;

/// Control, zero-width and direction characters gone, white space collapsed.
/// `None` when nothing is left.
pub fn sanitize_title(text: &str) -> Result<Option<String>, StoreError> {
    let visible: String = text
        .chars()
        .filter(|c| c.is_whitespace() || !(c.is_control() || is_invisible(*c)))
        .collect();
    let title = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = title.chars().count();
    if length > MAX_CHARS {
        return Err(StoreError::TitleTooLong {
            length,
            max: MAX_CHARS,
        });
    }
    Ok((!title.is_empty()).then_some(title))
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}' | '\u{FFFC}' | '\u{FFF9}'..='\u{FFFB}')
}

/// `("Name", Some(2))` for `Name #2`.
pub(super) fn split_number(title: &str) -> (&str, Option<u64>) {
    if let Some((base, number)) = title.rsplit_once(" #")
        && !base.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(number) = number.parse()
    {
        return (base, Some(number));
    }
    (title, None)
}

impl StateDb {
    /// Sets the title, or takes it away when nothing visible is left of `text`.
    /// Returns what was stored.
    pub fn set_title(&self, id: &SessionId, text: &str) -> Result<Option<String>, StoreError> {
        let title = sanitize_title(text)?;
        self.write(|transaction| {
            if let Some(title) = &title {
                refuse_taken(transaction, title, id)?;
            }
            let changed = transaction
                .prepare_cached("UPDATE sessions SET title = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), title])?;
            if changed == 0 {
                return Err(StoreError::SessionNotFound {
                    reference: id.to_string(),
                });
            }
            Ok(())
        })?;
        Ok(title)
    }

    /// The next free name of a lineage: `Name`, then `Name #2`, `Name #3`, …
    pub fn next_title(&self, title: &str) -> Result<String, StoreError> {
        self.read(|connection| next_in(connection, title))
    }
}

fn next_in(connection: &Connection, title: &str) -> Result<String, StoreError> {
    let (base, _) = split_number(title);
    let mut highest = None;
    for (_, existing) in lineage_titles(connection, base)? {
        let number = split_number(&existing).1.unwrap_or(1);
        highest = highest.max(Some(number));
    }
    Ok(match highest {
        None => base.to_owned(),
        Some(number) => format!("{base} #{}", number + 1),
    })
}

/// Gives `new` the next number of its parent's title, if the parent has one.
pub(super) fn carry_over(
    connection: &Connection,
    old: &SessionId,
    new: &str,
) -> Result<(), StoreError> {
    let title: Option<String> = connection
        .prepare_cached("SELECT title FROM sessions WHERE id = ?1")?
        .query_row([old.as_str()], |row| row.get(0))
        .optional()?
        .flatten();
    if let Some(title) = title {
        let next = next_in(connection, &title)?;
        connection
            .prepare_cached("UPDATE sessions SET title = ?2 WHERE id = ?1")?
            .execute(params![new, next])?;
    }
    Ok(())
}

fn refuse_taken(connection: &Connection, title: &str, id: &SessionId) -> Result<(), StoreError> {
    let holder: Option<String> = connection
        .prepare_cached("SELECT id FROM sessions WHERE title = ?1 AND id <> ?2")?
        .query_row(params![title, id.as_str()], |row| row.get(0))
        .optional()?;
    match holder {
        None => Ok(()),
        Some(session) => Err(StoreError::TitleInUse {
            title: title.to_owned(),
            session,
        }),
    }
}

/// Sessions titled `base` or `base #N`, newest first.
pub(super) fn lineage_titles(
    connection: &Connection,
    base: &str,
) -> Result<Vec<(String, String)>, StoreError> {
    let numbered = format!("{base} #");
    let after = format!("{numbered}\u{10FFFF}");
    let rows: Vec<(String, String)> = connection
        .prepare_cached(
            "SELECT id, title FROM sessions WHERE title IS NOT NULL AND \
             (title = ?1 OR (title >= ?2 AND title < ?3)) ORDER BY started_at DESC",
        )?
        .query_map([base, &numbered, &after], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(rows
        .into_iter()
        .filter(|(_, title)| title == base || split_number(title) == (base, split_number(title).1))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_lose_what_cannot_be_seen() {
        let clean = |text: &str| sanitize_title(text).unwrap();
        assert_eq!(clean(" a \t b\n").as_deref(), Some("a b"));
        assert_eq!(clean("x\u{200B}y\u{202E}z\u{7}").as_deref(), Some("xyz"));
        assert_eq!(clean("   \u{200B} "), None);
        assert!(sanitize_title(&"é".repeat(100)).is_ok());
        assert!(sanitize_title(&"é".repeat(101)).is_err());
    }

    #[test]
    fn only_a_trailing_number_is_a_lineage_number() {
        assert_eq!(split_number("Name #12"), ("Name", Some(12)));
        for plain in ["Name", "Name #", "Name #x", "#2", " #2", "Name#2"] {
            assert_eq!(split_number(plain).1, None, "{plain:?}");
        }
    }
}

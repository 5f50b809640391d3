//! Aligned columns that fit the width of the terminal.
//!
//! Columns marked flexible give way, the widest first, until the table fits or
//! every one of them is at its minimum; what is cut ends with `…`. Widths are
//! terminal cells, so that CJK and emoji line up.

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Out;

const GAP: &str = "  ";

#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    right: bool,
    /// The least width it may be cut to; `None` for a column that is never cut.
    minimum: Option<usize>,
}

impl Column {
    pub const fn new(title: &'static str) -> Self {
        Self {
            title,
            right: false,
            minimum: None,
        }
    }

    #[must_use]
    pub const fn right(mut self) -> Self {
        self.right = true;
        self
    }

    #[must_use]
    pub const fn flexible(mut self, minimum: usize) -> Self {
        self.minimum = Some(minimum);
        self
    }
}

#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// One cell per column; missing ones are empty, surplus ones are dropped.
    /// Line breaks and control characters inside a cell become spaces.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = cells
            .into_iter()
            .map(|cell| one_line(cell.into()))
            .take(self.columns.len())
            .collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn print(&self, out: &mut Out) -> io::Result<()> {
        let widths = self.widths(out.width());
        let style = out.style();
        let titles: Vec<&str> = self.columns.iter().map(|column| column.title).collect();
        let heading = self.render(&titles, &widths);
        writeln!(out, "{}", style.heading(&heading))?;
        for row in &self.rows {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            writeln!(out, "{}", self.render(&cells, &widths))?;
        }
        Ok(())
    }

    fn widths(&self, available: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                self.rows
                    .iter()
                    .map(|row| row[index].width())
                    .chain([column.title.width()])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let gaps = GAP.len() * self.columns.len().saturating_sub(1);
        let mut surplus = (widths.iter().sum::<usize>() + gaps).saturating_sub(available);
        while surplus > 0 {
            let widest = self
                .columns
                .iter()
                .enumerate()
                .filter(|(index, column)| column.minimum.is_some_and(|min| widths[*index] > min))
                .max_by_key(|(index, _)| widths[*index]);
            let Some((index, _)) = widest else { break };
            widths[index] -= 1;
            surplus -= 1;
        }
        widths
    }

    fn render(&self, cells: &[&str], widths: &[usize]) -> String {
        let mut line = String::new();
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            if index > 0 {
                line.push_str(GAP);
            }
            let cell = clip(cell, *width);
            if self.columns[index].right {
                line.push_str(&" ".repeat(width.saturating_sub(cell.width())));
                line.push_str(&cell);
            } else {
                line.push_str(&pad(&cell, *width));
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// Cuts `text` to `width` terminal cells; a cut text ends with `…`.
pub fn clip(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for character in text.chars() {
        let cells = character.width().unwrap_or(0);
        if used + cells + 1 > width {
            break;
        }
        kept.push(character);
        used += cells;
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// Fills `text` with spaces to `width` terminal cells.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Breaks `text` at spaces into lines of at most `width` cells; lines after the
/// first start with `indent`. A word that is longer has a line of its own.
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut wrapped = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let cells = word.width();
        if used > 0 && used + 1 + cells > width {
            wrapped.push('\n');
            wrapped.push_str(indent);
            used = 0;
        } else if used > 0 {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(word);
        used += cells;
    }
    wrapped
}

fn one_line(text: String) -> String {
    if text.contains(char::is_control) {
        text.chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn lines(table: &Table, width: usize) -> Vec<String> {
        let widths = table.widths(width);
        table
            .rows
            .iter()
            .map(|row| {
                let cells: Vec<&str> = row.iter().map(String::as_str).collect();
                table.render(&cells, &widths)
            })
            .collect()
    }

    #[test]
    fn only_flexible_columns_give_way() {
        let mut table = Table::new([
            Column::new("Id"),
            Column::new("Title").flexible(4),
            Column::new("N").right(),
        ]);
        table.row(["20260521_140001", "a title that is much too long", "12"]);
        assert_eq!(lines(&table, 30), ["20260521_140001  a title …  12"]);
        assert_eq!(
            lines(&table, 80),
            ["20260521_140001  a title that is much too long  12"]
        );
    }

    #[test]
    fn wide_characters_count_as_two_cells() {
        assert_eq!(clip("日本語テキスト", 7), "日本語…");
        assert_eq!(clip("日本語", 6), "日本語");
        assert_eq!(pad("日本", 5), "日本 ");
    }

    #[test]
    fn long_text_breaks_at_spaces() {
        assert_eq!(
            wrap("one two three four", 9, "> "),
            "one two\n> three\n> four"
        );
        assert_eq!(wrap("a-word-too-long b", 5, "  "), "a-word-too-long\n  b");
        assert_eq!(wrap("", 5, "  "), "");
    }

    #[test]
    fn a_cell_is_one_line() {
        let mut table = Table::new([Column::new("A")]);
        table.row(["one\ntwo\u{1b}[31m"]);
        assert_eq!(lines(&table, 80), ["one two [31m"]);
    }
}

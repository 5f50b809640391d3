//! Tables: columns as wide as their text where that fits, narrower where not.

use pulldown_cmark::Alignment;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::wrap::{display_width, widest_word, wrap};
use crate::theme::Theme;

pub(super) type Cell = Vec<Span<'static>>;

#[derive(Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    /// The first row is the heading.
    pub(super) rows: Vec<Vec<Cell>>,
}

const GAP: usize = 3;
const NARROWEST: usize = 4;

impl Table {
    pub(super) fn render(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        if columns == 0 {
            return Vec::new();
        }
        let widths = self.widths(columns, width);
        let mut lines = Vec::new();
        let unnamed = |cell: &Cell| cell_width(cell) == 0;
        for (index, row) in self.rows.iter().enumerate() {
            let heading = index == 0;
            // A list of facts has no headings, and needs no line for them.
            if heading && self.rows.len() > 1 && row.iter().all(unnamed) {
                continue;
            }
            lines.extend(self.row(row, &widths, heading, theme));
            if heading {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rule.join("─┼─"), theme.dim));
            }
        }
        lines
    }

    /// Natural widths, with the widest column shrunk until the table fits.
    fn widths(&self, columns: usize, width: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell_width(cell)).max().unwrap_or(0).max(1)
            })
            .collect();
        let room = width.saturating_sub(GAP * (columns - 1));
        // Words stay whole as long as that is possible.
        let words: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| widest_word(cell)).max().unwrap_or(0)
            })
            .collect();
        shrink(&mut widths, room, &words);
        shrink(&mut widths, room, &vec![0; columns]);
        widths
    }

    fn row(
        &self,
        row: &[Cell],
        widths: &[usize],
        heading: bool,
        theme: Theme,
    ) -> Vec<Line<'static>> {
        let cells: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let mut cell = row.get(column).cloned().unwrap_or_default();
                if heading {
                    for span in &mut cell {
                        span.style = span.style.add_modifier(Modifier::BOLD);
                    }
                }
                wrap(&cell, *width, &[], &[])
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        (0..height)
            .map(|at| {
                let mut spans = Vec::new();
                for (column, (lines, width)) in cells.iter().zip(widths).enumerate() {
                    if column > 0 {
                        spans.push(Span::styled(" │ ", theme.dim));
                    }
                    let content = lines
                        .get(at)
                        .map(|line| line.spans.clone())
                        .unwrap_or_default();
                    spans.extend(self.aligned(content, column, *width));
                }
                Line::from(spans)
            })
            .collect()
    }

    fn aligned(&self, content: Cell, column: usize, width: usize) -> Cell {
        let free = width.saturating_sub(cell_width(&content));
        let before = match self.alignments.get(column) {
            Some(Alignment::Right) => free,
            Some(Alignment::Center) => free / 2,
            _ => 0,
        };
        let mut out = Vec::new();
        if before > 0 {
            out.push(Span::raw(" ".repeat(before)));
        }
        out.extend(content);
        if free > before {
            out.push(Span::raw(" ".repeat(free - before)));
        }
        out
    }
}

/// Takes columns from the widest until all fit, but none below what it needs.
fn shrink(widths: &mut [usize], room: usize, needed: &[usize]) {
    while widths.iter().sum::<usize>() > room {
        let free = widths.iter_mut().zip(needed);
        let free = free.filter(|(width, needed)| **width > (**needed).max(NARROWEST));
        let Some((widest, _)) = free.max_by_key(|(width, _)| **width) else {
            return;
        };
        *widest -= 1;
    }
}

fn cell_width(cell: &[Span<'static>]) -> usize {
    cell.iter().map(|span| display_width(&span.content)).sum()
}

//! Lines that a tool leaves behind.

use ratatui::text::{Line, Span};

use crate::app::picker::cut;
use crate::markdown::display_width;
use crate::theme::Theme;

/// Lines of a diff that are shown.
const DIFF_LINES: usize = 40;

pub(super) fn tool_line(
    name: &str,
    preview: &str,
    failed: bool,
    duration_ms: u64,
    summary: &str,
    width: usize,
    theme: Theme,
) -> Line<'static> {
    let call = format!("  ┊ {name:<9} {}", preview.replace('\n', " "));
    let time = format!("  {:.1}s", duration_ms as f64 / 1e3);
    let room = width.saturating_sub(display_width(&time));
    if !failed {
        return Line::from(vec![
            Span::styled(cut(call.trim_end(), room), theme.tool),
            Span::styled(time, theme.dim),
        ]);
    }
    // Why it failed matters more than what it was about.
    let room = room.saturating_sub(3);
    let reason = summary.replace('\n', " ");
    let call = cut(
        call.trim_end(),
        (room * 2 / 5).max(room.saturating_sub(display_width(&reason))),
    );
    let reason = cut(&reason, room.saturating_sub(display_width(&call)));
    Line::from(vec![
        Span::styled(call, theme.tool),
        Span::styled(format!("{time} ✗ {reason}"), theme.bad),
    ])
}

pub(super) fn diff_lines(diff: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let all: Vec<&str> = diff
        .lines()
        .filter(|line| !line.starts_with("---") && !line.starts_with("+++"))
        .collect();
    let mut lines: Vec<Line<'static>> = all
        .iter()
        .take(DIFF_LINES)
        .map(|line| {
            let style = match line.chars().next() {
                Some('+') => theme.added,
                Some('-') => theme.removed,
                _ => theme.dim,
            };
            let line = line.replace('\t', "    ");
            Line::styled(cut(&format!("    {line}"), width), style)
        })
        .collect();
    if all.len() > DIFF_LINES {
        lines.push(Line::styled(
            format!("    … {} more lines", all.len() - DIFF_LINES),
            theme.dim,
        ));
    }
    lines
}

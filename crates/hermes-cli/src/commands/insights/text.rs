//! The figures as a page for the terminal.

use std::io::{self, Write};

use super::figures::{Figures, Record, local};
use crate::Out;
use crate::output::{clip, pad};

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// Cells of the longest bar.
const BAR: i64 = 15;
const TOP_TOOLS: usize = 15;
const TOP_SKILLS: usize = 10;

pub(super) fn print(
    figures: &Figures,
    days: u32,
    source: Option<&str>,
    out: &mut Out,
) -> io::Result<()> {
    banner(days, source, out)?;
    if let (Some(first), Some(last)) = (figures.first_day, figures.last_day) {
        let show = |day: chrono::NaiveDate| day.format("%b %d, %Y").to_string();
        writeln!(out, "  Period: {} — {}", show(first), show(last))?;
    }
    overview(figures, out)?;
    heading("🤖 Models Used", out)?;
    writeln!(out, "  {:<30} {:>8} {:>12}", "Model", "Sessions", "Tokens")?;
    for share in &figures.models {
        writeln!(
            out,
            "  {} {:>8} {:>12}",
            pad(&clip(&share.name, 30), 30),
            share.sessions,
            grouped(share.tokens)
        )?;
    }
    heading("📱 Platforms", out)?;
    let head = ("Platform", "Sessions", "Messages", "Tokens");
    writeln!(
        out,
        "  {:<14} {:>8} {:>10} {:>14}",
        head.0, head.1, head.2, head.3
    )?;
    for share in &figures.platforms {
        writeln!(
            out,
            "  {} {:>8} {:>10} {:>14}",
            pad(&clip(&share.name, 14), 14),
            share.sessions,
            share.messages,
            grouped(share.tokens)
        )?;
    }
    tools(figures, out)?;
    skills(figures, out)?;
    activity(figures, out)?;
    notable(figures, out)?;
    writeln!(out)
}

fn banner(days: u32, source: Option<&str>, out: &mut Out) -> io::Result<()> {
    let mut second = format!("Last {days} days");
    if let Some(source) = source {
        second = format!("{second} ({})", clip(source, 30));
    }
    writeln!(out, "\n  ╔{}╗", "═".repeat(58))?;
    writeln!(out, "  ║{:^57}║", "📊 Hermes Insights")?;
    writeln!(out, "  ║{second:^58}║")?;
    writeln!(out, "  ╚{}╝\n", "═".repeat(58))
}

fn heading(title: &str, out: &mut Out) -> io::Result<()> {
    let title = out.style().heading(title);
    writeln!(out, "\n  {title}\n  {}", "─".repeat(56))
}

fn overview(figures: &Figures, out: &mut Out) -> io::Result<()> {
    heading("📋 Overview", out)?;
    let number = |value: i64| grouped(value);
    let sessions = i64::try_from(figures.sessions).unwrap_or(0);
    for (left, first, right, second) in [
        ("Sessions:", sessions, "Messages:", figures.messages),
        (
            "Tool calls:",
            figures.tool_calls,
            "User messages:",
            figures.user_messages,
        ),
        (
            "Input tokens:",
            figures.input_tokens,
            "Output tokens:",
            figures.output_tokens,
        ),
    ] {
        writeln!(
            out,
            "  {left:<18} {:<13} {right:<16} {}",
            number(first),
            number(second)
        )?;
    }
    writeln!(
        out,
        "  {:<18} {}",
        "Total tokens:",
        number(figures.total_tokens)
    )?;
    if figures.active_seconds >= 1.0 {
        let average = figures.active_seconds / figures.ended_sessions.max(1) as f64;
        writeln!(
            out,
            "  {:<18} {:<13} {:<16} ~{}",
            "Active time:",
            format!("~{}", duration(figures.active_seconds)),
            "Avg session:",
            duration(average)
        )?;
    }
    let average = figures.messages as f64 / figures.sessions.max(1) as f64;
    writeln!(out, "  {:<18} {average:.1}", "Avg msgs/session:")
}

fn tools(figures: &Figures, out: &mut Out) -> io::Result<()> {
    if figures.tools.is_empty() {
        return Ok(());
    }
    heading("🔧 Top Tools", out)?;
    writeln!(out, "  {:<28} {:>8} {:>8}", "Tool", "Calls", "%")?;
    let all: i64 = figures.tools.iter().map(|(_, calls)| calls).sum();
    for (name, calls) in figures.tools.iter().take(TOP_TOOLS) {
        let share = *calls as f64 * 100.0 / all as f64;
        writeln!(
            out,
            "  {} {calls:>8} {share:>7.1}%",
            pad(&clip(name, 28), 28)
        )?;
    }
    match figures.tools.len().checked_sub(TOP_TOOLS) {
        Some(more) if more > 0 => writeln!(out, "  and {more} more"),
        _ => Ok(()),
    }
}

fn skills(figures: &Figures, out: &mut Out) -> io::Result<()> {
    if figures.skills.is_empty() {
        return Ok(());
    }
    heading("🧠 Top Skills", out)?;
    let head = ("Skill", "Loads", "Edits", "Last used");
    writeln!(
        out,
        "  {:<28} {:>7} {:>7} {:>11}",
        head.0, head.1, head.2, head.3
    )?;
    for skill in figures.skills.iter().take(TOP_SKILLS) {
        let day = local(skill.last_used).format("%b %d").to_string();
        writeln!(
            out,
            "  {} {:>7} {:>7} {day:>11}",
            pad(&clip(&skill.name, 28), 28),
            skill.loads,
            skill.edits
        )?;
    }
    let sum = |pick: fn(&super::figures::Skill) -> i64| figures.skills.iter().map(pick).sum();
    let (loads, edits): (i64, i64) = (sum(|skill| skill.loads), sum(|skill| skill.edits));
    writeln!(
        out,
        "  Distinct skills: {}  Loads: {loads}  Edits: {edits}",
        figures.skills.len()
    )
}

fn activity(figures: &Figures, out: &mut Out) -> io::Result<()> {
    heading("📅 Activity Patterns", out)?;
    let most = figures.weekdays.iter().copied().max().unwrap_or(0).max(1);
    for (name, count) in WEEKDAYS.iter().zip(figures.weekdays) {
        let cells = usize::try_from(count * BAR / most).unwrap_or(0);
        writeln!(out, "  {name}  {:<15} {count}", "█".repeat(cells))?;
    }
    let mut hours: Vec<(usize, i64)> = figures.hours.iter().copied().enumerate().collect();
    hours.retain(|(_, count)| *count > 0);
    hours.sort_by_key(|(hour, count)| (-count, *hour));
    let shown: Vec<String> = hours
        .iter()
        .take(5)
        .map(|(hour, count)| format!("{} ({count})", twelve_hours(*hour)))
        .collect();
    writeln!(out, "\n  Peak hours: {}", shown.join(", "))?;
    writeln!(out, "  Active days: {}", figures.active_days)?;
    if figures.best_streak > 1 {
        writeln!(
            out,
            "  Best streak: {} consecutive days",
            figures.best_streak
        )?;
    }
    Ok(())
}

fn notable(figures: &Figures, out: &mut Out) -> io::Result<()> {
    if figures.notable.is_empty() {
        return Ok(());
    }
    heading("🏆 Notable Sessions", out)?;
    for notable in &figures.notable {
        let count = grouped(notable.value as i64);
        let (label, value) = match notable.what {
            Record::Longest => ("Longest session", duration(notable.value)),
            Record::Messages => ("Most messages", format!("{count} msgs")),
            Record::Tokens => ("Most tokens", format!("{count} tokens")),
            Record::ToolCalls => ("Most tool calls", format!("{count} calls")),
        };
        let id: String = notable.session.chars().take(16).collect();
        let day = local(notable.started_at).format("%b %d");
        writeln!(out, "  {label:<20} {value:<18} ({day}, {id})")?;
    }
    Ok(())
}

fn twelve_hours(hour: usize) -> String {
    let shown = if hour.is_multiple_of(12) {
        12
    } else {
        hour % 12
    };
    format!("{shown}{}", if hour < 12 { "AM" } else { "PM" })
}

/// The two largest units, without one that is zero.
fn duration(seconds: f64) -> String {
    let seconds = seconds as i64;
    let two = |first: i64, unit: &str, second: i64, small: &str| match second {
        0 => format!("{first}{unit}"),
        second => format!("{first}{unit} {second}{small}"),
    };
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

/// `1234567` as `1,234,567`.
fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

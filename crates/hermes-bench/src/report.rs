//! The figures as a table for people, JSON for scripts, Markdown for documents.

use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use crate::Format;
use crate::areas::Figures;
use crate::measure::Bench;
use crate::stats::Stats;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Unit {
    Ms,
    MiB,
    MB,
    KB,
    Count,
    Percent,
    /// Times as much as the thing it is compared with.
    Factor,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Unit::Ms if value >= 1000.0 => format!("{:.2} s", value / 1000.0),
            Unit::Ms if value >= 100.0 => format!("{value:.0} ms"),
            Unit::Ms => format!("{value:.1} ms"),
            Unit::MiB => format!("{value:.1} MiB"),
            Unit::MB => format!("{value:.1} MB"),
            Unit::KB => format!("{value:.1} KB"),
            Unit::Count => format!("{value:.0}"),
            Unit::Percent => format!("{value:.2} %"),
            Unit::Factor => format!("{value:.2} ×"),
        }
    }
}

/// Which side of the bar is good.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

/// One measured figure beside its bar.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) area: &'static str,
    pub(crate) measure: String,
    pub(crate) unit: Unit,
    pub(crate) bar: Option<Bar>,
    pub(crate) candidate: Stats,
    pub(crate) reference: Option<Stats>,
}

impl Row {
    /// A figure that must stay below its bar; `None` when nothing was measured.
    pub(crate) fn at_most(
        area: &'static str,
        measure: impl Into<String>,
        unit: Unit,
        limit: f64,
        (candidate, reference): (Option<Stats>, Option<Stats>),
    ) -> Option<Self> {
        Some(Self {
            area,
            measure: measure.into(),
            unit,
            bar: Some(Bar::AtMost(limit)),
            candidate: candidate?,
            reference,
        })
    }

    pub(crate) fn met(&self) -> Option<bool> {
        Some(match self.bar? {
            Bar::AtMost(limit) => self.candidate.median <= limit,
            Bar::AtLeast(limit) => self.candidate.median >= limit,
        })
    }

    fn cells(&self) -> [String; 6] {
        let stats = &self.candidate;
        let bar = match self.bar {
            Some(Bar::AtMost(limit)) => format!("≤ {}", self.unit.show(limit)),
            Some(Bar::AtLeast(limit)) => format!("≥ {}", self.unit.show(limit)),
            None => "-".to_owned(),
        };
        let spread = match stats.runs {
            1 => "-".to_owned(),
            _ => format!(
                "{} .. {}",
                self.unit.show(stats.low),
                self.unit.show(stats.high)
            ),
        };
        let (reference, ratio) = match &self.reference {
            Some(other) if stats.median > 0.0 => (
                self.unit.show(other.median),
                format!(" ({:.0} ×)", other.median / stats.median),
            ),
            // Nothing is no measure for something.
            Some(other) => (self.unit.show(other.median), String::new()),
            None => ("-".to_owned(), String::new()),
        };
        let verdict = match self.met() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "-",
        };
        [
            self.measure.clone(),
            bar,
            self.unit.show(stats.median),
            spread,
            format!("{reference}{ratio}"),
            verdict.to_owned(),
        ]
    }
}

const HEADINGS: [&str; 6] = ["measure", "bar", "median", "spread", "reference", ""];

pub(crate) fn render(bench: &Bench, figures: &Figures, format: Format) -> String {
    let rows = &figures.rows;
    match format {
        Format::Json => {
            let report = serde_json::json!({
                "machine": machine(), "candidate": file_name(&bench.candidate),
                "rounds": bench.rounds, "rows": rows, "failed": figures.failed,
            });
            format!("{report:#}")
        }
        Format::Markdown => markdown(bench, figures),
        Format::Table => table(bench, figures),
    }
}

/// The whole page: `hermes-bench all --reference BIN --markdown > SPECIFICATION.md`.
fn markdown(bench: &Bench, figures: &Figures) -> String {
    let barred = figures.rows.iter().filter(|row| row.bar.is_some()).count();
    let met = figures
        .rows
        .iter()
        .filter(|row| row.met() == Some(true))
        .count();
    let mut out = format!(
        "# Figures\n\n\
         Every bar of the program beside what was measured, written by\n\
         `hermes-bench all --reference BIN --markdown`. `cargo run --release -p hermes-bench -- AREA` measures one area\n\
         again. Medians of alternating runs; the spread is the least and the most; the reference is\n\
         Python Hermes 0.16.0 in the same run, where it has something to compare. A figure that was missed stays in\n\
         the table, marked MISSED.\n\n\
         Machine: {}, release build, {} rounds. {met} of {barred} bars met.\n",
        machine(),
        bench.rounds,
    );
    let mut area = "";
    for row in &figures.rows {
        if row.area != area {
            area = row.area;
            let _ = write!(out, "\n## `hermes-bench {area}`\n\n");
            let _ = writeln!(out, "| {} |", HEADINGS.join(" | "));
            let _ = writeln!(out, "|{}", "---|".repeat(HEADINGS.len()));
        }
        let _ = writeln!(out, "| {} |", row.cells().join(" | "));
    }
    for (area, reason) in &figures.failed {
        let _ = write!(
            out,
            "\n## `hermes-bench {area}`\n\nCould not be measured: {reason}\n"
        );
    }
    out.truncate(out.trim_end().len());
    out
}

fn table(bench: &Bench, figures: &Figures) -> String {
    let mut out = format!("{}, {} rounds\n", machine(), bench.rounds);
    let lines: Vec<[String; 6]> = figures.rows.iter().map(Row::cells).collect();
    let mut widths = HEADINGS.map(|heading| heading.chars().count());
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut put = |cells: &[String; 6]| {
        for (width, cell) in widths.iter().zip(cells) {
            let _ = write!(out, "{cell:<width$}  ");
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    };
    put(&HEADINGS.map(str::to_owned));
    lines.iter().for_each(&mut put);
    for (area, reason) in &figures.failed {
        let _ = writeln!(out, "{area} could not be measured: {reason}");
    }
    out
}

/// Processor, cores and memory, so that a figure can be judged later.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or_else(
            || "unknown processor".to_owned(),
            |(_, name)| name.trim().to_owned(),
        );
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory_kib: f64 = read("/proc/meminfo")
        .lines()
        .find_map(|line| {
            line.strip_prefix("MemTotal:")?
                .split_whitespace()
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or(0.0);
    format!(
        "{cpu}, {cores} cores, {:.0} GiB",
        memory_kib / 1024.0 / 1024.0
    )
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

//! Ten thousand edits through `patch`, each checked against a plain model of it.
//!
//! Quotes are exact or have the slips that models make: lost indentation, blanks at
//! the end, doubled blanks. Lines repeat on purpose, so that many quotes fit several
//! places: those may be refused, and must not be guessed.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::at_most;
use super::places::Place;
use crate::data::Sequence;
use crate::report::{Row, Unit};

const EDITS: usize = 10_000;
const LINES: usize = 80;

#[derive(Default)]
struct Tally {
    wrong: usize,
    clear: usize,
    refused: usize,
}

pub(super) async fn run() -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let place = Place::new(directory.path(), "{}\n")?;
    let file = directory.path().join("file.txt");
    let mut chance = Sequence::new();
    let mut tally = Tally::default();
    let mut lines = fresh(&mut chance);
    for number in 0..EDITS {
        if number % 200 == 0 || lines.len() < 10 {
            lines = fresh(&mut chance);
        }
        std::fs::write(&file, joined(&lines))?;
        let edit = Edit::random(&lines, &mut chance);
        let result = place.call("patch", edit.arguments(&lines, &file)).await?;
        let after = std::fs::read_to_string(&file)?;
        lines = edit.judge(&lines, &result, &after, &mut tally)?;
    }
    place.sandboxes.close().await;
    let share = 100.0 * tally.refused as f64 / tally.clear.max(1) as f64;
    Ok([
        at_most(
            "10,000 random edits through patch: wrong",
            Unit::Count,
            0.0,
            vec![tally.wrong as f64],
        ),
        at_most(
            "of the unambiguous ones refused",
            Unit::Percent,
            1.0,
            vec![share],
        ),
    ]
    .into_iter()
    .flatten()
    .collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slip {
    None,
    Outdented,
    TrailingBlanks,
    DoubledBlanks,
    /// Written as a patch of several files.
    Patch,
}

struct Edit {
    start: usize,
    end: usize,
    new: Vec<String>,
    slip: Slip,
}

impl Edit {
    fn random(lines: &[String], chance: &mut Sequence) -> Self {
        let pick = |most: usize, chance: &mut Sequence| (chance.next() >> 17) as usize % most;
        let count = 1 + pick(4, chance);
        let mut start = pick(lines.len(), chance);
        // A quote that ends in an empty line can be read in two ways.
        while lines[(start + count).min(lines.len()) - 1]
            .trim()
            .is_empty()
        {
            start = pick(lines.len(), chance);
        }
        let slips = [
            Slip::None,
            Slip::None,
            Slip::Outdented,
            Slip::TrailingBlanks,
            Slip::DoubledBlanks,
            Slip::Patch,
            Slip::Patch,
        ];
        let size = 1 + pick(3, chance);
        Self {
            start,
            end: (start + count).min(lines.len()),
            new: (0..size).map(|_| line(chance)).collect(),
            slip: slips[pick(slips.len(), chance)],
        }
    }

    fn arguments(&self, lines: &[String], file: &Path) -> Value {
        let old = &lines[self.start..self.end];
        if self.slip == Slip::Patch {
            let before = self.start.saturating_sub(2);
            let after = (self.end + 2).min(lines.len());
            let mut text = format!("*** Update File: {}\n@@\n", file.display());
            let mut put = |mark: &str, lines: &[String]| {
                for line in lines {
                    text.push_str(&format!("{mark}{line}\n"));
                }
            };
            put(" ", &lines[before..self.start]);
            put("-", old);
            put("+", &self.new);
            put(" ", &lines[self.end..after]);
            return json!({"mode": "patch", "patch": text});
        }
        json!({
            "mode": "replace", "path": file, "old_string": self.quote(old).join("\n"),
            "new_string": self.new.join("\n"),
        })
    }

    fn quote(&self, old: &[String]) -> Vec<String> {
        let indent = |line: &String| line.len() - line.trim_start().len();
        let shortest = old
            .iter()
            .filter(|line| !line.trim().is_empty())
            .map(indent)
            .min();
        old.iter()
            .map(|line| match self.slip {
                Slip::None | Slip::Patch => line.clone(),
                Slip::Outdented => line.get(shortest.unwrap_or(0)..).unwrap_or("").to_owned(),
                Slip::TrailingBlanks => format!("{line}  "),
                Slip::DoubledBlanks => {
                    let text = line.trim_start();
                    format!("{}{}", &line[..indent(line)], text.replace(' ', "  "))
                }
            })
            .collect()
    }

    /// The lines that the file has now; counts what is wrong with them.
    fn judge(
        &self,
        lines: &[String],
        result: &Value,
        after: &str,
        tally: &mut Tally,
    ) -> Result<Vec<String>> {
        let clear = self.is_clear(lines);
        tally.clear += usize::from(clear);
        let before = joined(lines);
        if result["success"] != true {
            result["error"].as_str().context("a reason")?;
            // Refused, and nothing touched.
            tally.wrong += usize::from(after != before);
            tally.refused += usize::from(clear);
            return Ok(lines.to_vec());
        }
        let now: Vec<String> = after.lines().map(str::to_owned).collect();
        if !clear {
            // Which of several places was meant is not for us to say; one it must be, or
            // the quote taken literally.
            let quoted = self.quote(&lines[self.start..self.end]).join("\n");
            let literally = before.replacen(&quoted, &self.new.join("\n"), 1);
            let one = (0..=lines.len().saturating_sub(self.end - self.start))
                .any(|at| self.is_done(lines, at, &now));
            tally.wrong += usize::from(!one && after != literally);
        } else if !self.is_done(lines, self.start, &now) {
            tally.wrong += 1;
        }
        Ok(now)
    }

    /// Exactly the model's edit at `start`; how new lines are indented is the file's
    /// to decide when the quote was not exact.
    fn is_done(&self, lines: &[String], start: usize, now: &[String]) -> bool {
        let end = start + (self.end - self.start);
        if end > lines.len() || now.len() != lines.len() - (end - start) + self.new.len() {
            return false;
        }
        let middle = &now[start..start + self.new.len()];
        let exact = matches!(self.slip, Slip::None | Slip::Patch);
        let same = |(now, new): (&String, &String)| match exact {
            true => now == new,
            false => now.trim() == new.trim(),
        };
        now[..start] == lines[..start]
            && now[start + self.new.len()..] == lines[end..]
            && middle.iter().zip(&self.new).all(same)
    }

    /// Whether only one place can be meant, however blanks are counted.
    fn is_clear(&self, lines: &[String]) -> bool {
        let squeeze = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let (from, to) = match self.slip {
            Slip::Patch => (
                self.start.saturating_sub(2),
                (self.end + 2).min(lines.len()),
            ),
            _ => (self.start, self.end),
        };
        let wanted: Vec<String> = lines[from..to].iter().map(squeeze).collect();
        let fits = |window: &&[String]| {
            let found: Vec<String> = window.iter().map(squeeze).collect();
            found == wanted
        };
        let places = lines.windows(to - from).filter(fits).count();
        let quoted = self.quote(&lines[self.start..self.end]).join("\n");
        // A quote with a slip that stands literally elsewhere means that place.
        let literal = quoted == lines[self.start..self.end].join("\n");
        let elsewhere = match self.slip {
            Slip::Patch => false,
            _ => joined(lines).matches(quoted.as_str()).count() > usize::from(literal),
        };
        places == 1 && !elsewhere && lines[self.start..self.end] != self.new[..]
    }
}

fn fresh(chance: &mut Sequence) -> Vec<String> {
    (0..LINES).map(|_| line(chance)).collect()
}

/// Few words, so that lines repeat.
fn line(chance: &mut Sequence) -> String {
    let pick = |most: u64, chance: &mut Sequence| (chance.next() >> 17) % most;
    let indent = "    ".repeat(pick(4, chance) as usize);
    let name = ["total", "count", "name", "path"][pick(4, chance) as usize];
    match pick(8, chance) {
        0 => String::new(),
        1 => format!("{indent}}}"),
        2 => format!("{indent}return {name}"),
        3 => format!("{indent}if {name} == {} {{", pick(30, chance)),
        _ => format!(
            "{indent}let {name} = call({}, \"{}\");",
            pick(60, chance),
            name
        ),
    }
}

fn joined(lines: &[String]) -> String {
    format!("{}\n", lines.join("\n"))
}

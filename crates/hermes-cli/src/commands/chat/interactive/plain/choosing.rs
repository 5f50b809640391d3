//! Lists on a terminal that can only print lines: a number chooses, a part of a name
//! shows fewer.

use std::io::Write as _;

use hermes_tui::Picker;

use super::Table;
use crate::CommandError;

/// Rows that are shown of a list.
const ROWS: usize = 30;

/// A list that was shown, and the values of its numbers.
pub(super) struct Offer {
    picker: Picker,
    values: Vec<String>,
}

/// What a line means right after a list was shown.
pub(super) enum Chosen {
    /// For this command, this value.
    Value(&'static str, String),
    /// Fewer rows were shown.
    Listed,
    /// It is about something else.
    Nothing,
}

impl Table<'_> {
    /// Shows the rows that have the words in them.
    pub(super) fn offer(&mut self, picker: Picker, words: &str) -> Result<(), CommandError> {
        let found = matching(&picker, words);
        let mut values = Vec::new();
        for (value, label, detail) in found.iter().take(ROWS) {
            values.push((*value).to_owned());
            writeln!(self.out, "  {:>3}  {label}  {detail}", values.len())?;
        }
        let hidden = found.len() - values.len();
        if hidden > 0 {
            writeln!(self.out, "       … {hidden} more")?;
        }
        self.offered = Some(Offer { picker, values });
        self.say("Type a number, or a part of a name to see fewer. Anything else is a message.")
    }

    pub(super) fn chosen(&mut self, line: &str) -> Result<Chosen, CommandError> {
        let Some(Offer { picker, values }) = self.offered.take() else {
            return Ok(Chosen::Nothing);
        };
        if let Ok(number) = line.parse::<usize>() {
            if let Some(value) = number.checked_sub(1).and_then(|at| values.get(at)) {
                return Ok(Chosen::Value(picker.command(), value.clone()));
            }
            self.say(&format!("There is no number {number} in the list."))?;
            self.offered = Some(Offer { picker, values });
            return Ok(Chosen::Listed);
        }
        if line.starts_with('/') || matching(&picker, line).is_empty() {
            return Ok(Chosen::Nothing);
        }
        self.offer(picker, line)?;
        Ok(Chosen::Listed)
    }
}

/// The rows that have all the words in their label or description.
fn matching<'p>(picker: &'p Picker, words: &str) -> Vec<(&'p str, &'p str, &'p str)> {
    let words = words.to_lowercase();
    let fits = |label: &str, detail: &str| {
        let text = format!("{label} {detail}").to_lowercase();
        words.split_whitespace().all(|word| text.contains(word))
    };
    picker
        .choices()
        .filter(|(_, label, detail)| fits(label, detail))
        .collect()
}

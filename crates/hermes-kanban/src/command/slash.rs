//! `/kanban …` in a chat: the same words, the answer as text.

use std::io::{self, Write};

use clap::Parser;

use super::arguments::{Args, SHORT_HELP, Verb};
use super::context::{Context, Failure, Output, Sink};

#[derive(Parser)]
#[command(
    name = "/kanban",
    no_binary_name = true,
    disable_help_subcommand = true
)]
struct Line {
    #[command(flatten)]
    args: Args,
}

/// Runs what was typed after `/kanban` and gives back everything it printed.
pub fn slash(text: &str, context: &Context) -> String {
    if matches!(text.trim(), "" | "help" | "-h" | "--help" | "?") {
        return SHORT_HELP.to_owned();
    }
    let usage = |problem: &str| format!("⚠ /kanban usage error: {problem}");
    let Some(words) = split(text) else {
        return usage("a quote is not closed");
    };
    let args = match Line::try_parse_from(words) {
        Ok(line) => line.args,
        Err(error) => return usage(error.render().to_string().trim()),
    };
    if matches!(
        args.verb,
        Some(Verb::Tail(_) | Verb::Watch(_) | Verb::Daemon(_))
    ) {
        return usage("this one never ends; use it in a terminal");
    }
    let mut captured = Captured::default();
    let ended = super::run(args, context, &mut Output::to(&mut captured));
    match ended {
        Ok(()) | Err(Failure::Output(_)) => {}
        Err(Failure::Said { message, .. }) => captured.remark(&message),
    }
    String::from_utf8_lossy(&captured.0).trim_end().to_owned()
}

#[derive(Default)]
struct Captured(Vec<u8>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Captured {
    fn remark(&mut self, text: &str) {
        if !text.is_empty() {
            self.0.extend_from_slice(text.as_bytes());
            self.0.push(b'\n');
        }
    }
}

/// Words as a shell splits them; `None` when a quote stays open.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(letter),
            (_, '\\') => word.get_or_insert_default().push(letters.next()?),
            (Some(_), _) => word.get_or_insert_default().push(letter),
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(
            split(r#"create 'two words' "and \"more\"" a\ b """#).unwrap(),
            ["create", "two words", "and \"more\"", "a b", ""]
        );
        assert_eq!(split("create 'open"), None);
        assert_eq!(split("  ").unwrap(), Vec::<String>::new());
    }
}

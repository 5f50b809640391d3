//! What people see of a run that ends by itself.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use hermes_types::{SessionId, StopReason, TurnEvent, TurnOutcome};

use crate::{Context, Out};

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// `-z`: the answer.
    Answer,
    /// `-Q`: the answer, and the session on stderr.
    Quiet,
    /// `-q`: what happens, the answer, and how to go on.
    Lines { verbose: bool },
}

impl How {
    /// Whether stdout carries the answer and nothing else.
    pub(super) fn is_answer_only(self) -> bool {
        !matches!(self, How::Lines { .. })
    }
}

pub(super) struct Screen<'a> {
    how: How,
    out: &'a mut Out,
    started: Instant,
}

impl<'a> Screen<'a> {
    pub(super) fn new(how: How, out: &'a mut Out) -> Self {
        Self {
            how,
            out,
            started: Instant::now(),
        }
    }

    pub(super) fn out(&mut self) -> &mut Out {
        self.out
    }

    pub(super) fn begin(&mut self, query: &str) -> io::Result<()> {
        if matches!(self.how, How::Lines { .. }) {
            writeln!(self.out, "Query: {query}\n")?;
            self.out.flush()?;
        }
        Ok(())
    }

    pub(super) fn event(&mut self, event: &TurnEvent) -> io::Result<()> {
        let How::Lines { verbose } = self.how else {
            match event {
                TurnEvent::Warning { text } => self.out.warning(text),
                TurnEvent::Compressed {
                    messages_before,
                    messages_after,
                    ..
                } => self
                    .out
                    .stderr_line(&condensed(*messages_before, *messages_after)),
                _ => {}
            }
            return Ok(());
        };
        match event {
            TurnEvent::ToolStarted { name, preview, .. } => {
                writeln!(self.out, "  > {name}  {preview}")?;
            }
            TurnEvent::ToolFinished {
                name,
                failed,
                duration_ms,
                summary,
                diff,
                ..
            } => {
                let mark = if *failed { "failed" } else { "ok" };
                writeln!(self.out, "  < {name}  {mark}, {duration_ms} ms")?;
                if verbose {
                    writeln!(self.out, "    {summary}")?;
                    if let Some(diff) = diff {
                        writeln!(self.out, "{diff}")?;
                    }
                }
            }
            TurnEvent::Reasoning { delta } if verbose => {
                write!(self.out, "{delta}")?;
            }
            TurnEvent::Notice { text } | TurnEvent::Warning { text } => {
                writeln!(self.out, "  * {text}")?;
            }
            TurnEvent::Steered { text } => writeln!(self.out, "  * guidance: {text}")?,
            TurnEvent::Compressed {
                messages_before,
                messages_after,
                ..
            } => writeln!(
                self.out,
                "  * {}",
                condensed(*messages_before, *messages_after)
            )?,
            _ => return Ok(()),
        }
        self.out.flush()
    }

    /// The answer and what belongs below it.
    pub(super) fn end(
        &mut self,
        outcome: &TurnOutcome,
        context: &Context,
        counts: Option<Counts>,
    ) -> io::Result<()> {
        if outcome.reason == StopReason::IterationLimit
            && !outcome.answer.trim().is_empty()
            && self.how.is_answer_only()
            && let Some(why) = &outcome.error
        {
            self.out.warning(&format!(
                "{why}: the answer says how far it came (agent.max_turns, --max-turns)"
            ));
        }
        match self.how {
            How::Answer => self.answer(&outcome.answer),
            How::Quiet => {
                self.answer(&outcome.answer)?;
                self.out.flush()?;
                self.out
                    .stderr_line(&format!("\nsession_id: {}", outcome.session));
                Ok(())
            }
            How::Lines { .. } => {
                if !outcome.answer.is_empty() {
                    let rule = "─".repeat(self.out.width().clamp(20, 100) - 10);
                    writeln!(
                        self.out,
                        "\n── Hermes {rule}\n{}\n",
                        outcome.answer.trim_end()
                    )?;
                }
                if let Some(counts) = counts {
                    summary(
                        self.out,
                        &outcome.session,
                        context,
                        &counts,
                        self.started.elapsed(),
                    )?;
                }
                self.out.flush()
            }
        }
    }

    fn answer(&mut self, answer: &str) -> io::Result<()> {
        if answer.is_empty() {
            return Ok(());
        }
        self.out.write_all(answer.as_bytes())?;
        if !answer.ends_with('\n') {
            self.out.write_all(b"\n")?;
        }
        self.out.flush()
    }
}

/// How to come back to a session, and what it came to.
pub(super) fn summary(
    out: &mut Out,
    session: &SessionId,
    context: &Context,
    counts: &Counts,
    elapsed: Duration,
) -> io::Result<()> {
    let profile = match context.home.profile_name().as_str() {
        "default" | "custom" => String::new(),
        name => format!(" -p {name}"),
    };
    writeln!(out, "Resume this session with:")?;
    writeln!(out, "  hermes --resume {session}{profile}")?;
    if let Some(title) = &counts.title {
        writeln!(out, "  hermes -c {}{profile}", quoted(title))?;
    }
    writeln!(out)?;
    writeln!(out, "Session:   {session}")?;
    if let Some(title) = &counts.title {
        writeln!(out, "Title:     {title}")?;
    }
    writeln!(out, "Duration:  {}", spoken(elapsed))?;
    writeln!(
        out,
        "Messages:  {} ({} user, {} tool calls)",
        counts.messages, counts.user, counts.calls
    )
}

fn condensed(before: u32, after: u32) -> String {
    format!("older messages were condensed: {before} became {after}")
}

/// A title as one word of a shell, whatever is in it.
fn quoted(title: &str) -> String {
    let plain = |c: char| !c.is_control() && !matches!(c, '"' | '$' | '`' | '\\' | '!');
    match title.chars().all(plain) {
        true => format!("\"{title}\""),
        false => format!("'{}'", title.replace('\'', "'\\''")),
    }
}

/// What the exit summary counts.
pub(super) struct Counts {
    pub(super) title: Option<String>,
    pub(super) messages: i64,
    pub(super) user: usize,
    pub(super) calls: i64,
}

fn spoken(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, minutes, seconds) => format!("{hours}h {minutes}m {seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn titles_are_one_word_of_a_shell() {
        assert_eq!(quoted("it's plain"), "\"it's plain\"");
        for title in ["a \"b\"", "cost $5", "run `ls`", "a\\b", "hi!", "it's $5"] {
            let words = shlex::split(&quoted(title)).unwrap();
            assert_eq!(words, [title]);
        }
    }
}

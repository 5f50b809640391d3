//! Telling the story: to a person who watches, or as JSON for a program.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use hermes_process::Captured;
use serde::Serialize;
use serde_json::{Value, json};

use super::stage::Left;
use crate::output::{Column, Table, wrap};
use crate::{CommandError, Exit, Out};

/// Output beyond this is cut: nobody reads more while something else waits.
const MOST_LINES: usize = 24;
const BEAT: Duration = Duration::from_millis(900);
const PER_LINE: Duration = Duration::from_millis(180);

pub(super) struct Teller<'o> {
    out: &'o mut Out,
    hurried: bool,
    json: bool,
    started: Instant,
    scenes: Vec<Scene>,
    facts: serde_json::Map<String, Value>,
}

#[derive(Serialize)]
struct Scene {
    title: String,
    ok: bool,
    seconds: f64,
    /// What it showed, in a few words.
    outcome: String,
    steps: Vec<Step>,
    #[serde(skip)]
    since: Option<Instant>,
}

#[derive(Serialize)]
struct Step {
    command: String,
    exit_code: i32,
    seconds: f64,
    output: String,
}

impl<'o> Teller<'o> {
    pub(super) fn new(out: &'o mut Out, hurried: bool, json: bool) -> Self {
        Self {
            out,
            hurried,
            json,
            started: Instant::now(),
            scenes: Vec::new(),
            facts: serde_json::Map::new(),
        }
    }

    /// A value of the JSON story.
    pub(super) fn fact(&mut self, name: &str, value: Value) {
        self.facts.insert(name.to_owned(), value);
    }

    pub(super) async fn scene(&mut self, title: &str, why: &str) -> Result<(), CommandError> {
        let number = self.scenes.len() + 1;
        self.scenes.push(Scene {
            title: title.to_owned(),
            ok: true,
            seconds: 0.0,
            outcome: String::new(),
            steps: Vec::new(),
            since: Some(Instant::now()),
        });
        if !self.json {
            let style = self.out.style();
            let heading = style.heading(&format!("{number}. {title}"));
            self.out.line(&format!("\n{heading}"))?;
        }
        self.say(why).await
    }

    /// The scene's end: what it showed, and whether it went as it should.
    pub(super) fn showed(&mut self, ok: bool, outcome: impl Into<String>) {
        if let Some(scene) = self.scenes.last_mut() {
            scene.ok = ok && scene.ok;
            scene.outcome = outcome.into();
            scene.seconds = scene
                .since
                .take()
                .map_or(0.0, |at| at.elapsed().as_secs_f64());
        }
    }

    /// Words between the commands.
    pub(super) async fn say(&mut self, text: &str) -> Result<(), CommandError> {
        if !self.json {
            let text = wrap(text, self.out.width().min(78), "");
            self.out.line(&text)?;
            self.pause(BEAT).await;
        }
        Ok(())
    }

    /// A line of progress, without a pause.
    pub(super) fn progress(&mut self, text: &str) -> Result<(), CommandError> {
        if !self.json {
            self.out.line(&format!("  {text}"))?;
        }
        Ok(())
    }

    /// The command that comes now, as one would type it.
    pub(super) async fn types(&mut self, command: &str) -> Result<(), CommandError> {
        if !self.json {
            let style = self.out.style();
            let prompt = style.good("$");
            let command = style.heading(command);
            self.out.line(&format!("\n{prompt} {command}"))?;
            self.pause(BEAT).await;
        }
        Ok(())
    }

    /// What the command printed.
    pub(super) async fn printed(
        &mut self,
        command: &str,
        done: &Captured,
        took: Duration,
    ) -> Result<(), CommandError> {
        let mut output = done.stdout_text();
        if !done.success() {
            output.push_str(&done.stderr_text());
        }
        if !self.json {
            let lines: Vec<&str> = output.trim_end().lines().collect();
            for line in lines.iter().take(MOST_LINES) {
                self.out.line(&format!("  {line}"))?;
            }
            if lines.len() > MOST_LINES {
                let more = format!("  … {} more lines", lines.len() - MOST_LINES);
                let more = self.out.style().faint(&more);
                self.out.line(&more)?;
            }
            let shown = lines.len().min(MOST_LINES) as u32;
            self.pause(BEAT + PER_LINE * shown).await;
        }
        if let Some(scene) = self.scenes.last_mut() {
            scene.ok &= done.success();
            scene.steps.push(Step {
                command: command.to_owned(),
                exit_code: done.exit.shell_code(),
                seconds: took.as_secs_f64(),
                output,
            });
        }
        Ok(())
    }

    async fn pause(&mut self, time: Duration) {
        // Somebody may read along through a pipe.
        let _ = self.out.flush();
        if !self.hurried {
            tokio::time::sleep(time).await;
        }
    }

    /// The table at the end, or the JSON.
    pub(super) fn finish(self, left: &Left) -> Result<Exit, CommandError> {
        let ok = self.scenes.iter().all(|scene| scene.ok) && left.troubles.is_empty();
        let home = left.home.as_deref().map(Path::display);
        let home = home.map(|home| home.to_string());
        if self.json {
            let mut story = json!({
                "ok": ok,
                "seconds": self.started.elapsed().as_secs_f64(),
                "scenes": self.scenes,
                "kept_home": home,
                "left_behind": left.troubles,
            });
            if let Value::Object(story) = &mut story {
                story.extend(self.facts);
            }
            self.out.json(&story)?;
            return Ok(if ok { Exit::SUCCESS } else { Exit::FAILURE });
        }
        let style = self.out.style();
        self.out
            .line(&format!("\n{}\n", style.heading("What you saw")))?;
        let mut table = Table::new([
            Column::new(" "),
            Column::new("scene"),
            Column::new("time").right(),
            Column::new("what happened").flexible(20),
        ]);
        for scene in &self.scenes {
            let mark = if scene.ok { "ok" } else { "failed" };
            let time = format!("{:.1} s", scene.seconds);
            table.row([mark, &scene.title, &time, &scene.outcome]);
        }
        table.print(self.out)?;
        for trouble in &left.troubles {
            self.out.warning(trouble);
        }
        let whereabouts = match home {
            Some(home) => format!(
                "\nThe home is kept: look around with `HERMES_HOME={home} hermes`; \
                 `hermes sandbox rm --all` there and `rm -r` end it."
            ),
            None if left.troubles.is_empty() => "\nNothing of the demo is left.".to_owned(),
            None => String::new(),
        };
        self.out.line(&whereabouts)?;
        self.out
            .line("The model was the built-in planner, not a language model. For a real one:\n")?;
        self.out.line(&format!(
            "  {}   choose a model and where commands run",
            style.heading("hermes setup")
        ))?;
        self.out
            .line(&format!("  {}         talk", style.heading("hermes")))?;
        self.out.line(&format!(
            "  {}  what else there is",
            style.heading("hermes --help")
        ))?;
        Ok(if ok { Exit::SUCCESS } else { Exit::FAILURE })
    }
}

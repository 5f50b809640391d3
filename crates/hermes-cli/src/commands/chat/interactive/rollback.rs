//! `/rollback`: files as they were before the agent changed them.

use std::path::Path;

use hermes_tools::checkpoint::{Checkpoint, Checkpoints, Leftovers, Restored};
use hermes_tui::Outcome;

use super::host::ChatHost;
use super::sessions;
use crate::CommandError;
use crate::commands::checkpoints::failed;
use crate::output::human;

const USAGE: &str = "`/rollback` lists, `/rollback N` goes back, `/rollback N FILE` brings one file back, `/rollback diff N` shows what changed since; `--clean` also removes files made later.";

const NOT_HELD: &str = "Checkpoints do not hold what git ignores, build output, `.env` files, logs, archives, large files and repositories within the project; what is gone of these stays gone.";

/// Lines of a diff that are shown.
const DIFF_LINES: usize = 80;
/// Names that are listed after a rollback.
const NAMES: usize = 20;

pub(super) async fn run(host: &mut ChatHost, arguments: &str) -> Result<Outcome, CommandError> {
    let Some(checkpoints) = host.checkpoints() else {
        return Ok(Outcome::Say(match host.sandbox_name().as_str() {
            "local" => "No checkpoints are taken: `hermes config set checkpoints.enabled true`, or start with `hermes chat --checkpoints`.".to_owned(),
            other => format!("Checkpoints cover files of this machine only; commands run in `{other}`."),
        }));
    };
    let Some(mut words) = shlex::split(arguments) else {
        return Ok(Outcome::Say("A quotation mark is not closed.".to_owned()));
    };
    let clean = words.iter().any(|word| word == "--clean");
    words.retain(|word| word != "--clean");
    let project = checkpoints.project_of(&host.live_directory());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => list(host, &checkpoints, &project).await,
        ["diff", name] => diff(&checkpoints, &project, name).await,
        ["diff"] => Ok(Outcome::Say(USAGE.to_owned())),
        [name] => {
            let leftovers = match clean {
                true => Leftovers::Remove,
                false => Leftovers::Keep,
            };
            let (found, done) = restore(&checkpoints, &project, name, None, leftovers).await?;
            let text = told(&found, &project, None, &done);
            take_back(host, text).await
        }
        [name, file] => {
            let (found, done) =
                restore(&checkpoints, &project, name, Some(file), Leftovers::Keep).await?;
            Ok(Outcome::Say(told(&found, &project, Some(file), &done)))
        }
        _ => Ok(Outcome::Say(USAGE.to_owned())),
    }
}

async fn list(
    host: &ChatHost,
    checkpoints: &Checkpoints,
    project: &Path,
) -> Result<Outcome, CommandError> {
    let all = checkpoints.store.list(project).await.map_err(failed)?;
    if all.is_empty() {
        return Ok(Outcome::Say(format!(
            "No checkpoints of {} yet: one is taken before the agent changes files there.",
            project.display()
        )));
    }
    let now = host.context.clock.now();
    let mut text = format!(
        "Checkpoints of {}\n\n| | hash | taken | |\n|---|---|---|---|\n",
        project.display()
    );
    for one in &all {
        let age = chrono::DateTime::from_timestamp(one.taken_at, 0)
            .map(|then| human::ago(now, then))
            .unwrap_or_default();
        text.push_str(&format!(
            "| {} | {} | {age} | {} |\n",
            one.number,
            one.short(),
            one.reason.replace('|', "\\|")
        ));
    }
    text.push_str(&format!("\n{USAGE}"));
    Ok(Outcome::Say(text))
}

async fn diff(
    checkpoints: &Checkpoints,
    project: &Path,
    name: &str,
) -> Result<Outcome, CommandError> {
    let store = &checkpoints.store;
    let found = store.find(project, name).await.map_err(failed)?;
    let text = store
        .diff(project, &found, &checkpoints.settings)
        .await
        .map_err(failed)?;
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return Ok(Outcome::Say(format!(
            "Nothing changed since checkpoint {}.",
            found.number
        )));
    }
    let mut shown = lines[..lines.len().min(DIFF_LINES)].join("\n");
    if lines.len() > DIFF_LINES {
        shown.push_str(&format!("\n… and {} more lines", lines.len() - DIFF_LINES));
    }
    Ok(Outcome::Output(shown))
}

async fn restore(
    checkpoints: &Checkpoints,
    project: &Path,
    name: &str,
    file: Option<&str>,
    leftovers: Leftovers,
) -> Result<(Checkpoint, Restored), CommandError> {
    let store = &checkpoints.store;
    let found = store.find(project, name).await.map_err(failed)?;
    let home = checkpoints.user_home();
    let done = store
        .restore(
            project,
            home,
            &found,
            file,
            leftovers,
            &checkpoints.settings,
        )
        .await
        .map_err(failed)?;
    Ok((found, done))
}

/// Says no more than was done: a checkpoint does not hold everything.
fn told(found: &Checkpoint, project: &Path, file: Option<&str>, done: &Restored) -> String {
    let (number, reason) = (found.number, &found.reason);
    let mut text = match file {
        Some(file) => format!("`{file}` is as it was at checkpoint {number} ({reason})."),
        None => format!(
            "The files that checkpoint {number} ({reason}) holds are back in {}.",
            project.display()
        ),
    };
    for (what, names) in [
        ("Brought back", &done.written),
        ("Removed", &done.removed),
        ("Made later and left (`--clean` removes)", &done.kept),
        (
            "Not brought back, because checkpoints do not hold repositories within a project",
            &done.lost,
        ),
    ] {
        if !names.is_empty() {
            let shown: Vec<String> = names
                .iter()
                .take(NAMES)
                .map(|name| format!("`{name}`"))
                .collect();
            let more = match names.len() > NAMES {
                true => format!(" and {} more", names.len() - NAMES),
                false => String::new(),
            };
            text.push_str(&format!("\n\n{what}: {}{more}", shown.join(", ")));
        }
    }
    if file.is_none() {
        text.push_str(&format!("\n\n{NOT_HELD}"));
    }
    text.push_str(
        "\n\nWhat was there is the newest checkpoint now: `/rollback 1` goes back to it.",
    );
    text
}

/// The model must not believe in changes that are gone.
async fn take_back(host: &mut ChatHost, text: String) -> Result<Outcome, CommandError> {
    Ok(match sessions::undo(host, "").await? {
        Outcome::Switch(mut switch) => {
            switch.message = format!("{text}\n\nThe last message is taken back with it.");
            Outcome::Switch(switch)
        }
        _ => Outcome::Say(text),
    })
}

//! Commands that the catalogue does not have: those of `quick_commands`, and skills
//! by their name.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hermes_agent::slash;
use hermes_config::Config;
use hermes_knowledge::skills::Skill;
use hermes_process::{Command, Limits, output};
use hermes_tools::builtin::{SkillShelf, activation};
use hermes_tui::Outcome;
use serde_json::Value;

use super::host::ChatHost;
use crate::CommandError;

const LIMITS: Limits = Limits {
    timeout: Duration::from_secs(30),
    max_bytes: 256 * 1024,
};

/// What they are called. Clones share it: the chat learns, completion reads.
#[derive(Clone, Default)]
pub(super) struct OwnCommands(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    quick: Vec<(String, String)>,
    /// `None` until they were looked for.
    skills: Option<Vec<KnownSkill>>,
}

#[derive(Clone)]
struct KnownSkill {
    /// What is typed.
    slug: String,
    name: String,
    description: String,
}

impl OwnCommands {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns the names; skills are looked for on a thread of their own, because
    /// there may be hundreds.
    pub(super) fn learn(&self, config: &Config, shelf: &SkillShelf) {
        let section = config.section("quick_commands");
        self.known().quick = section
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, command)| {
                let about = match command["type"].as_str() {
                    Some("alias") => {
                        let target = command["target"].as_str().unwrap_or_default();
                        format!("the same as /{}", target.trim().trim_start_matches('/'))
                    }
                    _ => format!("runs {}", command["command"].as_str().unwrap_or_default()),
                };
                (name.trim_start_matches('/').to_lowercase(), about)
            })
            .collect();
        let (own, shelf) = (self.clone(), shelf.clone());
        tokio::task::spawn_blocking(move || {
            let skills = offered(&shelf);
            own.known().skills = Some(skills);
        });
    }

    /// Looks for skills again: those that are new, and those that are gone.
    pub(super) fn look_for_skills(&self, shelf: &SkillShelf) -> (Vec<String>, Vec<String>) {
        let now = offered(shelf);
        let before = self.known().skills.replace(now.clone());
        let Some(before) = before else {
            return (Vec::new(), Vec::new());
        };
        let missing = |these: &[KnownSkill], in_those: &[KnownSkill]| -> Vec<String> {
            these
                .iter()
                .filter(|skill| !in_those.iter().any(|other| other.name == skill.name))
                .map(|skill| skill.name.clone())
                .collect()
        };
        (missing(&now, &before), missing(&before, &now))
    }

    /// Name and description of each.
    pub(super) fn all(&self) -> Vec<(String, String)> {
        let known = self.known();
        let skills = known.skills.iter().flatten();
        let mut all = known.quick.clone();
        all.extend(skills.map(|skill| (skill.slug.clone(), skill.description.clone())));
        all
    }

    /// The skill that is meant by what was typed.
    fn skill(&self, typed: &str) -> Option<String> {
        let slug = slug(typed);
        let known = self.known();
        let mut skills = known.skills.iter().flatten();
        skills
            .find(|skill| skill.slug == slug)
            .map(|skill| skill.name.clone())
    }
}

fn offered(shelf: &SkillShelf) -> Vec<KnownSkill> {
    let named = |skill: Skill| KnownSkill {
        slug: slug(&skill.front_name),
        name: skill.name,
        description: skill.description,
    };
    shelf.library().offered().into_iter().map(named).collect()
}

/// A skill's name as it is typed: small letters, digits and `-`.
fn slug(name: &str) -> String {
    name.chars()
        .filter_map(|c| match c {
            ' ' | '_' | '-' => Some('-'),
            c if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

pub(super) async fn run(host: &mut ChatHost, words: &str) -> Result<Outcome, CommandError> {
    let (name, arguments) = words.split_once(' ').unwrap_or((words, ""));
    let arguments = arguments.trim();
    let quick = host.context.config()?.section("quick_commands");
    let known = quick.as_object().and_then(|map| {
        map.iter()
            .find(|(own, _)| own.trim_start_matches('/').eq_ignore_ascii_case(name))
    });
    if let Some((_, command)) = known {
        return carry_out(name, command, arguments, host).await;
    }
    let session = host.session();
    let session = session.as_ref().map_or("", |id| id.as_str());
    let meant = host.own.skill(name).unwrap_or_else(|| name.to_owned());
    let skill = match host.wired.as_ref() {
        Some(wired) => wired.shelf.load(&meant, session).await.ok(),
        None => None,
    };
    if let Some(view) = skill {
        let text = format!("{}\n\n{arguments}", activation(name, &view));
        return Ok(Outcome::Send(text.trim_end().to_owned()));
    }
    match slash::find(name) {
        Ok(command) => Ok(Outcome::Again(format!("/{} {arguments}", command.name))),
        Err(error) => Err(CommandError::user(error)),
    }
}

async fn carry_out(
    name: &str,
    command: &Value,
    arguments: &str,
    host: &ChatHost,
) -> Result<Outcome, CommandError> {
    match command["type"].as_str() {
        Some("exec") => {
            let script = command["command"].as_str().unwrap_or_default();
            let shell = Command::new("sh")
                .args(["-c", script])
                .only_env(host.context.environment.iter())
                .directory(host.cwd());
            let done = output(shell, LIMITS).await.map_err(CommandError::user)?;
            let said = match done.stdout.is_empty() {
                true => done.stderr,
                false => done.stdout,
            };
            Ok(Outcome::Output(String::from_utf8_lossy(&said).into_owned()))
        }
        Some("alias") => {
            let target = command["target"].as_str().unwrap_or_default();
            let target = target.trim().trim_start_matches('/');
            Ok(Outcome::Again(format!("/{target} {arguments}")))
        }
        other => Err(CommandError::user(format!(
            "quick_commands.{name}.type is {}, not exec or alias",
            other.unwrap_or("missing")
        ))),
    }
}

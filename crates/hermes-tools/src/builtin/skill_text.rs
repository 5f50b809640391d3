//! What becomes of a skill's text when it is loaded: settings that the user made for
//! it, commands whose output it asks for (`skills.inline_shell`), and the note under
//! which it enters a conversation.

use std::time::Duration;

use hermes_home::Environment;
use hermes_process::{Command, Limits, output};
use serde_json::{Map, Value};

/// Characters of one command's output.
const OUTPUT_LIMIT: usize = 4000;
/// A text with more commands than this is no skill.
const MAX_COMMANDS: usize = 50;

/// The settings that a skill declares, with the user's value or its own default.
pub(super) fn settings(view: &Value, config: &Value) -> Map<String, Value> {
    let declared = view["metadata"]["hermes"]["config"].as_array();
    declared
        .into_iter()
        .flatten()
        .filter_map(|one| {
            let key = one["key"].as_str()?;
            // Both `wiki: {path: x}` and `wiki.path: x` are the key `wiki.path`.
            let nested = key
                .split('.')
                .try_fold(config, |value, part| value.get(part));
            let value = config
                .get(key)
                .or(nested)
                .filter(|value| !value.is_null())
                .or_else(|| one.get("default"))?;
            Some((key.to_owned(), value.clone()))
        })
        .collect()
}

/// How a loaded skill is put before a model.
pub fn activation(name: &str, view: &Value) -> String {
    let directory = view["skill_dir"].as_str().unwrap_or_default();
    let mut text = format!(
        "[The skill {name} is loaded; follow it where it applies. Its directory: {directory}]\n\n{}",
        view["content"].as_str().unwrap_or_default().trim_end()
    );
    if let Some(settings) = view["config"].as_object() {
        text.push_str("\n\n[Settings of this skill:");
        for (key, value) in settings {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            text.push_str(&format!("\n{key} = {value}"));
        }
        text.push(']');
    }
    if let Some(note) = view["setup_note"].as_str() {
        text.push_str(&format!("\n\n[{note}]"));
    }
    let files: Vec<&str> = view["linked_files"]
        .as_object()
        .into_iter()
        .flat_map(|map| map.values())
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !files.is_empty() {
        text.push_str(&format!("\n\n[Its files: {}]", files.join(", ")));
    }
    text
}

/// Runs the commands of a text where the skill lies, with the variables that it asks
/// for and no others of the user's.
pub(super) struct InlineShell<'a> {
    pub(super) directory: String,
    pub(super) variables: Vec<String>,
    pub(super) environment: &'a Environment,
    pub(super) patience: Duration,
}

impl InlineShell<'_> {
    /// The text with every ``!`command` `` replaced by what the command printed.
    pub(super) async fn filled_in(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        for _ in 0..MAX_COMMANDS {
            let Some((before, command, after)) = next_command(rest) else {
                break;
            };
            out.push_str(before);
            out.push_str(&self.run(command).await);
            rest = after;
        }
        out.push_str(rest);
        out
    }

    async fn run(&self, command: &str) -> String {
        const PLAIN: [&str; 8] = [
            "PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "SHELL",
        ];
        let allowed =
            |name: &str| PLAIN.contains(&name) || self.variables.iter().any(|own| own == name);
        let shell = Command::new("bash")
            .args(["-c", command])
            .only_env(self.environment.iter().filter(|(name, _)| allowed(name)))
            .directory(&self.directory);
        let limits = Limits {
            timeout: self.patience,
            max_bytes: OUTPUT_LIMIT * 4,
        };
        match output(shell, limits).await {
            Ok(done) if done.success() => shortened(done.stdout_text().trim_end()),
            Ok(done) => {
                let said = shortened(done.stderr_text().trim_end());
                format!("[`{command}` failed: {said}]")
            }
            Err(error) => format!("[`{command}` was not run to its end: {error}]"),
        }
    }
}

/// The next command of a line, with what stands around it.
fn next_command(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(offset) = text[from..].find("!`") {
        let start = from + offset;
        let inner = start + 2;
        let length = text[inner..].find(['`', '\n'])?;
        let end = inner + length;
        if text[end..].starts_with('`') && !text[inner..end].trim().is_empty() {
            return Some((&text[..start], text[inner..end].trim(), &text[end + 1..]));
        }
        from = inner;
    }
    None
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(OUTPUT_LIMIT) {
        Some((end, _)) => format!("{}\n[… shortened …]", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn commands_are_found_within_a_line() {
        assert_eq!(
            next_command("a !`date -u` b"),
            Some(("a ", "date -u", " b"))
        );
        assert_eq!(next_command("!`open\n` `code` !"), None);
        assert_eq!(next_command("!`` !`x`"), Some(("!`` ", "x", "")));
    }

    #[test]
    fn settings_come_from_the_user_or_from_the_skill() {
        let view = json!({"metadata": {"hermes": {"config": [
            {"key": "wiki.path", "default": "~/wiki"},
            {"key": "wiki.name", "default": "mine"},
            {"key": "none"},
        ]}}});
        let config = json!({"wiki": {"path": "/srv/wiki"}});
        assert_eq!(
            Value::Object(settings(&view, &config)),
            json!({"wiki.path": "/srv/wiki", "wiki.name": "mine"})
        );
    }

    #[tokio::test]
    async fn a_command_sees_what_it_may_and_says_how_it_went() {
        let scratch = tempfile::tempdir().unwrap();
        let environment: Environment = [
            ("PATH", "/usr/bin:/bin"),
            ("ASKED", "yes"),
            ("SECRET_KEY", "no"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
        let shell = InlineShell {
            directory: scratch.path().display().to_string(),
            variables: vec!["ASKED".into()],
            environment: &environment,
            patience: Duration::from_secs(30),
        };
        let text = shell
            .filled_in(
                "in !`basename \"$PWD\"`: !`echo [$ASKED$SECRET_KEY]` !`echo bad >&2; false` end",
            )
            .await;
        let name = scratch.path().file_name().unwrap().to_string_lossy();
        assert_eq!(
            text,
            format!("in {name}: [yes] [`echo bad >&2; false` failed: bad] end")
        );
    }
}

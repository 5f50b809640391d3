//! Putting the prompt together, block by block.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{Clock, Home};
use hermes_knowledge::memory::{MemoryStore, Target};
use hermes_knowledge::scan::{self, Scope};
use hermes_knowledge::skills::{self, Library, Present};
use hermes_types::SessionId;

use super::context_files::{CAP, project_files, shortened};
use super::toolchain;
use super::words;

/// Everything a prompt is made of; composing it reads files and nothing else.
#[derive(Clone, Debug)]
pub struct Prompt {
    pub home: Home,
    /// Where project files are looked for; `None` when commands run elsewhere.
    pub cwd: Option<PathBuf>,
    pub surroundings: Surroundings,
    /// `cli`, a platform's name, `cron`.
    pub platform: String,
    pub memory: Option<MemoryStore>,
    pub memory_notes: bool,
    pub memory_profile: bool,
    pub skills: Option<Library>,
    pub toolsets: Vec<String>,
    pub options: PromptOptions,
    pub clock: Clock,
}

#[derive(Clone, Debug)]
pub struct PromptOptions {
    /// Leave out SOUL.md, project files and memory.
    pub bare: bool,
    pub completion_guidance: bool,
    pub enforcement: Enforcement,
    pub environment_hint: Option<String>,
    /// Where programs of this machine are found, when what is unusual about its
    /// Python is to be told.
    pub search_path: Option<String>,
    pub pass_session_id: bool,
    /// The caller's own system text.
    pub extra: Option<String>,
}

impl Default for PromptOptions {
    fn default() -> Self {
        Self {
            bare: false,
            completion_guidance: true,
            enforcement: Enforcement::default(),
            environment_hint: None,
            search_path: None,
            pass_session_id: false,
            extra: None,
        }
    }
}

/// Which models are urged to use tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// Families that are known to need it.
    #[default]
    Auto,
    Always,
    Never,
    /// Names that contain one of these.
    Named(Vec<String>),
}

impl Enforcement {
    /// What a model of this name needs to be told about tools.
    pub(super) fn words(&self, model: &str) -> impl Iterator<Item = &'static str> {
        let applies = self.applies(model);
        let model = model.to_lowercase();
        let is = |names: &[&str]| names.iter().any(|name| model.contains(name));
        [
            (applies, words::ENFORCEMENT),
            (applies && is(&["gemini", "gemma"]), words::GOOGLE),
            (applies && is(&["gpt", "codex", "grok"]), words::DISCIPLINE),
        ]
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, text)| text)
    }

    fn applies(&self, model: &str) -> bool {
        const FAMILIES: [&str; 8] = [
            "gpt", "codex", "gemini", "gemma", "grok", "glm", "qwen", "deepseek",
        ];
        let model = model.to_lowercase();
        match self {
            Enforcement::Auto => FAMILIES.iter().any(|name| model.contains(name)),
            Enforcement::Always => true,
            Enforcement::Never => false,
            Enforcement::Named(names) => names
                .iter()
                .any(|name| model.contains(&name.to_lowercase())),
        }
    }
}

/// Where commands run, as far as the model must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Surroundings {
    Host {
        system: String,
    },
    /// What is known of a container or remote machine.
    Sandbox {
        description: String,
    },
}

/// A prompt in its tiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composed {
    pub stable: String,
    pub context: String,
    pub volatile: String,
    /// Bytes of the blocks that grow with use.
    pub skills_bytes: usize,
    pub memory_bytes: usize,
    pub profile_bytes: usize,
}

impl Composed {
    pub fn text(&self) -> String {
        [&self.stable, &self.context, &self.volatile]
            .into_iter()
            .filter(|tier| !tier.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

impl Prompt {
    pub fn compose(
        &self,
        tools: &[&str],
        model: &str,
        provider: &str,
        session: &SessionId,
    ) -> Composed {
        let index = self.skills_index(tools);
        let stable = self.stable(tools, model, index.as_deref());
        let block = |target: Target, wanted: bool| {
            self.memory
                .as_ref()
                .filter(|_| wanted && !self.options.bare)
                .and_then(|store| store.prompt_block(target))
        };
        let notes = block(Target::Memory, self.memory_notes);
        let profile = block(Target::User, self.memory_profile);
        Composed {
            skills_bytes: index.map_or(0, |text| text.len()),
            memory_bytes: notes.as_ref().map_or(0, String::len),
            profile_bytes: profile.as_ref().map_or(0, String::len),
            stable,
            context: self.context(),
            volatile: self.volatile(notes, profile, model, provider, session),
        }
    }

    fn stable(&self, tools: &[&str], model: &str, index: Option<&str>) -> String {
        let has = |name: &str| tools.contains(&name);
        let mut blocks: Vec<String> = vec![self.identity(), words::ABOUT.to_owned()];
        if !tools.is_empty() && self.options.completion_guidance {
            blocks.push(words::COMPLETION.to_owned());
        }
        let guidance: Vec<&str> = [
            ("memory", words::MEMORY),
            ("session_search", words::SESSION_SEARCH),
            ("skill_manage", words::SKILLS),
            ("kanban_list", words::KANBAN_PLANNER),
            ("kanban_show", words::KANBAN),
        ]
        .into_iter()
        .filter(|(tool, _)| has(tool))
        // Whoever sees the whole board plans; a worker sees its task.
        .filter(|(tool, _)| *tool != "kanban_show" || !has("kanban_list"))
        .map(|(_, text)| text)
        .collect();
        if !guidance.is_empty() {
            blocks.push(guidance.join(" "));
        }
        if !tools.is_empty() {
            blocks.extend(self.options.enforcement.words(model).map(str::to_owned));
        }
        blocks.extend(index.map(str::to_owned));
        blocks.push(self.place());
        blocks.push(self.profile_note());
        blocks.extend(words::platform(&self.platform).map(str::to_owned));
        blocks.join("\n\n")
    }

    /// `SOUL.md` when there is one.
    fn identity(&self) -> String {
        if self.options.bare {
            return words::IDENTITY.to_owned();
        }
        let text = fs::read_to_string(self.home.join("SOUL.md")).unwrap_or_default();
        let text = text.trim();
        if text.is_empty() {
            return words::IDENTITY.to_owned();
        }
        let found = scan::scan(text, Scope::Context);
        if found.is_empty() {
            shortened(text, CAP)
        } else {
            scan::blocked_line("SOUL.md", &found)
        }
    }

    fn skills_index(&self, tools: &[&str]) -> Option<String> {
        let wanted = ["skills_list", "skill_view", "skill_manage"]
            .iter()
            .any(|name| tools.contains(name));
        let library = self.skills.as_ref().filter(|_| wanted)?;
        let present = Present {
            tools: tools.to_vec(),
            toolsets: self.toolsets.iter().map(String::as_str).collect(),
        };
        let snapshot = self.home.join(".skills_prompt_snapshot.json");
        skills::index(library, Some(&snapshot), &present)
    }

    fn place(&self) -> String {
        let mut text = match &self.surroundings {
            Surroundings::Host { system } => format!(
                "Commands run on the user's own machine ({system}). Home: {}.{}",
                self.home.user_home().display(),
                self.cwd
                    .as_deref()
                    .map(|cwd| format!(" Working directory: {}.", cwd.display()))
                    .unwrap_or_default()
            ),
            Surroundings::Sandbox { description } => format!(
                "Commands and file tools work in a sandbox, not on the user's machine: {description}"
            ),
        };
        if let Some(hint) = &self.options.environment_hint {
            let _ = write!(text, "\n{hint}");
        }
        let python = match (&self.surroundings, &self.options.search_path) {
            (Surroundings::Host { .. }, Some(path)) => toolchain::python_line(path),
            _ => None,
        };
        if let Some(line) = python {
            let _ = write!(text, "\n{line}");
        }
        text
    }

    fn profile_note(&self) -> String {
        let name = self.home.profile_name();
        let path = self.home.display(self.home.path());
        if name == "default" {
            format!("Your profile is the default one, in {path}. Leave other profiles alone.")
        } else {
            format!(
                "Your profile is \"{name}\", in {path}. Leave other profiles and their files alone."
            )
        }
    }

    fn context(&self) -> String {
        let mut blocks: Vec<String> = self.options.extra.clone().into_iter().collect();
        if !self.options.bare
            && let Some(cwd) = self.cwd.as_deref().filter(|cwd| cwd.is_dir())
        {
            let files = project_files(cwd);
            if !files.is_empty() {
                let mut text = String::from("# Project Context");
                for file in files {
                    let _ = write!(text, "\n\n## {}\n\n{}", file.name, file.text);
                }
                blocks.push(text);
            }
        }
        blocks.join("\n\n")
    }

    fn volatile(
        &self,
        notes: Option<String>,
        profile: Option<String>,
        model: &str,
        provider: &str,
        session: &SessionId,
    ) -> String {
        let mut blocks: Vec<String> = notes.into_iter().chain(profile).collect();
        // To the day: anything finer would change the cached prefix all the time.
        let mut last = format!(
            "Date at the start of this conversation: {}. {}",
            self.clock.now_local().format("%A, %-d %B %Y"),
            super::retold::began_with(model, provider)
        );
        if self.options.pass_session_id {
            let _ = write!(last, " Session: {session}.");
        }
        blocks.push(last);
        blocks.join("\n\n")
    }
}

impl Prompt {
    /// The smallest prompt, for subagents and tests: no files, no memory.
    pub fn bare(home: Home, cwd: Option<&Path>, clock: Clock) -> Self {
        Self {
            home,
            cwd: cwd.map(Path::to_owned),
            surroundings: Surroundings::Host {
                system: "Linux".to_owned(),
            },
            platform: String::new(),
            memory: None,
            memory_notes: false,
            memory_profile: false,
            skills: None,
            toolsets: Vec::new(),
            options: PromptOptions {
                bare: true,
                ..PromptOptions::default()
            },
            clock,
        }
    }
}

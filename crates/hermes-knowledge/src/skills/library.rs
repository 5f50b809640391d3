//! Finding skills on disk: the home's own directory first, then read-only
//! directories that the configuration names. A local name wins.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;

use super::front_matter::{Document, list_of};

const IGNORED: [&str; 14] = [
    ".git",
    ".github",
    ".hub",
    ".archive",
    ".venv",
    "venv",
    "node_modules",
    "site-packages",
    "__pycache__",
    ".tox",
    ".nox",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
];

/// Deeper trees are somebody's project, not a skill library.
const MAX_DEPTH: usize = 8;

/// Where skills are and which of them are wanted.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// `skills/` of the home; the only place we write to.
    pub local: PathBuf,
    pub external: Vec<PathBuf>,
    /// Names that the configuration turns off here.
    pub disabled: HashSet<String>,
    /// `linux`, `macos` or `windows`.
    pub platform: String,
    /// `kanban`, `docker`, … as far as they are true of this process.
    pub environments: Vec<String>,
}

/// When a skill is worth showing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    pub fallback_for_toolsets: Vec<String>,
    pub requires_toolsets: Vec<String>,
    pub fallback_for_tools: Vec<String>,
    pub requires_tools: Vec<String>,
}

/// What an index knows of a skill without reading its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The directory's name; what `skill_view` and `skill_manage` go by.
    pub name: String,
    pub front_name: String,
    pub description: String,
    /// The path between the root and the skill, `/`-separated; empty at the top.
    pub category: String,
    pub directory: PathBuf,
    pub local: bool,
    pub platforms: Vec<String>,
    pub environments: Vec<String>,
    pub conditions: Conditions,
}

impl Skill {
    pub fn file(&self) -> PathBuf {
        self.directory.join("SKILL.md")
    }

    /// The category as lists show it: only its first part.
    pub fn group(&self) -> &str {
        self.category.split('/').next().unwrap_or("")
    }
}

/// A `SKILL.md` or `DESCRIPTION.md`, with what tells whether it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub root: PathBuf,
    pub relative: String,
    pub modified_ns: u64,
    pub size: u64,
}

impl Found {
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.relative)
    }

    pub fn is_skill(&self) -> bool {
        self.relative.ends_with("SKILL.md")
    }
}

impl Library {
    /// Every skill and category file of all roots, sorted by path within a root.
    pub fn files(&self) -> Vec<Found> {
        let mut found = Vec::new();
        for root in std::iter::once(&self.local).chain(&self.external) {
            let start = found.len();
            let mut seen = HashSet::new();
            walk(root, root, 0, &mut seen, &mut found);
            found[start..].sort_by(|a, b| a.relative.cmp(&b.relative));
        }
        found
    }

    /// All skills, also disabled ones and those for other systems.
    pub fn all(&self) -> Vec<Skill> {
        let mut names = HashSet::new();
        self.files()
            .iter()
            .filter(|found| found.is_skill())
            .filter_map(|found| self.read(found))
            // Two local ones of a name are both kept: whoever asks for it is told.
            .filter(|skill| names.insert(skill.name.clone()) || skill.local)
            .collect()
    }

    /// What is offered here: enabled, and meant for this system and environment.
    pub fn offered(&self) -> Vec<Skill> {
        self.all()
            .into_iter()
            .filter(|skill| self.is_enabled(skill) && self.is_for_here(skill))
            .collect()
    }

    pub fn is_enabled(&self, skill: &Skill) -> bool {
        !self.disabled.contains(&skill.name) && !self.disabled.contains(&skill.front_name)
    }

    pub fn is_for_here(&self, skill: &Skill) -> bool {
        const KNOWN: [&str; 3] = ["kanban", "docker", "s6"];
        let environment_fits = skill.environments.is_empty()
            || skill.environments.iter().any(|wanted| {
                !KNOWN.contains(&wanted.as_str()) || self.environments.contains(wanted)
            });
        environment_fits && self.runs_on_platform(skill)
    }

    pub fn runs_on_platform(&self, skill: &Skill) -> bool {
        skill.platforms.is_empty() || skill.platforms.contains(&self.platform)
    }

    pub(super) fn read(&self, found: &Found) -> Option<Skill> {
        let text = fs::read_to_string(found.path()).ok()?;
        let document = Document::parse(&text);
        let relative = Path::new(&found.relative).parent()?;
        let directory = found.root.join(relative);
        let name = directory.file_name()?.to_string_lossy().into_owned();
        let conditions = |key: &str| {
            document
                .hermes()
                .and_then(|hermes| hermes.get(key))
                .map(list_of)
                .unwrap_or_default()
        };
        Some(Skill {
            front_name: document.text("name").unwrap_or_else(|| name.clone()),
            description: description(&document),
            category: relative
                .parent()
                .map(|path| path.to_string_lossy().into_owned())
                .unwrap_or_default(),
            local: found.root == self.local,
            platforms: lower(document.list("platforms")),
            environments: lower(document.list("environments")),
            conditions: Conditions {
                fallback_for_toolsets: conditions("fallback_for_toolsets"),
                requires_toolsets: conditions("requires_toolsets"),
                fallback_for_tools: conditions("fallback_for_tools"),
                requires_tools: conditions("requires_tools"),
            },
            directory,
            name,
        })
    }
}

/// The description, or the first line of the text that says something.
pub(super) fn description(document: &Document) -> String {
    let text = match document.head.get("description") {
        Some(Value::String(text)) => text.clone(),
        _ => document
            .body
            .lines()
            .map(|line| line.trim_start_matches('#').trim())
            .find(|line| !line.is_empty())
            .unwrap_or_default()
            .to_owned(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&text, 1024)
}

/// At most `limit` characters, the last three of them dots when cut.
pub(super) fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(limit.saturating_sub(3)).collect();
    out.push_str("...");
    out
}

fn lower(items: Vec<String>) -> Vec<String> {
    items.into_iter().map(|item| item.to_lowercase()).collect()
}

fn walk(
    root: &Path,
    directory: &Path,
    depth: usize,
    seen: &mut HashSet<PathBuf>,
    found: &mut Vec<Found>,
) {
    if depth > MAX_DEPTH {
        return;
    }
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    // Links are followed; a real path is visited once, so loops end.
    let Ok(real) = directory.canonicalize() else {
        return;
    };
    if !seen.insert(real) {
        return;
    }
    let mut below = Vec::new();
    let mut is_skill = false;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = entry.path();
        if name == "SKILL.md" || name == "DESCRIPTION.md" {
            let Ok(meta) = fs::metadata(&path) else {
                continue;
            };
            if !meta.is_file() {
                continue;
            }
            is_skill |= name == "SKILL.md";
            let modified_ns = meta
                .modified()
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .map_or(0, |elapsed| elapsed.as_nanos() as u64);
            if let Ok(relative) = path.strip_prefix(root) {
                found.push(Found {
                    root: root.to_owned(),
                    relative: relative.to_string_lossy().into_owned(),
                    modified_ns,
                    size: meta.len(),
                });
            }
        } else if !IGNORED.contains(&name)
            && entry
                .file_type()
                .is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
        {
            below.push(path);
        }
    }
    // What lies below a skill are its supporting files.
    if !is_skill {
        for path in below {
            walk(root, &path, depth + 1, seen, found);
        }
    }
}

//! The list of skills in the system prompt: names and one line each, enough to
//! know what to load. What was read is remembered in a snapshot file that the
//! reference shares; every entry is checked against time and size before use.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{FileMode, write_atomic};
use serde::{Deserialize, Serialize};

use super::front_matter::Document;
use super::library::{Conditions, Found, Library, Skill, cut};
use crate::scan::{self, Scope};

const DESCRIPTION_LIMIT: usize = 60;

/// What decides whether conditional skills are shown.
#[derive(Clone, Debug, Default)]
pub struct Present<'a> {
    pub tools: Vec<&'a str>,
    pub toolsets: Vec<&'a str>,
}

impl Present<'_> {
    fn shows(&self, conditions: &Conditions) -> bool {
        let tool = |name: &String| self.tools.contains(&name.as_str());
        let toolset = |name: &String| self.toolsets.contains(&name.as_str());
        !conditions.fallback_for_tools.iter().any(tool)
            && !conditions.fallback_for_toolsets.iter().any(toolset)
            && conditions.requires_tools.iter().all(tool)
            && conditions.requires_toolsets.iter().all(toolset)
    }
}

/// The index block, or `None` when there is nothing to offer.
pub fn index(library: &Library, snapshot: Option<&Path>, present: &Present<'_>) -> Option<String> {
    let files = library.files();
    if files.is_empty() {
        return None;
    }
    let (skills, categories) = read_all(library, &files, snapshot);
    let mut grouped: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for skill in skills {
        if !library.is_enabled(&skill)
            || !library.is_for_here(&skill)
            || !present.shows(&skill.conditions)
        {
            continue;
        }
        grouped
            .entry(index_category(&skill))
            .or_default()
            .entry(skill.name.clone())
            .or_insert_with(|| clean_line(&skill.name, &skill.description));
    }
    if grouped.is_empty() {
        return None;
    }
    let mut out = String::from(
        "Skills are tested procedures. Before you start, look for one that fits the task and load \
         it with skill_view(name); follow it. When none fits, go on without.\n<available_skills>\n",
    );
    for (category, skills) in &grouped {
        match categories.get(category) {
            Some(text) => out.push_str(&format!("{category}: {}\n", clean_line(category, text))),
            None => out.push_str(&format!("{category}:\n")),
        }
        for (name, description) in skills {
            if description.is_empty() {
                out.push_str(&format!("  - {name}\n"));
            } else {
                out.push_str(&format!("  - {name}: {description}\n"));
            }
        }
    }
    out.push_str("</available_skills>");
    Some(out)
}

/// Descriptions come from anybody and stand in the system prompt.
fn clean_line(name: &str, text: &str) -> String {
    let ids = scan::scan(text, Scope::Context);
    if ids.is_empty() {
        text.to_owned()
    } else {
        scan::blocked_line(&format!("the description of {name}"), &ids)
    }
}

/// A skill at the top is its own category, as in the snapshot.
fn index_category(skill: &Skill) -> String {
    if skill.category.is_empty() {
        skill.name.clone()
    } else {
        skill.category.clone()
    }
}

#[derive(Serialize, Deserialize)]
struct Snapshot {
    version: u32,
    manifest: BTreeMap<String, (u64, u64)>,
    skills: Vec<Entry>,
    category_descriptions: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    skill_name: String,
    category: String,
    frontmatter_name: String,
    description: String,
    platforms: Vec<String>,
    #[serde(default)]
    environments: Vec<String>,
    conditions: EntryConditions,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct EntryConditions {
    fallback_for_toolsets: Vec<String>,
    requires_toolsets: Vec<String>,
    fallback_for_tools: Vec<String>,
    requires_tools: Vec<String>,
}

fn read_all(
    library: &Library,
    files: &[Found],
    snapshot: Option<&Path>,
) -> (Vec<Skill>, HashMap<String, String>) {
    let (local, external): (Vec<&Found>, Vec<&Found>) =
        files.iter().partition(|found| found.root == library.local);
    let manifest: BTreeMap<String, (u64, u64)> = local
        .iter()
        .map(|found| (found.relative.clone(), (found.modified_ns, found.size)))
        .collect();
    let mut categories = HashMap::new();
    let mut skills = match snapshot.and_then(|path| load(path, &manifest)) {
        Some(saved) => {
            categories.extend(saved.category_descriptions);
            saved
                .skills
                .into_iter()
                .map(|entry| from_entry(library, entry))
                .collect()
        }
        None => {
            let skills = parse_all(library, &local, &mut categories);
            if let Some(path) = snapshot {
                save(path, manifest, &skills, &categories);
            }
            skills
        }
    };
    let outside = parse_all(library, &external, &mut categories);
    skills.extend(outside);
    (skills, categories)
}

fn parse_all(
    library: &Library,
    files: &[&Found],
    categories: &mut HashMap<String, String>,
) -> Vec<Skill> {
    let mut skills = Vec::new();
    for found in files {
        if found.is_skill() {
            if let Some(mut skill) = library.read(found) {
                skill.description = cut(&skill.description, DESCRIPTION_LIMIT);
                skills.push(skill);
            }
        } else if let Ok(text) = fs::read_to_string(found.path())
            && let Some(description) = Document::parse(&text).text("description")
            && let Some(category) = Path::new(&found.relative).parent()
        {
            categories
                .entry(category.to_string_lossy().into_owned())
                .or_insert(description);
        }
    }
    skills
}

fn load(path: &Path, manifest: &BTreeMap<String, (u64, u64)>) -> Option<Snapshot> {
    let saved: Snapshot = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (saved.version == 1 && saved.manifest == *manifest).then_some(saved)
}

/// The snapshot only saves time: failing to write it changes nothing.
fn save(
    path: &Path,
    manifest: BTreeMap<String, (u64, u64)>,
    skills: &[Skill],
    categories: &HashMap<String, String>,
) {
    let snapshot = Snapshot {
        version: 1,
        manifest,
        skills: skills
            .iter()
            .map(|skill| Entry {
                skill_name: skill.name.clone(),
                category: index_category(skill),
                frontmatter_name: skill.front_name.clone(),
                description: skill.description.clone(),
                platforms: skill.platforms.clone(),
                environments: skill.environments.clone(),
                conditions: EntryConditions {
                    fallback_for_toolsets: skill.conditions.fallback_for_toolsets.clone(),
                    requires_toolsets: skill.conditions.requires_toolsets.clone(),
                    fallback_for_tools: skill.conditions.fallback_for_tools.clone(),
                    requires_tools: skill.conditions.requires_tools.clone(),
                },
            })
            .collect(),
        category_descriptions: categories
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    };
    let written = serde_json::to_vec_pretty(&snapshot)
        .map_err(std::io::Error::from)
        .and_then(|bytes| write_atomic(path, &bytes, FileMode::Keep));
    if let Err(error) = written {
        tracing::debug!(path = %path.display(), %error, "skills snapshot not written");
    }
}

fn from_entry(library: &Library, entry: Entry) -> Skill {
    let category = if entry.category == entry.skill_name
        && library
            .local
            .join(&entry.skill_name)
            .join("SKILL.md")
            .exists()
    {
        String::new()
    } else {
        entry.category
    };
    let directory: PathBuf = library.local.join(&category).join(&entry.skill_name);
    Skill {
        name: entry.skill_name,
        front_name: entry.frontmatter_name,
        description: entry.description,
        category,
        directory,
        local: true,
        platforms: entry.platforms,
        environments: entry.environments,
        conditions: Conditions {
            fallback_for_toolsets: entry.conditions.fallback_for_toolsets,
            requires_toolsets: entry.conditions.requires_toolsets,
            fallback_for_tools: entry.conditions.fallback_for_tools,
            requires_tools: entry.conditions.requires_tools,
        },
    }
}

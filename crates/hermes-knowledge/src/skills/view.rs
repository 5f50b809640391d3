//! Loading one skill: which directory a name means, its text, its supporting
//! files, and what is missing before it can be used.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use super::front_matter::{Document, list_of};
use super::library::{Found, Library, Skill, description};

/// Supporting files live in these directories and nowhere else.
pub const SUBDIRECTORIES: [&str; 4] = ["references", "templates", "scripts", "assets"];

const MAX_LINKED_FILES: usize = 200;
const MAX_SUPPORT_FILE: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    #[error("no skill is called {name:?}{}", similar_hint(similar))]
    NotFound { name: String, similar: Vec<String> },
    #[error("{name:?} means more than one skill: {}; use the path", candidates.join(", "))]
    Ambiguous {
        name: String,
        candidates: Vec<String>,
    },
    #[error("skill {name:?} is disabled in the configuration")]
    Disabled { name: String },
    #[error("skill {name:?} is only for {}", platforms.join(", "))]
    WrongPlatform {
        name: String,
        platforms: Vec<String>,
    },
    #[error("{path:?} is not a path inside the skill")]
    OutsideSkill { path: String },
    #[error("skill {skill:?} has no file {path:?}{}", available_hint(available))]
    NoSuchFile {
        skill: String,
        path: String,
        available: Vec<String>,
    },
    #[error("{0}")]
    Invalid(String),
    #[error("cannot access {}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

fn similar_hint(similar: &[String]) -> String {
    if similar.is_empty() {
        "; skills_list shows what there is".to_owned()
    } else {
        format!("; did you mean {}?", similar.join(", "))
    }
}

fn available_hint(available: &[String]) -> String {
    if available.is_empty() {
        String::new()
    } else {
        format!("; it has {}", available.join(", "))
    }
}

/// What a skill may ask about the world around it.
pub struct Surroundings<'a> {
    pub session_id: &'a str,
    /// Whether `${HERMES_SKILL_DIR}` and `${HERMES_SESSION_ID}` are filled in.
    pub template_variables: bool,
    pub has_variable: &'a dyn Fn(&str) -> bool,
    pub has_command: &'a dyn Fn(&str) -> bool,
    pub home: &'a Path,
}

impl Library {
    /// The skill that a name, a relative path or a flat file name means.
    pub fn resolve(&self, name: &str) -> Result<Skill, SkillError> {
        let name = name.trim().trim_matches('/');
        if name.is_empty() || !is_inside(name) {
            return Err(SkillError::OutsideSkill {
                path: name.to_owned(),
            });
        }
        for root in std::iter::once(&self.local).chain(&self.external) {
            if name.contains('/') && root.join(name).join("SKILL.md").is_file() {
                let found = Found {
                    root: root.clone(),
                    relative: format!("{name}/SKILL.md"),
                    modified_ns: 0,
                    size: 0,
                };
                if let Some(skill) = self.read(&found) {
                    return self.check(skill);
                }
            }
        }
        let all = self.all();
        let mut hits: Vec<&Skill> = all.iter().filter(|skill| skill.name == name).collect();
        if hits.is_empty() {
            hits = all
                .iter()
                .filter(|skill| skill.front_name == name)
                .collect();
        }
        match hits.as_slice() {
            [] => Err(SkillError::NotFound {
                name: name.to_owned(),
                similar: all
                    .iter()
                    .filter(|skill| skill.name.contains(name) || name.contains(&skill.name))
                    .map(|skill| skill.name.clone())
                    .take(5)
                    .collect(),
            }),
            [one] => self.check((*one).clone()),
            many => Err(SkillError::Ambiguous {
                name: name.to_owned(),
                candidates: many
                    .iter()
                    .map(|skill| self.display_path(&skill.directory))
                    .collect(),
            }),
        }
    }

    fn check(&self, skill: Skill) -> Result<Skill, SkillError> {
        if !self.is_enabled(&skill) {
            return Err(SkillError::Disabled { name: skill.name });
        }
        if !self.runs_on_platform(&skill) {
            return Err(SkillError::WrongPlatform {
                name: skill.name,
                platforms: skill.platforms,
            });
        }
        Ok(skill)
    }

    /// Relative to its root, as results and messages show paths.
    pub fn display_path(&self, path: &Path) -> String {
        std::iter::once(&self.local)
            .chain(&self.external)
            .find_map(|root| path.strip_prefix(root).ok())
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// The result of `skill_view(name)`.
    pub fn view(&self, name: &str, around: &Surroundings<'_>) -> Result<Value, SkillError> {
        let skill = self.resolve(name)?;
        let text = read_text(&skill.file())?;
        let document = Document::parse(&text);
        let directory = skill.directory.display().to_string();
        let content = if around.template_variables {
            text.replace("${HERMES_SKILL_DIR}", &directory)
                .replace("${HERMES_SESSION_ID}", around.session_id)
        } else {
            text.clone()
        };
        let required = required_variables(&document);
        let missing_variables: Vec<&str> = required
            .iter()
            .filter(|variable| !variable.optional && !(around.has_variable)(&variable.name))
            .map(|variable| variable.name.as_str())
            .collect();
        let commands = document
            .head
            .get("prerequisites")
            .and_then(|value| value.get("commands"))
            .map(list_of)
            .unwrap_or_default();
        let missing_commands: Vec<&String> = commands
            .iter()
            .filter(|command| !(around.has_command)(command))
            .collect();
        let missing_files: Vec<String> = document
            .list("required_credential_files")
            .into_iter()
            .filter(|file| !around.home.join(file).exists())
            .collect();
        let setup_needed = !missing_variables.is_empty() || !missing_files.is_empty();
        let linked = linked_files(&skill.directory);
        let usage_hint = if linked.is_empty() {
            Value::Null
        } else {
            json!("read a linked file with skill_view(name, file_path)")
        };
        let mut result = json!({
            "success": true,
            "name": skill.name,
            "description": description(&document),
            "tags": document.list_anywhere("tags"),
            "related_skills": document.list_anywhere("related_skills"),
            "content": content,
            "path": self.display_path(&skill.file()),
            "skill_dir": directory,
            "linked_files": if linked.is_empty() { Value::Null } else { Value::Object(linked) },
            "usage_hint": usage_hint,
            "required_environment_variables": required.iter().map(|v| v.name.clone()).collect::<Vec<_>>(),
            "required_commands": commands,
            "missing_required_environment_variables": missing_variables,
            "missing_credential_files": missing_files,
            "missing_required_commands": missing_commands,
            "setup_needed": setup_needed,
            "setup_skipped": false,
            "readiness_status": if setup_needed { "setup_needed" } else { "available" },
        });
        if let Value::Object(map) = &mut result {
            if setup_needed {
                map.insert(
                    "setup_note".to_owned(),
                    json!(format!(
                        "not ready: {} missing; ask for it to be set, or go on without what needs it",
                        missing_variables
                            .iter()
                            .map(|name| (*name).to_owned())
                            .chain(missing_files.iter().cloned())
                            .collect::<Vec<_>>()
                            .join(", ")
                    )),
                );
            }
            if let Some(help) = document
                .head
                .get("setup")
                .and_then(|setup| setup.get("help"))
            {
                map.insert("setup_help".to_owned(), help.clone());
            }
            for key in ["compatibility", "metadata"] {
                if let Some(value) = document.head.get(key) {
                    map.insert(key.to_owned(), value.clone());
                }
            }
        }
        Ok(result)
    }

    /// The result of `skill_view(name, file_path)`.
    pub fn view_file(&self, name: &str, file_path: &str) -> Result<Value, SkillError> {
        let skill = self.resolve(name)?;
        let path = inside(&skill.directory, file_path)?;
        let missing = || SkillError::NoSuchFile {
            skill: skill.name.clone(),
            path: file_path.to_owned(),
            available: linked_files(&skill.directory)
                .values()
                .flat_map(list_of)
                .collect(),
        };
        let meta = fs::metadata(&path).map_err(|_| missing())?;
        if !meta.is_file() {
            return Err(missing());
        }
        let base = json!({
            "success": true,
            "name": skill.name,
            "file": file_path,
            "path": path.display().to_string(),
            "file_type": path
                .extension()
                .map(|kind| format!(".{}", kind.to_string_lossy())),
        });
        let content = if meta.len() > MAX_SUPPORT_FILE {
            Err("too large to show")
        } else {
            let bytes = fs::read(&path).map_err(|source| SkillError::Io {
                path: path.clone(),
                source,
            })?;
            String::from_utf8(bytes).map_err(|_| "binary")
        };
        let mut result = base;
        match content {
            Ok(text) => result["content"] = json!(text),
            Err(kind) => {
                result["is_binary"] = json!(true);
                result["content"] = json!(format!(
                    "[{kind} file, {} bytes: use it by its path]",
                    meta.len()
                ));
            }
        }
        Ok(result)
    }
}

struct Variable {
    name: String,
    optional: bool,
}

fn required_variables(document: &Document) -> Vec<Variable> {
    let mut variables = Vec::new();
    let mut push = |name: Option<&str>, optional: bool| {
        if let Some(name) = name {
            variables.push(Variable {
                name: name.to_owned(),
                optional,
            });
        }
    };
    if let Some(Value::Array(items)) = document.head.get("required_environment_variables") {
        for item in items {
            match item {
                Value::String(name) => push(Some(name), false),
                Value::Object(map) => push(
                    map.get("name").and_then(Value::as_str),
                    map.get("optional")
                        .and_then(Value::as_bool)
                        .unwrap_or(false),
                ),
                _ => {}
            }
        }
    }
    if let Some(Value::Array(items)) = document
        .head
        .get("setup")
        .and_then(|setup| setup.get("collect_secrets"))
    {
        for item in items {
            push(item.get("env_var").and_then(Value::as_str), false);
        }
    }
    if let Some(names) = document
        .head
        .get("prerequisites")
        .and_then(|value| value.get("env_vars"))
    {
        for name in list_of(names) {
            push(Some(&name), false);
        }
    }
    variables.dedup_by(|a, b| a.name == b.name);
    variables
}

/// Files below the four directories, by directory, sorted.
fn linked_files(directory: &Path) -> Map<String, Value> {
    let mut out = Map::new();
    for name in SUBDIRECTORIES {
        let mut files = Vec::new();
        collect(directory, &directory.join(name), 0, &mut files);
        if !files.is_empty() {
            files.sort();
            files.truncate(MAX_LINKED_FILES);
            out.insert(name.to_owned(), json!(files));
        }
    }
    out
}

fn collect(base: &Path, directory: &Path, depth: usize, files: &mut Vec<String>) {
    if depth > 4 || files.len() > MAX_LINKED_FILES {
        return;
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(base, &path, depth + 1, files),
            Ok(kind) if kind.is_file() => {
                if let Ok(relative) = path.strip_prefix(base) {
                    files.push(relative.display().to_string());
                }
            }
            _ => {}
        }
    }
}

/// A path below `directory`; neither `..` nor a link may lead out of it.
pub(super) fn inside(directory: &Path, file_path: &str) -> Result<PathBuf, SkillError> {
    let refused = || SkillError::OutsideSkill {
        path: file_path.to_owned(),
    };
    if !is_inside(file_path) {
        return Err(refused());
    }
    let path = directory.join(file_path);
    // What does not exist yet is judged by the nearest parent that does.
    let existing = path.ancestors().find(|parent| parent.exists());
    match (
        existing.unwrap_or(directory).canonicalize(),
        directory.canonicalize(),
    ) {
        (Ok(real), Ok(base)) if !real.starts_with(&base) => Err(refused()),
        _ => Ok(path),
    }
}

fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && Path::new(path)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

pub(super) fn read_text(path: &Path) -> Result<String, SkillError> {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|source| SkillError::Io {
            path: path.to_owned(),
            source,
        })
}

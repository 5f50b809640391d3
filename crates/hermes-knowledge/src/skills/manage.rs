//! What `skill_manage` does: create, rewrite, patch and delete skills, and their
//! supporting files. Only the home's own directory is ever written.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_home::{FileMode, write_atomic};
use serde_json::{Value, json};

use super::front_matter::Document;
use super::library::{Library, Skill};
use super::usage::{Bump, UsageRecords};
use super::view::{SUBDIRECTORIES, SkillError, inside, read_text};
use crate::scan::{self, Scope};

const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;
const MAX_CONTENT: usize = 100_000;
const MAX_FILE: usize = 1024 * 1024;

pub struct Manager<'a> {
    pub library: &'a Library,
    pub usage: &'a UsageRecords,
    /// Refuse what the scanner finds suspicious.
    pub guard: bool,
    /// `background_review` marks skills that no person asked for.
    pub created_by: Option<&'a str>,
    /// Skill directories of other profiles, to say where a missing one is.
    pub other_profiles: Vec<(String, PathBuf)>,
}

impl Manager<'_> {
    pub fn create(
        &self,
        name: &str,
        category: Option<&str>,
        content: &str,
    ) -> Result<Value, SkillError> {
        check_name(name)?;
        let category = category.map(str::trim).filter(|text| !text.is_empty());
        if let Some(category) = category {
            check_category(category)?;
        }
        self.check_content(content)?;
        if let Some(other) = self
            .library
            .all()
            .into_iter()
            .find(|skill| skill.name == name)
        {
            return Err(SkillError::Invalid(format!(
                "a skill called {name:?} exists already at {}; use edit or patch",
                self.library.display_path(&other.directory)
            )));
        }
        let parent = category.map_or_else(
            || self.library.local.clone(),
            |category| self.library.local.join(category),
        );
        let directory = parent.join(name);
        let file = directory.join("SKILL.md");
        fs::create_dir_all(&directory).map_err(io(&directory))?;
        if let Err(error) = write(&file, content) {
            remove_if_empty(&directory);
            return Err(error);
        }
        self.usage.created(name, self.created_by);
        let mut result = json!({
            "success": true,
            "message": format!("Skill '{name}' created."),
            "path": self.library.display_path(&directory),
            "skill_md": file.display().to_string(),
        });
        if let Some(category) = category {
            result["category"] = json!(category);
        }
        result["hint"] = json!(format!(
            "add supporting files with action write_file, name {name:?} and a file_path below {}",
            SUBDIRECTORIES.join("/, ") + "/"
        ));
        Ok(result)
    }

    pub fn edit(&self, name: &str, content: &str) -> Result<Value, SkillError> {
        let skill = self.own(name)?;
        self.check_content(content)?;
        write(&skill.file(), content)?;
        self.usage.bump(&skill.name, &[Bump::Patch]);
        Ok(json!({
            "success": true,
            "message": format!("Skill '{}' rewritten.", skill.name),
            "path": skill.directory.display().to_string(),
        }))
    }

    /// `edit` yields the changed text and the number of places it changed.
    pub fn patch(
        &self,
        name: &str,
        file_path: Option<&str>,
        edit: impl FnOnce(&str) -> Result<(String, usize), String>,
    ) -> Result<Value, SkillError> {
        let skill = self.own(name)?;
        let path = match file_path.filter(|path| *path != "SKILL.md") {
            Some(path) => self.support_path(&skill, path)?,
            None => skill.file(),
        };
        let text = read_text(&path)?;
        let (changed, count) = edit(&text).map_err(SkillError::Invalid)?;
        if path == skill.file() {
            self.check_content(&changed)?;
        } else {
            check_size(&changed)?;
        }
        write(&path, &changed)?;
        self.usage.bump(&skill.name, &[Bump::Patch]);
        Ok(json!({
            "success": true,
            "message": format!(
                "Patched {} in skill '{}' ({count} replacement{}).",
                file_path.unwrap_or("SKILL.md"),
                skill.name,
                if count == 1 { "" } else { "s" },
            ),
            "path": path.display().to_string(),
        }))
    }

    pub fn delete(&self, name: &str, absorbed_into: Option<&str>) -> Result<Value, SkillError> {
        let skill = self.own(name)?;
        if self.usage.is_pinned(&skill.name) {
            return Err(SkillError::Invalid(format!(
                "skill {:?} is pinned; unpin it first",
                skill.name
            )));
        }
        let into = absorbed_into.map(str::trim).filter(|text| !text.is_empty());
        if let Some(into) = into {
            if into == skill.name {
                return Err(SkillError::Invalid(
                    "a skill cannot be absorbed into itself".to_owned(),
                ));
            }
            self.library.resolve(into)?;
        }
        fs::remove_dir_all(&skill.directory).map_err(io(&skill.directory))?;
        if let Some(parent) = skill.directory.parent()
            && parent != self.library.local
        {
            remove_if_empty(parent);
        }
        self.usage.forget(&skill.name);
        Ok(json!({
            "success": true,
            "message": match into {
                Some(into) => format!("Skill '{}' deleted; '{into}' covers it now.", skill.name),
                None => format!("Skill '{}' deleted.", skill.name),
            },
        }))
    }

    pub fn write_file(
        &self,
        name: &str,
        file_path: &str,
        content: &str,
    ) -> Result<Value, SkillError> {
        let skill = self.own(name)?;
        let path = self.support_path(&skill, file_path)?;
        check_size(content)?;
        self.check_guard(content)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io(parent))?;
        }
        write(&path, content)?;
        self.usage.bump(&skill.name, &[Bump::Patch]);
        Ok(json!({
            "success": true,
            "message": format!("File '{file_path}' written to skill '{}'.", skill.name),
            "path": path.display().to_string(),
        }))
    }

    pub fn remove_file(&self, name: &str, file_path: &str) -> Result<Value, SkillError> {
        let skill = self.own(name)?;
        let path = self.support_path(&skill, file_path)?;
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(SkillError::NoSuchFile {
                    skill: skill.name,
                    path: file_path.to_owned(),
                    available: Vec::new(),
                });
            }
            Err(source) => return Err(SkillError::Io { path, source }),
        }
        if let Some(parent) = path.parent().filter(|parent| *parent != skill.directory) {
            remove_if_empty(parent);
        }
        self.usage.bump(&skill.name, &[Bump::Patch]);
        Ok(json!({
            "success": true,
            "message": format!("File '{file_path}' removed from skill '{}'.", skill.name),
        }))
    }

    /// A skill of this home, by name.
    fn own(&self, name: &str) -> Result<Skill, SkillError> {
        let skill = match self.library.resolve(name) {
            Err(SkillError::NotFound { name, similar }) => {
                let elsewhere: Vec<&str> = self
                    .other_profiles
                    .iter()
                    .filter(|(_, directory)| has_skill(directory, &name))
                    .map(|(profile, _)| profile.as_str())
                    .collect();
                return Err(if elsewhere.is_empty() {
                    SkillError::NotFound { name, similar }
                } else {
                    SkillError::Invalid(format!(
                        "no skill is called {name:?} in this profile; {} has one",
                        elsewhere.join(", ")
                    ))
                });
            }
            other => other?,
        };
        if skill.local {
            Ok(skill)
        } else {
            Err(SkillError::Invalid(format!(
                "skill {:?} comes from {} and is read-only here",
                skill.name,
                skill.directory.display()
            )))
        }
    }

    fn support_path(&self, skill: &Skill, file_path: &str) -> Result<PathBuf, SkillError> {
        let path = inside(&skill.directory, file_path)?;
        let top = Path::new(file_path)
            .components()
            .find_map(|part| match part {
                std::path::Component::Normal(name) => name.to_str(),
                _ => None,
            });
        let below_top = Path::new(file_path).components().count() > 1;
        if below_top && top.is_some_and(|name| SUBDIRECTORIES.contains(&name)) {
            Ok(path)
        } else {
            Err(SkillError::Invalid(format!(
                "file_path must be below one of {}",
                SUBDIRECTORIES.join("/, ") + "/"
            )))
        }
    }

    fn check_content(&self, content: &str) -> Result<(), SkillError> {
        let invalid = |text: &str| Err(SkillError::Invalid(text.to_owned()));
        if content.chars().count() > MAX_CONTENT {
            return Err(SkillError::Invalid(format!(
                "SKILL.md is {} characters long; {MAX_CONTENT} is the limit: move detail into references/",
                content.chars().count()
            )));
        }
        let document = Document::parse(content);
        if !document.has_head {
            return invalid(
                "content must start with a head between two --- lines that gives name and description",
            );
        }
        match document.text("name") {
            None => return invalid("the head has no name"),
            Some(name) if name.chars().count() > MAX_NAME => {
                return Err(SkillError::Invalid(format!(
                    "the name in the head is longer than {MAX_NAME} characters"
                )));
            }
            Some(_) => {}
        }
        match document.text("description") {
            None => return invalid("the head has no description"),
            Some(text) if text.chars().count() > MAX_DESCRIPTION => {
                return Err(SkillError::Invalid(format!(
                    "the description is longer than {MAX_DESCRIPTION} characters"
                )));
            }
            Some(_) => {}
        }
        if document.body.trim().is_empty() {
            return invalid("there is no text after the head");
        }
        self.check_guard(content)
    }

    fn check_guard(&self, content: &str) -> Result<(), SkillError> {
        if !self.guard {
            return Ok(());
        }
        let ids = scan::scan(content, Scope::Context);
        if ids.is_empty() {
            Ok(())
        } else {
            Err(SkillError::Invalid(format!(
                "refused by the skill guard: {}",
                ids.join(", ")
            )))
        }
    }
}

fn check_name(name: &str) -> Result<(), SkillError> {
    let ok = name.len() <= MAX_NAME
        && name
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b));
    if ok {
        Ok(())
    } else {
        Err(SkillError::Invalid(format!(
            "{name:?} is no skill name: use lower-case letters, digits, `.`, `_` and `-`, at most {MAX_NAME}, starting with a letter or digit"
        )))
    }
}

fn check_category(category: &str) -> Result<(), SkillError> {
    if category.contains('/') || category.contains('\\') {
        return Err(SkillError::Invalid(
            "category is one directory name, without a slash".to_owned(),
        ));
    }
    check_name(category)
        .map_err(|_| SkillError::Invalid(format!("{category:?} is no category name")))
}

fn check_size(content: &str) -> Result<(), SkillError> {
    if content.len() > MAX_FILE {
        Err(SkillError::Invalid(format!(
            "the file is {} bytes; {MAX_FILE} is the limit",
            content.len()
        )))
    } else {
        Ok(())
    }
}

fn has_skill(root: &Path, name: &str) -> bool {
    Library {
        local: root.to_owned(),
        ..Library::default()
    }
    .files()
    .iter()
    .any(|found| {
        found.is_skill()
            && Path::new(&found.relative)
                .parent()
                .and_then(Path::file_name)
                .is_some_and(|directory| directory == name)
    })
}

fn write(path: &Path, content: &str) -> Result<(), SkillError> {
    // New files are for their owner only, as Python Hermes makes them.
    write_atomic(path, content.as_bytes(), FileMode::KeepOrPrivate).map_err(io(path))
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> SkillError {
    let path = path.to_owned();
    move |source| SkillError::Io { path, source }
}

/// Only removes what is empty; anything else is left alone.
fn remove_if_empty(directory: &Path) {
    if let Err(error) = fs::remove_dir(directory) {
        tracing::trace!(directory = %directory.display(), %error, "directory kept");
    }
}

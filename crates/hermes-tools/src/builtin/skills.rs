//! `skills_list`, `skill_view` and `skill_manage`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_home::{Clock, Environment};
use hermes_knowledge::skills::{Bump, Library, Manager, SkillError, Surroundings, UsageRecords};
use hermes_types::{ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::arguments::{flag, required, text};
use super::skill_text::{self, InlineShell};
use crate::patch::{Scope, replace};
use crate::tool::{Tool, ToolContext};

/// Where skills are and what they may ask about; shared by the three tools.
#[derive(Clone)]
pub struct SkillShelf {
    inner: Arc<Inner>,
}

struct Inner {
    library: Library,
    usage: UsageRecords,
    home: PathBuf,
    environment: Environment,
    options: SkillOptions,
    loaded: OnceLock<Box<Loaded>>,
}

/// What the user decided about skills.
#[derive(Clone, Debug, Default)]
pub struct SkillOptions {
    /// Fill in `${HERMES_SKILL_DIR}` and `${HERMES_SESSION_ID}`.
    pub template_variables: bool,
    /// Scan what the agent writes.
    pub guard: bool,
    /// Run the commands in a skill's text, each for at most this long.
    pub inline_shell: Option<Duration>,
    /// Values of the settings that skills ask for.
    pub config: Value,
    pub other_profiles: Vec<(String, PathBuf)>,
}

/// Hears which variables the skills that a task loaded ask for.
type Loaded = dyn Fn(&str, &[String]) + Send + Sync;

/// The variables that a loaded skill asks for.
pub fn required_variables(view: &Value) -> Vec<String> {
    let names = view["required_environment_variables"].as_array();
    names
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

impl SkillShelf {
    pub fn new(
        library: Library,
        home: &Path,
        environment: Environment,
        clock: Clock,
        options: SkillOptions,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                usage: UsageRecords::new(&library.local, clock),
                library,
                home: home.to_owned(),
                environment,
                options,
                loaded: OnceLock::new(),
            }),
        }
    }

    /// `hear` is told the task and the names of variables whenever a skill is loaded.
    pub fn when_loaded(&self, hear: impl Fn(&str, &[String]) + Send + Sync + 'static) {
        let _ = self.inner.loaded.set(Box::new(hear));
    }

    /// The skill in `view` was loaded for this task.
    fn tell_loaded(&self, task: &str, view: &Value) {
        let names = required_variables(view);
        if let Some(hear) = self.inner.loaded.get()
            && !names.is_empty()
        {
            hear(task, &names);
        }
    }

    pub fn library(&self) -> &Library {
        &self.inner.library
    }

    pub fn usage(&self) -> &UsageRecords {
        &self.inner.usage
    }

    /// A skill as a loaded one: its text with what it asks to be filled in, and the
    /// settings it has.
    pub async fn load(&self, name: &str, session: &str) -> Result<Value, SkillError> {
        let mut view = self.view(name, session)?;
        let settings = skill_text::settings(&view, &self.inner.options.config);
        if !settings.is_empty() {
            view["config"] = Value::Object(settings);
        }
        if let Some(patience) = self.inner.options.inline_shell
            && let Some(text) = view["content"].as_str()
        {
            let shell = InlineShell {
                directory: view["skill_dir"].as_str().unwrap_or("/").to_owned(),
                variables: required_variables(&view),
                environment: &self.inner.environment,
                patience,
            };
            view["content"] = json!(shell.filled_in(text).await);
        }
        Ok(view)
    }

    fn view(&self, name: &str, session: &str) -> Result<Value, SkillError> {
        let inner = &self.inner;
        let has_variable = |name: &str| inner.environment.get_non_empty(name).is_some();
        let has_command = |name: &str| {
            inner
                .environment
                .get("PATH")
                .into_iter()
                .flat_map(|path| path.split(':'))
                .any(|directory| Path::new(directory).join(name).is_file())
        };
        let value = inner.library.view(
            name,
            &Surroundings {
                session_id: session,
                template_variables: inner.options.template_variables,
                has_variable: &has_variable,
                has_command: &has_command,
                home: &inner.home,
            },
        )?;
        if let Some(name) = value["name"].as_str() {
            inner.usage.bump(name, &[Bump::View, Bump::Use]);
        }
        Ok(value)
    }

    /// A file that belongs to a skill; reading it is using the skill.
    fn view_file(&self, name: &str, path: &str) -> Result<Value, SkillError> {
        let value = self.inner.library.view_file(name, path)?;
        if let Some(name) = value["name"].as_str() {
            self.inner.usage.bump(name, &[Bump::View, Bump::Use]);
        }
        Ok(value)
    }

    fn list(&self, category: Option<&str>) -> Value {
        let mut skills = self.inner.library.offered();
        skills.sort_by(|a, b| (a.group(), &a.name).cmp(&(b.group(), &b.name)));
        let skills: Vec<Value> = skills
            .iter()
            .filter(|skill| {
                category.is_none_or(|wanted| skill.group() == wanted || skill.category == wanted)
            })
            .map(|skill| {
                json!({
                    "name": skill.name,
                    "description": skill.description,
                    "category": (!skill.category.is_empty()).then_some(skill.group()),
                })
            })
            .collect();
        let mut categories: Vec<&Value> = skills
            .iter()
            .map(|skill| &skill["category"])
            .filter(|category| category.is_string())
            .collect();
        categories.dedup();
        json!({
            "success": true, "count": skills.len(), "categories": categories, "skills": skills,
        })
    }

    fn manage(&self, arguments: &Value) -> Result<Value, String> {
        let inner = &self.inner;
        let manager = Manager {
            library: &inner.library,
            usage: &inner.usage,
            guard: inner.options.guard,
            created_by: None,
            other_profiles: inner.options.other_profiles.clone(),
        };
        let name = required(arguments, "name")?;
        let outcome = match required(arguments, "action")? {
            "create" => manager.create(
                name,
                text(arguments, "category"),
                required(arguments, "content")?,
            ),
            "edit" => manager.edit(name, required(arguments, "content")?),
            "patch" => {
                let old = required(arguments, "old_string")?;
                let new = required(arguments, "new_string")?;
                let scope = if flag(arguments, "replace_all") {
                    Scope::All
                } else {
                    Scope::One
                };
                manager.patch(name, text(arguments, "file_path"), |content| {
                    replace(content, old, new, scope)
                        .map(|edit| (edit.text, edit.replaced))
                        .map_err(|error| error.to_string())
                })
            }
            "delete" => manager.delete(name, text(arguments, "absorbed_into")),
            "write_file" => manager.write_file(
                name,
                required(arguments, "file_path")?,
                required(arguments, "file_content")?,
            ),
            "remove_file" => manager.remove_file(name, required(arguments, "file_path")?),
            other => {
                return Err(format!(
                    "action {other:?} is none of create, patch, edit, delete, write_file, remove_file"
                ));
            }
        };
        outcome.map_err(|error| error.to_string())
    }
}

/// File work away from the runtime's threads.
async fn blocking(
    shelf: &SkillShelf,
    work: impl FnOnce(&SkillShelf) -> Result<Value, String> + Send + 'static,
) -> ToolOutput {
    let shelf = shelf.clone();
    match tokio::task::spawn_blocking(move || work(&shelf)).await {
        Ok(outcome) => result_of(outcome),
        Err(error) => ToolOutput::error(error.to_string()),
    }
}

fn result_of(outcome: Result<Value, String>) -> ToolOutput {
    match outcome {
        Ok(value) => ToolOutput::json(&value),
        Err(why) => ToolOutput {
            failed: true,
            ..ToolOutput::json(&json!({"success": false, "error": why}))
        },
    }
}

pub struct SkillsListTool(pub SkillShelf);

impl Tool for SkillsListTool {
    fn name(&self) -> &str {
        "skills_list"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "skills_list".to_owned(),
            description: "List skills with their full descriptions.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "category": {"type": "string", "description": "Only this category"}
                }
            }),
        }
    }

    fn call<'a>(
        &'a self,
        _context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(blocking(&self.0, move |shelf| {
            Ok(shelf.list(text(&arguments, "category").filter(|name| !name.is_empty())))
        }))
    }
}

pub struct SkillViewTool(pub SkillShelf);

impl Tool for SkillViewTool {
    fn name(&self) -> &str {
        "skill_view"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "skill_view".to_owned(),
            description: "Load a skill: its instructions and the files that belong to it. With file_path: one of those files.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The skill's name, or its path (category/name) when a name is not unique"},
                    "file_path": {"type": "string", "description": "A linked file, such as references/api.md"}
                },
                "required": ["name"]
            }),
        }
    }

    fn call<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        let session = context.session.to_string();
        let task = context.task.clone();
        Box::pin(async move {
            let whole = text(&arguments, "file_path").is_none_or(str::is_empty);
            match required(&arguments, "name") {
                Ok(name) if whole => {
                    let view = self.0.load(name, &session).await;
                    result_of(
                        view.inspect(|view| self.0.tell_loaded(&task, view))
                            .map_err(|error| error.to_string()),
                    )
                }
                _ => {
                    blocking(&self.0, move |shelf| {
                        let name = required(&arguments, "name")?;
                        let path = text(&arguments, "file_path").unwrap_or_default();
                        let view = shelf.view_file(name, path);
                        view.map_err(|error| error.to_string())
                    })
                    .await
                }
            }
        })
    }
}

pub struct SkillManageTool(pub SkillShelf);

impl Tool for SkillManageTool {
    fn name(&self) -> &str {
        "skill_manage"
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "skill_manage".to_owned(),
            description: "Keep what you learned to do as a skill: create after work that took several attempts or that the user taught you; patch at once when a skill you used was wrong or incomplete. A skill holds when to use it, exact steps with commands, pitfalls, and how to check the result. Ask before delete. SKILL.md starts with a head:\n---\nname: x\ndescription: what it is for, one sentence\n---".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ["create", "patch", "edit", "delete", "write_file", "remove_file"], "description": "What to do"},
                    "name": {"type": "string", "description": "Lower-case letters, digits, - _ . (at most 64)"},
                    "content": {"type": "string", "description": "The whole SKILL.md, for create and edit"},
                    "old_string": {"type": "string", "description": "For patch: text to replace, unique unless replace_all"},
                    "new_string": {"type": "string", "description": "For patch: what stands there instead; empty deletes"},
                    "replace_all": {"type": "boolean", "description": "For patch: every occurrence"},
                    "category": {"type": "string", "description": "For create: one directory name, such as devops"},
                    "file_path": {"type": "string", "description": "A file below references/, templates/, scripts/ or assets/; for patch default SKILL.md"},
                    "file_content": {"type": "string", "description": "For write_file: the file"},
                    "absorbed_into": {"type": "string", "description": "For delete: the skill that now covers it; empty when nothing does"}
                },
                "required": ["action", "name"]
            }),
        }
    }

    fn call<'a>(
        &'a self,
        _context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(blocking(&self.0, move |shelf| shelf.manage(&arguments)))
    }
}

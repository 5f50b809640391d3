//! What the program can complete: sessions, models, processes, sub-verbs.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_agent::personalities;
use hermes_home::{Clock, Home};
use hermes_store::{ListFilter, ListOrder, StateDb};
use hermes_tui::Completer;

use super::own::OwnCommands;
use crate::{Context, cli};

const SESSIONS: usize = 20;

/// Files that are looked through, and for how long they are looked for.
const FILES: usize = 5_000;
const PATIENCE: Duration = Duration::from_millis(50);
/// Nobody waits for a new file longer than this.
const FRESH: Duration = Duration::from_secs(5);
const SKIPPED: [&str; 5] = ["node_modules", "target", "dist", "build", "__pycache__"];

type Listed = Option<(Instant, Vec<String>)>;

pub(super) struct Words {
    /// The files of the project, and when they were looked for.
    files: Mutex<Listed>,
    directory: PathBuf,
    home: Home,
    clock: Clock,
    own: OwnCommands,
    personalities: Vec<(String, String)>,
}

impl Words {
    pub(super) fn new(context: &Context, directory: &Path, own: OwnCommands) -> Self {
        let personalities = match context.config() {
            Ok(config) => personalities(config)
                .into_iter()
                .map(|known| (known.name, known.description))
                .collect(),
            Err(_) => Vec::new(),
        };
        Self {
            own,
            personalities,
            files: Mutex::default(),
            directory: directory.to_owned(),
            home: context.home.clone(),
            clock: context.clock.clone(),
        }
    }

    fn sessions(&self) -> Vec<(String, String)> {
        let filter = ListFilter {
            limit: SESSIONS,
            order: ListOrder::LastActive,
            ..ListFilter::default()
        };
        let Ok(Some(database)) = StateDb::open_read_only(&self.home.state_db(), self.clock.clone())
        else {
            return Vec::new();
        };
        let rows = database.list(&filter).unwrap_or_default();
        rows.into_iter()
            .map(|row| (row.id.to_string(), row.title.unwrap_or(row.preview)))
            .collect()
    }
}

fn plain<const N: usize>(words: [&str; N]) -> Vec<(String, String)> {
    words.map(|word| (word.to_owned(), String::new())).to_vec()
}

impl Completer for Words {
    fn commands(&self) -> Vec<(String, String)> {
        self.own.all()
    }

    fn arguments(&self, command: &str) -> Vec<(String, String)> {
        match command {
            "busy" => plain(["interrupt", "queue", "steer"]),
            "reasoning" => plain([
                "none", "minimal", "low", "medium", "high", "xhigh", "show", "hide",
            ]),
            "fast" => plain(["normal", "fast", "status"]),
            "snapshot" => plain(["list", "create", "restore", "prune"]),
            "goal" => plain(["pause", "resume", "clear", "status"]),
            "compress" => plain(["here"]),
            "personality" => {
                let mut all = self.personalities.clone();
                all.push(("none".to_owned(), "speaks as it does by itself".to_owned()));
                all
            }
            "resume" => self.sessions(),
            "model" => hermes_llm::cached_models(&self.home)
                .into_iter()
                .map(|listed| (listed.model, listed.provider))
                .collect(),
            verb => sub_verbs(verb),
        }
    }

    fn directory(&self) -> &Path {
        &self.directory
    }

    fn user_home(&self) -> &Path {
        self.home.user_home()
    }

    fn project_files(&self) -> Vec<String> {
        let mut listed = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match listed.as_ref() {
            Some((when, files)) if when.elapsed() < FRESH => files.clone(),
            _ => {
                let files = walk(&self.directory);
                *listed = Some((Instant::now(), files.clone()));
                files
            }
        }
    }
}

/// Files below a directory, nearest first. Hidden ones and what builds leave behind
/// are not what people mean.
fn walk(root: &Path) -> Vec<String> {
    let began = Instant::now();
    let mut found = Vec::new();
    let mut folders = std::collections::VecDeque::from([PathBuf::new()]);
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            if name.starts_with('.') || SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let path = folder.join(&name);
            if kind.is_dir() {
                folders.push_back(path);
            } else if let Ok(path) = path.into_os_string().into_string() {
                found.push(path);
            }
        }
        if found.len() >= FILES || began.elapsed() > PATIENCE {
            break;
        }
    }
    found.truncate(FILES);
    found
}

/// The same tree that the shell's completion reads.
fn sub_verbs(verb: &str) -> Vec<(String, String)> {
    let tree = cli::command();
    let Some(command) = tree.find_subcommand(verb) else {
        return Vec::new();
    };
    command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set())
        .map(|sub| {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            (sub.get_name().to_owned(), about)
        })
        .collect()
}

//! What the program can complete: sessions, models, processes, sub-verbs.

use std::path::{Path, PathBuf};

use hermes_home::{Clock, Home};
use hermes_store::{ListFilter, ListOrder, StateDb};
use hermes_tui::Completer;

use crate::{Context, cli};

const SESSIONS: usize = 20;

pub(super) struct Words {
    directory: PathBuf,
    home: Home,
    clock: Clock,
}

impl Words {
    pub(super) fn new(context: &Context, directory: &Path) -> Self {
        Self {
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

impl Completer for Words {
    fn arguments(&self, command: &str) -> Vec<(String, String)> {
        match command {
            "busy" => ["interrupt", "queue", "steer"]
                .map(|word| (word.to_owned(), String::new()))
                .to_vec(),
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

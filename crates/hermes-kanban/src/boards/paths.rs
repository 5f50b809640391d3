//! Files and directories of boards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hermes_home::{Environment, FileMode, Home, write_atomic};

use super::{BoardMetadata, Slug};
use crate::env;

/// All boards of one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boards {
    root: PathBuf,
    database_pin: Option<PathBuf>,
    workspaces_pin: Option<PathBuf>,
    attachments_pin: Option<PathBuf>,
}

/// What became of a board that was taken away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovedBoard {
    Archived(PathBuf),
    Deleted,
}

/// Everything of one board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardPaths {
    pub slug: Slug,
    pub root: PathBuf,
    pub database: PathBuf,
    /// Holds `board.json`.
    pub directory: PathBuf,
    pub workspaces: PathBuf,
    /// `workspaces` is pinned by the environment.
    pub workspaces_pinned: bool,
    pub logs: PathBuf,
    pub attachments: PathBuf,
}

impl BoardPaths {
    pub fn log_of(&self, task: &str) -> PathBuf {
        self.logs.join(format!("{task}.log"))
    }

    pub fn attachments_of(&self, task: &str) -> PathBuf {
        self.attachments.join(task)
    }
}

impl Boards {
    pub fn locate(home: &Home, environment: &Environment) -> Self {
        let path = |name| {
            environment
                .get_non_empty(name)
                .map(|text| expand(text, home))
        };
        Self {
            root: path(env::HOME).unwrap_or_else(|| home.root().to_owned()),
            database_pin: path(env::DB),
            workspaces_pin: path(env::WORKSPACES_ROOT),
            attachments_pin: path(env::ATTACHMENTS_ROOT),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn kanban_dir(&self) -> PathBuf {
        self.root.join("kanban")
    }

    fn boards_dir(&self) -> PathBuf {
        self.kanban_dir().join("boards")
    }

    fn current_file(&self) -> PathBuf {
        self.kanban_dir().join("current")
    }

    /// Held by the one dispatcher of this root for its whole life.
    pub fn dispatcher_lock(&self) -> PathBuf {
        self.kanban_dir().join(".dispatcher.lock")
    }

    /// Exists once somebody has been told that scratch directories are removed.
    pub fn scratch_tip_marker(&self) -> PathBuf {
        self.root.join(".scratch_tip_shown")
    }

    pub fn directory(&self, slug: &Slug) -> PathBuf {
        self.boards_dir().join(slug.as_str())
    }

    pub fn is_database_pinned(&self) -> bool {
        self.database_pin.is_some()
    }

    pub fn paths(&self, slug: &Slug) -> BoardPaths {
        let base = if slug.is_default() {
            self.kanban_dir()
        } else {
            self.directory(slug)
        };
        BoardPaths {
            slug: slug.clone(),
            root: self.root.clone(),
            database: self
                .database_pin
                .clone()
                .unwrap_or_else(|| self.own_database(slug)),
            directory: self.directory(slug),
            workspaces: self
                .workspaces_pin
                .clone()
                .unwrap_or_else(|| base.join("workspaces")),
            workspaces_pinned: self.workspaces_pin.is_some(),
            logs: base.join("logs"),
            attachments: self
                .attachments_pin
                .clone()
                .unwrap_or_else(|| base.join("attachments")),
        }
    }

    fn own_database(&self, slug: &Slug) -> PathBuf {
        if slug.is_default() {
            self.root.join("kanban.db")
        } else {
            self.directory(slug).join("kanban.db")
        }
    }

    pub fn exists(&self, slug: &Slug) -> bool {
        let directory = self.directory(slug);
        slug.is_default()
            || directory.join("board.json").exists()
            || directory.join("kanban.db").exists()
    }

    pub fn metadata(&self, slug: &Slug) -> BoardMetadata {
        BoardMetadata::read(slug, &self.directory(slug))
    }

    /// `default` first, the others by name.
    pub fn list(&self) -> Vec<Slug> {
        let mut others: Vec<Slug> = fs::read_dir(self.boards_dir())
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                Slug::parse(&name).ok().filter(|slug| slug.as_str() == name)
            })
            .filter(|slug| !slug.is_default() && self.exists(slug))
            .collect();
        others.sort();
        others.insert(0, Slug::default_board());
        others
    }

    /// What `kanban/current` says, if it names a board that exists.
    pub fn current(&self) -> Option<Slug> {
        let text = fs::read_to_string(self.current_file()).ok()?;
        Slug::parse(&text).ok().filter(|slug| self.exists(slug))
    }

    pub fn set_current(&self, slug: &Slug) -> io::Result<()> {
        fs::create_dir_all(self.kanban_dir())?;
        write_atomic(
            &self.current_file(),
            format!("{slug}\n").as_bytes(),
            FileMode::Keep,
        )
    }

    fn clear_current_if(&self, slug: &Slug) -> io::Result<()> {
        let names_it = fs::read_to_string(self.current_file())
            .is_ok_and(|text| Slug::parse(&text).as_ref() == Ok(slug));
        if names_it {
            fs::remove_file(self.current_file())?;
        }
        Ok(())
    }

    /// Moves the whole directory under `_archived/`, where nobody lists it.
    pub fn archive(&self, slug: &Slug, now: i64) -> io::Result<RemovedBoard> {
        let attic = self.boards_dir().join("_archived");
        fs::create_dir_all(&attic)?;
        let mut target = attic.join(format!("{slug}-{now}"));
        let mut n = 1;
        while target.exists() {
            target = attic.join(format!("{slug}-{now}-{n}"));
            n += 1;
        }
        fs::rename(self.directory(slug), &target)?;
        self.clear_current_if(slug)?;
        Ok(RemovedBoard::Archived(target))
    }

    pub fn delete(&self, slug: &Slug) -> io::Result<RemovedBoard> {
        fs::remove_dir_all(self.directory(slug))?;
        self.clear_current_if(slug)?;
        Ok(RemovedBoard::Deleted)
    }
}

fn expand(text: &str, home: &Home) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => home.user_home().join(rest),
        None => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boards(root: &Path) -> Boards {
        Boards::locate(&Home::at(root, root), &Environment::default())
    }

    #[test]
    fn a_profile_sees_the_boards_of_its_root() {
        let root = Path::new("/r");
        let environment = Environment::default();
        let from_profile = Boards::locate(&Home::at(root.join("profiles/x"), root), &environment);
        let slug = Slug::default_board();
        assert_eq!(
            from_profile.paths(&slug).database,
            Path::new("/r/kanban.db")
        );
        assert_eq!(from_profile, boards(root));
        let named = from_profile.paths(&Slug::parse("p").unwrap());
        assert_eq!(named.logs, Path::new("/r/kanban/boards/p/logs"));
        assert_eq!(
            from_profile.paths(&slug).workspaces,
            Path::new("/r/kanban/workspaces")
        );
    }

    #[test]
    fn removing_the_active_board_clears_the_pointer_and_keeps_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let boards = boards(dir.path());
        let slug = Slug::parse("p").unwrap();
        boards
            .metadata(&slug)
            .write(&boards.directory(&slug), 7)
            .unwrap();
        boards.set_current(&slug).unwrap();
        assert_eq!(boards.current(), Some(slug.clone()));
        let attic = dir.path().join("kanban/boards/_archived");
        assert_eq!(
            boards.archive(&slug, 99).unwrap(),
            RemovedBoard::Archived(attic.join("p-99"))
        );
        assert!(attic.join("p-99/board.json").exists());
        assert_eq!(boards.current(), None);
        assert!(!dir.path().join("kanban/current").exists());
        assert_eq!(boards.list(), [Slug::default_board()]);
    }

    #[test]
    fn a_pointer_to_nowhere_is_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let boards = boards(dir.path());
        fs::create_dir_all(dir.path().join("kanban")).unwrap();
        for text in ["zz/../x\n", "gone\n", ""] {
            fs::write(dir.path().join("kanban/current"), text).unwrap();
            assert_eq!(boards.current(), None);
        }
    }
}

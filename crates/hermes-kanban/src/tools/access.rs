//! Boards as tools reach them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_config::Config;
use hermes_home::{Clock, Environment, Home};

use crate::boards::{BoardPaths, Boards, Selection, Slug};
use crate::env;
use crate::error::KanbanError;
use crate::host::Host;
use crate::settings::Settings;
use crate::store::{Board, OpenOptions};
use crate::worker::Assignment;

/// A board that several tools and the worker itself share.
pub(super) type SharedBoard = Arc<Mutex<Board>>;

/// What every tool of a process is built with.
pub struct ToolAccess {
    pub(super) boards: Boards,
    pub(super) settings: Settings,
    pub(super) assignment: Option<Assignment>,
    pub(super) host: Host,
    /// Chosen once: a `boards switch` elsewhere does not move a conversation.
    own: Slug,
    environment: Environment,
    clock: Clock,
    open: Mutex<BTreeMap<Slug, SharedBoard>>,
}

impl ToolAccess {
    pub fn new(
        home: &Home,
        environment: &Environment,
        config: &Config,
        clock: &Clock,
        host: Host,
    ) -> Self {
        let boards = Boards::locate(home, environment);
        Self {
            own: Selection::active(&boards, environment).slug,
            boards,
            host,
            settings: Settings::read(config, environment),
            assignment: Assignment::of(environment),
            environment: environment.clone(),
            clock: clock.clone(),
            open: Mutex::new(BTreeMap::new()),
        }
    }

    /// The board of this process.
    pub fn own_board(&self) -> Result<SharedBoard, KanbanError> {
        self.board(None).map(|(board, _)| board)
    }

    /// The named board, or this conversation's. A name that leads nowhere is an error:
    /// making a board of it would hide the task from everybody. (The reference does.)
    pub(super) fn board(
        &self,
        name: Option<&str>,
    ) -> Result<(SharedBoard, BoardPaths), KanbanError> {
        let slug = match name {
            None => self.own.clone(),
            Some(name) => {
                let slug = Slug::parse(name)?;
                if !self.boards.exists(&slug) {
                    return Err(KanbanError::UnknownBoard(slug));
                }
                slug
            }
        };
        let paths = self.boards.paths(&slug);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(board) = open.get(&slug) {
            return Ok((Arc::clone(board), paths));
        }
        let options = OpenOptions {
            patience: self.settings.busy_timeout,
            failure_limit: self.settings.failure_limit,
            clock: self.clock.clone(),
            ..OpenOptions::default()
        };
        let board = Arc::new(Mutex::new(Board::open(&paths.database, &options)?));
        open.insert(slug, Arc::clone(&board));
        Ok((board, paths))
    }

    /// Who acts: the profile this process runs as.
    pub(super) fn actor(&self) -> &str {
        self.environment
            .get_non_empty(env::PROFILE)
            .unwrap_or("worker")
    }

    pub(super) fn tenant(&self) -> Option<&str> {
        self.environment.get_non_empty(env::TENANT)
    }
}

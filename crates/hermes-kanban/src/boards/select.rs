//! Which board a command means: what it names, what its environment pins, what
//! the root points at, `default`; a name that leads nowhere falls to the next.

use hermes_home::{Environment, Home};

use super::{Boards, Slug};
use crate::env;

/// The board a command works on and how it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub slug: Slug,
    pub warning: Option<String>,
}

/// What a worker's environment pins it to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    pub slug: Slug,
}

/// Makes the board of this moment the board of everything that is started with this
/// environment: a `boards switch` in another terminal does not move a conversation.
pub fn pin(home: &Home, environment: &mut Environment) {
    if environment.get_non_empty(env::BOARD).is_none() {
        let boards = Boards::locate(home, environment);
        let slug = Selection::active(&boards, environment).slug;
        environment.set(env::BOARD, slug.as_str());
    }
}

impl Selection {
    /// Without an explicit name.
    pub fn active(boards: &Boards, environment: &Environment) -> Self {
        let slug = Pinned::from(boards, environment)
            .map(|pinned| pinned.slug)
            .or_else(|| boards.current())
            .unwrap_or_else(Slug::default_board);
        Self {
            slug,
            warning: None,
        }
    }

    /// With `--board`: the caller has checked that it exists. The database pin of
    /// a worker still wins, because it is what keeps the worker on its board; a
    /// person should know when the two disagree.
    pub fn explicit(slug: Slug, boards: &Boards, environment: &Environment) -> Self {
        let pinned = environment
            .get_non_empty(env::BOARD)
            .and_then(|text| Slug::parse(text).ok());
        let overridden = boards.is_database_pinned() && pinned.as_ref() != Some(&slug);
        let warning = overridden.then(|| {
            format!(
                "{} is set, so board '{slug}' was not opened: its file is {}",
                env::DB,
                boards.paths(&slug).database.display()
            )
        });
        Self { slug, warning }
    }
}

impl Pinned {
    pub fn from(boards: &Boards, environment: &Environment) -> Option<Self> {
        let slug = Slug::parse(environment.get_non_empty(env::BOARD)?).ok()?;
        boards.exists(&slug).then_some(Self { slug })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn an_explicit_board_that_a_pin_overrides_is_announced() {
        let mut environment = Environment::default();
        environment.set(env::DB, "/elsewhere/kanban.db");
        let root = Path::new("/r");
        let boards = Boards::locate(&Home::at(root, root), &environment);
        let slug = Slug::parse("p").unwrap();
        let chosen = Selection::explicit(slug.clone(), &boards, &environment);
        assert!(chosen.warning.unwrap().contains("/elsewhere/kanban.db"));
        environment.set(env::BOARD, "p");
        assert_eq!(
            Selection::explicit(slug, &boards, &environment).warning,
            None
        );
    }
}

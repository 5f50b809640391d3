//! Names for a shell that completes a line of `kanban …`.
//!
//! Looks, and never makes or changes anything; a board that cannot be read at once
//! has no names.

use hermes_home::{Environment, Home};

use crate::boards::{Boards, Selection, Slug};
use crate::model::Status;
use crate::store::Board;

/// As many as anybody would read.
const MOST: usize = 200;

/// Board names with their display names.
pub fn boards(home: &Home, environment: &Environment) -> Vec<(String, String)> {
    let boards = Boards::locate(home, environment);
    boards
        .list()
        .into_iter()
        .map(|slug| {
            let name = boards.metadata(&slug).name().to_owned();
            (slug.to_string(), name)
        })
        .collect()
}

/// Ids that begin with `typed`, with titles: those of the board that the words
/// before name, and only such as the verb among them can do something about.
pub fn tasks(
    home: &Home,
    environment: &Environment,
    before: &[String],
    typed: &str,
) -> Vec<(String, String)> {
    let boards = Boards::locate(home, environment);
    let slug = named_board(before)
        .and_then(|text| Slug::parse(text).ok())
        .filter(|slug| boards.exists(slug))
        .unwrap_or_else(|| Selection::active(&boards, environment).slug);
    let found = Board::glance(&boards.paths(&slug).database)
        .and_then(|board| board.ids_with_prefix(typed, statuses(before), MOST));
    found
        .unwrap_or_default()
        .into_iter()
        .map(|(id, title)| (id.to_string(), title))
        .collect()
}

fn named_board(words: &[String]) -> Option<&str> {
    words.iter().enumerate().find_map(|(at, word)| {
        word.strip_prefix("--board=").or_else(|| {
            (word == "--board")
                .then(|| words.get(at + 1))
                .flatten()
                .map(String::as_str)
        })
    })
}

/// What the verb can be done to; empty means everything that is not archived.
fn statuses(words: &[String]) -> &'static [Status] {
    let has = |name: &str| words.iter().any(|word| word == name);
    let parked = &[Status::Blocked, Status::Scheduled];
    match () {
        () if has("unblock") => parked,
        () if has("claim") => &[Status::Ready],
        () if has("reclaim") || has("heartbeat") => &[Status::Running],
        () if has("block") => &[Status::Ready, Status::Running],
        () if has("complete") => &[Status::Running, Status::Ready, Status::Blocked],
        () if has("promote") => &[Status::Todo, Status::Blocked],
        () if has("specify") || has("decompose") => &[Status::Triage],
        () if has("edit") => &[Status::Done],
        () if has("--rm") => &[Status::Archived],
        () => &[],
    }
}

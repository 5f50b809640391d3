//! `kanban boards …`.

use clap::{Args as ClapArgs, Subcommand};

#[derive(ClapArgs, Debug)]
pub struct BoardsArgs {
    #[command(subcommand)]
    pub verb: Option<BoardsVerb>,
}

#[derive(Subcommand, Debug)]
pub enum BoardsVerb {
    /// List boards
    #[command(visible_alias = "ls")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Boards marked as archived too
        #[arg(long)]
        all: bool,
    },
    /// Make a board, or change what is said about it
    #[command(visible_alias = "new")]
    Create {
        /// Short name: small letters, digits, - and _
        slug: String,
        /// Name for people
        #[arg(long)]
        name: Option<String>,
        /// What the board is for
        #[arg(long)]
        description: Option<String>,
        /// Sign shown beside the name
        #[arg(long)]
        icon: Option<String>,
        /// Colour for screens that have one
        #[arg(long)]
        color: Option<String>,
        /// Directory for tasks that name none
        #[arg(long)]
        default_workdir: Option<String>,
        /// Make it the current board
        #[arg(long)]
        switch: bool,
    },
    /// Archive a board, or delete it
    #[command(visible_alias = "remove")]
    Rm {
        /// Short name of the board
        slug: String,
        /// Remove the directory instead of archiving it
        #[arg(long)]
        delete: bool,
    },
    /// Delete a board and all it holds
    Delete {
        /// Short name of the board
        slug: String,
    },
    /// Make a board the current one
    #[command(visible_alias = "use")]
    Switch {
        /// Short name of the board
        slug: String,
    },
    /// Show the current board
    #[command(visible_alias = "current")]
    Show,
    /// Change a board's display name
    Rename {
        /// Short name of the board, which stays
        slug: String,
        /// The new name for people
        name: String,
    },
    /// Set or clear the directory for tasks that name none
    SetDefaultWorkdir {
        /// Short name of the board
        slug: String,
        /// An absolute directory; without it the setting is cleared
        path: Option<String>,
    },
}

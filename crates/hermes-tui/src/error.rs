use std::io;

use hermes_types::SessionId;

/// Why a chat ended without the user's wish.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("the terminal cannot be used: {0}")]
    Terminal(#[from] io::Error),
    /// In the words of who opens conversations.
    #[error("{0}")]
    Open(String),
    /// Its task is gone; what was said is stored.
    #[error("the conversation broke off inside")]
    ConversationBroke { session: Option<SessionId> },
}

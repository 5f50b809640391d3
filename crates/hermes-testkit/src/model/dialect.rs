//! Which wire format a path speaks.

/// The formats that model providers use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `POST …/chat/completions`
    Chat,
    /// `POST …/messages`
    Messages,
    /// `POST …/responses`
    Responses,
    /// `POST …/models/M:generateContent` and `:streamGenerateContent`
    Gemini,
}

impl Dialect {
    pub(super) fn of_path(path: &str) -> Option<Self> {
        if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// The model named in a path of the Gemini format.
    pub(super) fn gemini_model(path: &str) -> &str {
        let last = path.rsplit('/').next().unwrap_or("");
        last.split(':').next().unwrap_or("")
    }
}

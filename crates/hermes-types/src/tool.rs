//! What a tool tells the model about itself, and what it gives back.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Content, Part};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments, an object.
    pub parameters: Value,
}

/// What a call produced. `text` is what the model reads; pictures ride along.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    pub text: String,
    pub images: Vec<String>,
    pub failed: bool,
    /// One line for people; made from the text when absent.
    pub summary: Option<String>,
    /// A unified diff, when the call changed a file.
    pub diff: Option<String>,
}

impl ToolOutput {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    pub fn json(value: &Value) -> Self {
        Self::text(value.to_string())
    }

    /// The form in which every tool reports that it could not do its work.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            text: serde_json::json!({ "error": message.into() }).to_string(),
            failed: true,
            ..Self::default()
        }
    }

    pub fn into_content(self) -> Content {
        if self.images.is_empty() {
            return Content::Text(self.text);
        }
        let mut parts = vec![Part::Text { text: self.text }];
        parts.extend(self.images.into_iter().map(|url| Part::Image { url }));
        Content::Parts(parts)
    }
}

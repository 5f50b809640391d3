//! Masking of secrets in text that people and models read: tool results, logs,
//! screens, exports. Pure, and applied by whoever owns the sink.
//!
//! What the model itself wrote is never altered: it would act on the altered
//! copy. Web addresses pass unharmed, because magic links and presigned URLs
//! must keep working; only a known token in front of the `@` is masked there.
//! Masking twice changes nothing.

mod edge;
mod rules;
mod scan;
mod structured;

use std::borrow::Cow;

pub use edge::{head_edge, tail_edge};
pub use structured::redact_result;

/// How much may be guessed from names alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redaction {
    /// Prose, terminal output, logs: assignments, JSON fields and phone numbers count.
    Text,
    /// Source files and search hits: only what is a secret by its own shape.
    Code,
}

/// Replaces secrets by their masks. Borrows when nothing was found, which a
/// single pass over the bytes decides for almost all text.
pub fn redact(text: &str, mode: Redaction) -> Cow<'_, str> {
    if !scan::may_hold_secret(text, mode) {
        return Cow::Borrowed(text);
    }
    rules::apply(text, mode)
}

/// First six and last four characters; short secrets show nothing.
pub fn mask(secret: &str) -> String {
    let count = secret.chars().count();
    if count < 18 {
        return "***".to_owned();
    }
    let head: String = secret.chars().take(6).collect();
    let tail: String = secret.chars().skip(count - 4).collect();
    format!("{head}...{tail}")
}

#[cfg(test)]
mod tests;

//! A yes-or-no question before something is gone for good.

use super::ask;
use crate::{CommandError, Out};

/// True for `--yes` or an answer that starts with `y`. Without a terminal there is
/// nobody to ask, and the answer is no.
pub(crate) fn confirm(question: &str, yes: bool, out: &mut Out) -> Result<bool, CommandError> {
    if yes {
        return Ok(true);
    }
    if !out.is_attended() {
        return Ok(false);
    }
    let answer = ask::line(&format!("{question} [y/N] "), out)?;
    let answer = answer.unwrap_or_default().to_lowercase();
    Ok(answer == "y" || answer == "yes")
}

/// What a command says when the answer was no.
pub(crate) fn refused() -> CommandError {
    CommandError::user("not confirmed, nothing was changed")
        .hint("`--yes` answers the question in advance")
}

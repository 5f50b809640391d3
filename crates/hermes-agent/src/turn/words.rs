//! What the loop itself says to the model. None of it is ever stored.

pub(super) const CONTINUE: &str = "Your answer was cut off at the output limit. Continue exactly where it stops; do not repeat anything.";

pub(super) const CONTINUE_BROKEN: &str = "The connection broke while you were answering; what arrived is above. Continue exactly where it stops; do not repeat anything.";

pub(super) const CONTINUE_SMALLER: &str = "The connection broke while you were writing a tool call, and the call was lost. Continue, and write smaller calls: split long files and long commands.";

pub(super) const GO_ON: &str = "Go on.";

pub(super) const NUDGE: &str = "Your last answer was empty. Use the tool results above: answer the user, or make the next call.";

pub(super) const KEEP_PROMISE: &str =
    "Do what you announced now, with tool calls. Answer only when it is done or impossible.";

pub(super) const SUM_UP: &str = "You have used all tool rounds of this turn; no more calls are possible. Tell the user what is done, what you found, and what remains.";

/// The fixed answer when calls keep failing.
pub(super) fn halted(code: &str, count: u32) -> String {
    format!(
        "I stopped: the same kind of call failed {count} times ({code}). Tell me how to go on, or change what makes it fail."
    )
}

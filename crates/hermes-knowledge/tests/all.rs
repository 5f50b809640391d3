//! Memory and skill files on a real file system, as both programs see them.

#![allow(clippy::unwrap_used, reason = "a failed precondition ends the test")]

mod suite {
    mod memory;
    mod skills;
}

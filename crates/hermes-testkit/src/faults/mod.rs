//! Whole programs killed on purpose: scenarios that tests play in short and
//! benchmarks at length. They look at a program from outside only: its terminal,
//! its requests, and its own `sessions export`.

mod killed_turn;
mod stored;
mod together;

pub use killed_turn::{KillPoint, killed_turn};
pub use stored::stored_messages;
pub use together::{Together, TogetherReport, talk_together};

/// Numbers that look random and can be had again from their seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

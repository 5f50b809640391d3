//! Data that the measures need, the same bytes on every machine: no randomness
//! but a fixed sequence, no clock.

use std::path::Path;

use anyhow::Result;
use hermes_store::StateDb;
use hermes_store::rusqlite::{Transaction, params};

/// How much a made `state.db` holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateSize {
    pub(crate) sessions: usize,
    pub(crate) messages: usize,
    pub(crate) words_per_message: usize,
}

impl StateSize {
    /// What the bars of lists and search are stated for.
    pub(crate) const FULL: Self = Self {
        sessions: 5_000,
        messages: 100_000,
        words_per_message: 80,
    };
}

/// In about 70,000 of the 100,000 messages.
pub(crate) const COMMON_WORD: &str = "server";
/// Each in about 30,000 messages, both in about 9,000.
pub(crate) const TWO_WORDS: &str = "docker network";

/// Words that searches ask for, at their rank in the vocabulary; all others are
/// made of syllables.
const NAMED: [(usize, &str); 3] = [(5, "server"), (20, "docker"), (22, "network")];
const SYLLABLES: [&str; 8] = ["ka", "to", "mi", "ren", "sol", "va", "pe", "lun"];
const VOCABULARY: f64 = 20_000.0;
const STARTED: f64 = 1_767_225_600.0;

/// Fills a new `state.db`: sessions half an hour apart, messages spread evenly,
/// word frequencies falling with rank as in real text.
pub(crate) fn fill_state(path: &Path, size: StateSize) -> Result<StateDb> {
    let db = StateDb::open(path, hermes_home::Clock::System)?;
    let mut sequence = Sequence::new();
    let per_session = size.messages / size.sessions;
    let sessions: Vec<usize> = (0..size.sessions).collect();
    for chunk in sessions.chunks(250) {
        db.database().write(|transaction| -> Result<()> {
            for session in chunk {
                insert_session(transaction, *session, per_session, size, &mut sequence)?;
            }
            Ok(())
        })?;
    }
    db.optimize()?;
    Ok(db)
}

fn insert_session(
    transaction: &Transaction<'_>,
    number: usize,
    messages: usize,
    size: StateSize,
    sequence: &mut Sequence,
) -> Result<()> {
    let id = format!("session_{number:06}");
    let source = ["cli", "cli", "telegram", "cron", "tui"][number % 5];
    let started = STARTED + 1_800.0 * number as f64;
    let title = number
        .is_multiple_of(3)
        .then(|| format!("Conversation {number}"));
    transaction
        .prepare_cached(
            "INSERT INTO sessions (id, source, model, started_at, title, message_count) \
             VALUES (?1, ?2, 'bench/model', ?3, ?4, ?5)",
        )?
        .execute(params![id, source, started, title, messages as i64])?;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO messages (session_id, role, content, tool_name, timestamp) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for message in 0..messages {
        let role = ["user", "assistant", "tool", "assistant"][message % 4];
        insert.execute(params![
            id,
            role,
            sequence.text(size.words_per_message),
            (role == "tool").then_some("terminal"),
            started + 20.0 * message as f64,
        ])?;
    }
    Ok(())
}

/// The xorshift generator: small, and the same everywhere.
pub(crate) struct Sequence(u64);

impl Sequence {
    pub(crate) fn new() -> Self {
        Self(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn text(&mut self, words: usize) -> String {
        let mut text = String::with_capacity(words * 7);
        for position in 0..words {
            if position > 0 {
                text.push(' ');
            }
            self.word(&mut text);
        }
        text
    }

    fn word(&mut self, text: &mut String) {
        // A uniform number as an exponent: ranks thin out as in Zipf's law.
        let uniform = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = (VOCABULARY.powf(uniform) - 1.0) as usize;
        if let Some((_, word)) = NAMED.iter().find(|(named, _)| *named == rank) {
            text.push_str(word);
            return;
        }
        let mut rest = rank + SYLLABLES.len();
        while rest > 0 {
            text.push_str(SYLLABLES[rest % SYLLABLES.len()]);
            rest /= SYLLABLES.len();
        }
    }
}

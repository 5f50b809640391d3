//! The cheap question that comes first: could there be anything to mask?

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::Redaction;

/// Prefixes of known tokens, and how many characters must follow.
pub(super) const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 10),
    ("ghp_", 10),
    ("github_pat_", 10),
    ("gho_", 10),
    ("ghu_", 10),
    ("ghs_", 10),
    ("ghr_", 10),
    ("xoxb-", 10),
    ("xoxa-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("AIza", 30),
    ("pplx-", 10),
    ("fal_", 10),
    ("fc-", 10),
    ("bb_live_", 10),
    ("gAAAA", 20),
    ("AKIA", 16),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("SG.", 10),
    ("hf_", 10),
    ("r8_", 10),
    ("npm_", 10),
    ("pypi-", 10),
    ("dop_v1_", 10),
    ("doo_v1_", 10),
    ("am_", 10),
    ("sk_", 10),
    ("tvly-", 10),
    ("exa_", 10),
    ("gsk_", 10),
    ("syt_", 10),
    ("retaindb_", 10),
    ("hsk-", 10),
    ("mem0_", 10),
    ("brv_", 10),
    ("xai-", 30),
];

/// What every other rule cannot match without.
const SHAPES: &[&str] = &["Bearer ", "PRIVATE KEY", "eyJ", "://"];

/// What the rules that guess from names cannot match without.
const NAMES: &[&str] = &[
    "API_KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSW",
    "CREDENTIAL",
    "AUTH",
    "BEARER",
    "KEY_MATERIAL",
];

static TOKENS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let needles = PREFIXES
        .iter()
        .map(|(prefix, _)| *prefix)
        .chain(SHAPES.iter().copied());
    automaton(needles, false)
});

static GUESSES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(NAMES, true));

fn automaton<I, P>(needles: I, ignore_case: bool) -> Option<AhoCorasick>
where
    I: IntoIterator<Item = P>,
    P: AsRef<[u8]>,
{
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostFirst)
        .ascii_case_insensitive(ignore_case)
        .build(needles)
        .ok()
}

/// May say yes in vain, never no in vain.
pub(super) fn may_hold_secret(text: &str, mode: Redaction) -> bool {
    // An automaton of constants always builds; if not, the rules decide.
    let hit = |set: &LazyLock<Option<AhoCorasick>>| set.as_ref().is_none_or(|a| a.is_match(text));
    hit(&TOKENS)
        || has_digits_before(text, b':', 8)
        || (mode == Redaction::Text && (hit(&GUESSES) || has_phone(text)))
}

fn has_digits_before(text: &str, mark: u8, digits: usize) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        *byte == mark && at >= digits && bytes[at - digits..at].iter().all(u8::is_ascii_digit)
    })
}

fn has_phone(text: &str) -> bool {
    text.as_bytes()
        .windows(8)
        .any(|w| w[0] == b'+' && w[1..].iter().all(u8::is_ascii_digit))
}

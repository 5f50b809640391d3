//! Where a text may be shortened without showing a piece of a secret. The rules
//! know a secret by its beginning: a tail that lost it would pass unmasked.

/// Longer runs are data rather than a token, and are cut anywhere.
const LONGEST: usize = 4096;

/// Where a beginning that should end at `at` ends: there, or before the token
/// that `at` would cut, unless that were more than half of it: a beginning is
/// masked by its prefix anyway. `at` must be a character boundary, as is the result.
pub fn head_edge(text: &str, at: usize) -> usize {
    let (before, after) = text.split_at(at);
    let back = run(before.bytes().rev());
    if back == 0 || back >= LONGEST || back > at / 2 || run(after.bytes()) == 0 {
        at
    } else {
        at - back
    }
}

/// Where an end that should begin at `at` begins: there, or behind the token
/// that `at` would cut.
pub fn tail_edge(text: &str, at: usize) -> usize {
    let (before, after) = text.split_at(at);
    let on = run(after.bytes());
    if on >= LONGEST || run(before.bytes().rev()) == 0 {
        at
    } else {
        at + on
    }
}

/// How many bytes could belong to one token; all of them are ASCII.
fn run(bytes: impl Iterator<Item = u8>) -> usize {
    bytes
        .take(LONGEST)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.+/=~:@".contains(byte))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_whole_or_not_at_all() {
        let text = "this is a key of mine: ghp_abcdefghijklmnop3456 end";
        for at in 24..47 {
            assert_eq!(head_edge(text, at), 23);
            assert_eq!(tail_edge(text, at), 47);
        }
        for at in [0, 4, 23, 47, 48, text.len()] {
            assert_eq!((head_edge(text, at), tail_edge(text, at)), (at, at));
        }
        let data = "x".repeat(10_000);
        assert_eq!(
            (head_edge(&data, 5000), tail_edge(&data, 5000)),
            (5000, 5000)
        );
    }
}

//! Text without the sequences that steer a terminal (ECMA-48).

use std::borrow::Cow;

/// Removes control sequences, device strings, titles, charset changes and single
/// escapes, in their 7-bit and 8-bit forms. A string that never ends loses only
/// its introducer.
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    let is_introducer = |c: char| c == '\u{1b}' || ('\u{80}'..='\u{9f}').contains(&c);
    if !text.contains(is_introducer) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_introducer) {
        clean.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = sequence_length(rest);
        rest = &rest[length..];
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// Bytes of the sequence that `text` begins with.
fn sequence_length(text: &str) -> usize {
    let mut chars = text.char_indices();
    let Some((_, introducer)) = chars.next() else {
        return 0;
    };
    let (kind, after) = if introducer == '\u{1b}' {
        match chars.next() {
            // C1 controls have a two-character form.
            Some((index, c)) => (c, index + c.len_utf8()),
            None => return text.len(),
        }
    } else {
        let code = u32::from(introducer) - 0x40;
        let length = introducer.len_utf8();
        (char::from_u32(code).unwrap_or('?'), length)
    };
    let body = &text[after..];
    match kind {
        '[' => after + control_length(body),
        ']' | 'P' | 'X' | '^' | '_' => after + string_length(body),
        // nF: intermediates, then one final character.
        ' '..='/' => {
            let skipped: usize = body
                .chars()
                .take_while(|c| (' '..='/').contains(c))
                .map(char::len_utf8)
                .sum();
            let last = body[skipped..]
                .chars()
                .next()
                .filter(|c| ('0'..='~').contains(c));
            after + skipped + last.map_or(0, char::len_utf8)
        }
        '0'..='~' => after,
        // An escape before something else is a stray one.
        _ => introducer.len_utf8(),
    }
}

/// Parameters, intermediates, and the final character of a control sequence.
fn control_length(body: &str) -> usize {
    let mut length = 0;
    for c in body.chars() {
        length += c.len_utf8();
        match c {
            '0'..='?' | ' '..='/' => {}
            '@'..='~' => return length,
            // Broken off: what follows is text.
            _ => return length - c.len_utf8(),
        }
    }
    length
}

/// Up to BEL or ST; nothing when there is no end.
fn string_length(body: &str) -> usize {
    let bell = body.find('\u{7}').map(|at| at + 1);
    let short = body.find('\u{9c}').map(|at| at + '\u{9c}'.len_utf8());
    let long = body.find("\u{1b}\\").map(|at| at + 2);
    [bell, short, long].into_iter().flatten().min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_sequence_goes_and_text_stays() {
        for (dirty, clean) in [
            ("plain ü text\n", "plain ü text\n"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}[?25lhidden\u{1b}[?25h", "hidden"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}Pq#0\u{1b}\\sixel", "sixel"),
            ("\u{1b}(Bcharset\u{1b})0", "charset"),
            ("\u{1b}7saved\u{1b}8", "saved"),
            ("\u{9b}32mgreen\u{9b}m", "green"),
            ("\u{9d}0;t\u{9c}x", "x"),
            ("\u{1b}]never ends", "never ends"),
            ("cut\u{1b}[12", "cut"),
            ("cut\u{1b}", "cut"),
            ("\u{1b}[3\nnext", "\nnext"),
            ("\u{1b}ünclear", "ünclear"),
        ] {
            assert_eq!(strip_ansi(dirty), clean, "{dirty:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_stripped_and_has_no_escape_left(text in "[a-z\u{1b}\u{9b}\u{9d}\\[\\]\\\\;0-9m\u{7}é\n]{0,60}") {
            let clean = strip_ansi(&text).into_owned();
            let left = clean.contains(['\u{1b}', '\u{9b}', '\u{9d}']);
            prop_assert!(!left, "escape left");
        }
    }
}

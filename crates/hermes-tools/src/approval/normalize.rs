//! Undoing what makes text look like other text: escape sequences, NUL bytes,
//! letters of other scripts that stand for ASCII.

/// The text that the rules look at.
pub(crate) fn normalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\0' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {}
            '\u{1b}' => skip_escape(&mut chars),
            other => out.push(plain(other)),
        }
    }
    out
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        // CSI: parameters, then one final byte.
        Some('[') => {
            chars.next();
            for c in chars.by_ref() {
                if ('@'..='~').contains(&c) {
                    break;
                }
            }
        }
        // OSC: up to BEL or ST.
        Some(']') => {
            chars.next();
            while let Some(c) = chars.next() {
                if c == '\u{7}' {
                    break;
                }
                if c == '\u{1b}' {
                    chars.next();
                    break;
                }
            }
        }
        _ => {
            chars.next();
        }
    }
}

/// The ASCII character that a compatibility form stands for.
fn plain(c: char) -> char {
    let code = c as u32;
    let ascii = match code {
        0xff01..=0xff5e => code - 0xfee0,
        0x3000 | 0xa0 | 0x2000..=0x200a | 0x202f | 0x205f => 0x20,
        // Mathematical letters: thirteen alphabets of 52 letters each.
        0x1d400..=0x1d6a3 => {
            let letter = (code - 0x1d400) % 52;
            if letter < 26 {
                0x41 + letter
            } else {
                0x61 + letter - 26
            }
        }
        0x1d7ce..=0x1d7ff => 0x30 + (code - 0x1d7ce) % 10,
        0x24b6..=0x24cf => 0x41 + code - 0x24b6,
        0x24d0..=0x24e9 => 0x61 + code - 0x24d0,
        0x2044 | 0x2215 => 0x2f,
        0x2010..=0x2015 | 0x2212 | 0xfe63 => 0x2d,
        _ => return c,
    };
    char::from_u32(ascii).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_become_ascii() {
        assert_eq!(normalize("ｒｍ　－ｒｆ　／"), "rm -rf /");
        assert_eq!(normalize("\u{1b}[31mrm\u{1b}[0m\0 -rf"), "rm -rf");
        assert_eq!(normalize("𝐫𝐦 ⓡⓜ"), "rm rm");
        assert_eq!(normalize("größe"), "größe");
    }
}

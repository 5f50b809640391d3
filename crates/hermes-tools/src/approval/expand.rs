//! Words as a shell spells them out: braces, lists and parameter expansions.
//!
//! Braces that stand outside quotes are marked while a word is read, so that those
//! of a quoted JSON text stay what they are.

const OPEN: char = '\u{e000}';
const COMMA: char = '\u{e001}';
const CLOSE: char = '\u{e002}';
/// Words that one word becomes at most; the rest is kept as it is written.
const MOST: usize = 256;
/// Longer words are texts, not lists of names.
const LONGEST: usize = 8 << 10;

/// A sign outside quotes.
pub(super) fn marked(c: char) -> char {
    match c {
        '{' => OPEN,
        ',' => COMMA,
        '}' => CLOSE,
        other => other,
    }
}

/// One of these, as far as anybody can tell: spelled out when the word ends.
pub(super) fn one_of(items: &[String]) -> String {
    match items {
        [only] => only.clone(),
        items => {
            let items = &items[..items.len().min(MOST / 4)];
            format!("{OPEN}{}{CLOSE}", items.join(&COMMA.to_string()))
        }
    }
}

pub(super) fn plain(word: &str) -> String {
    let back = |c| match c {
        OPEN => '{',
        COMMA => ',',
        CLOSE => '}',
        other => other,
    };
    word.chars().map(back).collect()
}

/// `/{etc,usr}` is two words.
pub(super) fn spelled_out(word: &str) -> Vec<String> {
    if !word.contains(OPEN) || word.len() > LONGEST {
        return vec![plain(word)];
    }
    let mut done = Vec::new();
    let mut open = vec![word.to_owned()];
    while let Some(word) = open.pop() {
        match first_choice(&word) {
            Some((before, choices, after)) if done.len() + open.len() + choices.len() <= MOST => {
                let spelled = choices.iter().rev();
                open.extend(spelled.map(|choice| format!("{before}{choice}{after}")));
            }
            _ => done.push(plain(&word)),
        }
    }
    done
}

fn first_choice(word: &str) -> Option<(&str, Vec<&str>, &str)> {
    word.match_indices(OPEN).take(16).find_map(|(start, _)| {
        let inner = start + OPEN.len_utf8();
        let (mut depth, mut from, mut choices) = (0_usize, inner, Vec::new());
        for (at, c) in word[inner..].char_indices() {
            let at = inner + at;
            match c {
                OPEN => depth += 1,
                CLOSE if depth > 0 => depth -= 1,
                COMMA if depth == 0 => {
                    choices.push(&word[from..at]);
                    from = at + COMMA.len_utf8();
                }
                CLOSE => {
                    choices.push(&word[from..at]);
                    let after = &word[at + CLOSE.len_utf8()..];
                    return (choices.len() > 1).then_some((&word[..start], choices, after));
                }
                _ => {}
            }
        }
        None
    })
}

/// `HOME:?`, taken from between `${` and `}`, is a name and what is done to its value.
pub(super) fn parameter(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len());
    text.split_at(end)
}

/// The value after the change; `None` where only the shell can tell.
pub(super) fn changed(name: &str, change: &str, value: Option<&str>) -> Option<String> {
    if change.is_empty() {
        return value.map(str::to_owned);
    }
    // Always set to something, whatever it is.
    let value = match name {
        "HOME" => value.or(Some("$HOME")),
        "PWD" => value.or(Some("$PWD")),
        _ => value,
    };
    let after = |signs: &[&str]| signs.iter().find_map(|sign| change.strip_prefix(sign));
    if let Some(default) = after(&[":-", ":=", "-", "="]) {
        let value = value.filter(|value| !value.is_empty());
        return Some(value.unwrap_or(default).to_owned());
    }
    if let Some(instead) = after(&[":+", "+"]) {
        return Some(instead.to_owned());
    }
    let value = value?;
    let is_pattern = |text: &str| text.contains(['*', '?', '[']);
    match change.chars().next()? {
        '%' => {
            let end = change.trim_start_matches('%');
            let cut = value.strip_suffix(end).filter(|_| !is_pattern(end));
            Some(cut.unwrap_or(value).to_owned())
        }
        '#' => {
            let start = change.trim_start_matches('#');
            let cut = value.strip_prefix(start).filter(|_| !is_pattern(start));
            Some(cut.unwrap_or(value).to_owned())
        }
        // The first letter of an absolute path.
        ':' if change.trim_start_matches([':', ' ']).starts_with("0:1")
            && value.starts_with(['/', '$']) =>
        {
            Some("/".to_owned())
        }
        ':' | '?' | '/' | '^' | '@' => Some(value.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn braces_are_spelled_out_in_order() {
        let spelled = |text: &str| spelled_out(&text.chars().map(marked).collect::<String>());
        assert_eq!(spelled("/{etc,usr}"), ["/etc", "/usr"]);
        assert_eq!(spelled("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(spelled("{}"), ["{}"]);
        assert_eq!(spelled("a,b{c}{d,e}"), ["a,b{c}d", "a,b{c}e"]);
        assert_eq!(spelled("{a,b"), ["{a,b"]);
        assert!(spelled(&"{a,b}".repeat(60)).len() <= MOST + 2);
    }

    #[test]
    fn parameters_are_changed_as_far_as_can_be_told() {
        let told = |text: &str, value| {
            let (name, change) = parameter(text);
            changed(name, change, value)
        };
        assert_eq!(told("HOME:?", None).as_deref(), Some("$HOME"));
        assert_eq!(told("HOME%/", None).as_deref(), Some("$HOME"));
        assert_eq!(told("HOME:0:1", None).as_deref(), Some("/"));
        assert_eq!(told("X:-/etc", None).as_deref(), Some("/etc"));
        assert_eq!(told("X:-/etc", Some("/srv")).as_deref(), Some("/srv"));
        assert_eq!(told("X%.c", Some("a.c")).as_deref(), Some("a"));
        assert_eq!(told("X%%.*", Some("a.c")).as_deref(), Some("a.c"));
        assert_eq!(told("X", None), None);
        assert_eq!(told("X[@]", Some("")), None);
    }
}

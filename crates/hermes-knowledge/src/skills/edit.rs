//! Replacing a piece of text that the caller remembers only roughly: first to
//! the letter, then with the white space at line ends and starts ignored.

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("old_string is empty")]
    Empty,
    #[error("old_string does not occur in the file")]
    NotFound,
    #[error("old_string occurs {0} times; add context to make it unique or set replace_all")]
    NotUnique(usize),
}

/// `text` with `old` replaced by `new`, and how often.
pub fn replace_text(
    text: &str,
    old: &str,
    new: &str,
    all: bool,
) -> Result<(String, usize), EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    let exact = text.matches(old).count();
    if exact > 0 {
        return match exact {
            1 => Ok((text.replacen(old, new, 1), 1)),
            many if all => Ok((text.replace(old, new), many)),
            many => Err(EditError::NotUnique(many)),
        };
    }
    let spans = loose_spans(text, old);
    match spans.len() {
        0 => Err(EditError::NotFound),
        many if many > 1 && !all => Err(EditError::NotUnique(many)),
        many => {
            let mut out = String::with_capacity(text.len() + new.len());
            let mut from = 0;
            for (start, end) in spans {
                out.push_str(&text[from..start]);
                out.push_str(new);
                from = end;
            }
            out.push_str(&text[from..]);
            Ok((out, many))
        }
    }
}

/// Runs of whole lines that equal `old` when every line is trimmed.
fn loose_spans(text: &str, old: &str) -> Vec<(usize, usize)> {
    let wanted: Vec<&str> = old.trim().lines().map(str::trim).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        lines.push((offset, offset + content.len(), content.trim()));
        offset += line.len();
    }
    let mut spans = Vec::new();
    let mut index = 0;
    while index + wanted.len() <= lines.len() {
        let window = &lines[index..index + wanted.len()];
        if window.iter().map(|line| line.2).eq(wanted.iter().copied()) {
            spans.push((window[0].0, window[window.len() - 1].1));
            index += wanted.len();
        } else {
            index += 1;
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_text_is_preferred_and_must_be_unique() {
        assert_eq!(replace_text("a b", "b", "c", false), Ok(("a c".into(), 1)));
        assert_eq!(
            replace_text("b b", "b", "c", false),
            Err(EditError::NotUnique(2))
        );
        assert_eq!(replace_text("b b", "b", "c", true), Ok(("c c".into(), 2)));
        assert_eq!(replace_text("b", "", "c", true), Err(EditError::Empty));
    }

    #[test]
    fn indentation_does_not_hide_a_match() {
        let text = "start\n    one\n    two\nend\n";
        assert_eq!(
            replace_text(text, "one\ntwo", "    three", false),
            Ok(("start\n    three\nend\n".into(), 1))
        );
        assert_eq!(
            replace_text(text, "one\nthree", "x", false),
            Err(EditError::NotFound)
        );
    }
}

//! Two assignments on one line, as a paste without a line break leaves them:
//! `GLM_API_KEY=aOPENAI_BASE_URL=b`.

use crate::variables::is_known;

/// The text with such lines split and NUL characters dropped; `None` when nothing
/// is wrong with it.
pub fn repair(text: &str) -> Option<String> {
    let mut changed = false;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let clean;
        let line = if line.contains('\0') {
            changed = true;
            clean = line.replace('\0', "");
            &clean
        } else {
            line
        };
        let starts = assignments(line);
        if starts.len() < 2 {
            out.push_str(line);
            continue;
        }
        changed = true;
        let mut bounds = starts;
        // Whatever stands before the first name (`export `) stays with it.
        bounds[0] = 0;
        bounds.push(line.len());
        for pair in bounds.windows(2) {
            let part = &line[pair[0]..pair[1]];
            out.push_str(part);
            if !part.ends_with('\n') && pair[1] != line.len() {
                out.push('\n');
            }
        }
    }
    changed.then_some(out)
}

/// Where known names followed by `=` start. A comment has none.
fn assignments(line: &str) -> Vec<usize> {
    if line.trim_start().starts_with('#') {
        return Vec::new();
    }
    let mut starts = Vec::new();
    for (equals, _) in line.match_indices('=') {
        let word_start = line[..equals]
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .map_or(0, |at| {
                at + line[at..].chars().next().map_or(1, char::len_utf8)
            });
        let word = &line[word_start..equals];
        // The longest known name that ends here; a shorter one inside it is not meant.
        let floor = starts.last().copied().unwrap_or(0);
        let found = (0..word.len()).find(|skip| {
            word_start + skip >= floor && word.is_char_boundary(*skip) && is_known(&word[*skip..])
        });
        let Some(skip) = found else { continue };
        let start = word_start + skip;
        let before = &line[..start];
        // Part of an address, of a quoted text or of a comment: not pasted together.
        let belongs = before.ends_with(['?', '&', '"', '\'', '$', '{']) || before.contains(" #");
        if starts.is_empty() || !belongs {
            starts.push(start);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_assignments_are_split() {
        assert_eq!(
            repair("GLM_API_KEY=aOPENAI_BASE_URL=b\n").as_deref(),
            Some("GLM_API_KEY=a\nOPENAI_BASE_URL=b\n")
        );
        assert_eq!(
            repair("export GLM_API_KEY=aOPENAI_BASE_URL=bHF_TOKEN=c").as_deref(),
            Some("export GLM_API_KEY=a\nOPENAI_BASE_URL=b\nHF_TOKEN=c")
        );
    }

    #[test]
    fn ordinary_lines_stay() {
        for text in [
            "A=1\nB=2\n",
            "GLM_API_KEY=abc=def\n",
            "# GLM_API_KEY=aOPENAI_BASE_URL=b\n",
            // One name inside a longer one is one name.
            "Z_AI_API_KEY=x\nKIMI_CODING_API_KEY=y\n",
            "OPENAI_BASE_URL=https://x/?HF_TOKEN=abc\n",
            "OPENAI_BASE_URL=x # or HF_TOKEN=abc\n",
            "",
        ] {
            assert_eq!(repair(text), None, "{text}");
        }
    }

    #[test]
    fn nul_characters_are_dropped() {
        assert_eq!(repair("A=1\0\n").as_deref(), Some("A=1\n"));
    }
}

//! Pictures that a task's text names, for a model that can see.

use std::path::Path;

const EXTENSIONS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp", "bmp"];
/// More would fill a prompt with pictures.
const MOST: usize = 8;

/// Absolute and `~/` paths of pictures that exist, and web addresses of pictures,
/// in their order, each once. What stands in code is quoted, not meant.
pub fn image_references(text: &str, user_home: &Path) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in plain_words(text) {
        let word = word
            .trim_start_matches(|c: char| "([<{\"'!".contains(c))
            .trim_end_matches(|c: char| ")]>}\"'!,;.:".contains(c));
        let reference = if word.starts_with("http://") || word.starts_with("https://") {
            let path = word.split(['?', '#']).next().unwrap_or(word);
            is_picture(path).then(|| word.to_owned())
        } else {
            let path = match word.strip_prefix("~/") {
                Some(rest) => user_home.join(rest),
                None => Path::new(word).to_owned(),
            };
            (path.is_absolute() && is_picture(word) && path.is_file())
                .then(|| path.to_string_lossy().into_owned())
        };
        if let Some(reference) = reference
            && !found.contains(&reference)
        {
            found.push(reference);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

fn is_picture(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| {
        EXTENSIONS
            .iter()
            .any(|known| end.eq_ignore_ascii_case(known))
    })
}

/// Words outside of fences and backticks. Markdown's `](…)` separates too.
fn plain_words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        for (index, part) in line.split('`').enumerate() {
            if index % 2 == 0 {
                words.extend(part.split_whitespace().flat_map(|word| word.split("](")));
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_found_where_they_are_meant() {
        let home = tempfile::tempdir().unwrap();
        let picture = home.path().join("shot.png");
        std::fs::write(&picture, b"x").unwrap();
        let path = picture.to_str().unwrap();
        let text = format!(
            "Look at {path}, ~/shot.png and ![chart](https://example.org/a/chart.JPG?x=1).\n\
             Not `{path}`, not /nowhere/gone.png, not shot.png, not https://example.org/page\n\
             ```\n{path}x.png\nhttps://example.org/b.png\n```\n"
        );
        assert_eq!(
            image_references(&text, home.path()),
            [
                path.to_owned(),
                "https://example.org/a/chart.JPG?x=1".to_owned()
            ]
        );
    }
}

//! Files that come with a message: folded pastes, pictures, paths.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Pastes that stand in the input as one word. Their text lies in files that
/// Python Hermes names the same way; without a directory nothing is folded.
#[derive(Debug, Default)]
pub(super) struct Pastes {
    directory: Option<PathBuf>,
    count: usize,
}

/// A paste of a file larger than this was not made by us.
const MOST: u64 = 64 << 20;

impl Pastes {
    pub(super) fn in_directory(directory: Option<PathBuf>) -> Self {
        Self {
            directory,
            count: 0,
        }
    }

    /// Keeps the text; what stands for it is returned. `None` when it cannot be kept.
    pub(super) fn fold(&mut self, text: &str) -> Option<String> {
        let directory = self.directory.as_ref()?;
        let number = self.count + 1;
        let time = chrono::Local::now().format("%H%M%S");
        let path = directory.join(format!("paste_{number}_{time}.txt"));
        let written = std::fs::create_dir_all(directory).and_then(|()| {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&path)?;
            file.write_all(text.as_bytes())
        });
        written.ok()?;
        self.count = number;
        let lines = text.matches('\n').count() + 1;
        Some(format!(
            "[Pasted text #{number}: {lines} lines → {}]",
            path.display()
        ))
    }

    /// Puts folded pastes back in full; one whose file is gone stays as it is.
    pub(super) fn unfold(&self, text: &str) -> String {
        const MARK: &str = "[Pasted text #";
        let Some(directory) = &self.directory else {
            return text.to_owned();
        };
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(MARK) {
            let (before, tail) = rest.split_at(start);
            out.push_str(before);
            let kept = tail.find(']').and_then(|end| {
                let (_, path) = tail[..end].split_once(" → ")?;
                let path = Path::new(path);
                let ours = path.parent() == Some(directory.as_path());
                let small = std::fs::metadata(path).is_ok_and(|meta| meta.len() <= MOST);
                let content = (ours && small).then(|| std::fs::read_to_string(path).ok());
                Some((content.flatten()?, end + 1))
            });
            match kept {
                Some((content, end)) => {
                    out.push_str(&content);
                    rest = &tail[end..];
                }
                None => {
                    out.push_str(MARK);
                    rest = &tail[MARK.len()..];
                }
            }
        }
        out.push_str(rest);
        out
    }
}

/// The file that a text begins with, and what follows it: `./a b`, `~/x`, `/x`,
/// `file:///x`, or anything in quotes. A bare name counts when it is a picture
/// and all there is.
pub(super) fn leading_file<'t>(
    text: &'t str,
    (directory, user_home): (&Path, &Path),
) -> Option<(PathBuf, &'t str)> {
    let text = text.trim();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (word, rest) = match quote {
        Some(quote) => text[1..].split_once(quote)?,
        None => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    };
    let bare = word.strip_prefix("file://").unwrap_or(word);
    let like_a_path = quote.is_some()
        || bare.len() < word.len()
        || ["/", "./", "../", "~/"]
            .iter()
            .any(|start| bare.starts_with(start))
        || rest.is_empty() && is_picture(Path::new(bare));
    if !like_a_path || bare.contains('\n') {
        return None;
    }
    let path = resolved(bare, directory, user_home);
    path.is_file().then(|| (path, rest.trim()))
}

/// The picture that a text begins with, and what follows it.
pub fn leading_picture<'t>(
    text: &'t str,
    directory: &Path,
    user_home: &Path,
) -> Option<(PathBuf, &'t str)> {
    leading_file(text, (directory, user_home)).filter(|(path, _)| is_picture(path))
}

/// A path as people write it.
pub(super) fn resolved(text: &str, directory: &Path, user_home: &Path) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => user_home.join(rest),
        None => directory.join(text),
    }
}

/// By its name; what it really is shows when it is read.
pub(super) fn is_picture(path: &Path) -> bool {
    const ENDINGS: [&str; 10] = [
        "png", "jpg", "jpeg", "gif", "webp", "bmp", "tiff", "tif", "svg", "ico",
    ];
    path.extension()
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_folded_paste_comes_back_whole_and_a_lost_one_stays_a_word() {
        let directory = tempfile::tempdir().unwrap();
        let mut pastes = Pastes::in_directory(Some(directory.path().join("pastes")));
        let one = pastes.fold("a\nb\n").unwrap();
        let two = pastes.fold("c").unwrap();
        assert!(one.starts_with("[Pasted text #1: 3 lines → "), "{one}");
        let text = format!("see {one} and {two}!");
        assert_eq!(pastes.unfold(&text), "see a\nb\n and c!");
        std::fs::remove_dir_all(directory.path().join("pastes")).unwrap();
        assert_eq!(pastes.unfold(&text), text);
        let elsewhere = "[Pasted text #1: 1 lines → /etc/hostname]";
        assert_eq!(pastes.unfold(elsewhere), elsewhere);
        assert_eq!(Pastes::default().fold("x"), None);
    }

    #[test]
    fn files_in_front_of_a_text_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        for name in ["a b.txt", "x.png", "notes"] {
            std::fs::write(here.join(name), "x").unwrap();
        }
        let address = format!("file://{}/x.png", here.display());
        for (text, expected) in [
            ("\"a b.txt\" explain", Some(("a b.txt", "explain"))),
            ("./notes please", Some(("notes", "please"))),
            ("~/notes", Some(("notes", ""))),
            (address.as_str(), Some(("x.png", ""))),
            ("x.png", Some(("x.png", ""))),
            ("x.png is nice", None),
            ("notes", None),
            ("./missing", None),
            ("\"never closed", None),
        ] {
            let expected = expected.map(|(name, rest)| (here.join(name), rest));
            assert_eq!(leading_file(text, (here, here)), expected, "{text}");
        }
    }
}

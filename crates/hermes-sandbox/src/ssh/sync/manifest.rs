//! What a host was sent: kept over there beside the files, one line per file, so
//! that it is true whichever process asks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::files::Shared;

/// First line: the format, and whose files these are.
const HEAD: &str = "hermes-sync 1";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) size: u64,
    pub(super) modified: i128,
    /// Of the contents; tells a change over there from none.
    pub(super) digest: String,
}

impl Sent {
    pub(super) fn is(&self, shared: &Shared) -> bool {
        self.size == shared.size && self.modified == shared.modified
    }
}

pub(super) fn write(owner: &str, files: &BTreeMap<String, Sent>) -> String {
    let mut text = format!("{HEAD} {owner}\n");
    for (name, sent) in files {
        // A name with a line break would be two lines; it is sent every time.
        if !name.contains('\n') {
            let Sent {
                size,
                modified,
                digest,
            } = sent;
            let _ = writeln!(text, "{digest} {size} {modified} {name}");
        }
    }
    text
}

/// Nothing when it is not ours, or not whole.
pub(super) fn read(owner: &str, text: &str) -> BTreeMap<String, Sent> {
    let mut lines = text.lines();
    if lines.next() != Some(format!("{HEAD} {owner}").as_str()) || !text.ends_with('\n') {
        return BTreeMap::new();
    }
    lines
        .filter_map(|line| {
            let mut fields = line.splitn(4, ' ');
            let digest = fields.next()?.to_owned();
            let size = fields.next()?.parse().ok()?;
            let modified = fields.next()?.parse().ok()?;
            let name = fields.next()?.to_owned();
            let sent = Sent {
                size,
                modified,
                digest,
            };
            Some((name, sent))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_manifest_is_read_by_its_owner_only() {
        let sent = |size| Sent {
            size,
            modified: 5,
            digest: "ab".to_owned(),
        };
        let files = BTreeMap::from([
            ("skills/a b".to_owned(), sent(1)),
            ("x".to_owned(), sent(2)),
        ]);
        let text = write("me", &files);
        assert_eq!(read("me", &text), files);
        assert_eq!(read("you", &text), BTreeMap::new());
        assert_eq!(read("me", &text[..text.len() - 1]), BTreeMap::new());
        assert_eq!(read("me", "garbage\n"), BTreeMap::new());
    }
}

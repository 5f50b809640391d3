//! Names inside an archive that may become paths below a directory.

use std::path::PathBuf;

use super::ArchiveError;

/// The name as a relative path, or why it must not be one.
pub(super) fn safe(name: &str) -> Result<PathBuf, ArchiveError> {
    let refuse = |reason| {
        Err(ArchiveError::Unsafe {
            name: name.escape_debug().to_string(),
            reason,
        })
    };
    if name.starts_with(['/', '\\']) {
        return refuse("an absolute path");
    }
    let mut characters = name.chars();
    if characters.next().is_some_and(|c| c.is_ascii_alphabetic()) && characters.next() == Some(':')
    {
        return refuse("a path with a drive letter");
    }
    if name.contains('\0') {
        return refuse("a name with a zero byte");
    }
    let mut path = PathBuf::new();
    for part in name.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => return refuse("a path that leaves its directory"),
            part => path.push(part),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for name in [
            "../x",
            "a/../../x",
            "/etc/passwd",
            "C:\\x",
            "a\\..\\b",
            "a\0b",
        ] {
            assert!(
                matches!(safe(name), Err(ArchiveError::Unsafe { .. })),
                "{name:?}"
            );
        }
        assert_eq!(safe("./a//b/").unwrap(), Path::new("a/b"));
    }

    proptest! {
        #[test]
        fn an_accepted_name_stays_below(name in "[a./\\\\:é]{0,24}") {
            if let Ok(path) = safe(&name) {
                prop_assert!(path.components().all(|part| matches!(part, std::path::Component::Normal(_))));
            }
        }
    }
}

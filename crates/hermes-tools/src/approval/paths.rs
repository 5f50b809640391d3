//! Paths whose loss or change a person wants to hear about first.

use super::program::wildcard_matches;

/// Directories directly under `/` that a system cannot live without.
const SYSTEM: &[&str] = &[
    "home", "root", "etc", "usr", "var", "bin", "sbin", "boot", "lib", "lib64",
];

/// The path without detours, below the place where it is not absolute itself.
pub(crate) fn placed(place: Option<&str>, path: &str) -> String {
    match place {
        Some(place) if !path.starts_with(['/', '~', '$']) => {
            let whole = tidy(&format!("{place}/{path}"));
            // There temporary directories are, too: a name alone says nothing.
            match whole.starts_with("/private/") {
                true => path.to_owned(),
                false => whole,
            }
        }
        _ => tidy(path),
    }
}

/// `/usr/..//etc` is `/etc`, as far as the text tells.
fn tidy(path: &str) -> String {
    let is_plain = !path.contains("..") && !path.contains("//") && !path.contains("/./");
    if is_plain || path.contains("://") {
        return path.to_owned();
    }
    let first = path.split('/').next().unwrap_or_default();
    // Wherever a home is, it is below `/`, most often two steps.
    let at_home = path.contains("..") && is_home(first);
    let mut pieces: Vec<&str> = Vec::new();
    if at_home {
        pieces.extend(["", "home", "user"]);
    }
    for (at, piece) in path.split('/').enumerate() {
        match piece {
            "" | "." if at > 0 => {}
            _ if at == 0 && at_home => {}
            ".." if pieces
                .last()
                .is_some_and(|last| !matches!(*last, "" | ".." | ".")) =>
            {
                pieces.pop();
            }
            ".." if pieces.first() == Some(&"") => {}
            piece => pieces.push(piece),
        }
    }
    let mut whole = pieces.join("/");
    if pieces == [""] || (path.ends_with('/') && !pieces.is_empty()) {
        whole.push('/');
    }
    whole
}

/// `/`, `/*`, and ways to write them: `//`, `/.`, `/../`.
pub(crate) fn is_filesystem_root(path: &str) -> bool {
    let path = tidy(path);
    path.starts_with('/')
        && path
            .split('/')
            .all(|piece| matches!(piece, "" | "." | "*" | ".*"))
}

/// A directory of [`SYSTEM`], or all in it; also by a pattern: `/e*`, `/???`.
pub(crate) fn is_system_directory(path: &str) -> bool {
    let path = tidy(path);
    let Some(rest) = path.strip_prefix('/') else {
        return false;
    };
    let mut pieces = rest.split('/').filter(|piece| !matches!(*piece, "" | "."));
    let named = pieces
        .next()
        .is_some_and(|first| SYSTEM.iter().any(|name| wildcard_matches(first, name)));
    named
        && matches!(
            (pieces.next(), pieces.next()),
            (None | Some("*" | ".*"), None)
        )
}

/// The home of the user or of another one, or all in it.
pub(crate) fn is_home(path: &str) -> bool {
    let mut pieces = path.split('/');
    let first = pieces.next().unwrap_or_default();
    let user = first.strip_prefix('~').is_some_and(|name| {
        let mut signs = name.chars();
        signs.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')) && name != "-"
    });
    (user || matches!(first, "$HOME" | "${HOME}"))
        && pieces.all(|piece| matches!(piece, "" | "." | "*" | ".*"))
}

pub(crate) fn is_block_device(path: &str) -> bool {
    let path = tidy(path);
    let Some(name) = path.strip_prefix("/dev/") else {
        return false;
    };
    ["sd", "hd", "vd", "xvd"].iter().any(|kind| {
        name.strip_prefix(kind).is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_lowercase())
                && rest.chars().skip(1).all(|c| c.is_ascii_digit())
        })
    }) || ["nvme", "mmcblk"].iter().any(|kind| {
        name.strip_prefix(kind)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// System configuration by redirect: the trees of the first table row about it.
pub(crate) fn is_etc(path: &str) -> bool {
    let path = tidy(path);
    [
        "/etc/",
        "/private/etc/",
        "/private/var/",
        "/private/tmp/",
        "/private/home/",
    ]
    .iter()
    .any(|tree| path.starts_with(tree))
}

/// Files that decide who may log in, what a shell runs, or what Hermes may do.
pub(crate) fn is_sensitive_file(path: &str) -> bool {
    const RC_FILES: &[&str] = &[
        ".bashrc",
        ".zshrc",
        ".profile",
        ".bash_profile",
        ".zprofile",
        ".bash_login",
        ".zshenv",
        ".netrc",
        ".pgpass",
        ".npmrc",
        ".pypirc",
    ];
    let below_home = path
        .strip_prefix("~/")
        .or_else(|| path.strip_prefix("$HOME/"))
        .or_else(|| path.strip_prefix("${HOME}/"));
    is_etc(path)
        || is_block_device(path)
        || path.contains("/.ssh/")
        || is_hermes_file(path)
        || below_home.is_some_and(|rest| rest.starts_with(".ssh/") || RC_FILES.contains(&rest))
        || absolute_home(path).is_some_and(|rest| RC_FILES.contains(&rest))
}

/// `config.yaml` and `.env` of a Hermes home.
pub(crate) fn is_hermes_file(path: &str) -> bool {
    let in_home = path.contains(".hermes/") || path.contains("HERMES_HOME");
    in_home && (path.ends_with("/config.yaml") || path.ends_with("/.env"))
}

/// `.env`, `.env.local`, …, and `config.yaml` anywhere; examples are fine.
pub(crate) fn is_project_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let environment = name == ".env"
        || name
            .strip_prefix(".env.")
            .is_some_and(|kind| !["example", "sample", "template", "dist"].contains(&kind));
    environment || name == "config.yaml"
}

fn absolute_home(path: &str) -> Option<&str> {
    if let Some(rest) = path.strip_prefix("/root/") {
        return Some(rest);
    }
    path.strip_prefix("/home/")?
        .split_once('/')
        .map(|(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_system_directories_are_recognised_in_other_spellings() {
        for root in ["/", "//", "/*", "/.", "/../", "/./*"] {
            assert!(is_filesystem_root(root), "{root}");
        }
        for system in ["/etc", "/usr/", "/home/*", "//var", "/lib64"] {
            assert!(is_system_directory(system), "{system}");
        }
        assert!(is_filesystem_root("/usr/..") && is_filesystem_root("/etc/../."));
        assert!(is_system_directory("/usr/../etc") && is_system_directory("/tmp/../home/*"));
        for fine in ["/etc/nginx", "/tmp", "/usr/local/x", "usr", "/homes"] {
            assert!(
                !is_filesystem_root(fine) && !is_system_directory(fine),
                "{fine}"
            );
        }
    }

    #[test]
    fn a_place_completes_a_path() {
        for (place, path, whole) in [
            (Some("/etc"), "hosts", "/etc/hosts"),
            (Some("/etc"), "../etc", "/etc"),
            (Some("/"), "*", "/*"),
            (Some("/a/b"), "../../../../etc/", "/etc/"),
            (Some("~"), "*", "~/*"),
            (Some("~/x"), "..", "/home/user"),
            (Some("/srv"), "/etc//x/./y", "/etc/x/y"),
            (Some("/private/tmp"), "x", "x"),
            (None, "../x", "../x"),
            (None, "./a/../b", "./b"),
            (None, "https://x.example/a/../b", "https://x.example/a/../b"),
        ] {
            assert_eq!(placed(place, path), whole, "{place:?} {path}");
        }
        assert!(is_system_directory("/???") && is_system_directory("/[eu]*"));
        assert!(is_home("~root") && is_home("~/.*") && !is_home("~/x") && !is_home("~-"));
        assert!(!is_system_directory("/tmp*") && !is_system_directory("/e*/x"));
        assert!(is_block_device("/dev//sda") && is_etc("//etc/hosts"));
    }

    #[test]
    fn devices_are_told_from_other_files_in_dev() {
        assert!(is_block_device("/dev/sda") && is_block_device("/dev/nvme0n1p2"));
        assert!(!is_block_device("/dev/null") && !is_block_device("/dev/shm/sda"));
    }
}

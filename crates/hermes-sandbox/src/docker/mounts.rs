//! What of the home a container may read: skills, caches, credential files.
//! Decided when a container is made; one that exists keeps its mounts.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::settings::{HomeShare, ReadOnlyMount};

const INSIDE: &str = "/root/.hermes";

/// Directory inside, and what the host may call it: an older name first.
pub(crate) const CACHES: &[(&str, &str)] = &[
    ("documents", "document_cache"),
    ("images", "image_cache"),
    ("audio", "audio_cache"),
    ("screenshots", "browser_screenshots"),
];

/// The mounts, and sentences about what could not be shared. Skills that contain
/// links are copied below `copies` first, because a bind mount would follow the
/// links out of their directory.
pub(crate) fn read_only_mounts(
    share: &HomeShare,
    copies: &Path,
) -> (Vec<ReadOnlyMount>, Vec<String>) {
    let mut mounts = Vec::new();
    let mut notes = Vec::new();
    for file in &share.credential_files {
        match credential(&share.home, file) {
            Ok(mount) => mounts.push(mount),
            Err(reason) => notes.push(format!("credential file `{file}`: {reason}")),
        }
    }
    let skills = std::iter::once((share.home.join("skills"), format!("{INSIDE}/skills")));
    let external = share
        .external_skills
        .iter()
        .enumerate()
        .map(|(n, path)| (path.clone(), format!("{INSIDE}/external_skills/{n}")));
    for (number, (source, target)) in skills.chain(external).enumerate() {
        if !source.is_dir() {
            continue;
        }
        match without_links(&source, &copies.join(format!("skills-{number}"))) {
            Ok(source) => mounts.push(ReadOnlyMount { source, target }),
            Err(error) => notes.push(format!("{}: {error}", source.display())),
        }
    }
    for (name, old_name) in CACHES {
        let old = share.home.join(old_name);
        let new = share.home.join("cache").join(name);
        if let Some(source) = [old, new].into_iter().find(|path| path.is_dir()) {
            let target = format!("{INSIDE}/cache/{name}");
            mounts.push(ReadOnlyMount { source, target });
        }
    }
    (mounts, notes)
}

/// Inside the home only, also after every link is resolved.
pub(crate) fn credential(home: &Path, file: &str) -> Result<ReadOnlyMount, String> {
    let relative = Path::new(file);
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if file.is_empty() || !plain {
        return Err("must be a path inside the home".to_owned());
    }
    let resolve = |path: &Path| path.canonicalize().map_err(|error| error.to_string());
    let source = resolve(&home.join(relative))?;
    if !source.starts_with(resolve(home)?) {
        return Err("leads out of the home".to_owned());
    }
    if !source.is_file() {
        return Err("is not a file".to_owned());
    }
    Ok(ReadOnlyMount {
        source,
        target: format!("{INSIDE}/{file}"),
    })
}

/// The directory itself, or a fresh copy of it that leaves links out.
fn without_links(source: &Path, copy: &Path) -> io::Result<PathBuf> {
    if !has_link(source)? {
        return Ok(source.to_owned());
    }
    match fs::remove_dir_all(copy) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    copy_tree(source, copy)?;
    Ok(copy.to_owned())
}

fn has_link(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_symlink() || (kind.is_dir() && has_link(&entry.path())?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use pretty_assertions::assert_eq;

    use super::*;

    fn share(home: &Path, credentials: &[&str]) -> HomeShare {
        HomeShare {
            home: home.to_owned(),
            external_skills: Vec::new(),
            credential_files: credentials.iter().map(|file| (*file).to_owned()).collect(),
        }
    }

    #[test]
    fn caches_and_skills_appear_under_their_new_names() {
        let home = tempfile::tempdir().expect("tempdir");
        for directory in ["skills/a", "image_cache", "cache/images", "cache/audio"] {
            fs::create_dir_all(home.path().join(directory)).expect("mkdir");
        }
        let (mounts, notes) = read_only_mounts(&share(home.path(), &[]), Path::new("/nonexistent"));
        let targets: Vec<(PathBuf, &str)> = mounts
            .iter()
            .map(|m| {
                let source = m.source.strip_prefix(home.path()).expect("inside");
                (source.to_owned(), m.target.as_str())
            })
            .collect();
        assert_eq!(
            targets,
            vec![
                ("skills".into(), "/root/.hermes/skills"),
                ("image_cache".into(), "/root/.hermes/cache/images"),
                ("cache/audio".into(), "/root/.hermes/cache/audio"),
            ]
        );
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn skills_with_links_are_copied_without_them() {
        let home = tempfile::tempdir().expect("tempdir");
        let copies = tempfile::tempdir().expect("tempdir");
        fs::create_dir_all(home.path().join("skills/a")).expect("mkdir");
        fs::write(home.path().join("skills/a/SKILL.md"), "x").expect("write");
        symlink("/etc", home.path().join("skills/a/etc")).expect("link");
        let (mounts, _) = read_only_mounts(&share(home.path(), &[]), copies.path());
        let source = &mounts[0].source;
        assert!(source.starts_with(copies.path()));
        assert!(source.join("a/SKILL.md").is_file());
        assert!(!source.join("a/etc").exists());
    }

    #[test]
    fn credential_files_stay_inside_the_home() {
        let directory = tempfile::tempdir().expect("tempdir");
        let home = directory.path().join("home");
        fs::create_dir_all(home.join("d")).expect("mkdir");
        fs::write(home.join("ok.json"), "x").expect("write");
        fs::write(directory.path().join("secret"), "x").expect("write");
        symlink(directory.path().join("secret"), home.join("out")).expect("link");
        let files = ["ok.json", "../secret", "/etc/passwd", "out", "d", "missing"];
        let (mounts, notes) = read_only_mounts(&share(&home, &files), Path::new("/nonexistent"));
        assert_eq!(mounts.len(), 1);
        assert_eq!(mounts[0].target, "/root/.hermes/ok.json");
        assert_eq!(notes.len(), 5);
    }
}

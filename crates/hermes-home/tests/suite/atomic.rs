use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use hermes_home::{FileMode, write_atomic};
use pretty_assertions::assert_eq;

use super::mode;

#[test]
fn a_link_is_written_through_even_when_its_target_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("config.yaml");
    fs::create_dir(directory.path().join("dotfiles")).unwrap();
    symlink("dotfiles/hermes.yaml", &link).unwrap();
    for content in ["first", "second"] {
        write_atomic(&link, content.as_bytes(), FileMode::Keep).unwrap();
        assert!(link.is_symlink());
        let target = directory.path().join("dotfiles/hermes.yaml");
        assert_eq!(fs::read_to_string(target).unwrap(), content);
    }
}

#[test]
fn a_circle_of_links_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    symlink("b", directory.path().join("a")).unwrap();
    symlink("a", directory.path().join("b")).unwrap();
    let error = write_atomic(&directory.path().join("a"), b"x", FileMode::Keep).unwrap_err();
    assert!(error.to_string().contains("symbolic links"), "{error}");
}

#[test]
fn modes_follow_what_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let write = |kind| {
        write_atomic(&path, b"x", kind)
            .map(|()| mode(&path))
            .unwrap()
    };
    assert_eq!(write(FileMode::KeepOrPrivate), 0o600);
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert_eq!(write(FileMode::KeepOrPrivate), 0o640);
    assert_eq!(write(FileMode::Keep), 0o640);
    assert_eq!(write(FileMode::Private), 0o600);
    assert_eq!(write(FileMode::Executable), 0o755);
}

#[test]
fn a_failed_write_leaves_the_old_file_and_no_scraps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::create_dir(&path).unwrap();
    assert!(write_atomic(&path, b"x", FileMode::Keep).is_err());
    assert!(write_atomic(&directory.path().join("no/file"), b"x", FileMode::Keep).is_err());
    let names: Vec<_> = fs::read_dir(directory.path()).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn root_does_not_take_a_file_from_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "x").unwrap();
    // Somebody else's file can only be made by root; anybody else checks that
    // nothing changes.
    let _ = std::os::unix::fs::chown(&path, Some(4711), Some(4712));
    let before = fs::metadata(&path).unwrap();
    write_atomic(&path, b"y", FileMode::Keep).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
}

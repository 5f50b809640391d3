//! Both ways to reach files behave alike.

use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;

use hermes_sandbox::local::{LocalFiles, LocalTarget};
use hermes_sandbox::{
    Contents, Entry, FileKind, Files, LineRange, NewFileMode, SandboxPath, ShellFiles,
};
use pretty_assertions::assert_eq;

use super::support::path as search_path;

fn inside(path: &Path) -> SandboxPath {
    SandboxPath::absolute(path.to_str().unwrap()).unwrap()
}

async fn for_both(check: impl AsyncFn(Arc<dyn Files>, &Path)) {
    let shell: Arc<dyn Files> = {
        let target = LocalTarget::new("/tmp", vec![("PATH".to_owned(), search_path())]);
        Arc::new(ShellFiles::new(Arc::new(target)))
    };
    for files in [Arc::new(LocalFiles) as Arc<dyn Files>, shell] {
        let directory = tempfile::tempdir().unwrap();
        check(files, &directory.path().canonicalize().unwrap()).await;
    }
}

#[tokio::test]
async fn any_bytes_under_any_name_come_back() {
    for_both(async |files, root| {
        let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
        for name in [
            "plain",
            "with space",
            "quote'and\"double",
            "$(touch pwned)",
            "-rf",
            "line\nbreak",
            "ünïcode 😀",
        ] {
            let path = inside(&root.join("deep/er").join(name));
            files
                .write(&path, bytes.clone(), NewFileMode::Ordinary)
                .await
                .unwrap();
            assert_eq!(
                files.read(&path, 0, u64::MAX).await.unwrap(),
                bytes,
                "{name}"
            );
            assert_eq!(
                files.read(&path, 70_000, 1000).await.unwrap(),
                bytes[70_000..71_000],
                "{name}"
            );
        }
        assert!(!root.join("pwned").exists());
        let empty = inside(&root.join("empty"));
        files
            .write(&empty, vec![], NewFileMode::Private)
            .await
            .unwrap();
        assert_eq!(
            files
                .stat(&empty)
                .await
                .unwrap()
                .map(|stat| (stat.size, stat.mode)),
            Some((0, 0o600))
        );
    })
    .await;
}

#[tokio::test]
async fn facts_agree_with_the_file_system() {
    for_both(async |files, root| {
        let file = root.join("file");
        std::fs::write(&file, "12345").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", root.join("link")).unwrap();
        std::fs::create_dir(root.join("dir")).unwrap();
        let meta = std::fs::metadata(&file).unwrap();
        let stat = files
            .stat(&inside(&root.join("link")))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (stat.kind, stat.size, stat.mode, stat.id),
            (FileKind::File, 5, 0o640, (meta.dev(), meta.ino()))
        );
        assert_eq!(
            stat.modified_nanos,
            i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec())
        );
        assert_eq!(
            files.stat(&inside(&root.join("nothing"))).await.unwrap(),
            None
        );
        std::fs::write(root.join(".hidden\nname"), "").unwrap();
        let entry = |name: &str, kind| Entry {
            name: name.to_owned(),
            kind,
        };
        assert_eq!(
            files.list(&inside(root)).await.unwrap(),
            vec![
                entry(".hidden\nname", FileKind::File),
                entry("dir", FileKind::Directory),
                entry("file", FileKind::File),
                entry("link", FileKind::Link)
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn one_look_brings_what_a_page_of_a_regular_file_needs_and_of_nothing_else() {
    for_both(async |files, root| {
        let bytes: Vec<u8> = (0..=255).cycle().take(100_001).collect();
        let file = root.join("line\nbreak");
        std::fs::write(&file, &bytes).unwrap();
        symlink("line\nbreak", root.join("link")).unwrap();
        std::fs::write(root.join("empty"), "").unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let page = LineRange { first: 1, count: 1 };
        let look = async |name: &str| {
            let glance = files.look_into(&inside(&root.join(name)), page).await;
            glance.unwrap()
        };

        let whole = look("link").await;
        assert_eq!(whole.real, inside(&file));
        assert_eq!(whole.stat.map(|stat| stat.size), Some(100_001));
        assert_eq!(whole.contents, Some(Contents::Whole(bytes)));

        assert_eq!(look("empty").await.contents, Some(Contents::Whole(vec![])));
        assert_eq!(look("pipe").await.contents, None);
        assert_eq!(look("").await.contents, None);
        let missing = look("nothing").await;
        assert_eq!((missing.stat, missing.contents), (None, None));
    })
    .await;
}

#[tokio::test]
async fn a_page_of_a_large_file_is_cut_where_the_file_is() {
    let target = LocalTarget::new("/tmp", vec![("PATH".to_owned(), search_path())]);
    let files = ShellFiles::new(Arc::new(target));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("large");
    let text: String = (1..=50_000).map(|n| format!("line {n}\r\n")).collect();
    let look = async |text: &str, first, count| {
        std::fs::write(&path, text).unwrap();
        let path = inside(&path);
        let glance = files.look_into(&path, LineRange { first, count }).await;
        match glance.unwrap().contents.unwrap() {
            Contents::Page {
                lines,
                total_lines,
                has_nul,
                beginning,
            } => {
                assert_eq!(beginning, text.as_bytes()[..1024]);
                (String::from_utf8(lines).unwrap(), total_lines, has_nul)
            }
            Contents::Whole(_) => panic!("a large file travelled whole"),
        }
    };
    let page = look(&text, 40_000, 2).await;
    let expected = "line 40000\r\nline 40001\r\n".to_owned();
    assert_eq!(page, (expected, 50_000, false));
    let unended = format!("{text}the end");
    assert_eq!(
        look(&unended, 50_001, 500).await,
        ("the end".to_owned(), 50_001, false)
    );
    assert_eq!(look(&text, 60_000, 1).await, (String::new(), 50_000, false));
    let with_nul = format!("{text}\0");
    assert!(look(&with_nul, 1, 1).await.2);
}

#[tokio::test]
async fn writes_follow_links_keep_modes_and_leave_no_traces() {
    for_both(async |files, root| {
        let real = root.join("real");
        std::fs::write(&real, "old").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o751)).unwrap();
        symlink("real", root.join("one")).unwrap();
        symlink(root.join("one"), root.join("two")).unwrap();
        symlink("sub/new", root.join("dangling")).unwrap();
        files
            .write(
                &inside(&root.join("two")),
                b"new".to_vec(),
                NewFileMode::Ordinary,
            )
            .await
            .unwrap();
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&real).unwrap().mode() & 0o7777, 0o751);
        files
            .write(
                &inside(&root.join("dangling")),
                b"x".to_vec(),
                NewFileMode::Ordinary,
            )
            .await
            .unwrap();
        assert_eq!(std::fs::read(root.join("sub/new")).unwrap(), b"x");
        std::fs::write(root.join("umask"), "").unwrap();
        assert_eq!(
            std::fs::metadata(root.join("sub/new")).unwrap().mode() & 0o7777,
            std::fs::metadata(root.join("umask")).unwrap().mode() & 0o7777
        );
        assert!(std::fs::read_dir(root).unwrap().all(|entry| {
            !entry
                .unwrap()
                .file_name()
                .to_string_lossy()
                .contains("hermes-tmp")
        }));
    })
    .await;
}

#[tokio::test]
async fn errors_say_what_is_wrong() {
    for_both(async |files, root| {
        std::fs::create_dir(root.join("dir")).unwrap();
        std::fs::write(root.join("file"), "").unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let kind = |error: hermes_sandbox::FileError| error.kind();
        assert_eq!(
            files
                .read(&inside(&root.join("no")), 0, 9)
                .await
                .map_err(kind),
            Err(Some(ErrorKind::NotFound))
        );
        assert_eq!(
            files
                .read(&inside(&root.join("dir")), 0, 9)
                .await
                .map_err(kind),
            Err(Some(ErrorKind::IsADirectory))
        );
        assert_eq!(
            files
                .write(&inside(&root.join("dir")), vec![], NewFileMode::Ordinary)
                .await
                .map_err(kind),
            Err(Some(ErrorKind::IsADirectory))
        );
        assert_eq!(
            files.list(&inside(&root.join("no"))).await.map_err(kind),
            Err(Some(ErrorKind::NotFound))
        );
        assert_eq!(
            files.list(&inside(&root.join("file"))).await.map_err(kind),
            Err(Some(ErrorKind::NotADirectory))
        );
        assert_eq!(
            files
                .write(&inside(&root.join("circle")), vec![], NewFileMode::Ordinary)
                .await
                .map_err(kind),
            Err(Some(ErrorKind::InvalidInput))
        );
        assert_eq!(
            files.remove(&inside(&root.join("no"))).await.map_err(kind),
            Err(Some(ErrorKind::NotFound))
        );
        assert!(files.remove(&inside(&root.join("dir"))).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn files_are_moved_removed_and_resolved() {
    for_both(async |files, root| {
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("a/b", root.join("short")).unwrap();
        assert_eq!(
            files
                .resolve(&inside(&root.join("short/../b/new/x")))
                .await
                .unwrap(),
            inside(&root.join("b/new/x"))
        );
        assert_eq!(
            files
                .resolve(&inside(&root.join("short/new/x")))
                .await
                .unwrap(),
            inside(&root.join("a/b/new/x"))
        );
        assert_eq!(
            files.resolve(&SandboxPath::root()).await.unwrap(),
            SandboxPath::root()
        );
        files
            .create_directories(&inside(&root.join("c/d")))
            .await
            .unwrap();
        files
            .write(
                &inside(&root.join("c/f")),
                b"1".to_vec(),
                NewFileMode::Ordinary,
            )
            .await
            .unwrap();
        files
            .rename(&inside(&root.join("c/f")), &inside(&root.join("c/d/g")))
            .await
            .unwrap();
        assert_eq!(std::fs::read(root.join("c/d/g")).unwrap(), b"1");
        files.remove(&inside(&root.join("short"))).await.unwrap();
        assert!(root.join("a/b").exists() && !root.join("short").exists());
    })
    .await;
}

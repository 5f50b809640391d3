//! Files of this machine.

use std::fs::{self, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Component, Path, PathBuf};

use futures_util::future::BoxFuture;

use crate::files::{
    BEGINNING, Contents, Entry, FileError, FileKind, Files, Glance, LineRange, MAX_PAGED, MAX_READ,
    NewFileMode, Stat,
};
use crate::path::SandboxPath;

/// The kernel's own limit for chains of links.
const MAX_LINKS: usize = 40;

#[derive(Clone, Copy, Debug, Default)]
pub struct LocalFiles;

/// File calls block; they run where blocking is allowed.
fn blocking<'a, T: Send + 'static>(
    path: &SandboxPath,
    work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
) -> BoxFuture<'a, Result<T, FileError>> {
    let path = path.clone();
    Box::pin(async move {
        let host = PathBuf::from(path.as_str());
        match tokio::task::spawn_blocking(move || work(&host)).await {
            Ok(outcome) => outcome.map_err(|source| FileError::Io { path, source }),
            Err(error) => Err(FileError::Unavailable(error.to_string())),
        }
    })
}

impl Files for LocalFiles {
    fn stat<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<Option<Stat>, FileError>> {
        blocking(path, |path| match fs::metadata(path) {
            Ok(meta) => Ok(Some(Stat {
                kind: kind(meta.file_type()),
                size: meta.size(),
                mode: meta.mode() & 0o7777,
                modified_nanos: i128::from(meta.mtime()) * 1_000_000_000
                    + i128::from(meta.mtime_nsec()),
                id: (meta.dev(), meta.ino()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn read<'a>(
        &'a self,
        path: &'a SandboxPath,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>> {
        blocking(path, move |path| {
            let mut file = open(path)?;
            if offset > 0 {
                file.seek(SeekFrom::Start(offset))?;
            }
            let mut bytes = Vec::new();
            file.take(limit.min(MAX_READ)).read_to_end(&mut bytes)?;
            Ok(bytes)
        })
    }

    fn write<'a>(
        &'a self,
        path: &'a SandboxPath,
        contents: Vec<u8>,
        mode: NewFileMode,
    ) -> BoxFuture<'a, Result<(), FileError>> {
        blocking(path, move |path| replace(&resolve(path)?, &contents, mode))
    }

    fn list<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<Vec<Entry>, FileError>> {
        blocking(path, |path| {
            let mut entries = fs::read_dir(path)?
                .map(|entry| {
                    let entry = entry?;
                    Ok(Entry {
                        name: entry.file_name().to_string_lossy().into_owned(),
                        kind: kind(entry.file_type()?),
                    })
                })
                .collect::<io::Result<Vec<Entry>>>()?;
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(entries)
        })
    }

    fn resolve<'a>(
        &'a self,
        path: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<SandboxPath, FileError>> {
        blocking(path, |path| {
            resolve(path)?
                .to_str()
                .and_then(SandboxPath::absolute)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the name is not UTF-8"))
        })
    }

    fn look_into<'a>(
        &'a self,
        path: &'a SandboxPath,
        page: LineRange,
    ) -> BoxFuture<'a, Result<Glance, FileError>> {
        Box::pin(async move {
            let (real, stat) = self.look(path).await?;
            let size = stat.as_ref().filter(|stat| stat.kind == FileKind::File);
            let contents = match size.map(|stat| stat.size) {
                Some(..=MAX_READ) => {
                    let whole = self.read(path, 0, MAX_READ).await;
                    whole.ok().map(Contents::Whole)
                }
                Some(..=MAX_PAGED) => {
                    let paged = blocking(path, move |path| page_of(open(path)?, page));
                    paged.await.ok()
                }
                _ => None,
            };
            Ok(Glance {
                real,
                stat,
                contents,
            })
        })
    }

    fn create_directories<'a>(
        &'a self,
        path: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<(), FileError>> {
        blocking(path, |path| fs::create_dir_all(path))
    }

    fn remove<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<(), FileError>> {
        blocking(path, |path| fs::remove_file(path))
    }

    fn rename<'a>(
        &'a self,
        from: &'a SandboxPath,
        to: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<(), FileError>> {
        let target = PathBuf::from(to.as_str());
        blocking(from, move |from| match fs::rename(from, &target) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                move_between_disks(from, &target)
            }
            done => done,
        })
    }
}

fn open(path: &Path) -> io::Result<fs::File> {
    // A pipe that took the file's place must not keep us waiting.
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path)?;
    match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    }
}

/// One walk through a file that is too large to be kept.
fn page_of(mut file: impl Read, page: LineRange) -> io::Result<Contents> {
    let wanted = page.first..page.first.saturating_add(page.count);
    let (mut lines, mut beginning) = (Vec::new(), Vec::new());
    let (mut ended, mut has_nul, mut last) = (0, false, b'\n');
    let mut buffer = vec![0; 1 << 20];
    loop {
        let size = file.read(&mut buffer)?;
        let Some(end) = buffer[..size].last() else {
            break;
        };
        last = *end;
        let chunk = &buffer[..size];
        let missing = BEGINNING.saturating_sub(beginning.len());
        beginning.extend_from_slice(&chunk[..size.min(missing)]);
        has_nul |= chunk.contains(&0);
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let room = (MAX_READ as usize).saturating_sub(lines.len());
            if wanted.contains(&(ended + 1)) {
                lines.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            ended += usize::from(piece.ends_with(b"\n"));
        }
    }
    Ok(Contents::Page {
        lines,
        total_lines: ended + usize::from(last != b'\n'),
        has_nul,
        beginning,
    })
}

/// As `mv` does it, for a file or a link.
fn move_between_disks(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(from)?;
    if meta.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
    } else if meta.is_file() {
        fs::copy(from, to)?;
    } else {
        return Err(io::ErrorKind::CrossesDevices.into());
    }
    fs::remove_file(from)
}

fn kind(kind: fs::FileType) -> FileKind {
    if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}

/// Follows every link, also one whose target does not exist yet.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut links = 0;
    let mut resolved = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = components(path);
    while let Some(part) = rest.pop() {
        if part.as_os_str() == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&part);
        match fs::read_link(&next) {
            Ok(link) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        "too many levels of symbolic links",
                    ));
                }
                if link.is_absolute() {
                    resolved = PathBuf::from("/");
                }
                rest.extend(components(&link));
            }
            Err(_) => resolved = next,
        }
    }
    Ok(resolved)
}

/// In reverse, so that the first is popped first.
fn components(path: &Path) -> Vec<PathBuf> {
    path.components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| PathBuf::from(part.as_os_str()))
        .collect()
}

/// Not synced to the disk: what is promised is that a reader or a crash of ours
/// never sees half a file, as with any editor.
fn replace(path: &Path, contents: &[u8], mode: NewFileMode) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory)?;
    let previous = fs::metadata(path).ok();
    match &previous {
        Some(meta) if meta.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        // Renaming over a device or pipe would destroy it: write into it instead.
        Some(meta) if !meta.is_file() => {
            return fs::OpenOptions::new()
                .write(true)
                .open(path)?
                .write_all(contents);
        }
        _ => {}
    }
    let fresh = match mode {
        NewFileMode::Ordinary => 0o666,
        NewFileMode::Private => 0o600,
    };
    // The umask applies to these bits as it does for any new file.
    let mut temporary = tempfile::Builder::new()
        .prefix(".hermes-tmp.")
        .permissions(Permissions::from_mode(fresh))
        .tempfile_in(directory)?;
    temporary.write_all(contents)?;
    if let Some(previous) = previous {
        let file = temporary.as_file();
        let ours = file.metadata()?;
        if (ours.uid(), ours.gid()) != (previous.uid(), previous.gid()) {
            // Only root may give files away; anybody else keeps what they write.
            let _ = fchown(file, Some(previous.uid()), Some(previous.gid()));
        }
        file.set_permissions(Permissions::from_mode(previous.mode() & 0o7777))?;
    }
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn inside(path: &Path) -> SandboxPath {
        SandboxPath::absolute(path.to_str().unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_write_goes_through_links_and_keeps_the_mode() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().join("real.sh");
        let link = directory.path().join("link");
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink("real.sh", &link).unwrap();
        LocalFiles
            .write(&inside(&link), b"new".to_vec(), NewFileMode::Ordinary)
            .await
            .unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o7777, 0o750);
    }

    #[tokio::test]
    async fn new_files_obey_the_umask_and_private_ones_are_private() {
        let directory = tempfile::tempdir().unwrap();
        let ordinary = inside(&directory.path().join("a/b/ordinary"));
        let private = inside(&directory.path().join("private"));
        LocalFiles
            .write(&ordinary, b"x".to_vec(), NewFileMode::Ordinary)
            .await
            .unwrap();
        LocalFiles
            .write(&private, b"x".to_vec(), NewFileMode::Private)
            .await
            .unwrap();
        let plain = directory.path().join("plain");
        fs::write(&plain, "x").unwrap();
        let mode = |path: &SandboxPath| {
            let path = path.clone();
            async move { LocalFiles.stat(&path).await.unwrap().unwrap().mode }
        };
        assert_eq!(mode(&ordinary).await, mode(&inside(&plain)).await);
        assert_eq!(mode(&private).await, 0o600);
    }

    #[tokio::test]
    async fn a_dangling_link_is_written_through_and_loops_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("sub/target", &link).unwrap();
        LocalFiles
            .write(&inside(&link), b"x".to_vec(), NewFileMode::Ordinary)
            .await
            .unwrap();
        assert_eq!(fs::read(directory.path().join("sub/target")).unwrap(), b"x");
        let circle = directory.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert!(
            LocalFiles
                .write(&inside(&circle), vec![], NewFileMode::Ordinary)
                .await
                .is_err()
        );
    }

    #[test]
    fn a_page_is_found_in_one_walk() {
        let text: String = (1..=300_000).map(|n| format!("line {n}\n")).collect();
        let page = |first, count| page_of(text.as_bytes(), LineRange { first, count }).unwrap();
        let Contents::Page {
            lines,
            total_lines,
            has_nul,
            beginning,
        } = page(150_000, 2)
        else {
            panic!("a page");
        };
        assert_eq!(lines, b"line 150000\nline 150001\n");
        assert_eq!((total_lines, has_nul), (300_000, false));
        assert_eq!(beginning, &text.as_bytes()[..BEGINNING]);
        let end = page_of(&b"a\nb"[..], LineRange { first: 2, count: 9 }).unwrap();
        assert!(
            matches!(end, Contents::Page { ref lines, total_lines: 2, .. } if lines == b"b"),
            "{end:?}"
        );
    }

    #[tokio::test]
    async fn reads_are_bounded_and_directories_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "0123456789").unwrap();
        assert_eq!(
            LocalFiles.read(&inside(&path), 3, 4).await.unwrap(),
            b"3456"
        );
        let error = LocalFiles
            .read(&inside(directory.path()), 0, 4)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), Some(io::ErrorKind::IsADirectory));
        assert_eq!(
            LocalFiles
                .stat(&inside(&directory.path().join("no")))
                .await
                .unwrap(),
            None
        );
        let names = LocalFiles.list(&inside(directory.path())).await.unwrap();
        assert_eq!(
            names,
            vec![Entry {
                name: "file".to_owned(),
                kind: FileKind::File
            }]
        );
    }
}

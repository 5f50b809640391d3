//! Files of the sandbox as bytes, without a shell between: facts and contents come
//! from where the file is, never from a path of the same name elsewhere.

mod shell;

use std::io;

use futures_util::future::BoxFuture;

use crate::path::SandboxPath;

pub use shell::ShellFiles;

/// More than this is not read into memory in one piece.
pub const MAX_READ: u64 = 64 << 20;

/// Of a file up to this size a page of lines can be had.
pub const MAX_PAGED: u64 = 512 << 20;

/// Enough to tell text from other things.
pub(crate) const BEGINNING: usize = 1024;

pub trait Files: Send + Sync {
    /// Follows links. `None` when there is nothing.
    fn stat<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<Option<Stat>, FileError>>;

    /// At most `limit` bytes (and never more than [`MAX_READ`]) from `offset` on.
    fn read<'a>(
        &'a self,
        path: &'a SandboxPath,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>>;

    /// Replaces the file as a whole or not at all: written beside, then renamed.
    /// Follows links to the file they mean, keeps mode and, where permitted,
    /// owner of a file that exists. Missing parent directories are made.
    fn write<'a>(
        &'a self,
        path: &'a SandboxPath,
        contents: Vec<u8>,
        mode: NewFileMode,
    ) -> BoxFuture<'a, Result<(), FileError>>;

    /// Names in a directory, sorted, with what they are.
    fn list<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<Vec<Entry>, FileError>>;

    /// The path with every link resolved; parts that do not exist stay as they are.
    fn resolve<'a>(
        &'a self,
        path: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<SandboxPath, FileError>>;

    /// Both [`Self::resolve`] and [`Self::stat`]: what is asked of every path before
    /// it is touched, and so in one go where asking is dear.
    fn look<'a>(
        &'a self,
        path: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<(SandboxPath, Option<Stat>), FileError>> {
        Box::pin(async move { Ok((self.resolve(path).await?, self.stat(path).await?)) })
    }

    /// [`Self::look`] and, of a regular file of at most [`MAX_PAGED`] bytes that can be
    /// read, what a page of these lines needs: in one go for the same reason.
    fn look_into<'a>(
        &'a self,
        path: &'a SandboxPath,
        page: LineRange,
    ) -> BoxFuture<'a, Result<Glance, FileError>>;

    fn create_directories<'a>(
        &'a self,
        path: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<(), FileError>>;

    /// Removes a file or link, not a directory.
    fn remove<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<(), FileError>>;

    fn rename<'a>(
        &'a self,
        from: &'a SandboxPath,
        to: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<(), FileError>>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Link,
    /// Devices, pipes, sockets.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: FileKind,
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    pub modified_nanos: i128,
    /// Device and inode: the same file under two names.
    pub id: (u64, u64),
}

/// What one look at a path brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    pub real: SandboxPath,
    pub stat: Option<Stat>,
    /// `None`: not read, for whatever reason; reading it tells.
    pub contents: Option<Contents>,
}

/// Lines of a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    pub first: usize,
    pub count: usize,
}

/// As much of a file as a page of it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    Whole(Vec<u8>),
    /// Of a large file only what is asked for has to travel.
    Page {
        lines: Vec<u8>,
        /// In the whole file.
        total_lines: usize,
        has_nul: bool,
        /// Its first bytes: they tell what kind of file it is.
        beginning: Vec<u8>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    /// Of the entry itself: links are not followed.
    pub kind: FileKind,
}

/// The mode of a file that did not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewFileMode {
    /// What the umask gives.
    Ordinary,
    /// For its owner only.
    Private,
}

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{path}: {source}")]
    Io {
        path: SandboxPath,
        source: io::Error,
    },
    /// The sandbox could not be asked.
    #[error("{0}")]
    Unavailable(String),
}

impl FileError {
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match self {
            FileError::Io { source, .. } => Some(source.kind()),
            FileError::Unavailable(_) => None,
        }
    }

    pub fn is_not_found(&self) -> bool {
        self.kind() == Some(io::ErrorKind::NotFound)
    }
}

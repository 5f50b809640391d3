//! The repository that all projects share: where it is, how it is made, how much
//! room it takes.
//!
//! Snapshots hold the store's lock together with others; what removes objects holds
//! it alone. The kernel lets go of it however a process ends.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_home::{Clock, FileMode, Lock, LockKind, write_atomic};
use serde_json::{Value, json};

use super::error::CheckpointError;
use super::git::Git;
use super::project::project_hash;

/// Directories that are made anew from the rest, or hold other people's history.
pub(super) const MADE_ANEW: &[&str] = &[
    "node_modules",
    "target",
    "dist",
    "build",
    "out",
    ".next",
    ".nuxt",
    "coverage",
    "__pycache__",
    ".cache",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".venv",
    "venv",
    "env",
    ".git",
    ".hg",
    ".svn",
    ".worktrees",
];

/// Files that are large, made anew, or secret.
const LEFT_OUT: &[&str] = &[
    ".env",
    ".env.*",
    "*.pyc",
    "*.pyo",
    "*.o",
    "*.a",
    "*.so",
    "*.obj",
    "*.dll",
    "*.dylib",
    "*.exe",
    "*.class",
    "*.jar",
    "*.mp4",
    "*.mov",
    "*.mkv",
    "*.webm",
    "*.zip",
    "*.tar",
    "*.tar.gz",
    "*.tgz",
    "*.7z",
    "*.rar",
    "*.iso",
    "*.log",
    ".coverage",
    ".DS_Store",
    "Thumbs.db",
];

/// Files come back byte for byte, whatever a project's attributes ask git to do.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding\n";

const PATIENCE: Duration = Duration::from_secs(30);

/// What `HERMES_CHECKPOINT_TIMEOUT` may be, in seconds.
const PATIENCE_RANGE: std::ops::RangeInclusive<u64> = 10..=60;

#[derive(Clone, Debug)]
pub struct CheckpointStore {
    /// `<home>/checkpoints`
    pub(super) base: PathBuf,
    pub(super) git: Git,
    pub(super) clock: Clock,
}

/// One project of the store.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectRow {
    pub hash: String,
    /// `None` when its file cannot be read.
    pub directory: Option<PathBuf>,
    pub commits: usize,
    pub last_touch: Option<f64>,
}

impl ProjectRow {
    /// Its directory is still there.
    pub fn is_live(&self) -> bool {
        self.directory.as_ref().is_some_and(|path| path.is_dir())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub total: u64,
    pub store: u64,
    /// Repositories of older versions that were moved aside.
    pub legacy: u64,
    pub legacy_directories: usize,
}

impl CheckpointStore {
    /// `patience` is the text of `HERMES_CHECKPOINT_TIMEOUT`, `search_path` that of
    /// `PATH`. Nothing is made yet.
    pub fn new(
        base: PathBuf,
        search_path: impl Into<OsString>,
        patience: Option<&str>,
        clock: Clock,
    ) -> Self {
        let seconds = patience
            .and_then(|text| text.trim().parse::<u64>().ok())
            .map(|seconds| seconds.clamp(*PATIENCE_RANGE.start(), *PATIENCE_RANGE.end()));
        Self {
            git: Git {
                directory: base.join("store"),
                search_path: search_path.into(),
                patience: seconds.map_or(PATIENCE, Duration::from_secs),
            },
            base,
            clock,
        }
    }

    pub fn base(&self) -> &Path {
        &self.base
    }

    pub(super) fn reference(hash: &str) -> String {
        format!("refs/hermes/{hash}")
    }

    pub(super) fn index(&self, hash: &str) -> PathBuf {
        self.git.directory.join("indexes").join(hash)
    }

    fn project_file(&self, hash: &str) -> PathBuf {
        self.git.directory.join(format!("projects/{hash}.json"))
    }

    pub(super) fn exists(&self) -> bool {
        self.git.directory.join("HEAD").is_file()
    }

    pub(super) async fn lock(&self, kind: LockKind) -> Result<Lock, CheckpointError> {
        let path = self.base.join(".lock");
        let base = self.base.clone();
        let taken = tokio::task::spawn_blocking(move || {
            make_private(&base)?;
            Lock::acquire(&path, kind)
        });
        taken
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
            .map_err(CheckpointError::io(&self.base))
    }

    /// Makes what is missing.
    pub(super) async fn prepare(&self) -> Result<(), CheckpointError> {
        let store = &self.git.directory;
        if !self.exists() {
            self.move_legacy_aside()?;
            self.git.call(["init", "--bare", "--quiet"]).bytes().await?;
            for (key, value) in [
                ("user.name", "Hermes Checkpoint"),
                ("user.email", "hermes@local"),
                ("commit.gpgsign", "false"),
                ("tag.gpgSign", "false"),
                ("gc.auto", "0"),
            ] {
                self.git.call(["config", key, value]).bytes().await?;
            }
        }
        for name in ["indexes", "projects", "info"] {
            let directory = store.join(name);
            fs::create_dir_all(&directory).map_err(CheckpointError::io(&directory))?;
        }
        let mut exclude = String::new();
        for name in MADE_ANEW {
            exclude.push_str(&format!("{name}/\n"));
        }
        for pattern in LEFT_OUT {
            exclude.push_str(&format!("{pattern}\n"));
        }
        keep(&store.join("info/exclude"), &exclude)?;
        keep(&store.join("info/attributes"), ATTRIBUTES)
    }

    /// Repositories that older versions made, one per project, beside the store.
    fn move_legacy_aside(&self) -> Result<(), CheckpointError> {
        let old: Vec<PathBuf> = fs::read_dir(&self.base)
            .map_err(CheckpointError::io(&self.base))?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name != "store" && !name.starts_with("legacy-") && path.join("HEAD").is_file()
            })
            .collect();
        if old.is_empty() {
            return Ok(());
        }
        let stamp = self.clock.now_local().format("%Y%m%d-%H%M%S");
        let aside = self.base.join(format!("legacy-{stamp}"));
        fs::create_dir_all(&aside).map_err(CheckpointError::io(&aside))?;
        for path in old {
            let name = path.file_name().unwrap_or_default().to_owned();
            fs::rename(&path, aside.join(name)).map_err(CheckpointError::io(&path))?;
        }
        Ok(())
    }

    /// Notes that the project was looked after just now.
    pub(super) fn touch(&self, hash: &str, directory: &Path) -> Result<(), CheckpointError> {
        let path = self.project_file(hash);
        let now = self.clock.unix_seconds();
        let mut value = read_json(&path).unwrap_or_else(|| json!({}));
        let created = value["created_at"].as_f64().unwrap_or(now);
        value["workdir"] = json!(directory.to_string_lossy());
        value["created_at"] = json!(created);
        value["last_touch"] = json!(now);
        write_atomic(&path, value.to_string().as_bytes(), FileMode::Keep)
            .map_err(CheckpointError::io(&path))
    }

    /// All projects, the one used last first.
    pub async fn projects(&self) -> Result<Vec<ProjectRow>, CheckpointError> {
        let mut rows = Vec::new();
        for hash in self.hashes().await? {
            let value = read_json(&self.project_file(&hash)).unwrap_or(Value::Null);
            let range = Self::reference(&hash);
            let counted = self.git.call(["rev-list", "--count", &range]).line().await;
            rows.push(ProjectRow {
                directory: value["workdir"].as_str().map(PathBuf::from),
                commits: counted.ok().and_then(|text| text.parse().ok()).unwrap_or(0),
                last_touch: value["last_touch"].as_f64(),
                hash,
            });
        }
        rows.sort_by(|a, b| {
            b.last_touch
                .unwrap_or(0.0)
                .total_cmp(&a.last_touch.unwrap_or(0.0))
        });
        Ok(rows)
    }

    /// Of refs and of project files: either may be without the other.
    async fn hashes(&self) -> Result<Vec<String>, CheckpointError> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        let listed = self
            .git
            .call([
                "for-each-ref",
                "--format=%(refname:lstrip=2)",
                "refs/hermes/",
            ])
            .line()
            .await?;
        let mut hashes: Vec<String> = listed.lines().map(str::to_owned).collect();
        let files = fs::read_dir(self.git.directory.join("projects"));
        for entry in files.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            hashes.extend(name.strip_suffix(".json").map(str::to_owned));
        }
        hashes.sort();
        hashes.dedup();
        hashes.retain(|hash| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()));
        Ok(hashes)
    }

    /// Forgets a project; its objects go with the next collection.
    pub(super) async fn drop_project(&self, hash: &str) -> Result<(), CheckpointError> {
        let reference = Self::reference(hash);
        self.git
            .call(["update-ref", "-d", &reference])
            .bytes()
            .await?;
        for path in [self.index(hash), self.project_file(hash)] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(CheckpointError::io(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub fn sizes(&self) -> Sizes {
        let mut sizes = Sizes {
            total: tree_size(&self.base),
            store: tree_size(&self.git.directory),
            ..Sizes::default()
        };
        for directory in self.legacy_directories() {
            sizes.legacy += tree_size(&directory);
            sizes.legacy_directories += 1;
        }
        sizes
    }

    fn legacy_directories(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.base).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("legacy-") && path.is_dir()
            })
            .collect()
    }

    /// Removes everything, for every project. Returns the room that it took.
    pub async fn clear(&self) -> Result<u64, CheckpointError> {
        if !self.base.is_dir() {
            return Ok(0);
        }
        let _alone = self.lock(LockKind::Exclusive).await?;
        let size = tree_size(&self.base);
        remove_tree(&self.base)?;
        Ok(size)
    }

    /// Removes what older versions left. Returns the room that it took.
    pub async fn clear_legacy(&self) -> Result<u64, CheckpointError> {
        let mut size = 0;
        for directory in self.legacy_directories() {
            size += tree_size(&directory);
            remove_tree(&directory)?;
        }
        Ok(size)
    }

    pub(super) fn hash_of(&self, project: &Path) -> String {
        project_hash(project)
    }
}

fn remove_tree(path: &Path) -> Result<(), CheckpointError> {
    fs::remove_dir_all(path).map_err(CheckpointError::io(path))
}

fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

fn keep(path: &Path, content: &str) -> Result<(), CheckpointError> {
    if fs::read_to_string(path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    write_atomic(path, content.as_bytes(), FileMode::Keep).map_err(CheckpointError::io(path))
}

fn read_json(path: &Path) -> Option<Value> {
    let value: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    value.is_object().then_some(value)
}

/// Of files, links not followed.
pub(super) fn tree_size(path: &Path) -> u64 {
    let mut size = 0;
    let mut waiting = vec![path.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => waiting.push(entry.path()),
                Ok(meta) => size += meta.len(),
                Err(_) => {}
            }
        }
    }
    size
}

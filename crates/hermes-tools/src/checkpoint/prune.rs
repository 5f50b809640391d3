//! Keeping the store small: the newest snapshots of each project, projects that are
//! still there, and a size for all of them together.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use hermes_home::{FileMode, LockKind, write_atomic};

use super::error::CheckpointError;
use super::settings::CheckpointSettings;
use super::store::{CheckpointStore, ProjectRow, tree_size};

const LAST: &str = ".last_prune";

/// Rounds of dropping one snapshot per project before a size is given up.
const ROUNDS: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneRules {
    pub retention: Duration,
    pub delete_orphans: bool,
    pub max_total_bytes: Option<u64>,
}

impl From<&CheckpointSettings> for PruneRules {
    fn from(settings: &CheckpointSettings) -> Self {
        Self {
            retention: settings.retention,
            delete_orphans: settings.delete_orphans,
            max_total_bytes: settings.max_total_bytes,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    pub scanned: usize,
    pub orphans: usize,
    pub stale: usize,
    pub errors: usize,
    pub bytes: u64,
}

impl CheckpointStore {
    /// Forgets projects that are gone or were not used for long, then collects what
    /// nobody refers to and makes the store fit.
    pub async fn prune(&self, rules: &PruneRules) -> Result<Pruned, CheckpointError> {
        let mut done = Pruned::default();
        if !self.exists() {
            return Ok(done);
        }
        let _alone = self.lock(LockKind::Exclusive).await?;
        let before = tree_size(&self.git.directory);
        let now = self.clock.unix_seconds();
        for row in self.projects().await? {
            done.scanned += 1;
            let orphan = rules.delete_orphans && !row.is_live();
            let age = now - row.last_touch.unwrap_or(0.0);
            let stale = age > rules.retention.as_secs_f64();
            if !orphan && !stale {
                continue;
            }
            match self.drop_project(&row.hash).await {
                Ok(()) if orphan => done.orphans += 1,
                Ok(()) => done.stale += 1,
                Err(error) => {
                    tracing::warn!(%error, hash = row.hash, "checkpoints were not removed");
                    done.errors += 1;
                }
            }
        }
        self.remove_scratch();
        self.collect().await?;
        if let Some(most) = rules.max_total_bytes {
            self.fit(most).await?;
        }
        done.bytes = before.saturating_sub(tree_size(&self.git.directory));
        let stamp = now.to_string();
        write_atomic(&self.base.join(LAST), stamp.as_bytes(), FileMode::Keep)
            .map_err(CheckpointError::io(&self.base))?;
        Ok(done)
    }

    /// Whether the last time is long enough ago.
    pub(super) fn prune_is_due(&self, settings: &CheckpointSettings) -> bool {
        let last = fs::read_to_string(self.base.join(LAST));
        let last = last.ok().and_then(|text| text.trim().parse::<f64>().ok());
        let age = self.clock.unix_seconds() - last.unwrap_or(0.0);
        settings.auto_prune && age >= settings.min_interval.as_secs_f64()
    }

    /// Makes the store fit when it has grown too large.
    pub(super) async fn fit_if_needed(
        &self,
        settings: &CheckpointSettings,
    ) -> Result<(), CheckpointError> {
        let Some(most) = settings.max_total_bytes else {
            return Ok(());
        };
        let directory = self.git.directory.clone();
        let size = tokio::task::spawn_blocking(move || tree_size(&directory)).await;
        if size.unwrap_or(0) <= most {
            return Ok(());
        }
        let _alone = self.lock(LockKind::Exclusive).await?;
        self.collect().await?;
        self.fit(most).await
    }

    /// One snapshot less of every project that has several, until it is enough.
    async fn fit(&self, most: u64) -> Result<(), CheckpointError> {
        for _ in 0..ROUNDS {
            if tree_size(&self.git.directory) <= most {
                return Ok(());
            }
            let several: Vec<ProjectRow> = self
                .projects()
                .await?
                .into_iter()
                .filter(|row| row.commits > 1)
                .collect();
            if several.is_empty() {
                return Ok(());
            }
            for row in several {
                self.trim(&row.hash, row.commits - 1).await?;
            }
            self.collect().await?;
        }
        Ok(())
    }

    async fn collect(&self) -> Result<(), CheckpointError> {
        self.git
            .call(["reflog", "expire", "--expire=now", "--all"])
            .tolerant()
            .await?;
        self.git
            .call(["gc", "--quiet", "--prune=now"])
            .patient()
            .bytes()
            .await?;
        Ok(())
    }

    /// Indexes of snapshots that were never finished; nobody works while we do.
    fn remove_scratch(&self) {
        let entries = fs::read_dir(self.git.directory.join("indexes"));
        for entry in entries.into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().contains(".tmp-") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Keeps the newest snapshots of a project: the same commits, on a shorter chain.
    pub(super) async fn trim(&self, hash: &str, most: usize) -> Result<(), CheckpointError> {
        let reference = Self::reference(hash);
        let Some(tip) = self.tip(hash).await? else {
            return Ok(());
        };
        let text = self
            .git
            .call(["log", "-z", "--format=%T%x09%at%x09%B", &tip])
            .bytes()
            .await?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let commits: Vec<&str> = text.split('\0').filter(|one| !one.is_empty()).collect();
        if commits.len() <= most {
            return Ok(());
        }
        // One process writes the whole chain.
        let scratch = format!("{reference}.new");
        let mut stream = String::new();
        for (index, commit) in commits[..most].iter().rev().enumerate() {
            let mut fields = commit.splitn(3, '\t');
            let (Some(tree), Some(at), Some(message)) =
                (fields.next(), fields.next(), fields.next())
            else {
                return Ok(());
            };
            let message = message.trim_end();
            let _ = write!(stream, "commit {scratch}\nmark :{}\n", index + 1);
            for who in ["author", "committer"] {
                let _ = writeln!(stream, "{who} Hermes Checkpoint <hermes@local> {at} +0000");
            }
            let _ = write!(stream, "data {}\n{message}\n", message.len());
            if index > 0 {
                let _ = writeln!(stream, "from :{index}");
            }
            let _ = write!(stream, "M 040000 {tree} \n\n");
        }
        stream.push_str("done\n");
        self.git
            .call(["fast-import", "--quiet", "--force", "--done"])
            .input(stream.into_bytes())
            .patient()
            .bytes()
            .await?;
        let new = self
            .git
            .call(["rev-parse", "--verify", &scratch])
            .line()
            .await?;
        let moved = self
            .git
            .call(["update-ref", &reference, &new, &tip])
            .bytes()
            .await;
        self.git
            .call(["update-ref", "-d", &scratch])
            .bytes()
            .await?;
        // Overtaken: whoever came first keeps the chain short.
        if let Err(error) = moved {
            tracing::debug!(%error, "checkpoints changed while they were trimmed");
        }
        Ok(())
    }
}

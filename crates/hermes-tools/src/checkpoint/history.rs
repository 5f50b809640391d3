//! Looking back: the list of a project's snapshots, and what changed since.

use std::path::Path;

use super::error::CheckpointError;
use super::settings::CheckpointSettings;
use super::store::CheckpointStore;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// 1 is the newest.
    pub number: usize,
    pub commit: String,
    /// Seconds since the epoch.
    pub taken_at: i64,
    pub reason: String,
}

impl Checkpoint {
    pub fn short(&self) -> &str {
        &self.commit[..self.commit.len().min(8)]
    }
}

impl CheckpointStore {
    /// The snapshots of `project`, newest first.
    pub async fn list(&self, project: &Path) -> Result<Vec<Checkpoint>, CheckpointError> {
        let hash = self.hash_of(project);
        if !self.exists() || self.tip(&hash).await?.is_none() {
            return Ok(Vec::new());
        }
        let reference = Self::reference(&hash);
        let text = self
            .git
            .call(["log", "-z", "--format=%H%x09%at%x09%s", &reference])
            .line()
            .await?;
        let entries = text.split('\0').filter(|entry| !entry.is_empty());
        Ok(entries
            .enumerate()
            .filter_map(|(index, entry)| {
                let mut fields = entry.splitn(3, '\t');
                Some(Checkpoint {
                    number: index + 1,
                    commit: fields.next()?.to_owned(),
                    taken_at: fields.next()?.parse().ok()?,
                    reason: fields.next().unwrap_or_default().to_owned(),
                })
            })
            .collect())
    }

    /// By number or by the beginning of its hash.
    pub async fn find(&self, project: &Path, name: &str) -> Result<Checkpoint, CheckpointError> {
        let all = self.list(project).await?;
        if all.is_empty() {
            return Err(CheckpointError::None(project.to_owned()));
        }
        // Up to three digits cannot be a hash.
        if name.len() <= 3
            && let Ok(wanted) = name.parse::<usize>()
        {
            let count = all.len();
            return all
                .into_iter()
                .find(|one| one.number == wanted)
                .ok_or(CheckpointError::Number { wanted, count });
        }
        let is_hash =
            (4..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            return Err(CheckpointError::Name(name.to_owned()));
        }
        let wanted = name.to_ascii_lowercase();
        all.into_iter()
            .find(|one| one.commit.starts_with(&wanted))
            .ok_or_else(|| CheckpointError::Hash {
                wanted,
                project: project.to_owned(),
            })
    }

    /// What changed in the project since that snapshot, as a diff.
    pub async fn diff(
        &self,
        project: &Path,
        checkpoint: &Checkpoint,
        settings: &CheckpointSettings,
    ) -> Result<String, CheckpointError> {
        let Ok(staged) = self.stage(project, settings).await? else {
            return Ok(String::new());
        };
        let bytes = self
            .git
            .call([
                "diff",
                "--no-ext-diff",
                "--no-textconv",
                "--no-color",
                &checkpoint.commit,
                &staged.tree,
            ])
            .bytes()
            .await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

//! What containers there are, for the operator: who uses them, how they differ
//! from the configuration, and taking them away by hand.

use std::path::Path;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::container::Plan;
use super::create::create_instead;
use super::drift::drift_of;
use super::engine::{
    Container, ContainerId, Engine, EngineError, PlainExec, State, limits, list_or_doubt,
};
use super::error::DockerError;
use super::find::choose;
use super::host::{DockerHost, stop_and_remove};
use super::janitor::place_of;
use super::labels;
use super::lease::{self, Holder, StateFile, holders, last_used};
use super::place::Place;
use super::reap::is_overdue;
use super::settings::Drift;
use crate::channel::Frame;
use crate::session::quote;

/// For a look at the background processes of one container.
const LOOK_LIMIT: std::time::Duration = std::time::Duration::from_secs(3);
const MAX_ANSWER: usize = 64 << 10;

/// One line of `hermes sandbox ls`.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub id: String,
    pub name: String,
    pub backend: &'static str,
    pub state: String,
    pub task: String,
    pub profile: String,
    /// Whether it belongs to this home.
    pub home_match: bool,
    pub image: String,
    pub created: Option<DateTime<Utc>>,
    pub last_used: Option<DateTime<Utc>>,
    pub leases: Vec<Holder>,
    pub background: Vec<Background>,
    pub drift: Vec<Drift>,
    pub private: bool,
}

/// A background process that Hermes started inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Background {
    pub id: String,
    pub pid: i64,
    pub command: String,
}

/// Which containers an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Of this home and profile.
    Own,
    /// Of every Hermes on this engine.
    Everybody,
}

pub struct Inventory<'a> {
    pub host: &'a DockerHost,
    pub plan: &'a Plan,
}

/// Taking a container that somebody uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leased {
    Refuse,
    Take,
}

impl Inventory<'_> {
    pub async fn containers(&self, scope: Scope) -> Result<Vec<Container>, EngineError> {
        let identity = &self.plan.whose.identity;
        let own = [
            (labels::AGENT, "1"),
            (labels::PROFILE, identity.profile.as_str()),
        ];
        let wanted = match scope {
            Scope::Own => &own[..],
            Scope::Everybody => &own[..1],
        };
        let mut found = list_or_doubt(self.host.engine().as_ref(), wanted).await?;
        if scope == Scope::Own {
            found.retain(|container| self.is_of_this_home(container));
        }
        Ok(found)
    }

    fn is_of_this_home(&self, container: &Container) -> bool {
        match container.label(labels::HOME) {
            Some(home) => home == self.plan.whose.identity.home,
            None => self.plan.whose.owns(container),
        }
    }

    /// The containers of which `text` begins the id or is the name.
    pub async fn find(&self, text: &str) -> Result<Vec<Container>, EngineError> {
        let mut found = self.containers(Scope::Everybody).await?;
        found.retain(|c| !text.is_empty() && (c.id.as_str().starts_with(text) || c.name == text));
        Ok(found)
    }

    /// The container that a command of this home would use.
    pub async fn current(&self) -> Result<Option<Container>, EngineError> {
        let shared = self.plan.whose.identity.shared();
        let found = list_or_doubt(self.host.engine().as_ref(), &shared).await?;
        Ok(choose(&found, &self.plan.whose).cloned())
    }

    pub async fn row(&self, container: &Container) -> Row {
        let place = self.place(container);
        let home_match = self.is_of_this_home(container);
        let label = |name: &str| container.label(name).unwrap_or_default().to_owned();
        let own_task = container.label(labels::TASK) == Some(&self.plan.whose.identity.task);
        let drift = if home_match && own_task {
            drift_of(self.host.engine().as_ref(), self.plan, container)
                .await
                .unwrap_or_default()
        } else {
            Vec::new()
        };
        let background = match home_match && container.state == State::Running {
            true => self.background(container, &label(labels::TASK)).await,
            false => Vec::new(),
        };
        Row {
            id: container.id.as_str().to_owned(),
            name: container.name.clone(),
            backend: "docker",
            state: container.state.as_str().to_owned(),
            task: label(labels::TASK),
            profile: label(labels::PROFILE),
            home_match,
            image: container.image.clone(),
            created: container.created,
            last_used: place.as_ref().and_then(last_used),
            leases: place
                .map(|place| holders(&place.lease_of(container)))
                .unwrap_or_default(),
            background,
            drift,
            private: container.label(labels::PRIVATE) == Some("1"),
        }
    }

    /// The background processes that run in it. The home's checkpoint file names them,
    /// the container says which of them are its own and alive; when it does not
    /// answer, those that were started for its key are told as they are noted.
    async fn background(&self, container: &Container, task: &str) -> Vec<Background> {
        let noted = noted(&self.plan.whose.home);
        if noted.is_empty() {
            return Vec::new();
        }
        let ids: Vec<&str> = noted.iter().map(|(_, one)| one.id.as_str()).collect();
        let alive = alive_inside(self.host.engine().as_ref(), &container.id, &ids).await;
        noted
            .into_iter()
            .filter(|(of, one)| match &alive {
                Some(alive) => alive.contains(&one.id),
                None => labels::sanitise(of) == task,
            })
            .map(|(_, one)| one)
            .collect()
    }

    /// Where its lease is: known for containers of this home, and for others that
    /// bind their directory.
    fn place(&self, container: &Container) -> Option<Place> {
        place_of(container, self.plan).or_else(|| {
            let home = Path::new(container.binds.get("/root")?);
            let directory = home.parent()?;
            directory
                .join("lease")
                .exists()
                .then(|| Place::at(directory))
        })
    }

    pub fn users(&self, container: &Container) -> Vec<Holder> {
        self.place(container)
            .map(|place| holders(&place.lease_of(container)))
            .unwrap_or_default()
    }

    pub async fn start(&self, container: &Container) -> Result<(), DockerError> {
        let engine = self.host.engine();
        match container.state {
            State::Running => {}
            State::Paused => engine.unpause(&container.id).await?,
            _ => engine.start(&container.id).await?,
        }
        Ok(())
    }

    pub async fn stop(&self, container: &Container, leased: Leased) -> Result<(), DockerError> {
        let _alone = self.claim(container, leased)?;
        self.host.engine().stop(&container.id).await?;
        Ok(())
    }

    pub async fn remove(&self, container: &Container, leased: Leased) -> Result<(), DockerError> {
        let _alone = self.claim(container, leased)?;
        stop_and_remove(self.host.engine().as_ref(), &container.id).await?;
        if let Some(place) = self.place(container)
            && container.label(labels::PRIVATE) == Some("1")
        {
            let _ = std::fs::remove_file(place.private_lease(&container.name));
        }
        Ok(())
    }

    /// The lease alone, where it can be had and matters.
    fn claim(
        &self,
        container: &Container,
        leased: Leased,
    ) -> Result<Option<lease::Alone>, DockerError> {
        let Some(place) = self.place(container) else {
            return Ok(None);
        };
        let path = place.lease_of(container);
        let alone =
            lease::alone(&path).map_err(|source| DockerError::Directory { path, source })?;
        match (alone, leased) {
            (Some(alone), _) => Ok(Some(alone)),
            (None, Leased::Take) => Ok(None),
            (None, Leased::Refuse) => Err(DockerError::InUse {
                container: container.id.short().to_owned(),
                by: users_in_words(&self.users(container)),
            }),
        }
    }

    /// Makes the container of the plan anew; the old one goes when the new one is there.
    pub async fn recreate(&self, leased: Leased) -> Result<ContainerId, DockerError> {
        let place = &self.plan.whose.place;
        let unusable = |source| DockerError::Directory {
            path: place.directory().to_owned(),
            source,
        };
        std::fs::create_dir_all(place.directory()).map_err(unusable)?;
        let creating = lease::creation(place).await.map_err(unusable)?;
        let shared = self.plan.whose.identity.shared();
        let mut old = self.host.engine().list(&shared).await?;
        old.retain(|container| self.plan.whose.owns(container));
        let mut alone = Vec::with_capacity(old.len());
        for container in &old {
            alone.push(self.claim(container, leased)?);
        }
        let created = create_instead(self.host, self.plan, Some(&creating), &old).await?;
        StateFile::of(&created.id, self.plan, self.host.clock()).save(place);
        Ok(created.id)
    }

    /// Leftovers older than this: exited, or created and never started.
    pub async fn leftovers(
        &self,
        older_than: std::time::Duration,
    ) -> Result<Vec<Container>, EngineError> {
        let mut old = Vec::new();
        for listed in self.containers(Scope::Own).await? {
            if !matches!(listed.state, State::Exited | State::Created | State::Dead) {
                continue;
            }
            let Some(mut container) = self.host.engine().inspect(&listed.id).await? else {
                continue;
            };
            let dead = container.state == State::Dead;
            if dead {
                container.state = State::Exited;
            }
            if is_overdue(&container, self.host.clock().now(), older_than) {
                old.push(container);
            }
        }
        Ok(old)
    }

    /// Removes a leftover that nobody leases.
    pub async fn prune(&self, container: &Container) -> Result<(), DockerError> {
        let _alone = self.claim(container, Leased::Refuse)?;
        self.host
            .engine()
            .remove(container.id.as_str(), limits::REMOVE)
            .await?;
        Ok(())
    }
}

fn users_in_words(users: &[Holder]) -> String {
    if users.is_empty() {
        return "another process".to_owned();
    }
    let words: Vec<String> = users
        .iter()
        .map(|user| format!("pid {} ({})", user.pid, user.command))
        .collect();
    words.join(", ")
}

/// What the home's checkpoint file says runs in sandboxes, with the task it belongs to.
fn noted(home: &Path) -> Vec<(String, Background)> {
    let Ok(text) = std::fs::read(home.join("processes.json")) else {
        return Vec::new();
    };
    let entries: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap_or_default();
    entries
        .iter()
        .filter(|entry| entry["pid_scope"] == "sandbox")
        .filter_map(|entry| {
            let of = entry["task_id"].as_str().unwrap_or("default");
            let one = Background {
                id: entry["session_id"].as_str()?.to_owned(),
                pid: entry["pid"].as_i64().unwrap_or(0),
                command: entry["command"].as_str().unwrap_or_default().to_owned(),
            };
            Some((of.to_owned(), one))
        })
        .collect()
}

/// Of these processes, those whose files lie in the container and that have not ended.
/// `None`: it does not answer.
async fn alive_inside(engine: &dyn Engine, id: &ContainerId, ids: &[&str]) -> Option<Vec<String>> {
    let words: Vec<String> = ids.iter().map(|id| quote(id)).collect();
    let script = format!(
        "for i in {}; do b=/tmp/hermes_bg_$i; [ -f \"$b.exit\" ] && continue; \
         read -r p <\"$b.pid\" && [ -d \"/proc/$p\" ] && echo \"alive $i\"; done 2>/dev/null; echo done",
        words.join(" ")
    );
    let request = PlainExec {
        command: vec!["sh".to_owned(), "-c".to_owned(), script],
        environment: Vec::new(),
    };
    let work = async {
        let mut wire = engine.exec_plain(id, &request).await.ok()?;
        let mut said = Vec::new();
        loop {
            let frame = std::future::poll_fn(|context| wire.frames.poll_frame(context)).await;
            match frame.ok()? {
                Frame::Output(bytes) if said.len() < MAX_ANSWER => said.extend_from_slice(&bytes),
                Frame::Output(_) | Frame::Control(_) => {}
                Frame::End(_) => break,
            }
        }
        let text = String::from_utf8_lossy(&said).into_owned();
        text.ends_with("done\n").then(|| {
            text.lines()
                .filter_map(|line| line.strip_prefix("alive "))
                .map(str::to_owned)
                .collect()
        })
    };
    tokio::time::timeout(LOOK_LIMIT, work).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn background_processes_come_from_the_checkpoint_of_the_home() {
        let home = tempfile::tempdir().expect("tempdir");
        assert_eq!(noted(home.path()), vec![]);
        std::fs::write(
            home.path().join("processes.json"),
            r#"[{"session_id":"proc_a","command":"serve","pid":41,"pid_scope":"sandbox","task_id":"default"},
                {"session_id":"proc_b","command":"x","pid":9,"pid_scope":"host","task_id":"default"},
                {"session_id":"proc_c","command":"y","pid":7,"pid_scope":"sandbox"}]"#,
        )
        .expect("write");
        let ids: Vec<(String, String)> = noted(home.path())
            .into_iter()
            .map(|(of, one)| (of, one.id))
            .collect();
        let expected = [("default", "proc_a"), ("default", "proc_c")];
        assert_eq!(ids, expected.map(|(of, id)| (of.to_owned(), id.to_owned())));
    }
}

//! Which of the listed containers is ours, and what its state asks for. Pure.

use std::path::{Path, PathBuf};

use super::engine::{Container, State};
use super::labels::{self, Identity};
use super::place::Place;

/// What "our home" means where a container does not say whose it is.
#[derive(Clone, Debug)]
pub struct Whose {
    pub identity: Identity,
    pub home: PathBuf,
    pub place: Place,
}

/// The container to adopt: a running one first, else the first listed. Others
/// are left to the reaper.
pub fn choose<'a>(listed: &'a [Container], whose: &Whose) -> Option<&'a Container> {
    let mine = || listed.iter().filter(|container| whose.owns(container));
    mine()
        .find(|container| container.state == State::Running)
        .or_else(|| mine().next())
}

impl Whose {
    /// The labels match already; this is about what labels of the reference do
    /// not say: which home, and whether it may be shared at all.
    pub fn owns(&self, container: &Container) -> bool {
        if container.label(labels::PRIVATE) == Some("1") {
            return false;
        }
        match container.label(labels::HOME) {
            Some(home) => home == self.identity.home,
            None => !self.shows_another_home(container),
        }
    }

    /// Two homes with one profile name carry equal labels in the reference; what
    /// tells them apart is where their directories are bound from.
    fn shows_another_home(&self, container: &Container) -> bool {
        let bound = |target: &str| container.binds.get(target).map(Path::new);
        let foreign_place = |target: &str, leaf: &str, ours: PathBuf| {
            bound(target)
                .is_some_and(|source| looks_like_a_place(source, leaf) && !same_path(source, &ours))
        };
        foreign_place("/root", "home", self.place.home())
            || foreign_place("/workspace", "workspace", self.place.workspace())
            || bound("/root/.hermes/skills").is_some_and(|source| {
                source.file_name().is_some_and(|name| name == "skills")
                    && !same_path(source, &self.home.join("skills"))
            })
    }
}

/// `…/docker/<key>/<leaf>`
fn looks_like_a_place(source: &Path, leaf: &str) -> bool {
    source.ends_with(leaf)
        && source
            .parent()
            .and_then(Path::parent)
            .is_some_and(|parent| parent.ends_with("docker"))
}

fn same_path(a: &Path, b: &Path) -> bool {
    let resolve = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_owned());
    a == b || resolve(a) == resolve(b)
}

/// What to do with the container that was chosen, by its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Attach,
    Start,
    Unpause,
    /// Look again until it settles.
    Wait,
    /// Remove, then create.
    Replace,
    /// Leave it alone and create another.
    Fresh,
}

pub fn step_for(state: &State) -> Step {
    match state {
        State::Running => Step::Attach,
        State::Created | State::Exited => Step::Start,
        State::Paused => Step::Unpause,
        State::Restarting | State::Removing => Step::Wait,
        State::Dead => Step::Replace,
        State::Unknown(_) => Step::Fresh,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pretty_assertions::assert_eq;

    use super::super::engine::ContainerId;
    use super::*;

    fn container(id: &str, state: State, extra: &[(&str, &str)]) -> Container {
        Container {
            id: ContainerId::new(id),
            name: format!("hermes-{id}"),
            state,
            image: "image".to_owned(),
            labels: extra
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            created: None,
            binds: BTreeMap::new(),
            network_mode: None,
            details: None,
        }
    }

    fn whose() -> Whose {
        let home = PathBuf::from("/srv/one");
        Whose {
            identity: Identity::new("default", "builder", &home),
            place: Place::new(&home.join("sandboxes"), "default"),
            home,
        }
    }

    #[test]
    fn the_running_one_wins_whatever_the_order() {
        let old = container("a", State::Exited, &[]);
        let up = container("b", State::Running, &[]);
        for listed in [vec![old.clone(), up.clone()], vec![up.clone(), old.clone()]] {
            assert_eq!(choose(&listed, &whose()).map(|c| c.id.as_str()), Some("b"));
        }
        assert_eq!(choose(&[old], &whose()).map(|c| c.id.as_str()), Some("a"));
        assert_eq!(choose(&[], &whose()), None);
    }

    #[test]
    fn a_private_container_and_one_of_another_home_are_not_adopted() {
        let private = container("a", State::Running, &[(labels::PRIVATE, "1")]);
        let foreign = container("b", State::Running, &[(labels::HOME, "0123456789abcdef")]);
        assert_eq!(choose(&[private, foreign], &whose()), None);
        let ours = container(
            "c",
            State::Exited,
            &[(labels::HOME, &whose().identity.home)],
        );
        assert!(choose(&[ours], &whose()).is_some());
    }

    #[test]
    fn without_a_home_label_the_bind_sources_decide() {
        let with = |target: &str, source: &str| {
            let mut c = container("a", State::Running, &[]);
            c.binds.insert(target.to_owned(), source.to_owned());
            c
        };
        let adopted = [
            with("/root", "/srv/one/sandboxes/docker/default/home"),
            with("/workspace", "/home/user/project"),
            with("/root/.hermes/skills", "/srv/one/skills"),
            with("/root/.hermes/skills", "/var/tmp/skills-copy-1"),
        ];
        for c in adopted {
            assert!(whose().owns(&c), "{:?}", c.binds);
        }
        let rejected = [
            with("/root", "/srv/two/sandboxes/docker/default/home"),
            with("/workspace", "/srv/two/sandboxes/docker/default/workspace"),
            with("/root/.hermes/skills", "/srv/two/skills"),
        ];
        for c in rejected {
            assert!(!whose().owns(&c), "{:?}", c.binds);
        }
    }

    #[test]
    fn every_state_has_its_step() {
        let steps = [
            (State::Running, Step::Attach),
            (State::Created, Step::Start),
            (State::Exited, Step::Start),
            (State::Paused, Step::Unpause),
            (State::Restarting, Step::Wait),
            (State::Removing, Step::Wait),
            (State::Dead, Step::Replace),
            (State::Unknown("odd".to_owned()), Step::Fresh),
        ];
        for (state, step) in steps {
            assert_eq!(step_for(&state), step);
        }
    }
}

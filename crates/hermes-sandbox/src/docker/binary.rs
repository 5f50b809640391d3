//! Which engine, and how it is reached.

use std::path::{Path, PathBuf};

use hermes_home::Environment;

use super::engine::EngineError;

/// Names the engine's program: a path or a name on PATH.
pub const BINARY: &str = hermes_home::env::DOCKER_BINARY;

/// Where installers put the client when PATH does not say.
const USUAL_PLACES: &[&str] = &[
    "/usr/local/bin/docker",
    "/opt/homebrew/bin/docker",
    "/Applications/Docker.app/Contents/Resources/bin/docker",
];

const DEFAULT_SOCKET: &str = "/var/run/docker.sock";

/// The engine's program and, where it has one on this machine, its socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineProgram {
    pub path: PathBuf,
    /// Lookups and execs may go here instead of through the program.
    pub socket: Option<PathBuf>,
}

impl EngineProgram {
    pub fn find(environment: &Environment, user_home: &Path) -> Result<Self, EngineError> {
        if let Some(wanted) = environment.get_non_empty(BINARY) {
            // Somebody put this program between us and the engine: go through it.
            return resolve(wanted, environment)
                .map(|path| Self { path, socket: None })
                .ok_or_else(|| EngineError::BadBinary(wanted.to_owned()));
        }
        let path = ["docker", "podman"]
            .iter()
            .find_map(|name| resolve(name, environment))
            .or_else(|| {
                USUAL_PLACES
                    .iter()
                    .find_map(|place| resolve(place, environment))
            })
            .ok_or(EngineError::NotFound)?;
        let is_docker = path.file_name().is_some_and(|name| name == "docker");
        let socket = is_docker
            .then(|| local_socket(environment, user_home))
            .flatten();
        Ok(Self { path, socket })
    }

    /// `docker`, `podman`: for messages and for the few flags that differ.
    pub fn name(&self) -> String {
        let name = self.path.file_name().map(|name| name.to_string_lossy());
        name.map_or_else(|| "docker".to_owned(), |name| name.into_owned())
    }
}

fn resolve(name: &str, environment: &Environment) -> Option<PathBuf> {
    let paths = environment.get("PATH").unwrap_or_default();
    which::which_in(name, Some(paths), "/").ok()
}

/// The socket that the docker client would use, if it is a local one. Contexts
/// and remote hosts are the client's own business.
fn local_socket(environment: &Environment, user_home: &Path) -> Option<PathBuf> {
    let is_default = |name: &str| name == "default";
    if !environment
        .get_non_empty("DOCKER_CONTEXT")
        .is_none_or(is_default)
    {
        return None;
    }
    if let Some(host) = environment.get_non_empty("DOCKER_HOST") {
        return host
            .strip_prefix("unix://")
            .map(PathBuf::from)
            .filter(|path| path.exists());
    }
    let directory = environment
        .get_non_empty("DOCKER_CONFIG")
        .map_or_else(|| user_home.join(".docker"), PathBuf::from);
    if environment.get_non_empty("DOCKER_CONTEXT").is_none()
        && let Ok(text) = std::fs::read(directory.join("config.json"))
    {
        let config: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let context = config.get("currentContext").and_then(|v| v.as_str());
        if !context.is_none_or(|name| name.is_empty() || is_default(name)) {
            return None;
        }
    }
    let socket = PathBuf::from(DEFAULT_SOCKET);
    socket.exists().then_some(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn program(directory: &Path, name: &str) -> PathBuf {
        let path = directory.join(name);
        std::fs::write(&path, "#!/bin/sh\n").expect("write");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("mode");
        path
    }

    #[test]
    fn the_variable_may_be_a_path_or_a_bare_name_and_wins() {
        let directory = tempfile::tempdir().expect("tempdir");
        let path = directory.path().to_string_lossy().into_owned();
        let docker = program(directory.path(), "docker");
        let podman = program(directory.path(), "podman");
        let find = |pairs: &[(&str, &str)]| {
            EngineProgram::find(&environment(pairs), directory.path()).map(|found| found.path)
        };
        assert_eq!(find(&[("PATH", &path)]).ok(), Some(docker.clone()));
        assert_eq!(
            find(&[("PATH", &path), (BINARY, "podman")]).ok(),
            Some(podman.clone())
        );
        assert_eq!(
            find(&[("PATH", ""), (BINARY, &podman.to_string_lossy())]).ok(),
            Some(podman.clone())
        );
        std::fs::remove_file(&docker).expect("remove");
        assert_eq!(find(&[("PATH", &path)]).ok(), Some(podman));
        assert!(matches!(
            find(&[("PATH", &path), (BINARY, "nonesuch")]),
            Err(EngineError::BadBinary(_))
        ));
    }

    #[test]
    fn a_context_or_a_remote_host_means_the_client() {
        let home = tempfile::tempdir().expect("tempdir");
        let socket = home.path().join("s.sock");
        std::fs::write(&socket, "").expect("write");
        let local = |pairs: &[(&str, &str)]| local_socket(&environment(pairs), home.path());
        let host = format!("unix://{}", socket.display());
        assert_eq!(local(&[("DOCKER_HOST", &host)]), Some(socket));
        assert_eq!(local(&[("DOCKER_HOST", "ssh://box")]), None);
        assert_eq!(
            local(&[("DOCKER_HOST", &host), ("DOCKER_CONTEXT", "other")]),
            None
        );
        std::fs::create_dir(home.path().join(".docker")).expect("mkdir");
        std::fs::write(
            home.path().join(".docker/config.json"),
            r#"{"currentContext":"remote"}"#,
        )
        .expect("write");
        assert_eq!(local(&[]), None);
    }
}

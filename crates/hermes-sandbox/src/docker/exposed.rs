//! Which directories of the host a container may change: the working directory
//! that is mounted, volumes of the user, and mounts among the extra arguments.
//! The directories that Hermes keeps for the container itself are not the user's.

use super::settings::ContainerSettings;
use crate::path::SandboxPath;

const WORKSPACE: &str = "/workspace";

impl ContainerSettings {
    /// As commands inside see them.
    pub fn exposed(&self) -> Vec<SandboxPath> {
        let workspace = self.host_workspace.iter().map(|_| WORKSPACE.to_owned());
        let volumes = self.volumes.iter().filter_map(|text| volume(text));
        let mut paths: Vec<SandboxPath> = workspace
            .chain(volumes)
            .chain(extra(&self.extra_arguments))
            .filter_map(|text| SandboxPath::absolute(&text))
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

/// `host:inside[:options]`; a name instead of a host path is a volume of the engine.
fn volume(text: &str) -> Option<String> {
    let mut parts = text.split(':');
    let (host, inside) = (parts.next()?, parts.next()?);
    let read_only = parts.any(|options| options.split(',').any(|option| option == "ro"));
    let is_path = host.starts_with(['/', '.', '~']);
    (is_path && !read_only).then(|| inside.to_owned())
}

fn extra(arguments: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let (flag, value) = match argument.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
            _ => (argument.as_str(), None),
        };
        match flag {
            "-v" | "--volume" => {
                let value = value.or_else(|| rest.next().map(String::as_str));
                found.extend(value.and_then(volume));
            }
            "--mount" => {
                let value = value.or_else(|| rest.next().map(String::as_str));
                found.extend(value.and_then(mount));
            }
            _ => found.extend(flag.strip_prefix("-v").and_then(volume)),
        }
    }
    found
}

/// `type=bind,source=/host,target=/inside[,readonly]`
fn mount(text: &str) -> Option<String> {
    let mut bind = false;
    let mut target = None;
    for part in text.split(',') {
        match part.split_once('=').unwrap_or((part, "true")) {
            ("type", kind) => bind = kind == "bind",
            ("target" | "destination" | "dst", path) => target = Some(path.to_owned()),
            ("readonly" | "ro", "true" | "1") => return None,
            _ => {}
        }
    }
    target.filter(|_| bind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writable_directories_of_the_host_are_known_however_they_are_written() {
        assert_eq!(volume("/a:/b"), Some("/b".to_owned()));
        assert_eq!(volume("~/a:/b:Z,rw"), Some("/b".to_owned()));
        assert_eq!(volume("/a:/b:ro"), None);
        assert_eq!(volume("cache:/b"), None);
        let arguments: Vec<String> = [
            "-v",
            "/1:/one",
            "--volume=/2:/two",
            "-v/3:/three",
            "--mount",
            "type=bind,src=/4,dst=/four",
            "--mount=type=volume,src=x,target=/no",
            "--mount",
            "type=bind,src=/5,dst=/no,readonly",
            "--gpus",
            "all",
        ]
        .map(String::from)
        .to_vec();
        assert_eq!(extra(&arguments), ["/one", "/two", "/three", "/four"]);
    }
}

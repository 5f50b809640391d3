//! Where the first command starts.

use std::path::{Path, PathBuf};

use hermes_home::{Environment, Home};

use super::terminal::{Backend, TerminalSettings, expand_home};

const MESSAGING_CWD: &str = "MESSAGING_CWD";

/// Who runs the commands. A person who starts Hermes in a directory means that
/// directory; a service was started anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    Terminal,
    Gateway,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartDirectory {
    /// As commands see it; may begin with `~`.
    pub cwd: String,
    /// A directory of this machine that shall appear as `/workspace`.
    pub host_workspace: Option<PathBuf>,
}

const PLACEHOLDERS: &[&str] = &["", ".", "auto", "cwd"];

/// `launched_in` is the directory of this process; `None` when it was deleted.
pub fn start_directory(
    settings: &TerminalSettings,
    front_end: FrontEnd,
    launched_in: Option<&Path>,
    environment: &Environment,
    home: &Home,
) -> StartDirectory {
    let configured = settings.cwd.trim();
    let explicit = (!PLACEHOLDERS.contains(&configured)).then(|| expand_home(configured, home));
    let launched = launched_in.map(|path| path.display().to_string());
    let user_home = || home.user_home().display().to_string();
    match settings.backend {
        Backend::Local => {
            let cwd = match front_end {
                FrontEnd::Terminal => launched.or(explicit).unwrap_or_else(user_home),
                FrontEnd::Gateway => explicit
                    .or_else(|| {
                        environment
                            .get_non_empty(MESSAGING_CWD)
                            .map(|text| expand_home(text, home))
                    })
                    .unwrap_or_else(user_home),
            };
            StartDirectory {
                cwd,
                host_workspace: None,
            }
        }
        Backend::Ssh => StartDirectory {
            // Remote paths keep their `~`.
            cwd: (!PLACEHOLDERS.contains(&configured))
                .then(|| configured.to_owned())
                .unwrap_or_else(|| "~".to_owned()),
            host_workspace: None,
        },
        Backend::Docker | Backend::Singularity | Backend::Modal | Backend::Daytona => {
            if settings.backend == Backend::Docker && settings.docker.mount_cwd_to_workspace {
                let source = explicit.clone().or(launched);
                if let Some(source) = source.filter(|source| is_host_directory(source)) {
                    return StartDirectory {
                        cwd: "/workspace".to_owned(),
                        host_workspace: Some(PathBuf::from(source)),
                    };
                }
            }
            StartDirectory {
                cwd: explicit
                    .filter(|path| path.starts_with('/') && !has_host_prefix(path))
                    .unwrap_or_else(|| "/root".to_owned()),
                host_workspace: None,
            }
        }
    }
}

/// Looks like a place on somebody's own machine.
fn has_host_prefix(path: &str) -> bool {
    ["/Users/", "/home/", "C:\\", "C:/"]
        .iter()
        .any(|prefix| path.starts_with(prefix))
}

fn is_host_directory(path: &str) -> bool {
    has_host_prefix(path)
        || (path.starts_with('/')
            && !path.starts_with("/workspace")
            && !path.starts_with("/root")
            && Path::new(path).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_config::Config;
    use pretty_assertions::assert_eq;

    fn start(yaml: &str, front_end: FrontEnd, launched_in: Option<&str>) -> StartDirectory {
        let home = Home::at("/h/.hermes", "/h/.hermes");
        let settings = TerminalSettings::read(&Config::from_yaml(yaml).unwrap(), &home).unwrap();
        start_directory(
            &settings,
            front_end,
            launched_in.map(Path::new),
            &Environment::default(),
            &home,
        )
    }

    fn cwd(yaml: &str, front_end: FrontEnd, launched_in: Option<&str>) -> String {
        start(yaml, front_end, launched_in).cwd
    }

    #[test]
    fn a_terminal_starts_where_it_was_started() {
        let yaml = "terminal: {cwd: /srv/x}";
        assert_eq!(cwd(yaml, FrontEnd::Terminal, Some("/here")), "/here");
        assert_eq!(cwd(yaml, FrontEnd::Terminal, None), "/srv/x");
        assert_eq!(cwd("{}", FrontEnd::Terminal, None), "/h/.hermes");
    }

    #[test]
    fn a_gateway_starts_where_it_is_told() {
        assert_eq!(
            cwd("terminal: {cwd: /srv/x}", FrontEnd::Gateway, Some("/here")),
            "/srv/x"
        );
        assert_eq!(
            cwd("terminal: {cwd: .}", FrontEnd::Gateway, Some("/here")),
            "/h/.hermes"
        );
    }

    #[test]
    fn host_paths_do_not_enter_a_container() {
        for (configured, expected) in [
            ("/home/u/p", "/root"),
            (".", "/root"),
            ("/srv/x", "/srv/x"),
            ("rel/x", "/root"),
            ("/Users/u", "/root"),
        ] {
            let yaml = format!("terminal: {{backend: docker, cwd: '{configured}'}}");
            assert_eq!(
                cwd(&yaml, FrontEnd::Terminal, Some("/here")),
                expected,
                "{configured}"
            );
        }
        assert_eq!(
            cwd(
                "terminal: {backend: ssh}",
                FrontEnd::Terminal,
                Some("/here")
            ),
            "~"
        );
    }

    #[test]
    fn the_mount_flag_brings_a_host_directory_along() {
        let yaml = "terminal: {backend: docker, docker_mount_cwd_to_workspace: true}";
        assert_eq!(
            start(yaml, FrontEnd::Terminal, Some("/usr")),
            StartDirectory {
                cwd: "/workspace".to_owned(),
                host_workspace: Some("/usr".into())
            }
        );
        assert_eq!(
            start(yaml, FrontEnd::Terminal, Some("/root")),
            StartDirectory {
                cwd: "/root".to_owned(),
                host_workspace: None
            }
        );
        assert_eq!(
            start(yaml, FrontEnd::Terminal, Some("/no/such/dir")).host_workspace,
            None
        );
    }
}

//! Where the first command starts, on this machine and on a host behind ssh. What
//! the setting means inside a container is decided in `docker/config.rs`.

use std::path::Path;

use hermes_home::{Environment, Home};

use super::terminal::{TerminalSettings, expand_home};

/// Older name of `terminal.cwd` for the gateway.
const MESSAGING_CWD: &str = "MESSAGING_CWD";

/// Words for "wherever Hermes was started".
const PLACEHOLDERS: &[&str] = &["", ".", "auto", "cwd"];

/// Who runs the commands. A person who starts Hermes in a directory means that
/// directory; a service was started anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontEnd {
    Terminal,
    Gateway,
}

/// `launched_in` is the directory of this process; `None` when it was deleted.
pub fn local_directory(
    settings: &TerminalSettings,
    front_end: FrontEnd,
    launched_in: Option<&Path>,
    environment: &Environment,
    home: &Home,
) -> String {
    let explicit = explicit(settings).map(|text| expand_home(text, home));
    let chosen = match front_end {
        FrontEnd::Terminal => launched_in
            .map(|path| path.display().to_string())
            .or(explicit),
        FrontEnd::Gateway => explicit.or_else(|| {
            environment
                .get_non_empty(MESSAGING_CWD)
                .map(|text| expand_home(text, home))
        }),
    };
    chosen.unwrap_or_else(|| home.user_home().display().to_string())
}

/// A remote path keeps its `~`.
pub fn remote_directory(settings: &TerminalSettings) -> String {
    explicit(settings).unwrap_or("~").to_owned()
}

fn explicit(settings: &TerminalSettings) -> Option<&str> {
    let configured = settings.cwd.trim();
    (!PLACEHOLDERS.contains(&configured)).then_some(configured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_config::Config;
    use pretty_assertions::assert_eq;

    fn settings(yaml: &str) -> (TerminalSettings, Home) {
        let home = Home::at("/h/.hermes", "/h/.hermes");
        let settings = TerminalSettings::read(&Config::from_yaml(yaml).unwrap(), &home).unwrap();
        (settings, home)
    }

    fn cwd(yaml: &str, front_end: FrontEnd, launched_in: Option<&str>) -> String {
        let (settings, home) = settings(yaml);
        let launched_in = launched_in.map(Path::new);
        local_directory(
            &settings,
            front_end,
            launched_in,
            &Environment::default(),
            &home,
        )
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
    fn a_remote_host_starts_at_home() {
        assert_eq!(
            remote_directory(&settings("terminal: {backend: ssh}").0),
            "~"
        );
        assert_eq!(remote_directory(&settings("terminal: {cwd: ~/x}").0), "~/x");
    }
}

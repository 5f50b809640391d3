//! What every verb is given: the home it works in, the environment as a value,
//! the clock and the options of this call.

use hermes_home::profile::{Selected, SelectedBy, select};
use hermes_home::{Clock, Environment, Home, ProfileError, env};

use crate::cli::{Everywhere, RunOptions};
use crate::commands::Verb;
use crate::{CommandError, Out};

/// One call of `hermes`.
pub struct Context {
    /// The variables of this process, with `HERMES_HOME` naming the home in use,
    /// so that a child built from it lands in the same profile.
    pub environment: Environment,
    pub home: Home,
    /// What decided which profile's home that is.
    pub selected_by: SelectedBy,
    pub clock: Clock,
    /// `-c KEY=VALUE`, in the order given.
    pub overrides: Vec<(String, String)>,
    /// The options before the verb.
    pub global: RunOptions,
    /// `-z PROMPT`.
    pub oneshot: Option<String>,
}

impl Context {
    pub(crate) fn new(
        everywhere: Everywhere,
        global: RunOptions,
        oneshot: Option<String>,
        mut environment: Environment,
        clock: Clock,
        verb: Option<&Verb>,
        out: &mut Out,
    ) -> Result<Self, CommandError> {
        let selected = match select(&environment, everywhere.profile.as_deref()) {
            // The verbs that can mend a dangling choice must not fail on it.
            Err(error @ ProfileError::Dangling { .. })
                if verb.is_some_and(Verb::works_without_its_profile) =>
            {
                out.warning(&format!("{error}; using the default profile"));
                Selected {
                    home: Home::locate(&environment),
                    by: SelectedBy::Default,
                }
            }
            selected => selected?,
        };
        let Selected {
            home,
            by: selected_by,
        } = selected;
        environment.set(env::HOME, home.path().to_string_lossy());
        if global.ignore_user_config {
            environment.set(env::IGNORE_USER_CONFIG, "1");
        }
        let overrides = everywhere
            .config
            .iter()
            .map(|text| parse_override(text))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            environment,
            home,
            selected_by,
            clock,
            overrides,
            global,
            oneshot,
        })
    }
}

#[cfg(test)]
impl Context {
    /// A call in this home, with no options and no variables.
    pub(crate) fn for_tests(home: &std::path::Path, clock: Clock) -> Self {
        Self {
            environment: Environment::default(),
            home: Home::at(home, home),
            selected_by: SelectedBy::Default,
            clock,
            overrides: Vec::new(),
            global: RunOptions::default(),
            oneshot: None,
        }
    }
}

fn parse_override(text: &str) -> Result<(String, String), CommandError> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err(
            CommandError::usage(format!("`--config {text}` is not of the form KEY=VALUE"))
                .hint("for example `--config terminal.backend=docker`"),
        ),
    }
}

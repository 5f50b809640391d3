//! What every verb is given: the home it works in, the environment as a value,
//! the clock and the options of this call.

use std::cell::OnceCell;

use hermes_config::{Config, ConfigError};
use hermes_home::profile::{Selected, SelectedBy, select};
use hermes_home::{Clock, Environment, FilePolicy, Home, HomeError, ProfileError, env};

use crate::cli::{Everywhere, RunOptions};
use crate::commands::Verb;
use crate::logging::{self, Level, Limits, Role, Settings};
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
    pub(crate) config: OnceCell<Config>,
    pub(crate) policy: OnceCell<FilePolicy>,
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
        if verb.is_none_or(|verb| matches!(verb, Verb::Chat(_))) {
            hermes_kanban::boards::pin(&home, &mut environment);
        }
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
            config: OnceCell::new(),
            policy: OnceCell::new(),
        })
    }

    /// The same call once more, with what the files say now and one key set for this
    /// run on top.
    pub fn renewed(&self, setting: Option<(&str, &str)>) -> Self {
        let mut overrides = self.overrides.clone();
        if let Some((key, value)) = setting {
            overrides.retain(|(set, _)| set != key);
            overrides.push((key.to_owned(), value.to_owned()));
        }
        Self {
            environment: self.environment.clone(),
            home: self.home.clone(),
            selected_by: self.selected_by,
            clock: self.clock.clone(),
            overrides,
            global: self.global.clone(),
            oneshot: self.oneshot.clone(),
            config: OnceCell::new(),
            policy: OnceCell::new(),
        }
    }

    /// The effective configuration. A broken file is an error, because defaults
    /// would run commands in the wrong place.
    pub fn config(&self) -> Result<&Config, ConfigError> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let config = Config::load(&self.home, &self.environment, &self.overrides)
            .inspect_err(|error| self.keep_broken_file(error))?;
        Ok(self.config.get_or_init(|| config))
    }

    /// A copy of a file that cannot be read, for the day when something else writes
    /// over it: Python Hermes would.
    fn keep_broken_file(&self, error: &ConfigError) {
        if matches!(error, ConfigError::Broken { .. }) && self.policy().managed().is_none() {
            let now = self.clock.now_local();
            if let Err(error) = hermes_config::edit::backup_broken(&self.home, now) {
                tracing::debug!(%error, "cannot copy the broken config.yaml");
            }
        }
    }

    /// For verbs that only show things: with a broken file they say so and go on
    /// as if it were absent.
    pub fn config_or_defaults(&self, out: &mut Out) -> Result<Config, CommandError> {
        match self.config() {
            Ok(config) => Ok(config.clone()),
            Err(error @ (ConfigError::Broken { .. } | ConfigError::Unreadable { .. })) => {
                out.warning(&format!("{error}; going on as if the file were absent"));
                let config =
                    Config::load_without_file(&self.home, &self.environment, &self.overrides)?;
                Ok(config)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Starts the log files of this home for the rest of the process; for verbs that
    /// run an agent or a server. A failure to write a log never fails them.
    pub fn start_logging(&self, role: Role) -> Result<(), ConfigError> {
        let config = self.config()?;
        let megabytes = config.integer("logging.max_size_mb")?;
        let backups = config.integer("logging.backup_count")?;
        let settings = Settings {
            level: Level::parse(&config.string("logging.level")?).unwrap_or(Level::Info),
            limits: Limits {
                bytes: u64::try_from(megabytes).unwrap_or(0) * 1024 * 1024,
                backups: u32::try_from(backups).unwrap_or(0),
            },
            redact: config.bool("security.redact_secrets")?,
        };
        let directory = self.home.logs_dir();
        logging::start(
            &directory,
            settings,
            role,
            self.policy(),
            self.clock.clone(),
        );
        Ok(())
    }

    /// Modes and owners for what we write in the home.
    pub fn policy(&self) -> &FilePolicy {
        self.policy
            .get_or_init(|| FilePolicy::of(&self.environment, &self.home))
    }

    /// Creates the home on first use. A disk that cannot be written is no reason to
    /// stop here: verbs that only read still work, and who writes finds out.
    pub fn ensure_home(&self, out: &mut Out) -> Result<(), CommandError> {
        match self.home.ensure(self.policy()) {
            Ok(()) => Ok(()),
            Err(HomeError::Io {
                action,
                path,
                source,
            }) => {
                if !self.home.path().is_dir() {
                    out.warning(&format!("cannot {action} {}: {source}", path.display()));
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
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

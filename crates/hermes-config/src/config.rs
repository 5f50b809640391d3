//! The effective configuration of one home, with the origin of every value.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hermes_home::{Environment, Home, env};
use serde_json::{Map, Value};

use crate::coerce::coerce;
use crate::dotenv::DotEnv;
use crate::error::ConfigError;
use crate::expand::expand;
use crate::files::{line_of, load_dotenv, read_file, read_map};
use crate::flags::{check_way, flag_value};
use crate::keys::{Known, keys, lookup, suggestion};
use crate::layers::{DEFAULTS, at, merge, put};
use crate::normalise::{Moved, normalise};
use crate::source::Source;
use crate::yaml::Document;

/// Which values [`Config::settings`] yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Chosen,
    All,
}

/// One value and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub path: String,
    pub value: Value,
    pub source: Source,
}

/// Cheap to clone; values never change after loading.
#[derive(Clone, Debug)]
pub struct Config {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    effective: Value,
    /// The user's file as it is written, without expansion and normalisation.
    raw: Value,
    /// The same, expanded and normalised.
    user: Value,
    document: Document,
    moved: Vec<Moved>,
    environment: Environment,
    dotenv: DotEnv,
    /// Keys that a variable set, and which.
    from_environment: BTreeMap<&'static str, Source>,
    flags: Vec<(String, Value)>,
}

impl Config {
    /// Reads `.env` and `config.yaml` of a home and lays flags over them. A missing
    /// file is an empty one; a broken one is an error, never silently defaults.
    pub fn load(
        home: &Home,
        environment: &Environment,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let dotenv = load_dotenv(home, environment)?;
        let (text, file) = if environment.is_truthy(env::IGNORE_USER_CONFIG) {
            (String::new(), home.config_file())
        } else {
            (read_file(&home.config_file())?, home.config_file())
        };
        Self::build(&text, &file, environment, dotenv, overrides)
    }

    /// The configuration as if `config.yaml` were absent, for verbs that carry on
    /// when it is broken. A `.env` that cannot be read counts as absent too.
    pub fn load_without_file(
        home: &Home,
        environment: &Environment,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let dotenv = load_dotenv(home, environment).unwrap_or_default();
        Self::build("", &home.config_file(), environment, dotenv, overrides)
    }

    /// Nothing but the table.
    pub fn defaults() -> Self {
        Self {
            inner: Arc::new(Inner {
                effective: DEFAULTS.clone(),
                raw: Value::Object(Map::new()),
                user: Value::Object(Map::new()),
                ..Inner::default()
            }),
        }
    }

    /// A file's text over the defaults, without any environment.
    pub fn from_yaml(text: &str) -> Result<Self, ConfigError> {
        Self::build(
            text,
            Path::new("config.yaml"),
            &Environment::default(),
            DotEnv::default(),
            &[],
        )
    }

    fn build(
        text: &str,
        file: &Path,
        process: &Environment,
        dotenv: DotEnv,
        overrides: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let mut environment = process.clone();
        for (name, value) in dotenv.variables.iter() {
            environment.set(name, value);
        }
        let (document, raw) = read_map(text, file)?;
        let mut user = raw.clone();
        for value in user.values_mut() {
            expand(value, &environment);
        }
        let moved = normalise(&mut user);
        let user = Value::Object(user);

        let mut effective = DEFAULTS.clone();
        let mut from_environment = BTreeMap::new();
        for key in keys() {
            let Some(name) = key.env else { continue };
            let Some(value) = environment.get_non_empty(name) else {
                continue;
            };
            let text = Value::String(value.to_owned());
            // Text that does not fit stays text: whoever reads the key is told.
            put(&mut effective, key.name, coerce(key, &text).unwrap_or(text));
            let source = match dotenv.variables.get(name) {
                Some(_) => Source::DotEnv {
                    name: name.to_owned(),
                },
                None => Source::Environment {
                    name: name.to_owned(),
                },
            };
            from_environment.insert(key.name, source);
        }
        merge(&mut effective, &user);
        let mut flags = Vec::new();
        for (path, text) in overrides {
            let value = flag_value(path, text)?;
            check_way(&effective, &document, path)?;
            put(&mut effective, path, value.clone());
            flags.push((path.clone(), value));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                effective,
                raw: Value::Object(raw),
                user,
                document,
                moved,
                environment,
                dotenv,
                from_environment,
                flags,
            }),
        })
    }

    /// The process environment with `.env` over it.
    pub fn environment(&self) -> &Environment {
        &self.inner.environment
    }

    /// The variables that `.env` sets.
    pub fn dotenv(&self) -> &DotEnv {
        &self.inner.dotenv
    }

    /// The value at a path, default applied. `None` for an unknown key and for null.
    pub fn get(&self, key: &str) -> Option<&Value> {
        at(&self.inner.effective, key).filter(|value| !value.is_null())
    }

    /// Whether a file, a variable or a flag says something about the key.
    pub fn is_set(&self, key: &str) -> bool {
        self.source(key) != Source::Default
    }

    /// The tree at a path, default applied; null when there is nothing.
    pub fn section(&self, key: &str) -> Value {
        at(&self.inner.effective, key)
            .cloned()
            .unwrap_or(Value::Null)
    }

    /// The whole effective tree.
    pub fn effective(&self) -> &Value {
        &self.inner.effective
    }

    /// The user's file as it is written: no defaults, templates unexpanded.
    pub fn raw(&self) -> &Value {
        &self.inner.raw
    }

    /// Where the value of a key comes from.
    pub fn source(&self, key: &str) -> Source {
        let covers = |path: &str| {
            path == key
                || key
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.starts_with('.'))
                || path
                    .strip_prefix(key)
                    .is_some_and(|rest| rest.starts_with('.'))
        };
        if self.inner.flags.iter().any(|(path, _)| covers(path)) {
            return Source::Flag;
        }
        // A null over a whole section says nothing.
        let said = at(&self.inner.user, key).is_some_and(|value| {
            !(value.is_null() && at(&DEFAULTS, key).is_some_and(Value::is_object))
        });
        if said {
            let moved = self.inner.moved.iter().find(|moved| moved.to == key);
            let written = moved.map_or(key, |moved| moved.from);
            if let Some(line) = self.line(written).or_else(|| self.nearest_line(written)) {
                return Source::File { line };
            }
        }
        match self.inner.from_environment.get(key) {
            Some(source) => source.clone(),
            None => Source::Default,
        }
    }

    /// Every value with its origin: only those that somebody chose, or all of them.
    pub fn settings(&self, which: Which) -> Vec<Setting> {
        let mut settings = Vec::new();
        self.collect("", &self.inner.effective, which, &mut settings);
        settings
    }

    fn collect(&self, path: &str, value: &Value, which: Which, into: &mut Vec<Setting>) {
        match value {
            Value::Object(map) if !map.is_empty() || path.is_empty() => {
                for (name, value) in map {
                    let below = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    self.collect(&below, value, which, into);
                }
            }
            leaf => {
                let source = self.source(path);
                if which == Which::All || source != Source::Default {
                    into.push(Setting {
                        path: path.to_owned(),
                        value: leaf.clone(),
                        source,
                    });
                }
            }
        }
    }

    /// Paths of the user's file that the table does not know, each with the known
    /// key that is most like it.
    pub fn unknown_keys(&self) -> Vec<(String, Option<&'static str>)> {
        let mut unknown = Vec::new();
        if let Value::Object(map) = &self.inner.user {
            for (name, value) in map {
                find_unknown(name, value, &mut unknown);
            }
        }
        unknown
    }

    /// Paths of the user's file that are probably a slip, with the key that was meant
    /// and the line on which it stands.
    pub fn near_misses(&self) -> Vec<NearMiss> {
        let miss = |(path, meant): (String, Option<&'static str>)| {
            Some(NearMiss {
                line: self.line(&path),
                meant: meant?,
                path,
            })
        };
        self.unknown_keys().into_iter().filter_map(miss).collect()
    }

    /// The line of `config.yaml` on which a path is written.
    pub fn line(&self, path: &str) -> Option<usize> {
        line_of(&self.inner.document, path)
    }

    /// For a value that came in through a merge or an alias: its parent's line.
    fn nearest_line(&self, path: &str) -> Option<usize> {
        let (parent, _) = path.rsplit_once('.')?;
        self.line(parent).or_else(|| self.nearest_line(parent))
    }
}

/// A key that nothing reads and that looks like one that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    pub path: String,
    pub meant: &'static str,
    pub line: Option<usize>,
}

fn find_unknown(path: &str, value: &Value, into: &mut Vec<(String, Option<&'static str>)>) {
    match (lookup(path), value) {
        // A name, or a map whose keys are rows of the table like any section's.
        (Known::Key(key), Value::Object(map)) if key.name == "model" => {
            for name in map.keys() {
                let below = format!("{path}.{name}");
                if crate::keys::key(&below).is_none() {
                    into.push((below.clone(), suggestion(&below)));
                }
            }
        }
        (Known::Unknown, _) => into.push((path.to_owned(), suggestion(path))),
        (Known::Section, Value::Object(map)) => {
            for (name, value) in map {
                find_unknown(&format!("{path}.{name}"), value, into);
            }
        }
        _ => {}
    }
}

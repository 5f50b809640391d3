//! One row of the table, and the small constructors that keep the tables readable.

use serde_json::{Map, Value};

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bool,
    Integer,
    Float,
    String,
    /// A list of strings, or of maps where the description says so.
    List,
    /// A map whose own keys are the user's; everything below it is accepted.
    Map,
    /// More than one shape; the description says which.
    Any,
}

impl Type {
    /// With its article, as a sentence wants it.
    pub fn expected(self) -> &'static str {
        match self {
            Type::Bool => "true or false",
            Type::Integer => "a whole number",
            Type::Float => "a number",
            Type::String => "text",
            Type::List => "a list",
            Type::Map => "a map",
            Type::Any => "a value",
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Type::Bool => "boolean",
            Type::Integer => "integer",
            Type::Float => "number",
            Type::String => "string",
            Type::List => "list",
            Type::Map => "map",
            Type::Any => "any",
        }
    }
}

/// The value a key has when nobody sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// The key is absent from the effective tree.
    Unset,
    /// The key is there, and null.
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    String(&'static str),
    List(&'static [&'static str]),
    EmptyMap,
}

impl Default {
    pub fn value(self) -> Option<Value> {
        Some(match self {
            Default::Unset => return None,
            Default::Null => Value::Null,
            Default::Bool(value) => Value::Bool(value),
            Default::Integer(value) => Value::from(value),
            Default::Float(value) => Value::from(value),
            Default::String(value) => Value::from(value),
            Default::List(values) => Value::from(values.to_vec()),
            Default::EmptyMap => Value::Object(Map::new()),
        })
    }
}

/// Whether a child process sees the key as its environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bridge {
    /// The variable is read, never passed on.
    None,
    /// Passed to every child.
    Always,
    /// Passed only when it says something: not empty, not `auto`.
    NonEmpty,
    /// Passed to children of the gateway.
    Gateway,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Dotted path.
    pub name: &'static str,
    pub kind: Type,
    pub default: Default,
    /// The only accepted values, if the list is not empty.
    pub choices: &'static [&'static str],
    /// Environment variable that stands for the key.
    pub env: Option<&'static str>,
    pub bridge: Bridge,
    /// `config set` also writes the variable to `.env`, where Python Hermes looks.
    pub mirrored: bool,
    /// Shown masked.
    pub secret: bool,
    /// Null is an answer of its own ("no limit").
    pub nullable: bool,
    /// Accepted and known to do nothing, for good.
    pub inert: bool,
    /// Nothing reads it yet.
    pub planned: bool,
    pub about: &'static str,
}

impl Key {
    const fn new(name: &'static str, kind: Type, default: Default, about: &'static str) -> Self {
        Self {
            name,
            kind,
            default,
            choices: &[],
            env: None,
            bridge: Bridge::None,
            mirrored: false,
            secret: false,
            nullable: matches!(default, Default::Null | Default::Unset),
            inert: false,
            planned: true,
            about,
        }
    }

    pub(super) const fn env(mut self, name: &'static str) -> Self {
        self.env = Some(name);
        self
    }

    /// Read from the variable and passed to every child.
    pub(super) const fn bridged(mut self, name: &'static str) -> Self {
        self.env = Some(name);
        self.bridge = Bridge::Always;
        self
    }

    pub(super) const fn bridged_if_set(mut self, name: &'static str) -> Self {
        self.env = Some(name);
        self.bridge = Bridge::NonEmpty;
        self
    }

    pub(super) const fn gateway(mut self, name: &'static str) -> Self {
        self.env = Some(name);
        self.bridge = Bridge::Gateway;
        self
    }

    pub(super) const fn mirrored(mut self) -> Self {
        self.mirrored = true;
        self
    }

    pub(super) const fn choices(mut self, choices: &'static [&'static str]) -> Self {
        self.choices = choices;
        self
    }

    pub(super) const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    pub(super) const fn inert(mut self) -> Self {
        self.inert = true;
        self.planned = false;
        self
    }

    /// Something outside this crate reads the key.
    pub(super) const fn live(self) -> Self {
        self.live_if(true)
    }

    /// For keys that one macro makes, some of which are read.
    pub(super) const fn live_if(mut self, read: bool) -> Self {
        if read {
            self.planned = false;
        }
        self
    }
}

pub(super) const fn flag(name: &'static str, default: bool, about: &'static str) -> Key {
    Key::new(name, Type::Bool, Default::Bool(default), about)
}

pub(super) const fn int(name: &'static str, default: i64, about: &'static str) -> Key {
    Key::new(name, Type::Integer, Default::Integer(default), about)
}

pub(super) const fn float(name: &'static str, default: f64, about: &'static str) -> Key {
    Key::new(name, Type::Float, Default::Float(default), about)
}

pub(super) const fn text(name: &'static str, default: &'static str, about: &'static str) -> Key {
    Key::new(name, Type::String, Default::String(default), about)
}

pub(super) const fn list(
    name: &'static str,
    default: &'static [&'static str],
    about: &'static str,
) -> Key {
    Key::new(name, Type::List, Default::List(default), about)
}

pub(super) const fn map(name: &'static str, about: &'static str) -> Key {
    Key::new(name, Type::Map, Default::EmptyMap, about)
}

/// A key with a default that none of the short constructors can say.
pub(super) const fn with(
    name: &'static str,
    kind: Type,
    default: Default,
    about: &'static str,
) -> Key {
    Key::new(name, kind, default, about)
}

/// A key that is absent until the user sets it.
pub(super) const fn unset(name: &'static str, kind: Type, about: &'static str) -> Key {
    Key::new(name, kind, Default::Unset, about)
}

//! The process environment as a value. We never change our own environment;
//! what a child should see is built as another value.

use std::collections::BTreeMap;

/// Variables by name. Names and values that are not UTF-8 are left out: none of
/// ours can be, and children inherit those from the process itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// A copy of the variables of this process.
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The trimmed value; empty counts as unset.
    pub fn get_non_empty(&self, name: &str) -> Option<&str> {
        self.get(name)
            .map(str::trim)
            .filter(|value| !value.is_empty())
    }

    /// `1`, `true`, `yes` or `on`, in any case.
    pub fn is_truthy(&self, name: &str) -> bool {
        self.get_non_empty(name).is_some_and(|v| {
            ["1", "true", "yes", "on"]
                .iter()
                .any(|t| v.eq_ignore_ascii_case(t))
        })
    }

    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.variables.insert(name.into(), value.into());
    }

    pub fn remove(&mut self, name: &str) {
        self.variables.remove(name);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        Self {
            variables: pairs.into_iter().collect(),
        }
    }
}

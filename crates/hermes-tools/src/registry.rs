//! All tools of a conversation, by name. Adding one is `registry.add(tool)`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hermes_types::ToolSpec;

use crate::tool::Tool;

/// Sorted by name, so that the schemas a model sees never change their order.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Registry {
    pub fn new() -> Self {
        Self::default()
    }

    /// A later tool of the same name replaces the earlier one.
    pub fn add(&mut self, tool: impl Tool + 'static) -> &mut Self {
        self.add_shared(Arc::new(tool))
    }

    pub fn add_shared(&mut self, tool: Arc<dyn Tool>) -> &mut Self {
        self.tools.insert(tool.name().to_owned(), tool);
        self
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Only the tools named.
    pub fn only(&self, names: &BTreeSet<String>) -> Self {
        Self {
            tools: self
                .tools
                .iter()
                .filter(|(name, _)| names.contains(*name))
                .map(|(name, tool)| (name.clone(), Arc::clone(tool)))
                .collect(),
        }
    }

    pub fn without(&self, names: &[&str]) -> Self {
        Self {
            tools: self
                .tools
                .iter()
                .filter(|(name, _)| !names.contains(&name.as_str()))
                .map(|(name, tool)| (name.clone(), Arc::clone(tool)))
                .collect(),
        }
    }

    /// What the model is told, in a stable order.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.values().map(|tool| tool.spec()).collect()
    }
}

//! Graph to JSON: explicit tags, merges, duplicates.

use serde_json::{Map, Value};

use super::graph::{Document, Kind, Node, Slot};
use super::parse::Syntax;
use super::resolve::{Plain, float, integer, resolve_plain};

/// Aliases may repeat a node any number of times; this bounds what a small file
/// can grow into.
const MAX_NODES: usize = 200_000;
/// The same for nesting: an alias may stand inside a node that an alias repeats.
const MAX_DEPTH: usize = 256;
const TAG: &str = "tag:yaml.org,2002:";

pub(super) fn value(document: &Document) -> Result<Value, Syntax> {
    match &document.root {
        Some(root) => Builder {
            document,
            made: 0,
            depth: 0,
        }
        .value(root),
        None => Ok(Value::Null),
    }
}

struct Builder<'a> {
    document: &'a Document,
    made: usize,
    depth: usize,
}

impl<'a> Builder<'a> {
    fn value(&mut self, slot: &Slot) -> Result<Value, Syntax> {
        let node = self.document.node(slot);
        self.made += 1;
        if self.made > MAX_NODES || self.depth > MAX_DEPTH {
            return Err(refuse(node, "aliases make this document too large"));
        }
        self.depth += 1;
        let value = self.node(node);
        self.depth -= 1;
        value
    }

    fn node(&mut self, node: &'a Node) -> Result<Value, Syntax> {
        let tag = node.tag.as_deref();
        let short = tag.and_then(|tag| tag.strip_prefix(TAG));
        match &node.kind {
            Kind::Scalar { text, plain, .. } => match (tag, short) {
                (None, _) if *plain => Ok(match resolve_plain(text) {
                    Plain::Value(value) => value,
                    Plain::Timestamp | Plain::Merge | Plain::Text => Value::String(text.clone()),
                }),
                (None, _) | (Some("!"), _) | (_, Some("str" | "timestamp" | "binary")) => {
                    Ok(Value::String(text.clone()))
                }
                (_, Some("null")) => Ok(Value::Null),
                (_, Some("bool")) => match resolve_plain(text) {
                    Plain::Value(Value::Bool(value)) => Ok(Value::Bool(value)),
                    _ => Err(refuse(
                        node,
                        "`!!bool` needs yes, no, true, false, on or off",
                    )),
                },
                (_, Some("int")) => {
                    integer(text).ok_or_else(|| refuse(node, "`!!int` needs a whole number"))
                }
                (_, Some("float")) => float(text)
                    .or_else(|| text.parse::<f64>().ok().map(Value::from))
                    .ok_or_else(|| refuse(node, "`!!float` needs a number")),
                (Some(tag), _) => Err(unknown(node, tag)),
            },
            Kind::Sequence { items, .. } => match (tag, short) {
                (None, _) | (Some("!"), _) | (_, Some("seq" | "omap" | "pairs")) => {
                    let values = items
                        .iter()
                        .map(|item| self.value(item))
                        .collect::<Result<_, _>>()?;
                    Ok(Value::Array(values))
                }
                (Some(tag), _) => Err(unknown(node, tag)),
            },
            Kind::Mapping { .. } => match (tag, short) {
                (None, _) | (Some("!"), _) | (_, Some("map" | "set")) => {
                    Ok(Value::Object(self.mapping(node)?))
                }
                (Some(tag), _) => Err(unknown(node, tag)),
            },
            Kind::Intended(value) => Ok(value.clone()),
        }
    }

    /// Merged keys first, own keys over them; of two equal keys the last one wins
    /// and stands where the first stood, as in a Python dict.
    fn mapping(&mut self, node: &'a Node) -> Result<Map<String, Value>, Syntax> {
        let Kind::Mapping { pairs, .. } = &node.kind else {
            return Ok(Map::new());
        };
        let mut map = Map::new();
        for (key, merged) in pairs {
            if self.is_merge(key) {
                for (name, value) in self.merge(merged)? {
                    map.insert(name, value);
                }
            }
        }
        for (key, slot) in pairs {
            if self.is_merge(key) {
                continue;
            }
            let Some(name) = self.document.key_text(key) else {
                return Err(refuse(
                    self.document.node(key),
                    "a list or map cannot be a key",
                ));
            };
            let value = self.value(slot)?;
            map.insert(name.to_owned(), value);
        }
        Ok(map)
    }

    fn is_merge(&self, key: &Slot) -> bool {
        let node = self.document.node(key);
        matches!(&node.kind, Kind::Scalar { text, plain: true, .. } if text == "<<" && node.tag.is_none())
    }

    /// `<<: *map` or `<<: [*first, *second]`, where the first in the list wins.
    fn merge(&mut self, slot: &Slot) -> Result<Map<String, Value>, Syntax> {
        let node = self.document.node(slot);
        self.made += 1;
        if self.made > MAX_NODES || self.depth > MAX_DEPTH {
            return Err(refuse(node, "aliases make this document too large"));
        }
        self.depth += 1;
        let merged = self.merged(node);
        self.depth -= 1;
        merged
    }

    fn merged(&mut self, node: &'a Node) -> Result<Map<String, Value>, Syntax> {
        match &node.kind {
            Kind::Mapping { .. } => self.mapping(node),
            Kind::Sequence { items, .. } => {
                let mut map = Map::new();
                for item in items.iter().rev() {
                    let node = self.document.node(item);
                    let Kind::Mapping { .. } = node.kind else {
                        return Err(refuse(node, "`<<` merges maps only"));
                    };
                    for (name, value) in self.mapping(node)? {
                        map.insert(name, value);
                    }
                }
                Ok(map)
            }
            Kind::Scalar { .. } | Kind::Intended(_) => Err(refuse(node, "`<<` merges maps only")),
        }
    }
}

fn refuse(node: &Node, reason: &str) -> Syntax {
    Syntax::at(node.line, node.column + 1, reason)
}

fn unknown(node: &Node, tag: &str) -> Syntax {
    refuse(node, &format!("unknown tag `{tag}`"))
}

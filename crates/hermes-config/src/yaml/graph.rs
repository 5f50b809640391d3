//! The nodes of one document and where they stand in the text.

use std::ops::Range;

use serde_json::Value;

pub(crate) type NodeId = usize;

/// One occurrence of a node: where it is written, and which node it is. Two
/// occurrences share a node when one is an alias (`*name`).
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub node: NodeId,
    /// Byte range in the text; for an alias, of the `*name` itself.
    pub span: Range<usize>,
    pub alias: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Scalar {
        text: String,
        /// Neither quoted nor a block: the resolver decides what it means.
        plain: bool,
        /// `|` or `>`.
        block: bool,
    },
    Sequence {
        items: Vec<Slot>,
        flow: bool,
    },
    Mapping {
        pairs: Vec<(Slot, Slot)>,
        flow: bool,
    },
    /// Not written anywhere: what an edit intends to put in this place.
    Intended(Value),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub tag: Option<String>,
    /// One-based line where the node starts.
    pub line: usize,
    /// Zero-based column, in characters, where the node starts.
    pub column: usize,
}

/// One parsed document. Empty when the text holds nothing but comments.
#[derive(Clone, Debug, Default)]
pub struct Document {
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: Option<Slot>,
}

impl Document {
    pub(crate) fn node(&self, slot: &Slot) -> &Node {
        &self.nodes[slot.node]
    }

    /// The key as a path names it: the text that is written, without its quotes.
    pub(crate) fn key_text<'a>(&'a self, slot: &Slot) -> Option<&'a str> {
        match &self.node(slot).kind {
            Kind::Scalar { text, .. } | Kind::Intended(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Adds a node for a value that is not in the text.
    pub(crate) fn intend(&mut self, value: Value) -> Slot {
        self.nodes.push(Node {
            kind: Kind::Intended(value),
            tag: None,
            line: 0,
            column: 0,
        });
        Slot {
            node: self.nodes.len() - 1,
            span: 0..0,
            alias: false,
        }
    }
}

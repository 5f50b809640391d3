//! Finding the place that a path means.

use serde_json::Value;

use super::Refusal;
use crate::yaml::{Document, Kind, Slot};

/// One step from a parent into a child, by position, so that it can be followed in
/// a copy of the document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The value of a mapping's pair.
    Pair(usize),
    /// An item of a sequence.
    Item(usize),
}

/// Where a path leads.
#[derive(Debug)]
pub(super) struct Target<'a> {
    /// Steps from the root to the deepest place that exists.
    pub steps: Vec<Step>,
    /// Parts of the path beyond it.
    pub rest: &'a [&'a str],
    /// Whether one of the parents is written in brackets.
    pub in_flow: bool,
}

/// Follows the path as far as the text has it. An alias is not entered: what it
/// names is written elsewhere and may be used by others.
pub(super) fn find<'a>(document: &Document, path: &'a [&'a str]) -> Result<Target<'a>, Refusal> {
    let mut target = Target {
        steps: Vec::new(),
        rest: path,
        in_flow: false,
    };
    let Some(mut slot) = document.root.as_ref() else {
        return Ok(target);
    };
    for (depth, name) in path.iter().enumerate() {
        if slot.alias {
            break;
        }
        let step = match &document.node(slot).kind {
            Kind::Mapping { pairs, flow } => {
                let found = pairs
                    .iter()
                    .rposition(|(key, _)| document.key_text(key) == Some(name));
                let Some(index) = found else { break };
                target.in_flow |= flow;
                Step::Pair(index)
            }
            Kind::Sequence { items, flow } => {
                let index = item_index(name, items.len(), &path[..=depth])?;
                target.in_flow |= flow;
                Step::Item(index)
            }
            Kind::Scalar { .. } | Kind::Intended(_) => break,
        };
        slot = child(document, slot, step);
        target.steps.push(step);
        target.rest = &path[depth + 1..];
    }
    Ok(target)
}

fn item_index(name: &str, count: usize, path: &[&str]) -> Result<usize, Refusal> {
    match name.parse::<usize>() {
        Ok(index) if index < count => Ok(index),
        _ => {
            let list = path[..path.len() - 1].join(".");
            Err(Refusal::Path(format!(
                "`{list}` is a list of {count}, and `{name}` is not the number of one of its items"
            )))
        }
    }
}

/// A plain tree must not gain items either: `set` on a value that an alias or a
/// merge brings in goes through here.
pub(super) fn put(value: &mut Value, path: &[&str], new: Value) -> Result<(), Refusal> {
    let Some((name, rest)) = path.split_first() else {
        *value = new;
        return Ok(());
    };
    if let Value::Array(items) = value {
        let index = item_index(name, items.len(), path)?;
        return put(&mut items[index], rest, new);
    }
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    match value {
        Value::Object(map) => put(map.entry(*name).or_insert(Value::Null), rest, new),
        _ => Ok(()),
    }
}

pub(super) fn child<'a>(document: &'a Document, slot: &Slot, step: Step) -> &'a Slot {
    match (&document.node(slot).kind, step) {
        (Kind::Mapping { pairs, .. }, Step::Pair(index)) => &pairs[index].1,
        (Kind::Sequence { items, .. }, Step::Item(index)) => &items[index],
        // Steps are only taken where `find` saw them.
        _ => unreachable!("a step fits the node it was found in"),
    }
}

/// The place at the end of the steps.
pub(super) fn walk<'a>(document: &'a Document, root: &'a Slot, steps: &[Step]) -> &'a Slot {
    steps
        .iter()
        .fold(root, |slot, step| child(document, slot, *step))
}

//! Removing one key.

use serde_json::Value;

use super::splice::{content_end, line_start, replace};
use super::target::{Step, find, walk};
use super::{Refusal, segments, set, verified};
use crate::yaml::{Document, Kind, Slot, parse};

/// The text without `path`; `None` when the text does not have it. A section that
/// would be left empty goes with its last key.
pub fn unset(text: &str, path: &str) -> Result<Option<String>, Refusal> {
    let parts = segments(path)?;
    let mut current = text.to_owned();
    let mut removed = false;
    // A key may stand twice; each round removes the last of them.
    loop {
        let document = parse(&current).map_err(Refusal::Broken)?;
        let target = find(&document, &parts)?;
        let Some(root) = document.root.clone() else {
            break;
        };
        if !target.rest.is_empty() || target.steps.is_empty() {
            if !removed && written_elsewhere(&document, &parts) {
                return Err(Refusal::NotEditable);
            }
            break;
        }
        current = remove(
            &current,
            &document,
            &root,
            &parts,
            &target.steps,
            target.in_flow,
        )?;
        removed = true;
        // Another item has moved to the place of the one that went.
        if matches!(target.steps.last(), Some(Step::Item(_))) {
            break;
        }
    }
    Ok(removed.then_some(current))
}

/// Whether a merge or an alias brings the key in, so that no line of its own can go.
fn written_elsewhere(document: &Document, parts: &[&str]) -> bool {
    document.value().is_ok_and(|tree| {
        parts
            .iter()
            .try_fold(&tree, |value, name| value.get(*name))
            .is_some()
    })
}

fn remove(
    text: &str,
    document: &Document,
    root: &Slot,
    parts: &[&str],
    steps: &[Step],
    in_flow: bool,
) -> Result<String, Refusal> {
    let Some((last, before)) = steps.split_last() else {
        return Err(Refusal::NotEditable);
    };
    let parent = walk(document, root, before);
    let index = match last {
        Step::Pair(index) => *index,
        Step::Item(index) => {
            // A list is written anew without the item.
            let mut alone = document.clone();
            alone.root = Some(parent.clone());
            let mut list = alone.value().map_err(Refusal::Broken)?;
            if let Value::Array(items) = &mut list {
                items.remove(*index);
            }
            return set(text, &parts[..parts.len() - 1].join("."), &list);
        }
    };
    let Kind::Mapping { pairs, .. } = &document.node(parent).kind else {
        return Err(Refusal::NotEditable);
    };
    if pairs.len() == 1 {
        return match before.last() {
            // An item stays an item.
            Some(Step::Item(_)) => set(
                text,
                &parts[..parts.len() - 1].join("."),
                &Value::Object(serde_json::Map::new()),
            ),
            Some(Step::Pair(_)) => remove(
                text,
                document,
                root,
                &parts[..parts.len() - 1],
                before,
                in_flow,
            ),
            None => {
                let mut intended = document.clone();
                intended.root = None;
                let start = line_start(text, root.span.start);
                let end = content_end(text, root.span.start, root.span.end);
                verified(replace(text, start..end, ""), &intended)
            }
        };
    }
    let mut intended = document.clone();
    if let Kind::Mapping { pairs, .. } = &mut intended.nodes[parent.node].kind {
        pairs.remove(index);
    }
    let (key, value) = &pairs[index];
    let end = key.span.end.max(value.span.end);
    let range = if in_flow {
        match pairs.get(index + 1) {
            Some((next, _)) => key.span.start..next.span.start,
            None => {
                let (before_key, before_value) = &pairs[index - 1];
                before_key.span.end.max(before_value.span.end)..end
            }
        }
    } else {
        let start = line_start(text, key.span.start);
        let opens_item = !text[start..key.span.start].trim().is_empty();
        match pairs.get(index + 1) {
            // The first key after a dash: the next one takes its place.
            Some((next, _)) if opens_item => key.span.start..next.span.start,
            _ => start..content_end(text, key.span.start, end),
        }
    };
    verified(replace(text, range, ""), &intended)
}

//! Setting one key.

use serde_json::{Map, Value};

use super::splice::{
    after_own_comments, content_end, line_break, line_end, line_start, next_line, replace,
};
use super::target::{Step, Target, find, put, walk};
use super::{Refusal, segments, verified};
use crate::yaml::{Document, Kind, Slot, after_colon, block, inline, parse, render_key};

/// The text with `path` set to `value`.
pub fn set(text: &str, path: &str, value: &Value) -> Result<String, Refusal> {
    let parts = segments(path)?;
    let document = parse(text).map_err(Refusal::Broken)?;
    let target = find(&document, &parts)?;
    let Some(root) = document.root.clone() else {
        let mut intended = document.clone();
        let slot = intended.intend(nest(&parts, value.clone()));
        intended.root = Some(slot);
        return verified(append(text, &parts, value), &intended);
    };
    let place = walk(&document, &root, &target.steps).clone();
    match (&document.node(&place).kind, target.rest.split_first()) {
        // The path exists: its value is replaced.
        (_, None) => match extend_list(text, &document, &place, &target, value) {
            Some(changed) => Ok(changed),
            None => replace_value(text, &document, &root, &target, value.clone()),
        },
        // The next part is missing in a map: a line is added.
        (Kind::Mapping { pairs, flow }, Some((name, rest))) if !place.alias => {
            let inherited = inherited(&document, &parts, target.rest.len());
            let mut new = inherited.unwrap_or(Value::Null);
            put(&mut new, rest, value.clone())?;
            if pairs.is_empty() {
                let map = Value::Object(Map::from_iter([((*name).to_owned(), new)]));
                return replace_value(text, &document, &root, &target, map);
            }
            let mut intended = document.clone();
            let key = intended.intend(Value::String((*name).to_owned()));
            let slot = intended.intend(new.clone());
            if let Kind::Mapping { pairs, .. } = &mut intended.nodes[place.node].kind {
                pairs.push((key, slot));
            }
            let changed = if *flow || target.in_flow {
                add_in_flow(text, pairs, name, &new)
            } else {
                add_line(text, &document, pairs, name, &new)
            };
            verified(changed, &intended)
        }
        // Something else is in the way: a scalar gives way to a map; an alias to a
        // copy of what it names, with the change in it.
        (_, Some(_)) => {
            let mut new = if place.alias {
                let mut alone = document.clone();
                alone.root = Some(place.clone());
                alone.value().map_err(Refusal::Broken)?
            } else {
                Value::Null
            };
            put(&mut new, target.rest, value.clone())?;
            replace_value(text, &document, &root, &target, new)
        }
    }
}

/// A list that only grows at its end gets lines for the new items; what stands
/// there stays, comments too. `None` when it is anything else.
fn extend_list(
    text: &str,
    document: &Document,
    place: &Slot,
    target: &Target,
    value: &Value,
) -> Option<String> {
    let Kind::Sequence { items, flow } = &document.node(place).kind else {
        return None;
    };
    let last = items.last().filter(|_| !place.alias)?;
    let mut alone = document.clone();
    alone.root = Some(place.clone());
    let old = alone.value().ok()?;
    let more = value.as_array()?.strip_prefix(old.as_array()?.as_slice())?;
    if more.is_empty() {
        return None;
    }
    let mut intended = document.clone();
    for item in more {
        let slot = intended.intend(item.clone());
        if let Kind::Sequence { items, .. } = &mut intended.nodes[place.node].kind {
            items.push(slot);
        }
    }
    let changed = if *flow || target.in_flow {
        let added: String = more
            .iter()
            .map(|item| format!(", {}", inline(item)))
            .collect();
        replace(text, last.span.end..last.span.end, &added)
    } else {
        let line = &text[line_start(text, last.span.start)..];
        let indent = line.len() - line.trim_start_matches(' ').len();
        if !line[indent..].starts_with('-') {
            return None;
        }
        let at = after_own_comments(
            text,
            content_end(text, last.span.start, last.span.end),
            indent,
        );
        let line_break = line_break(text);
        let mut lines: String = more
            .iter()
            .map(|item| format!("{}- {}{line_break}", " ".repeat(indent), inline(item)))
            .collect();
        if at > 0 && !text[..at].ends_with('\n') {
            lines.insert_str(0, line_break);
        }
        replace(text, at..at, &lines)
    };
    verified(changed, &intended).ok()
}

/// What a merge (`<<`) already says about the part that is missing in the map.
fn inherited(document: &Document, parts: &[&str], missing: usize) -> Option<Value> {
    let tree = document.value().ok()?;
    let until = parts.len() - missing + 1;
    parts[..until]
        .iter()
        .try_fold(&tree, |value, name| value.get(*name))
        .cloned()
}

fn nest(parts: &[&str], value: Value) -> Value {
    parts.iter().rev().fold(value, |inner, name| {
        Value::Object(Map::from_iter([((*name).to_owned(), inner)]))
    })
}

/// For a text without any content: comments stay, the key goes below them.
fn append(text: &str, parts: &[&str], value: &Value) -> String {
    let line_break = line_break(text);
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(line_break);
    }
    let tree = nest(parts, value.clone());
    let lines = block(&tree, 0, line_break);
    out.push_str(lines.trim_start_matches(line_break));
    out.push_str(line_break);
    out
}

fn add_in_flow(text: &str, pairs: &[(Slot, Slot)], name: &str, value: &Value) -> String {
    let Some((key, last)) = pairs.last() else {
        return text.to_owned();
    };
    let at = last.span.end.max(key.span.end);
    let pair = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    let braced = inline(&pair);
    replace(text, at..at, &format!(", {}", &braced[1..braced.len() - 1]))
}

fn add_line(
    text: &str,
    document: &Document,
    pairs: &[(Slot, Slot)],
    name: &str,
    value: &Value,
) -> String {
    let Some((first, _)) = pairs.first() else {
        return text.to_owned();
    };
    let indent = document.node(first).column;
    // Pairs stand in the order of the text, but an alias or an empty value may have
    // an earlier end than its key.
    let (start, end) = pairs.iter().fold((0, 0), |(start, end), (key, slot)| {
        (
            start.max(key.span.start),
            end.max(key.span.end).max(slot.span.end),
        )
    });
    let at = after_own_comments(text, content_end(text, start, end), indent);
    let line_break = line_break(text);
    let pad = " ".repeat(indent);
    let mut line = format!(
        "{pad}{}:{}{line_break}",
        render_key(name),
        after_colon(value, indent, line_break)
    );
    if at > 0 && !text[..at].ends_with('\n') {
        line.insert_str(0, line_break);
    }
    replace(text, at..at, &line)
}

fn replace_value(
    text: &str,
    document: &Document,
    root: &Slot,
    target: &Target,
    value: Value,
) -> Result<String, Refusal> {
    let mut intended = document.clone();
    let slot = intended.intend(value.clone());
    let Some((last, before)) = target.steps.split_last() else {
        intended.root = Some(slot);
        let lines = block(&value, 0, line_break(text));
        let lines = lines.trim_start();
        let end = if root.span.is_empty() {
            root.span.end
        } else {
            content_end(text, root.span.start, root.span.end)
        };
        let changed = replace(
            text,
            root.span.start..end,
            &format!("{lines}{}", line_break(text)),
        );
        return verified(changed, &intended);
    };
    let parent = walk(document, root, before).clone();
    let old = walk(document, root, &target.steps).clone();
    match (&mut intended.nodes[parent.node].kind, last) {
        (Kind::Mapping { pairs, .. }, Step::Pair(index)) => pairs[*index].1 = slot,
        (Kind::Sequence { items, .. }, Step::Item(index)) => items[*index] = slot,
        _ => return Err(Refusal::NotEditable),
    }
    let changed = match (&document.node(&parent).kind, last) {
        (Kind::Mapping { pairs, .. }, Step::Pair(index)) => {
            let (key, _) = &pairs[*index];
            if target.in_flow {
                replace_in_flow(text, key, &old, &value)
            } else {
                let indent = document.node(key).column;
                replace_in_block(text, document, key.span.end, &old, &value, indent)
            }
        }
        _ if target.in_flow => replace(text, old.span.clone(), flow_text(&value).as_str()),
        // A block sequence's item: like a value whose key is the dash.
        _ => {
            let dash = text[..old.span.start]
                .rfind('-')
                .ok_or(Refusal::NotEditable)?;
            let indent = dash - line_start(text, dash);
            replace_in_block(text, document, dash, &old, &value, indent)
        }
    };
    verified(changed, &intended)
}

fn flow_text(value: &Value) -> String {
    let braced = inline(&Value::Array(vec![value.clone()]));
    braced[1..braced.len() - 1].to_owned()
}

fn replace_in_flow(text: &str, key: &Slot, old: &Slot, value: &Value) -> String {
    let new = flow_text(value);
    if !old.span.is_empty() {
        return replace(text, old.span.clone(), &new);
    }
    // `{a}` has no colon yet, `{a: }` has.
    let between = &text[key.span.end..old.span.start];
    let lead = if between.contains(':') { " " } else { ": " };
    replace(text, old.span.clone(), &format!("{lead}{new}"))
}

/// `anchor` is the end of the key, or the dash of an item.
fn replace_in_block(
    text: &str,
    document: &Document,
    anchor: usize,
    old: &Slot,
    value: &Value,
    indent: usize,
) -> String {
    let is_item = text[anchor..].starts_with('-');
    let Some(colon) = text[anchor..]
        .find(if is_item { '-' } else { ':' })
        .map(|found| anchor + found + 1)
    else {
        return text.to_owned();
    };
    let line_break = line_break(text);
    let new = if is_item {
        format!(" {}", flow_text(value))
    } else {
        after_colon(value, indent, line_break)
    };
    let node = document.node(old);
    let on_the_line = !text[colon..old.span.start.max(colon)].contains('\n');
    let is_block = match &node.kind {
        Kind::Scalar { block, .. } => *block,
        Kind::Sequence { flow, .. } | Kind::Mapping { flow, .. } => !flow,
        Kind::Intended(_) => false,
    } && !old.alias;
    let (head, tail) = new.split_at(new.find(line_break).unwrap_or(new.len()));
    if is_block {
        // The heading keeps its comment, unless the value began on its line.
        let heading_end = if on_the_line {
            old.span.start
        } else {
            line_end(text, colon)
        };
        let heading = if on_the_line {
            String::new()
        } else {
            text[colon..heading_end].trim_end().to_owned()
        };
        let end = content_end(text, old.span.start, old.span.end);
        let ended = text[..end].ends_with('\n');
        let new = format!(
            "{head}{heading}{tail}{}",
            if ended { line_break } else { "" }
        );
        return replace(text, colon..end, &new);
    }
    if tail.is_empty() && on_the_line {
        // The spaces after the colon are the user's.
        let end = old.span.end.max(colon);
        let start = old.span.start.max(colon);
        let lead = if text[colon..start].starts_with(' ') {
            ""
        } else {
            " "
        };
        return replace(text, start..end, &format!("{lead}{}", head.trim_start()));
    }
    // From one line to several, or from a scalar on a line of its own: what follows
    // the old value on its last line is a comment and stays on the heading.
    let end = old.span.end.max(colon);
    let comment_end = line_end(text, end);
    let comment = text[end..comment_end].trim_end();
    let rest = next_line(text, end);
    let ended = text[..rest].ends_with('\n');
    let new = format!(
        "{head}{comment}{tail}{}",
        if ended { line_break } else { "" }
    );
    replace(text, colon..rest, &new)
}

//! Trees and paths: walking a dotted path, merging one tree over another.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::keys::keys;

/// The tree of all defaults, built once.
pub(crate) static DEFAULTS: LazyLock<Value> = LazyLock::new(|| {
    let mut tree = Value::Object(Map::new());
    for key in keys() {
        // Readers always see `model` as a map; its default is an empty one.
        if key.name == "model" {
            put(&mut tree, "model", Value::Object(Map::new()));
        } else if let Some(value) = key.default.value() {
            put(&mut tree, key.name, value);
        }
    }
    tree
});

/// What stands at a dotted path. Numbers index lists.
pub(crate) fn at<'a>(tree: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(tree, |value, name| match value {
        Value::Object(map) => map.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Puts a value at a path, making maps on the way and replacing what is not a map.
pub(crate) fn put(tree: &mut Value, path: &str, value: Value) {
    let mut place = tree;
    for name in path.split('.') {
        if let Value::Array(items) = place
            && let Some(index) = name.parse::<usize>().ok().filter(|i| *i < items.len())
        {
            // Checked just above; taking the slice index keeps the borrow simple.
            place = match place {
                Value::Array(items) => &mut items[index],
                _ => return,
            };
            continue;
        }
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(map) = place else { return };
        place = map.entry(name).or_insert(Value::Null);
    }
    *place = value;
}

/// Maps merge key by key; everything else replaces. A null over a map changes
/// nothing: it is a heading whose lines are all commented out.
pub(crate) fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                match under.get_mut(name) {
                    Some(place) => merge(place, value),
                    None => {
                        under.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Object(_), Value::Null) => {}
        (under, over) => *under = over.clone(),
    }
}

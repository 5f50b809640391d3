//! The argument text of tool calls on the wire, and ids for calls that came
//! without one. Mending what a model garbled is the conversation's business.

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The same arguments as the same bytes: keys sorted, no spaces. Text that is not
/// JSON becomes `{}`, because no provider accepts anything else.
pub fn canonical_arguments(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            value.sort_all_objects();
            value.to_string()
        }
        Err(_) => "{}".to_owned(),
    }
}

/// The id of a call to which the provider gave none.
pub fn missing_call_id(name: &str, arguments: &str, index: usize) -> String {
    let digest = Sha256::digest(format!("{name}:{arguments}:{index}"));
    let mut id = "call_".to_owned();
    for byte in &digest[..6] {
        // Writing to a String cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_sorted_and_compact() {
        assert_eq!(
            canonical_arguments(r#"{ "b": {"z": 1, "a": [ {"y":2,"x":"é"} ]}, "a": null }"#),
            r#"{"a":null,"b":{"a":[{"x":"é","y":2}],"z":1}}"#
        );
        assert_eq!(canonical_arguments("{broken"), "{}");
    }

    #[test]
    fn missing_ids_follow_from_name_arguments_and_place() {
        assert_eq!(missing_call_id("terminal", "{}", 0).len(), 17);
        assert_ne!(
            missing_call_id("terminal", "{}", 0),
            missing_call_id("terminal", "{}", 1)
        );
    }
}

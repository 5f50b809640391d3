//! What the program itself tells the model: a process in the background ended, or
//! printed what is watched for.

use super::answer::{excerpt, fenced};

const SIGN: &str = "[IMPORTANT: ";

/// Whether nobody asked anything: the program has something to tell.
pub(super) fn is_notice(text: &str) -> bool {
    text.trim_start().starts_with(SIGN)
}

/// A short word about each.
pub(super) fn answer(text: &str) -> String {
    let told: Vec<String> = text
        .trim()
        .split(SIGN)
        .filter(|part| !part.trim().is_empty())
        .map(|part| one(part.trim_end().trim_end_matches(']')))
        .collect();
    told.join("\n")
}

fn one(notice: &str) -> String {
    let (head, rest) = notice.split_once('\n').unwrap_or((notice, ""));
    let output = rest.split_once("utput:\n").map_or("", |(_, output)| output);
    let ended = head
        .strip_prefix("Background process ")
        .and_then(|head| head.split_once(" completed (exit code "));
    let said = match ended {
        Some((id, code)) => format!(
            "The process `{id}` ended with exit code {}",
            code.trim_end_matches(").")
        ),
        None => head.trim_end_matches('.').to_owned(),
    };
    match output.trim() {
        "" => format!("{said}.\n"),
        output => format!(
            "{said}. It printed:\n\n{}",
            fenced("", &excerpt(output, 20))
        ),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_end_of_a_process_is_told_shortly() {
        let text = "[IMPORTANT: Background process proc_1 completed (exit code 2).\nCommand: make\nOutput:\n1\n2]\n\n\
                    [IMPORTANT: Background process proc_2 completed (exit code 0).\nCommand: true\nOutput:\n]";
        assert!(is_notice(text) && !is_notice("start `make`"));
        assert_eq!(
            answer(text),
            "The process `proc_1` ended with exit code 2. It printed:\n\n```\n1\n2\n```\n\n\
             The process `proc_2` ended with exit code 0.\n"
        );
    }
}

//! Tool names that a model wrote almost right.

use hermes_tools::patch::ratio;

/// Below this two names are different things.
const CLOSE_ENOUGH: f64 = 0.7;

/// The tool that `name` most likely means; `None` when nothing is close.
pub fn closest_tool<'a>(
    name: &str,
    tools: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let find = |wanted: &str| tools.clone().find(|tool| *tool == wanted);
    if let Some(tool) = find(name) {
        return Some(tool);
    }
    let mut candidates = vec![
        name.to_lowercase(),
        underscored(&name.to_lowercase()),
        snake(name),
    ];
    for candidate in candidates.clone() {
        let mut rest = candidate.as_str();
        for _ in 0..2 {
            let Some(shorter) = without_suffix(rest) else {
                break;
            };
            candidates.push(shorter.to_owned());
            rest = shorter;
        }
    }
    for candidate in &candidates {
        if let Some(tool) = find(candidate) {
            return Some(tool);
        }
    }
    let wanted = underscored(&name.to_lowercase());
    tools
        .map(|tool| (tool, ratio(&wanted, tool)))
        .filter(|(_, score)| *score >= CLOSE_ENOUGH)
        // The first of equals wins, so the outcome does not depend on chance.
        .fold(
            None,
            |best: Option<(&str, f64)>, (tool, score)| match best {
                Some((_, top)) if top >= score => best,
                _ => Some((tool, score)),
            },
        )
        .map(|(tool, _)| tool)
}

fn underscored(name: &str) -> String {
    name.trim().replace(['-', ' '], "_")
}

fn without_suffix(name: &str) -> Option<&str> {
    ["_tool", "-tool", "tool"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .map(|rest| rest.trim_end_matches(['_', '-']))
        .filter(|rest| !rest.is_empty())
}

/// `ReadFile` as `read_file`.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut previous_lower = false;
    for character in name.chars() {
        if character.is_uppercase() {
            if previous_lower {
                out.push('_');
            }
            out.extend(character.to_lowercase());
            previous_lower = false;
        } else {
            previous_lower = character.is_lowercase() || character.is_ascii_digit();
            out.push(character);
        }
    }
    underscored(&out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOOLS: [&str; 8] = [
        "execute_code",
        "patch",
        "process",
        "read_file",
        "search_files",
        "terminal",
        "todo",
        "write_file",
    ];

    fn closest(name: &str) -> Option<&'static str> {
        closest_tool(name, TOOLS.iter().copied())
    }

    #[test]
    fn near_misses_find_their_tool() {
        for (name, tool) in [
            ("read_file", "read_file"),
            ("Read_File", "read_file"),
            ("ReadFile", "read_file"),
            ("read-file", "read_file"),
            ("read file", "read_file"),
            ("Read_File_Tool", "read_file"),
            ("terminal_tool_tool", "terminal"),
            ("TodoTool", "todo"),
            ("readfile", "read_file"),
            ("search_file", "search_files"),
            ("terminals", "terminal"),
        ] {
            assert_eq!(closest(name), Some(tool), "{name}");
        }
    }

    #[test]
    fn strange_names_find_nothing() {
        for name in ["no_such_tool_at_all", "", "x", "browser_click"] {
            assert_eq!(closest(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_tool_name_in_any_case_means_itself(index in 0..TOOLS.len(), upper in any::<u16>()) {
            let name: String = TOOLS[index]
                .chars()
                .enumerate()
                .map(|(i, c)| if upper >> (i % 16) & 1 == 1 { c.to_ascii_uppercase() } else { c })
                .collect();
            prop_assert_eq!(closest(&name), Some(TOOLS[index]));
        }
    }
}

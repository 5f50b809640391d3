//! What `make` would run: the recipes of the wanted targets and of what they need.

use std::collections::HashMap;

/// Names that are tried without `-f`, in the order of GNU make.
pub(super) const NAMES: &[&str] = &["GNUmakefile", "makefile", "Makefile"];
/// Rules that are followed at most.
const MOST_RULES: usize = 64;

#[derive(Default)]
struct Rule<'t> {
    needs: Vec<&'t str>,
    recipe: Vec<&'t str>,
}

/// The lines for the shell. Without targets, the first rule counts.
pub(super) fn recipes(text: &str, targets: &[String]) -> String {
    let mut rules: HashMap<&str, Rule<'_>> = HashMap::new();
    let mut variables: HashMap<&str, &str> = HashMap::from([("RM", "rm -f")]);
    let mut first = None;
    let mut current: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(step) = line.strip_prefix('\t') {
            for name in &current {
                rules.entry(name).or_default().recipe.push(step);
            }
            continue;
        }
        let assigned = line.split_once('=').filter(|(name, _)| {
            let name = name.trim_end_matches([' ', ':', '?', '+', '!']);
            !name.is_empty() && !name.contains([':', ' '])
        });
        if let Some((name, value)) = assigned {
            variables.insert(
                name.trim_end_matches([' ', ':', '?', '+', '!']),
                value.trim(),
            );
        } else if let Some((names, rest)) = line.split_once(':').filter(|_| !line.starts_with('#'))
        {
            let (needs, step) = rest.split_once(';').unwrap_or((rest, ""));
            current = names.split_whitespace().collect();
            first = first.or(current
                .first()
                .copied()
                .filter(|name| !name.starts_with('.')));
            for name in &current {
                let rule = rules.entry(name).or_default();
                rule.needs
                    .extend(needs.trim_start_matches(':').split_whitespace());
                rule.recipe
                    .extend(Some(step).filter(|step| !step.is_empty()));
            }
        }
    }
    let mut wanted: Vec<&str> = targets.iter().map(String::as_str).collect();
    if wanted.is_empty() {
        wanted.extend(first);
    }
    let mut done: Vec<&str> = Vec::new();
    let mut steps: Vec<String> = Vec::new();
    while let Some(name) = wanted.pop() {
        if done.contains(&name) || done.len() >= MOST_RULES {
            continue;
        }
        done.push(name);
        if let Some(rule) = rules.get(name) {
            wanted.extend(&rule.needs);
            let lines = rule.recipe.iter();
            steps.extend(lines.map(|line| spoken(line, &variables)));
        }
    }
    steps.join("\n")
}

/// As the shell gets it.
fn spoken(line: &str, variables: &HashMap<&str, &str>) -> String {
    let mut line = line.trim_start_matches(['@', '-', '+', ' ']).to_owned();
    for (name, value) in variables {
        for form in [format!("$({name})"), format!("${{{name}}}")] {
            if line.contains(&form) && line.len() < 4096 {
                line = line.replace(&form, value);
            }
        }
    }
    line.replace("$$", "$")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_what_is_wanted_counts() {
        let text = "DIR := out\nall: build\n\techo done\nbuild:\n\t@cc x.c\nclean: ; rm x\nx: clean\n\t-$(RM) -r $(DIR) $$HOME\n";
        assert_eq!(recipes(text, &[]), "echo done\ncc x.c");
        assert_eq!(
            recipes(text, &["x".into()]),
            "rm -f -r out $HOME\n rm x".replace("\n ", "\n")
        );
        assert_eq!(recipes(text, &["nothing".into()]), "");
    }
}

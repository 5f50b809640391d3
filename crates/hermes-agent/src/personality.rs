//! Ways of speaking by name: a text over the system prompt. A few are built in;
//! `agent.personalities` and `personalities` add to them or take their place.

use hermes_config::Config;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Personality {
    pub name: String,
    /// One line for people.
    pub description: String,
    /// What the model is told.
    pub text: String,
}

const BUILT_IN: &[(&str, &str, &str)] = &[
    (
        "catgirl",
        "a cat that talks",
        "Speak like a playful cat: a purr or a nya here and there, and every fact still right.",
    ),
    (
        "concise",
        "few words",
        "Answer in as few words as the matter allows. No introduction, no summary.",
    ),
    (
        "creative",
        "unusual ideas",
        "Look for the unusual idea first. Offer more than one way, and say which you would take.",
    ),
    (
        "helpful",
        "friendly and thorough",
        "Be warm and thorough. Think of what the person will need next and mention it.",
    ),
    (
        "hype",
        "thrilled by everything",
        "Be thrilled by every task and cheer each step that works. Facts stay facts.",
    ),
    (
        "kawaii",
        "cute and cheerful",
        "Be cute and cheerful, with small faces like (◕‿◕) now and then. Keep code plain.",
    ),
    (
        "noir",
        "a tired detective",
        "Narrate like a detective on a rainy night: short sentences, dry similes, a case to close.",
    ),
    (
        "philosopher",
        "asks what is behind it",
        "Consider what lies behind a question before you answer it, and name the assumptions in it.",
    ),
    (
        "pirate",
        "talks like the sea",
        "Talk like a pirate captain. Orders, paths and code are still given exactly.",
    ),
    (
        "shakespeare",
        "speaks in verse and thou",
        "Speak in the manner of an Elizabethan stage, with thee and thou; commands and code in plain form.",
    ),
    (
        "surfer",
        "relaxed",
        "Be as relaxed as somebody on a beach, with the slang of one. Keep the details right.",
    ),
    (
        "teacher",
        "explains step by step",
        "Explain step by step, from what is known to what is new, with a small example for each idea.",
    ),
    (
        "technical",
        "precise and detailed",
        "Be precise and technical: exact terms, versions, limits and sources of error.",
    ),
    (
        "uwu",
        "very soft",
        "Wwite soft and siwwy, with r and l as w in chat. Nevew inside code, paths ow commands.",
    ),
];

/// All that can be chosen, by name.
pub fn personalities(config: &Config) -> Vec<Personality> {
    let mut all: Vec<Personality> = BUILT_IN
        .iter()
        .map(|(name, description, text)| Personality {
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            text: (*text).to_owned(),
        })
        .collect();
    for section in ["personalities", "agent.personalities"] {
        let section = config.section(section);
        for (name, value) in section.as_object().into_iter().flatten() {
            let Some(own) = configured(name, value) else {
                continue;
            };
            all.retain(|known| known.name != own.name);
            all.push(own);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// A text, or a map with `system_prompt`, `tone`, `style` and `description`.
fn configured(name: &str, value: &Value) -> Option<Personality> {
    let part = |key: &str| value[key].as_str().map(str::trim).filter(|t| !t.is_empty());
    let text = match value.as_str() {
        Some(text) => text.trim().to_owned(),
        None => {
            let tone = part("tone").map(|tone| format!("Tone: {tone}"));
            let style = part("style").map(|style| format!("Style: {style}"));
            [part("system_prompt").map(str::to_owned), tone, style]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("\n")
        }
    };
    if text.is_empty() {
        return None;
    }
    let description = match part("description") {
        Some(description) => description.to_owned(),
        None => text.lines().next().unwrap_or_default().to_owned(),
    };
    Some(Personality {
        name: name.to_lowercase(),
        description,
        text,
    })
}

/// The one of this name, in any case.
pub fn personality(config: &Config, name: &str) -> Option<Personality> {
    let name = name.trim().to_lowercase();
    personalities(config)
        .into_iter()
        .find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn configured_ones_add_to_the_built_in_and_replace_them() {
        let config = Config::from_yaml(
            "agent:\n  personalities:\n    Pirate: Say arr.\n    butler:\n      description: polite\n      \
             system_prompt: Serve.\n      tone: dry\npersonalities:\n  empty: ''\n",
        )
        .unwrap();
        let text = |name: &str| personality(&config, name).map(|found| found.text);
        assert_eq!(text("pirate").as_deref(), Some("Say arr."));
        assert_eq!(text("BUTLER").as_deref(), Some("Serve.\nTone: dry"));
        assert_eq!(text("empty"), None);
        assert_eq!(
            personalities(&config).len(),
            BUILT_IN.len() + 1,
            "one is new, one replaced"
        );
    }
}

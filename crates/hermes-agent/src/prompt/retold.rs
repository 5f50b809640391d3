//! A stored prompt as another model reads it. The prompt is composed once, for the
//! model that the conversation begins with, and stays as it is for that one. When
//! another answers (a fallback, or a resume with `--model`) it is not told that it
//! is somebody else, nor does it get the advice for another family. Its own cache
//! of prefixes is cold at that moment, and what it reads is the same in every
//! request: a pure function of the stored text and its name.

use hermes_llm::Retelling;

use super::Enforcement;
use super::words;

const BEGAN: &str = "Started with model ";

/// The sentence of a prompt that says which model it was composed for.
pub(super) fn began_with(model: &str, provider: &str) -> String {
    format!("{BEGAN}{model} ({provider}).")
}

#[derive(Clone, Debug)]
pub(crate) struct Retold {
    pub(crate) enforcement: Enforcement,
    pub(crate) has_tools: bool,
}

impl Retelling for Retold {
    fn for_model(&self, system: &str, name: &str, provider: &str) -> Option<String> {
        match system.rfind(BEGAN) {
            Some(start) if system[start..].starts_with(&began_with(name, provider)) => return None,
            Some(_) => {}
            // Composed by somebody else: if it knows this model, it is left alone.
            None if system.contains(name) => return None,
            None => {}
        }
        let mut text = system.to_owned();
        for block in [words::ENFORCEMENT, words::GOOGLE, words::DISCIPLINE] {
            text = text.replace(&format!("\n\n{block}"), "");
        }
        if self.has_tools {
            for block in self.enforcement.words(name) {
                text.push_str("\n\n");
                text.push_str(block);
            }
        }
        text.push_str(&format!(
            "\n\nYou are model {name} ({provider}) now, whatever the text above says."
        ));
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const RETOLD: Retold = Retold {
        enforcement: Enforcement::Auto,
        has_tools: true,
    };

    #[test]
    fn the_model_that_it_was_composed_for_reads_it_unchanged() {
        let system = format!("a\n\n{} Session: x.", began_with("gpt-5", "openai-api"));
        assert_eq!(RETOLD.for_model(&system, "gpt-5", "openai-api"), None);
        // A longer name is another model.
        assert!(
            RETOLD
                .for_model(&system, "gpt-5-mini", "openai-api")
                .is_some()
        );
        assert!(RETOLD.for_model(&system, "gpt-5", "openrouter").is_some());
        assert_eq!(
            RETOLD.for_model("Model: gpt-5, by the other program", "gpt-5", "x"),
            None
        );
    }

    #[test]
    fn another_family_gets_its_own_advice_and_name() {
        let advice: String = Enforcement::Auto
            .words("gpt-5")
            .map(|text| format!("\n\n{text}"))
            .collect();
        let system = format!("a{advice}\n\nskills\n\n{}", began_with("gpt-5", "p"));
        let retold = RETOLD.for_model(&system, "gemini-3", "q").unwrap();
        assert_eq!(
            retold,
            format!(
                "a\n\nskills\n\n{}\n\n{}\n\n{}\n\nYou are model gemini-3 (q) now, whatever the text above says.",
                began_with("gpt-5", "p"),
                words::ENFORCEMENT,
                words::GOOGLE,
            )
        );
        let plain = RETOLD.for_model(&system, "claude-5", "q").unwrap();
        assert!(!plain.contains(words::ENFORCEMENT) && !plain.contains(words::DISCIPLINE));
        assert_eq!(RETOLD.for_model(&system, "claude-5", "q").unwrap(), plain);
    }
}

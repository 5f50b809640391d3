//! What a model's name says about what it takes.

/// Family and version of a Claude model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claude<'a> {
    pub family: &'a str,
    pub version: (u32, u32),
}

impl<'a> Claude<'a> {
    /// Reads names such as `claude-opus-4-6`, `anthropic/claude-sonnet-4.5`,
    /// `claude-3-5-haiku-20241022`.
    pub fn parse(model: &'a str) -> Option<Self> {
        let start = model.find("claude-")?;
        let mut family = "";
        let mut numbers = Vec::new();
        for word in model[start + "claude-".len()..].split(['-', '.', ':', '@']) {
            match word.parse::<u32>() {
                // Longer numbers are dates.
                Ok(number) if number < 100 => numbers.push(number),
                Ok(_) => {}
                Err(_) if family.is_empty() => family = word,
                Err(_) => {}
            }
        }
        let major = *numbers.first()?;
        Some(Self {
            family,
            version: (major, numbers.get(1).copied().unwrap_or(0)),
        })
    }

    pub fn is_at_least(&self, major: u32, minor: u32) -> bool {
        self.version >= (major, minor)
    }
}

/// The longest answer that a model of this format gives.
pub fn max_output(model: &str) -> u32 {
    let model = model.to_ascii_lowercase();
    if let Some(claude) = Claude::parse(&model) {
        return match (claude.family, claude.version) {
            ("opus", version) if version >= (4, 6) => 128_000,
            ("opus", (4, 5)) => 64_000,
            ("opus", version) if version >= (4, 0) => 32_000,
            (_, version) if version >= (4, 0) => 64_000,
            (_, (3, 7)) => 128_000,
            (_, (3, 5)) => 8_192,
            (_, (3, _)) => 4_096,
            _ => 128_000,
        };
    }
    if model.contains("minimax") {
        131_072
    } else if model.contains("qwen3") {
        65_536
    } else {
        128_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_generations_are_read() {
        for (name, family, version) in [
            ("claude-opus-4-6", "opus", (4, 6)),
            ("anthropic/claude-sonnet-4.5", "sonnet", (4, 5)),
            ("claude-sonnet-4-20250514", "sonnet", (4, 0)),
            ("claude-3-5-haiku-20241022", "haiku", (3, 5)),
            ("claude-3-opus-20240229", "opus", (3, 0)),
            (
                "us.anthropic.claude-haiku-4-5-20251001-v1:0",
                "haiku",
                (4, 5),
            ),
        ] {
            assert_eq!(
                Claude::parse(name),
                Some(Claude { family, version }),
                "{name}"
            );
        }
        assert_eq!(Claude::parse("gpt-5"), None);
    }

    #[test]
    fn longest_answers_follow_the_generation() {
        for (name, tokens) in [
            ("claude-opus-4-7", 128_000),
            ("claude-opus-4-1", 32_000),
            ("claude-sonnet-4-5", 64_000),
            ("claude-haiku-4-5", 64_000),
            ("claude-3-5-sonnet-latest", 8_192),
            ("claude-3-haiku", 4_096),
            ("MiniMax-M2", 131_072),
            ("qwen3-max", 65_536),
            ("something", 128_000),
        ] {
            assert_eq!(max_output(name), tokens, "{name}");
        }
    }
}

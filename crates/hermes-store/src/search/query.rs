//! From what a person typed to an expression that the index understands.
//!
//! Every word is handed over quoted, so no character of it can be syntax. What
//! keeps its meaning: `"a phrase"`, a trailing `*`, and `AND`, `OR`, `NOT` in
//! capitals between two words.

/// How a query is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Nothing to look for.
    Nothing,
    Words(String),
    Trigrams(String),
    /// Any of these, anywhere in the text; some are too short for a trigram.
    Short(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Operator(&'static str),
    Word { text: String, prefix: bool },
}

pub(super) fn plan(query: &str) -> Plan {
    let tokens = tokenize(query);
    let words = || {
        tokens.iter().filter_map(|token| match token {
            Token::Word { text, .. } => Some(text.as_str()),
            Token::Operator(_) => None,
        })
    };
    let cjk = |text: &str| text.chars().filter(|c| is_cjk(*c)).count();
    if words().next().is_none() {
        return Plan::Nothing;
    }
    if words().all(|word| cjk(word) == 0) {
        return Plan::Words(expression(&tokens));
    }
    let long_enough = words().all(|word| cjk(word) == 0 || cjk(word) >= 3);
    if long_enough {
        // Below three characters a word has no trigram and would match nothing.
        let indexed: Vec<Token> = tokens
            .iter()
            .filter(|token| match token {
                Token::Word { text, .. } => text.chars().count() >= 3,
                Token::Operator(_) => true,
            })
            .cloned()
            .collect();
        Plan::Trigrams(expression(&indexed))
    } else {
        Plan::Short(words().map(str::to_owned).collect())
    }
}

fn tokenize(query: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (index, piece) in query.split('"').enumerate() {
        // Odd pieces lie between quotes; a last one without its end is plain words.
        let closed = index < query.matches('"').count() || index % 2 == 0;
        if index % 2 == 1 && closed {
            push_word(&mut tokens, piece, false);
            continue;
        }
        for word in piece.split(separates).filter(|word| !word.is_empty()) {
            match word {
                "AND" => tokens.push(Token::Operator("AND")),
                "OR" => tokens.push(Token::Operator("OR")),
                "NOT" => tokens.push(Token::Operator("NOT")),
                _ => push_word(&mut tokens, word, word.ends_with('*')),
            }
        }
    }
    tokens
}

/// White space, and what the index would take for syntax.
fn separates(c: char) -> bool {
    c.is_whitespace() || matches!(c, '+' | '{' | '}' | '(' | ')' | '^')
}

/// Words without a letter or digit have nothing to be found by.
fn push_word(tokens: &mut Vec<Token>, text: &str, prefix: bool) {
    let text: String = text
        .trim_matches('*')
        .chars()
        .filter(|c| *c != '\0')
        .collect();
    if text.chars().any(char::is_alphanumeric) {
        tokens.push(Token::Word { text, prefix });
    }
}

/// Operators that do not stand between two words are dropped; of several in a
/// row the last one counts, so that `a AND NOT b` means `a NOT b`.
fn expression(tokens: &[Token]) -> String {
    let mut text = String::new();
    let mut operator = None;
    for token in tokens {
        match token {
            Token::Operator(name) => operator = Some(*name),
            Token::Word { text: word, prefix } => {
                if !text.is_empty() {
                    text.push(' ');
                    if let Some(name) = operator {
                        text.push_str(name);
                        text.push(' ');
                    }
                }
                operator = None;
                text.push('"');
                text.push_str(word);
                text.push('"');
                if *prefix {
                    text.push('*');
                }
            }
        }
    }
    text
}

pub(super) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{1100}'..='\u{11FF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(query: &str) -> String {
        match plan(query) {
            Plan::Words(expression) => expression,
            other => panic!("{query:?} became {other:?}"),
        }
    }

    #[test]
    fn words_are_quoted_and_operators_kept_between_them() {
        assert_eq!(words("docker exec"), r#""docker" "exec""#);
        assert_eq!(words("a OR b"), r#""a" OR "b""#);
        assert_eq!(words("OR a AND NOT b AND"), r#""a" NOT "b""#);
        assert_eq!(
            words("file.rs my-name deploy*"),
            r#""file.rs" "my-name" "deploy"*"#
        );
        assert_eq!(words(r#""two words" c"#), r#""two words" "c""#);
        assert_eq!(words(r#"open "quote here"#), r#""open" "quote" "here""#);
        assert_eq!(
            words("content:x ^y (z) {q} a+r"),
            r#""content:x" "y" "z" "q" "a" "r""#
        );
    }

    #[test]
    fn nothing_to_look_for_is_nothing() {
        for query in ["", "  ", "***", "\"\"", "AND", "!? ()", "\0"] {
            assert_eq!(plan(query), Plan::Nothing, "{query:?}");
        }
    }

    #[test]
    fn cjk_goes_to_trigrams_unless_it_is_short() {
        assert_eq!(plan("日本語"), Plan::Trigrams("\"日本語\"".into()));
        assert_eq!(
            plan("日本語 a rust"),
            Plan::Trigrams("\"日本語\" \"rust\"".into())
        );
        assert_eq!(plan("你好"), Plan::Short(vec!["你好".into()]));
        assert_eq!(
            plan("日本語 你好"),
            Plan::Short(vec!["日本語".into(), "你好".into()])
        );
    }
}

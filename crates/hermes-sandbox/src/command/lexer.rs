//! Cuts a command into words and operators.
//!
//! Knows quotes, escapes, comments, substitutions, redirections and here-documents;
//! expands nothing. Text that a shell would refuse (an open quote) is cut as far as
//! it goes: callers leave alone what they do not understand.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Anything that is not an operator; quotes and substitutions included.
    Word,
    /// `&&` or `||`
    AndOr,
    /// `|` or `|&`
    Pipe,
    /// `;`, `;;`, `;&`, `;;&`
    Semicolon,
    /// `&` that starts something in the background
    Background,
    Newline,
    /// `(`
    Open,
    /// `)`
    Close,
    /// A redirection operator, with its descriptor number if it has one.
    Redirect,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: TokenKind,
    pub span: Range<usize>,
    /// Words only: something in it is quoted or escaped.
    pub quoted: bool,
    /// Words only: stands where a command's name stands.
    pub is_command: bool,
    /// How many `(` and `{` are open around it.
    pub depth: usize,
    /// Words only: the insides of `$(…)`, `<(…)` and backticks in it.
    pub substitutions: Vec<Range<usize>>,
}

impl Token {
    pub fn text<'a>(&self, command: &'a str) -> &'a str {
        &command[self.span.clone()]
    }
}

/// The tokens of a command; comments and here-document bodies are left out.
pub fn tokens(command: &str) -> Vec<Token> {
    Lexer {
        text: command,
        bytes: command.as_bytes(),
        at: 0,
        depth: 0,
        tokens: Vec::new(),
        heredocs: Vec::new(),
        expects_command: true,
        expects_operand: false,
    }
    .run()
}

struct Heredoc {
    end: String,
    strip_tabs: bool,
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    tokens: Vec<Token>,
    heredocs: Vec<Heredoc>,
    expects_command: bool,
    /// The next word belongs to a redirection.
    expects_operand: bool,
}

/// Words after which another command's name follows.
const OPENERS: &[&str] = &[
    "if", "then", "else", "elif", "do", "while", "until", "!", "time", "{",
];

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn run(mut self) -> Vec<Token> {
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'#' => self.skip_comment(),
                b'\n' => {
                    self.operator(TokenKind::Newline, 1);
                    self.skip_heredocs();
                }
                b';' => {
                    let length = match (self.peek(1), self.peek(2)) {
                        (b';', b'&') => 3,
                        (b';' | b'&', _) => 2,
                        _ => 1,
                    };
                    self.operator(TokenKind::Semicolon, length);
                }
                b'&' => match self.peek(1) {
                    b'&' => self.operator(TokenKind::AndOr, 2),
                    b'>' => self.redirect(if self.peek(2) == b'>' { 3 } else { 2 }),
                    _ => self.operator(TokenKind::Background, 1),
                },
                b'|' => match self.peek(1) {
                    b'|' => self.operator(TokenKind::AndOr, 2),
                    b'&' => self.operator(TokenKind::Pipe, 2),
                    _ => self.operator(TokenKind::Pipe, 1),
                },
                b'(' => {
                    self.operator(TokenKind::Open, 1);
                    self.depth += 1;
                }
                b')' => {
                    // A `case` pattern closes what nothing opened.
                    self.depth = self.depth.saturating_sub(1);
                    self.operator(TokenKind::Close, 1);
                }
                b'<' | b'>' if self.peek(1) != b'(' => {
                    let length = self.redirect_length();
                    self.redirect(length);
                }
                b'0'..=b'9' if self.is_descriptor() => {
                    let digits = self.digits();
                    self.at += digits;
                    let length = self.redirect_length();
                    self.at -= digits;
                    self.redirect(digits + length);
                }
                _ => self.word(),
            }
        }
        self.tokens
    }

    fn push(&mut self, kind: TokenKind, span: Range<usize>, quoted: bool, is_command: bool) {
        self.tokens.push(Token {
            kind,
            span,
            quoted,
            is_command,
            depth: self.depth,
            substitutions: Vec::new(),
        });
    }

    fn operator(&mut self, kind: TokenKind, length: usize) {
        let span = self.at..self.at + length;
        self.at += length;
        self.push(kind, span, false, false);
        self.expects_command = true;
        self.expects_operand = false;
    }

    fn redirect(&mut self, length: usize) {
        let span = self.at..self.at + length;
        let operator = &self.text[span.clone()];
        let operator = operator.trim_start_matches(|c: char| c.is_ascii_digit());
        let heredoc = match operator {
            "<<" => Some(false),
            "<<-" => Some(true),
            _ => None,
        };
        self.at += length;
        self.push(TokenKind::Redirect, span, false, false);
        self.expects_operand = true;
        if let Some(strip_tabs) = heredoc {
            self.heredoc(strip_tabs);
        }
    }

    /// Reads the word that ends a here-document.
    fn heredoc(&mut self, strip_tabs: bool) {
        while matches!(self.peek(0), b' ' | b'\t') {
            self.at += 1;
        }
        let before = self.tokens.len();
        if self.at < self.bytes.len() && !matches!(self.peek(0), b'\n' | b';' | b'&' | b'|') {
            self.word();
        }
        if let Some(word) = self.tokens.get(before) {
            let end: String = word
                .text(self.text)
                .chars()
                .filter(|c| !matches!(c, '\'' | '"' | '\\'))
                .collect();
            self.heredocs.push(Heredoc { end, strip_tabs });
        }
    }

    /// Passes the bodies that begin on this line.
    fn skip_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            while self.at < self.bytes.len() {
                let rest = &self.text[self.at..];
                let line = rest.split('\n').next().unwrap_or("");
                self.at += (line.len() + 1).min(rest.len());
                let compared = if heredoc.strip_tabs {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if compared == heredoc.end {
                    break;
                }
            }
        }
    }

    fn skip_comment(&mut self) {
        while self.at < self.bytes.len() && self.peek(0) != b'\n' {
            self.at += 1;
        }
    }

    fn digits(&self) -> usize {
        self.bytes[self.at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    }

    /// `2>` but not `2` nor `a2>` (words are taken whole).
    fn is_descriptor(&self) -> bool {
        let digits = self.digits();
        matches!(self.peek(digits), b'<' | b'>') && self.peek(digits + 1) != b'('
    }

    fn redirect_length(&self) -> usize {
        let next = (self.peek(0), self.peek(1), self.peek(2));
        match next {
            (b'<', b'<', b'<' | b'-') => 3,
            (b'<', b'<' | b'&' | b'>', _) | (b'>', b'>' | b'&' | b'|', _) => 2,
            _ => 1,
        }
    }

    fn word(&mut self) {
        let start = self.at;
        let mut quoted = false;
        let mut substitutions = Vec::new();
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                // `<(…)` begins a word or goes on with one; a plain `<` ends it.
                b'<' | b'>' if self.peek(1) == b'(' => {
                    self.at += 1;
                    substitutions.push(self.parenthesised());
                }
                b'<' | b'>' => break,
                // `f()`: the parenthesis is an operator; `@(a|b)` is a pattern.
                b'(' if self.at > start
                    && matches!(
                        self.bytes[self.at - 1],
                        b'@' | b'?' | b'*' | b'+' | b'!' | b'='
                    ) =>
                {
                    self.parenthesised();
                }
                b'(' => break,
                b'\\' => {
                    quoted = true;
                    self.at = next_boundary(self.text, self.at + 1);
                }
                b'\'' => {
                    quoted = true;
                    self.single_quoted();
                }
                b'"' => {
                    quoted = true;
                    self.double_quoted(&mut substitutions);
                }
                b'`' => substitutions.push(self.backticks()),
                b'$' => self.dollar(&mut quoted, &mut substitutions),
                _ => self.at += 1,
            }
        }
        if self.at == start {
            // A character no rule takes: pass it, or the loop would not end.
            self.at = next_boundary(self.text, start);
        }
        let is_command = self.expects_command && !self.expects_operand;
        let text = &self.text[start..self.at];
        let name = (!quoted && is_command).then_some(text);
        if name == Some("}") {
            self.depth = self.depth.saturating_sub(1);
        }
        let is_assignment = is_command && is_assignment(text);
        self.push(
            TokenKind::Word,
            start..self.at,
            quoted,
            is_command && !is_assignment,
        );
        if let Some(token) = self.tokens.last_mut() {
            token.substitutions = substitutions;
        }
        if name == Some("{") {
            self.depth += 1;
        }
        let opener = name.is_some_and(|name| OPENERS.contains(&name));
        if self.expects_operand {
            self.expects_operand = false;
        } else {
            self.expects_command = opener || is_assignment;
        }
    }

    fn single_quoted(&mut self) {
        self.at += 1;
        while self.at < self.bytes.len() && self.peek(0) != b'\'' {
            self.at += 1;
        }
        self.at = (self.at + 1).min(self.bytes.len());
    }

    fn double_quoted(&mut self, substitutions: &mut Vec<Range<usize>>) {
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' => self.at = next_boundary(self.text, self.at + 1),
                b'`' => substitutions.push(self.backticks()),
                b'$' => {
                    let mut inside = false;
                    self.dollar_in_quotes(&mut inside, substitutions);
                }
                _ => self.at += 1,
            }
        }
    }

    fn dollar(&mut self, quoted: &mut bool, substitutions: &mut Vec<Range<usize>>) {
        match self.peek(1) {
            b'\'' => {
                *quoted = true;
                self.at += 2;
                while self.at < self.bytes.len() && self.peek(0) != b'\'' {
                    self.at = if self.peek(0) == b'\\' {
                        next_boundary(self.text, self.at + 1)
                    } else {
                        self.at + 1
                    };
                }
                self.at = (self.at + 1).min(self.bytes.len());
            }
            _ => self.dollar_in_quotes(quoted, substitutions),
        }
    }

    fn dollar_in_quotes(&mut self, quoted: &mut bool, substitutions: &mut Vec<Range<usize>>) {
        match self.peek(1) {
            b'(' => {
                self.at += 1;
                let inside = self.parenthesised();
                // `$((…))` is arithmetic.
                if self.text[inside.clone()].starts_with('(') {
                    *quoted = true;
                } else {
                    substitutions.push(inside);
                }
            }
            b'{' => {
                self.at += 2;
                let mut open = 1;
                while self.at < self.bytes.len() && open > 0 {
                    match self.peek(0) {
                        b'{' => open += 1,
                        b'}' => open -= 1,
                        b'\\' => {
                            self.at = next_boundary(self.text, self.at + 1);
                            continue;
                        }
                        b'\'' => {
                            self.single_quoted();
                            continue;
                        }
                        _ => {}
                    }
                    self.at += 1;
                }
            }
            _ => self.at += 1,
        }
    }

    /// From `(` to its `)`; returns what is between. Quotes inside are respected.
    fn parenthesised(&mut self) -> Range<usize> {
        self.at += 1;
        let start = self.at;
        let mut open = 1;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 0 {
                        self.at += 1;
                        return start..self.at - 1;
                    }
                }
                b'\\' => {
                    self.at = next_boundary(self.text, self.at + 1);
                    continue;
                }
                b'\'' => {
                    self.single_quoted();
                    continue;
                }
                b'"' => {
                    self.double_quoted(&mut Vec::new());
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        start..self.bytes.len()
    }

    fn backticks(&mut self) -> Range<usize> {
        self.at += 1;
        let start = self.at;
        while self.at < self.bytes.len() && self.peek(0) != b'`' {
            self.at = if self.peek(0) == b'\\' {
                next_boundary(self.text, self.at + 1)
            } else {
                self.at + 1
            };
        }
        let inside = start..self.at.min(self.bytes.len());
        self.at = (self.at + 1).min(self.bytes.len());
        inside
    }
}

/// Past the character at `at`, never beyond the end and never inside a character.
fn next_boundary(text: &str, at: usize) -> usize {
    (at + 1..=text.len())
        .find(|&index| text.is_char_boundary(index))
        .unwrap_or(text.len())
}

/// `NAME=…` or `NAME+=…`
fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn words(command: &str) -> Vec<&str> {
        tokens(command)
            .iter()
            .filter(|token| token.kind == TokenKind::Word)
            .map(|token| token.text(command))
            .collect()
    }

    fn commands(command: &str) -> Vec<&str> {
        tokens(command)
            .iter()
            .filter(|token| token.is_command)
            .map(|token| token.text(command))
            .collect()
    }

    #[test]
    fn quotes_comments_and_substitutions_stay_in_their_words() {
        assert_eq!(
            words(r#"echo 'a & b' "c; $(d | e)" f\ g $'h\'i' `j k` ${l:-m n} # not & this"#),
            [
                "echo",
                "'a & b'",
                "\"c; $(d | e)\"",
                "f\\ g",
                "$'h\\'i'",
                "`j k`",
                "${l:-m n}"
            ]
        );
        assert_eq!(words("a#b #c"), ["a#b"]);
    }

    #[test]
    fn names_of_commands_are_told_from_arguments() {
        assert_eq!(
            commands(
                "A=1 B='x y' one two; three | four && ! five || { six; } & (seven) 2>log eight"
            ),
            [
                "one", "three", "four", "!", "five", "{", "six", "}", "seven", "eight"
            ]
        );
        assert_eq!(
            commands("if a; then b; else c; fi"),
            ["if", "a", "then", "b", "else", "c", "fi"]
        );
        assert_eq!(commands(">out cmd arg"), ["cmd"]);
    }

    #[test]
    fn redirections_are_not_background_operators() {
        let kinds = |text: &str| -> Vec<TokenKind> {
            tokens(text).iter().map(|token| token.kind).collect()
        };
        assert!(!kinds("a &>x; b >&2; c 2>&1; d &>>y; e <&3").contains(&TokenKind::Background));
        assert!(kinds("a 2>&1 &").contains(&TokenKind::Background));
        assert!(kinds("a&").contains(&TokenKind::Background));
    }

    #[test]
    fn here_documents_are_not_commands() {
        let text = "cat <<'EOF' && next\nsudo & nohup\nEOF\nafter <<-X\n\ta &\n\tX\nlast";
        assert_eq!(commands(text), ["cat", "next", "after", "last"]);
        assert_eq!(commands("cat <<< 'x' && b"), ["cat", "b"]);
    }

    #[test]
    fn the_insides_of_substitutions_are_known() {
        let text = "a \"$(b c)\" `d` <(e) $((1+2))";
        let inner: Vec<&str> = tokens(text)
            .iter()
            .flat_map(|token| token.substitutions.clone())
            .map(|span| &text[span])
            .collect();
        assert_eq!(inner, ["b c", "d", "e"]);
    }

    proptest! {
        #[test]
        fn any_text_is_cut_without_panic_and_in_order(text in "[a-z ;&|(){}<>'\"`$#\\\\\n0-9é=!-]{0,60}") {
            let tokens = tokens(&text);
            let mut end = 0;
            for token in &tokens {
                prop_assert!(token.span.start >= end && token.span.end > token.span.start, "{:?}", tokens);
                prop_assert!(text.is_char_boundary(token.span.start) && text.is_char_boundary(token.span.end));
                end = token.span.end;
            }
        }
    }
}

//! A regular expression of ours for `grep -E`, which knows fewer forms.
//!
//! Only whether a line matches is of interest, so a lazy repetition is as good as
//! any. Where grep has no words for something, it is told to find more, and
//! [`Ere::exact`] says that its hits have to be looked at again.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ere {
    pub text: String,
    pub ignore_case: bool,
    pub exact: bool,
}

/// `pattern` is one that our own engine understands.
pub fn ere(pattern: &str) -> Ere {
    let mut writer = Writer {
        rest: pattern.chars().peekable(),
        out: Ere {
            text: String::with_capacity(pattern.len()),
            ignore_case: false,
            exact: true,
        },
        ignores_blanks: false,
    };
    writer.run();
    match writer.ignores_blanks {
        true => Ere {
            text: String::new(),
            ignore_case: false,
            exact: false,
        },
        false => writer.out,
    }
}

struct Writer<'p> {
    rest: Peekable<Chars<'p>>,
    out: Ere,
    /// `(?x)`: hardly anything means what it seems to.
    ignores_blanks: bool,
}

impl Writer<'_> {
    fn run(&mut self) {
        while let Some(char) = self.rest.next() {
            match char {
                '\\' => self.escape(),
                '[' => self.class(),
                '(' => self.group(),
                '*' | '+' | '?' => {
                    self.out.text.push(char);
                    self.lazy();
                }
                '{' => {
                    self.out.text.push('{');
                    for inner in self.rest.by_ref() {
                        self.out.text.push(inner);
                        if inner == '}' {
                            break;
                        }
                    }
                    self.lazy();
                }
                '.' if !matches!(self.rest.peek(), Some('*' | '+')) => self.anything(),
                '^' => self.beginning(),
                other => self.out.text.push(other),
            }
        }
    }

    /// The first line of a file may begin with a byte-order mark.
    fn beginning(&mut self) {
        self.out.text.push_str("^(\u{feff})?");
        self.out.exact = false;
    }

    fn lazy(&mut self) {
        self.rest.next_if_eq(&'?');
    }

    /// Anything, of which our engine will know more.
    fn anything(&mut self) {
        // A character beyond ASCII may be several for grep.
        self.out.text.push_str("(.{1,4})");
        self.out.exact = false;
    }

    fn escape(&mut self) {
        let Some(char) = self.rest.next() else {
            return;
        };
        match char {
            'd' => self.out.text.push_str("[0-9]"),
            'D' => self.out.text.push_str("[^0-9]"),
            'w' => self.out.text.push_str("[[:alnum:]_]"),
            'W' => self.out.text.push_str("[^[:alnum:]_]"),
            's' => self.out.text.push_str("[[:space:]]"),
            'S' => self.out.text.push_str("[^[:space:]]"),
            'A' => self.beginning(),
            'z' => self.out.text.push('$'),
            'b' | 'B' if self.rest.peek() == Some(&'{') => {
                self.braces();
                self.out.exact = false;
            }
            'b' | 'B' | '<' | '>' => {
                self.out.text.push('\\');
                self.out.text.push(char);
            }
            'p' | 'P' | 'x' | 'u' | 'U' => {
                self.code_point(char);
                self.anything();
            }
            't' => self.out.text.push('\t'),
            'r' => self.out.text.push('\r'),
            'f' => self.out.text.push('\u{c}'),
            'v' => self.out.text.push('\u{b}'),
            'a' => self.out.text.push('\u{7}'),
            '.' | '[' | ']' | '{' | '}' | '(' | ')' | '*' | '+' | '?' | '^' | '$' | '|' | '\\' => {
                self.out.text.push('\\');
                self.out.text.push(char);
            }
            other => self.out.text.push(other),
        }
    }

    /// What follows `\p`, `\x` and the like.
    fn code_point(&mut self, kind: char) {
        if self.rest.peek() == Some(&'{') {
            return self.braces();
        }
        let digits = match kind {
            'p' | 'P' => 1,
            'x' => 2,
            'u' => 4,
            _ => 8,
        };
        for _ in 0..digits {
            self.rest.next();
        }
    }

    fn braces(&mut self) {
        for inner in self.rest.by_ref() {
            if inner == '}' {
                break;
            }
        }
    }

    fn group(&mut self) {
        if self.rest.next_if_eq(&'?').is_none() {
            self.out.text.push('(');
            return;
        }
        self.rest.next_if_eq(&'P');
        if self.rest.next_if_eq(&'<').is_some() {
            for inner in self.rest.by_ref() {
                if inner == '>' {
                    break;
                }
            }
            self.out.text.push('(');
            return;
        }
        let at_start = self.out.text.is_empty();
        let mut flags = String::new();
        for inner in self.rest.by_ref() {
            match inner {
                ':' => {
                    self.out.text.push('(');
                    break;
                }
                ')' => break,
                flag => flags.push(flag),
            }
        }
        let on = flags.split('-').next().unwrap_or_default();
        self.ignores_blanks |= on.contains('x');
        self.out.ignore_case |= on.contains('i');
        // For the whole of it, or perhaps for a part.
        self.out.exact &= flags.is_empty() || (at_start && flags == "i");
    }

    fn class(&mut self) {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut class = Class::default();
        let mut first = true;
        let mut closed = false;
        while let Some(char) = self.rest.next() {
            match char {
                ']' if !first => {
                    closed = true;
                    break;
                }
                '[' if self.rest.peek() == Some(&':') => {
                    class.body.push('[');
                    for inner in self.rest.by_ref() {
                        class.body.push(inner);
                        if inner == ']' {
                            break;
                        }
                    }
                    class.odd |= class.body.ends_with("[:word:]") || class.body.contains("[:^");
                }
                '[' => {
                    // A class in a class: to its end, whatever it says.
                    class.odd = true;
                    self.skip_class();
                }
                '&' | '~' | '-' if self.rest.peek() == Some(&char) => class.odd = true,
                '\\' => {
                    if let Some(escaped) = self.rest.next() {
                        class.escaped(escaped);
                        if matches!(escaped, 'p' | 'P' | 'x' | 'u' | 'U') {
                            self.code_point(escaped);
                        }
                    }
                }
                other => class.literal(other),
            }
            first = false;
        }
        if class.odd || !closed {
            self.anything();
        } else {
            self.out.text.push_str(&class.written(negated));
        }
    }

    fn skip_class(&mut self) {
        let mut depth = 1;
        while let Some(char) = self.rest.next() {
            match char {
                '\\' => drop(self.rest.next()),
                '[' => depth += 1,
                ']' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }
}

/// A bracket expression, in which a backslash is nothing special.
#[derive(Default)]
struct Class {
    body: String,
    bracket: bool,
    caret: bool,
    dash: bool,
    odd: bool,
}

impl Class {
    fn literal(&mut self, char: char) {
        match char {
            ']' => self.bracket = true,
            '^' => self.caret = true,
            other => self.body.push(other),
        }
    }

    fn escaped(&mut self, char: char) {
        match char {
            'd' => self.body.push_str("0-9"),
            'w' => self.body.push_str("[:alnum:]_"),
            's' => self.body.push_str("[:space:]"),
            't' => self.body.push('\t'),
            'r' => self.body.push('\r'),
            'n' => {}
            '-' => self.dash = true,
            '[' => self.body.push('['),
            'D' | 'W' | 'S' | 'p' | 'P' | 'x' | 'u' | 'U' | 'b' => self.odd = true,
            other => self.literal(other),
        }
    }

    fn written(&self, negated: bool) -> String {
        let mut text = String::from("[");
        if negated {
            text.push('^');
        }
        if self.bracket {
            text.push(']');
        }
        text.push_str(&self.body);
        if self.caret {
            if text == "[" && !self.dash {
                return "\\^".to_owned();
            }
            match text == "[" {
                // Not in the first place, where it would negate.
                true => text.push_str("-^"),
                false => text.push('^'),
            }
        }
        if self.dash && text != "[-^" {
            text.push('-');
        }
        match text.as_str() {
            "[" | "[^" => ".".to_owned(),
            _ => text + "]",
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::super::LinePattern;
    use super::*;

    #[test]
    fn what_models_write_is_understood() {
        for (pattern, expected) in [
            ("foo|bar", "foo|bar"),
            (r"\bfn\s+\w+\(", r"\bfn[[:space:]]+[[:alnum:]_]+\("),
            (r"v\d{2,3}?\.x", r"v[0-9]{2,3}\.x"),
            ("a.*?b", "a.*b"),
            (r"(?:ab)+(?P<n>c)", "(ab)+(c)"),
            (r"[\w.-]+@[\d_]", "[[:alnum:]_.-]+@[0-9_]"),
            (r"[\]\-x]", "[]x-]"),
            (r#"["'\\]"#, r#"["'\]"#),
            (r"[^\s,]", "[^[:space:],]"),
            (r"\/\*\#", r"/\*#"),
        ] {
            let got = ere(pattern);
            assert_eq!(
                (got.text.as_str(), got.exact),
                (expected, true),
                "{pattern}"
            );
        }
        let loose = ere("(?i)todo");
        assert_eq!(
            (loose.text.as_str(), loose.ignore_case, loose.exact),
            ("todo", true, true)
        );
        for pattern in [
            r"\p{L}x",
            "[a-z&&[^x]]y",
            "a(?i)b",
            r"(?x) a b",
            r"\x41",
            "[^\\W]",
            "^a",
            "caf.b",
        ] {
            assert!(!ere(pattern).exact, "{pattern}");
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a test that waits for it")]
    fn grep(pattern: &Ere, lines: &str) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines).unwrap();
        let mut command = std::process::Command::new("grep");
        command.arg("-E").args(pattern.ignore_case.then_some("-i"));
        command.args(["-e", &pattern.text, "--"]).arg(file.path());
        let done = command.env("LC_ALL", "C.UTF-8").output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() < Some(2), "{pattern:?}: {said}");
        let found = String::from_utf8_lossy(&done.stdout).into_owned();
        found.lines().map(str::to_owned).collect()
    }

    /// Pieces of patterns as people write them.
    fn piece() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-c]{1,3}",
            Just(r"\d+".to_owned()),
            Just(r"\w*?".to_owned()),
            Just(r"\s".to_owned()),
            Just(r"[^a\]]".to_owned()),
            Just(r"[\w-]+".to_owned()),
            Just(r"[\^a]".to_owned()),
            Just(r"[\-^]".to_owned()),
            Just(r"\.".to_owned()),
            Just("(?:a|b)+?".to_owned()),
            Just("(c|d)?".to_owned()),
            Just(r"\ba".to_owned()),
            Just(".{1,2}?".to_owned()),
            Just(r"\p{Lu}".to_owned()),
            Just("[a-c&&[^b]]".to_owned()),
            Just(r"\x41".to_owned()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
        /// grep finds what our engine finds; where it is exact, nothing else.
        #[test]
        fn grep_finds_at_least_the_same(
            pieces in proptest::collection::vec(piece(), 1..4),
            fold in any::<bool>(),
            lines in proptest::collection::vec("[a-dA-D0-9 ._^\\]-]{0,8}", 1..30),
        ) {
            let pattern = format!("{}{}", if fold { "(?i)" } else { "" }, pieces.concat());
            let ours = LinePattern::new(&pattern).unwrap();
            let theirs = ere(&pattern);
            let found = grep(&theirs, &(lines.join("\n") + "\n"));
            let expected: Vec<&String> = lines.iter().filter(|line| ours.matches(line)).collect();
            if theirs.exact {
                prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{}", pattern);
            } else {
                for line in expected {
                    prop_assert!(found.contains(line), "{} in {:?}", pattern, line);
                }
            }
        }
    }
}

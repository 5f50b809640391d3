//! Reading a command line the way a shell would, far enough to see what runs.
//!
//! The result is a flat list of simple commands with quotes removed, simple
//! variables filled in and substitutions opened, so that `r''m`, `a=rm; $a` and
//! `$(echo rm)` do not hide what they are, and `echo "rm -rf /"` stays an echo.
//! It never fails: what cannot be read is kept as words.

use std::collections::HashMap;

use super::expand::{changed, marked, one_of, parameter, plain, spelled_out};
use super::paths::placed;

/// What is known before the first word of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The working directory: absolute, or from `~` or `$HOME` on.
    pub(crate) place: Option<String>,
    pub(crate) variables: HashMap<String, String>,
}

/// One program call within a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Program and arguments, without quotes.
    pub(crate) words: Vec<String>,
    pub(crate) redirects: Vec<Redirect>,
    /// The text between the marks of a here-document or of `<<<`.
    pub(crate) here: Option<String>,
    /// Reads what the previous simple command prints.
    pub(crate) piped: bool,
    /// Ended by a single `&`.
    pub(crate) background: bool,
    /// Stands inside `$(…)`, backticks or `<(…)`: an argument of something else.
    pub(crate) nested: bool,
    /// The directory that it runs in, where the text tells.
    pub(crate) place: Option<String>,
}

impl Simple {
    /// A path of this command as an absolute one, as far as that is known.
    pub(crate) fn placed(&self, path: &str) -> String {
        placed(self.place.as_deref(), path)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) writes: bool,
    pub(crate) target: String,
}

/// Deeper nesting than this is kept as words.
const MAX_DEPTH: usize = 8;

pub(crate) const DECLARERS: &[&str] = &["export", "declare", "local", "readonly", "typeset"];
/// Values that are remembered at most, and how long each may be.
const MOST_VALUES: usize = 256;
const LONGEST_VALUE: usize = 4 << 10;

pub(crate) fn parse(text: &str) -> Vec<Simple> {
    parse_knowing(text, &Known::default()).0
}

/// The commands, and what is known after the last.
pub(crate) fn parse_knowing(text: &str, known: &Known) -> (Vec<Simple>, Known) {
    let mut parser = Parser::new(known.clone());
    parser.run(text, 0);
    if !parser.read_into.is_empty() && !parser.fed.is_empty() {
        // What a loop reads stands behind its end, so it is read once more.
        let (names, fed) = (parser.read_into, parser.fed);
        parser = Parser::new(known.clone());
        for name in names {
            parser.remember(&name, one_of(&fed));
        }
        parser.run(text, 0);
    }
    (parser.commands, parser.known)
}

/// Values that outlive the text: assigned on their own, not for one program.
pub(crate) fn lasting(commands: &[Simple], after: &Known) -> Vec<(String, String)> {
    let assigned = commands
        .iter()
        .filter(|simple| !simple.nested)
        .flat_map(|simple| {
            let (words, declares) = match simple.words.split_first() {
                Some((first, rest)) if DECLARERS.contains(&first.as_str()) => (rest, true),
                _ => (&simple.words[..], false),
            };
            let alone = declares || words.iter().all(|word| assignment(word).is_some());
            words
                .iter()
                .filter(move |_| alone)
                .filter_map(|word| assignment(word))
        });
    let value = |name: &str| after.variables.get(name).cloned();
    assigned
        .filter_map(|(name, _)| Some((name.to_owned(), value(name)?)))
        .collect()
}

struct Parser {
    known: Known,
    /// The places around the brackets that are open.
    outside: Vec<Option<String>>,
    commands: Vec<Simple>,
    /// Names that `read` gives values to, and the lines it may get.
    read_into: Vec<String>,
    fed: Vec<String>,
}

/// One reading position, with the word and the command under construction.
struct Cursor<'t> {
    chars: std::iter::Peekable<std::str::Chars<'t>>,
    word: Option<String>,
    current: Simple,
    redirect: Option<bool>,
    here_marks: Vec<String>,
    pipe_next: bool,
}

impl Parser {
    fn new(known: Known) -> Self {
        Self {
            known,
            outside: Vec::new(),
            commands: Vec::new(),
            read_into: Vec::new(),
            fed: Vec::new(),
        }
    }

    fn run(&mut self, text: &str, depth: usize) {
        let mut at = Cursor {
            chars: text.chars().peekable(),
            word: None,
            current: Simple::default(),
            redirect: None,
            here_marks: Vec::new(),
            pipe_next: false,
        };
        while let Some(c) = at.chars.next() {
            self.step(&mut at, c, depth);
        }
        self.end_command(&mut at, depth);
    }

    fn step(&mut self, at: &mut Cursor<'_>, c: char, depth: usize) {
        match c {
            '\'' => {
                let quoted = take_until(&mut at.chars, '\'');
                at.word.get_or_insert_default().push_str(&quoted);
            }
            '"' => self.double_quoted(at, depth),
            '\\' => match at.chars.next() {
                Some('\n') | None => {}
                Some(escaped) => at.word.get_or_insert_default().push(escaped),
            },
            '`' => {
                let inner = take_until(&mut at.chars, '`');
                self.substitution(at, &inner, depth);
            }
            '$' => self.dollar(at, depth, true),
            '#' if at.word.is_none() => {
                while at.chars.peek().is_some_and(|next| *next != '\n') {
                    at.chars.next();
                }
            }
            ' ' | '\t' | '\r' => self.end_word(at),
            '\n' => {
                self.end_word(at);
                self.here_documents(at);
                self.end_command(at, depth);
            }
            ';' => self.end_command(at, depth),
            '(' => {
                self.end_command(at, depth);
                self.outside.push(self.known.place.clone());
            }
            ')' => {
                self.end_command(at, depth);
                if let Some(place) = self.outside.pop() {
                    self.known.place = place;
                }
            }
            '&' => self.ampersand(at, depth),
            '|' => {
                if at.chars.peek() == Some(&'|') {
                    at.chars.next();
                    self.end_command(at, depth);
                } else {
                    if at.chars.peek() == Some(&'&') {
                        at.chars.next();
                    }
                    self.end_command(at, depth);
                    at.pipe_next = true;
                }
            }
            '>' => self.output_redirect(at),
            '<' => self.input_redirect(at, depth),
            other => at.word.get_or_insert_default().push(marked(other)),
        }
    }

    fn ampersand(&mut self, at: &mut Cursor<'_>, depth: usize) {
        match at.chars.peek() {
            Some('&') => {
                at.chars.next();
                self.end_command(at, depth);
            }
            Some('>') => {
                at.chars.next();
                self.output_redirect(at);
            }
            _ => {
                at.current.background = true;
                self.end_command(at, depth);
            }
        }
    }

    fn output_redirect(&mut self, at: &mut Cursor<'_>) {
        // A digit directly before it is the descriptor, not a word.
        if at
            .word
            .as_deref()
            .is_some_and(|w| w.len() == 1 && w.as_bytes()[0].is_ascii_digit())
        {
            at.word = None;
        }
        self.end_word(at);
        while at
            .chars
            .peek()
            .is_some_and(|next| matches!(next, '>' | '|'))
        {
            at.chars.next();
        }
        if at.chars.peek() == Some(&'&') {
            at.chars.next();
            // `2>&1` duplicates a descriptor; `>&file` writes.
            if at
                .chars
                .peek()
                .is_some_and(|next| next.is_ascii_digit() || *next == '-')
            {
                at.chars.next();
                return;
            }
        }
        at.redirect = Some(true);
    }

    fn input_redirect(&mut self, at: &mut Cursor<'_>, depth: usize) {
        match at.chars.peek() {
            Some('(') => {
                at.chars.next();
                let inner = take_balanced(&mut at.chars);
                self.substitution(at, &inner, depth);
                // Marks the place, so that a rule can see a program fed by another one.
                at.word.get_or_insert_default().insert_str(0, "<(");
            }
            Some('<') => {
                at.chars.next();
                if at.chars.peek() == Some(&'<') {
                    at.chars.next();
                    self.end_word(at);
                    at.here_marks.push(String::new());
                    return;
                }
                if at.chars.peek() == Some(&'-') {
                    at.chars.next();
                }
                self.end_word(at);
                let mark = here_mark(&mut at.chars);
                at.current.here.get_or_insert_default();
                at.here_marks.push(mark);
            }
            _ => {
                self.end_word(at);
                at.redirect = Some(false);
            }
        }
    }

    fn double_quoted(&mut self, at: &mut Cursor<'_>, depth: usize) {
        at.word.get_or_insert_default();
        while let Some(c) = at.chars.next() {
            match c {
                '"' => return,
                '\\' => match at.chars.next() {
                    Some(e @ ('"' | '\\' | '$' | '`')) => at.word.get_or_insert_default().push(e),
                    Some('\n') | None => {}
                    Some(other) => {
                        let word = at.word.get_or_insert_default();
                        word.push('\\');
                        word.push(other);
                    }
                },
                '`' => {
                    let inner = take_until(&mut at.chars, '`');
                    self.substitution(at, &inner, depth);
                }
                '$' => self.dollar(at, depth, false),
                other => at.word.get_or_insert_default().push(other),
            }
        }
    }

    /// After a `$`: substitution, variable, ANSI-C string, or just a dollar sign.
    fn dollar(&mut self, at: &mut Cursor<'_>, depth: usize, bare: bool) {
        match at.chars.peek().copied() {
            Some('(') => {
                at.chars.next();
                let inner = take_balanced(&mut at.chars);
                self.substitution(at, &inner, depth);
            }
            Some('\'') if bare => {
                at.chars.next();
                let decoded = ansi_c_string(&mut at.chars);
                at.word.get_or_insert_default().push_str(&decoded);
            }
            Some('{') => {
                at.chars.next();
                let name = take_braced(&mut at.chars);
                self.variable(at, &name, &format!("${{{name}}}"), bare);
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(next) = at
                    .chars
                    .next_if(|next| next.is_ascii_alphanumeric() || *next == '_')
                {
                    name.push(next);
                }
                self.variable(at, &name, &format!("${name}"), bare);
            }
            Some(c @ ('@' | '*' | '1'..='9')) => {
                at.chars.next();
                self.variable(at, &c.to_string(), &format!("${c}"), bare);
            }
            _ => at.word.get_or_insert_default().push('$'),
        }
    }

    fn value(&self, name: &str) -> Option<String> {
        let (base, change) = match name {
            "@" | "*" => (name, ""),
            name => parameter(name),
        };
        let known = self.known.variables.get(base).cloned();
        let place = || self.known.place.clone().filter(|_| base == "PWD");
        changed(base, change, known.or_else(place).as_deref())
    }

    fn variable(&mut self, at: &mut Cursor<'_>, name: &str, as_written: &str, bare: bool) {
        if name == "IFS" && bare {
            return self.end_word(at);
        }
        let Some(value) = self.value(name) else {
            at.word.get_or_insert_default().push_str(as_written);
            return;
        };
        if !bare {
            at.word.get_or_insert_default().push_str(&value);
            return;
        }
        // Unquoted, the value is split into words, at the line's own separators too.
        let separators = self.known.variables.get("IFS").cloned().unwrap_or_default();
        let pieces = value
            .split(|c: char| c.is_whitespace() || separators.contains(c))
            .filter(|piece| !piece.is_empty());
        for (index, piece) in pieces.enumerate() {
            if index > 0 {
                self.end_word(at);
            }
            at.word.get_or_insert_default().push_str(piece);
        }
    }

    /// The inner commands are listed too; in the word stands what a plain
    /// `echo` or `printf` would print, else a mark.
    fn substitution(&mut self, at: &mut Cursor<'_>, inner: &str, depth: usize) {
        let word = at.word.get_or_insert_default();
        if depth >= MAX_DEPTH {
            word.push_str("$(…)");
            return;
        }
        let before = self.commands.len();
        let (place, outside) = (self.known.place.clone(), self.outside.len());
        self.run(inner, depth + 1);
        self.known.place = place;
        self.outside.truncate(outside);
        for command in &mut self.commands[before..] {
            command.nested = true;
        }
        let printed = match &self.commands[before..] {
            [only]
                if only
                    .words
                    .first()
                    .is_some_and(|w| w == "echo" || w == "printf") =>
            {
                only.words[1..].join(" ")
            }
            _ => format!("$({inner})"),
        };
        at.word.get_or_insert_default().push_str(&printed);
    }

    fn end_word(&mut self, at: &mut Cursor<'_>) {
        let Some(word) = at.word.take() else { return };
        if at.here_marks.last().is_some_and(String::is_empty) {
            at.here_marks.pop();
            at.current.here = Some(plain(&word));
        } else if let Some(writes) = at.redirect.take() {
            let targets = spelled_out(&word).into_iter();
            at.current
                .redirects
                .extend(targets.map(|target| Redirect { writes, target }));
        } else if assignment(&word).is_some() {
            at.current.words.push(plain(&word));
        } else {
            at.current.words.extend(spelled_out(&word));
        }
    }

    fn here_documents(&mut self, at: &mut Cursor<'_>) {
        for mark in std::mem::take(&mut at.here_marks) {
            let mut body = String::new();
            loop {
                let mut line = String::new();
                let mut ended = true;
                for c in at.chars.by_ref() {
                    if c == '\n' {
                        ended = false;
                        break;
                    }
                    line.push(c);
                }
                if line.trim() == mark || (ended && line.is_empty()) {
                    break;
                }
                body.push_str(&line);
                body.push('\n');
                if ended {
                    break;
                }
            }
            at.current.here = Some(body);
        }
    }

    fn end_command(&mut self, at: &mut Cursor<'_>, _depth: usize) {
        self.end_word(at);
        let mut command = std::mem::take(&mut at.current);
        at.redirect = None;
        strip_syntax(&mut command.words);
        self.remember_assignments(&command.words);
        self.remember_lists(&command, at.pipe_next);
        let is_empty = command.words.is_empty() && command.redirects.is_empty();
        if !is_empty {
            command.piped = at.pipe_next;
            command.place = self.known.place.clone();
            self.change_place(&command.words);
            self.commands.push(command);
        }
        at.pipe_next = false;
    }

    fn remember(&mut self, name: &str, value: String) {
        if self.known.variables.len() < MOST_VALUES && value.len() <= LONGEST_VALUE {
            self.known.variables.insert(name.to_owned(), value);
        }
    }

    fn remember_assignments(&mut self, words: &[String]) {
        let words = match words.first().map(String::as_str) {
            Some(first) if DECLARERS.contains(&first) => &words[1..],
            _ => words,
        };
        for word in words {
            let Some((name, value)) = assignment(word) else {
                break;
            };
            self.remember(name, value.to_owned());
        }
    }

    /// What a loop goes through, what `set --` puts into `$@`, what `read` may get.
    fn remember_lists(&mut self, command: &Simple, piped: bool) {
        let words = &command.words;
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["for" | "select", name, "in", _, ..] => self.remember(name, one_of(&words[3..])),
            ["set", "--", _, ..] => {
                for (at, word) in words[2..].iter().take(9).enumerate() {
                    self.remember(&(at + 1).to_string(), word.clone());
                }
                for name in ["@", "*"] {
                    self.remember(name, one_of(&words[2..]));
                }
            }
            ["read" | "mapfile" | "readarray", ..] => {
                let names = words[1..].iter().filter(|word| !word.starts_with('-'));
                self.read_into.extend(names.cloned());
                self.feed(command.here.as_deref());
                if let Some(speaker) = self.commands.last().filter(|_| piped)
                    && matches!(
                        speaker.words[..].first().map(String::as_str),
                        Some("echo" | "printf")
                    )
                {
                    self.fed.extend(speaker.words[1..].iter().cloned());
                }
            }
            // The end of a loop.
            [] => self.feed(command.here.as_deref()),
            _ => {}
        }
    }

    fn feed(&mut self, here: Option<&str>) {
        let lines = here.unwrap_or_default().lines().take(32);
        self.fed.extend(lines.map(|line| line.trim().to_owned()));
    }

    fn change_place(&mut self, words: &[String]) {
        let words = match words.first().map(String::as_str) {
            Some("builtin" | "command") => &words[1..],
            _ => words,
        };
        match words.first().map(String::as_str) {
            Some("cd" | "chdir" | "pushd") => {}
            Some("popd") => {
                self.known.place = None;
                return;
            }
            _ => return,
        }
        let to = words[1..]
            .iter()
            .find(|word| !word.starts_with('-') || *word == "-");
        let to = to.map_or("~", String::as_str);
        let is_home = ["$HOME", "${HOME}"].iter().any(|home| to.starts_with(home));
        let is_known = to != "-" && (is_home || !to.contains(['$', '`']));
        let is_far = to.starts_with(['/', '~', '$']);
        self.known.place = match &self.known.place {
            _ if !is_known => None,
            None if !is_far => None,
            place => Some(placed(place.as_deref(), to)),
        };
    }
}

/// `NAME=value`, when it is one.
pub(crate) fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let valid = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then_some((name, value))
}

/// Keywords and braces in front of the program are grammar, not programs.
fn strip_syntax(words: &mut Vec<String>) {
    const KEYWORDS: &[&str] = &[
        "{", "}", "!", "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "esac",
    ];
    // `function name {`: what stands behind the name is the body.
    if words.first().is_some_and(|word| word == "function") {
        words.drain(..words.len().min(2));
    }
    let grammar = words
        .iter()
        .take_while(|word| KEYWORDS.contains(&word.as_str()))
        .count();
    words.drain(..grammar);
}

fn take_until(chars: &mut impl Iterator<Item = char>, end: char) -> String {
    chars.take_while(|c| *c != end).collect()
}

/// Up to the `}` that ends `${`.
fn take_braced(chars: &mut impl Iterator<Item = char>) -> String {
    let mut depth = 1_usize;
    let inside = chars.take_while(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        depth > 0
    });
    inside.collect()
}

fn take_balanced(chars: &mut impl Iterator<Item = char>) -> String {
    let mut depth = 1_usize;
    let mut quote = None;
    let mut out = String::new();
    for c in chars {
        match (quote, c) {
            (Some(q), _) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth -= 1;
                if depth == 0 {
                    return out;
                }
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

fn here_mark(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    let mut mark = String::new();
    while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !";|&<>()".contains(*c)) {
        if !matches!(c, '\'' | '"' | '\\') {
            mark.push(c);
        }
    }
    mark
}

fn ansi_c_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match c {
            '\'' => break,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('x') => out.push(number(chars, 16, 2)),
                Some('u') => out.push(number(chars, 16, 4)),
                Some(d @ '0'..='7') => {
                    let mut value = d as u32 - '0' as u32;
                    for _ in 0..2 {
                        let Some(next) = chars.next_if(|n| n.is_digit(8)) else {
                            break;
                        };
                        value = value * 8 + next.to_digit(8).unwrap_or(0);
                    }
                    out.push(char::from_u32(value).unwrap_or('?'));
                }
                Some(other) => out.push(other),
                None => break,
            },
            other => out.push(other),
        }
    }
    out
}

fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize) -> char {
    let mut value = 0;
    for _ in 0..most {
        let Some(next) = chars.next_if(|c| c.is_digit(radix)) else {
            break;
        };
        value = value * radix + next.to_digit(radix).unwrap_or(0);
    }
    char::from_u32(value).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        parse(text)
            .into_iter()
            .map(|command| command.words)
            .collect()
    }

    #[test]
    fn quotes_do_not_hide_a_program() {
        for text in [
            "rm -rf /",
            "r''m -rf /",
            "\"rm\" '-rf' \"/\"",
            "r\\m -rf /",
            "rm${IFS}-rf$IFS/",
            "a=rm; $a -rf /",
            "{rm,-rf,/}",
            "$'\\x72m' -rf /",
            "$(echo rm) -rf /",
        ] {
            let last = words(text).pop().unwrap();
            assert_eq!(last, ["rm", "-rf", "/"], "{text}");
        }
    }

    #[test]
    fn quoted_text_stays_an_argument() {
        assert_eq!(
            words("echo 'rm -rf / ; reboot'"),
            [["echo", "rm -rf / ; reboot"]]
        );
        assert_eq!(words("true # rm -rf /"), [["true"]]);
    }

    #[test]
    fn separators_pipes_and_background_are_told_apart() {
        let commands = parse("a && b | c & d 2>&1 >out");
        assert_eq!(commands.len(), 4);
        assert!(commands[2].piped && commands[2].background);
        assert_eq!(
            commands[3].redirects,
            [Redirect {
                writes: true,
                target: "out".into()
            }]
        );
    }

    #[test]
    fn here_documents_belong_to_their_command() {
        let commands = parse("cat > x <<'EOF'\nrm -rf /\nEOF\nls");
        assert_eq!(commands[0].here.as_deref(), Some("rm -rf /\n"));
        assert_eq!(commands[1].words, ["ls"]);
        assert_eq!(
            parse("bash <<< 'reboot'")[0].here.as_deref(),
            Some("reboot")
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[ -~\n]{0,120}") {
            parse(&text);
        }

        #[test]
        fn any_unicode_is_read(text in "\\PC{0,60}") {
            parse(&text);
        }
    }
}

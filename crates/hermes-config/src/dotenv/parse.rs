//! The grammar of python-dotenv, which is not that of a shell: a value in quotes
//! may span lines, an unquoted one ends at ` #`, `$` means nothing here (see
//! `interpolate`), and a line that makes no sense is skipped.

use std::ops::Range;

/// One assignment. A name without `=` has no value and sets nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub name: String,
    pub value: Option<String>,
    /// Where it stands in the text, with its line break.
    pub span: Range<usize>,
}

/// Every assignment in order, and the lines that could not be read.
pub fn parse(text: &str) -> (Vec<Binding>, Vec<usize>) {
    let mut reader = Reader { text, at: 0 };
    let mut bindings = Vec::new();
    let mut errors = Vec::new();
    while reader.at < text.len() {
        let start = reader.at;
        match reader.binding() {
            Ok(Some(mut binding)) => {
                let lead = text[start..].len() - skip_space(&text[start..]).len();
                binding.span = start + lead..reader.at;
                bindings.push(binding);
            }
            Ok(None) => {}
            Err(Malformed) => {
                errors.push(line_of(text, reader.at));
                reader.rest_of_line();
            }
        }
    }
    (bindings, errors)
}

struct Malformed;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = &self.rest()[..length];
        self.at += length;
        taken
    }

    /// `None` for a comment or the end of the text.
    fn binding(&mut self) -> Result<Option<Binding>, Malformed> {
        let blank = self.rest().len() - skip_space(self.rest()).len();
        self.take(blank);
        if self.rest().is_empty() {
            return Ok(None);
        }
        self.export();
        let name = self.name()?;
        self.blanks();
        let mut value = None;
        if self.rest().starts_with('=') {
            self.take(1);
            self.blanks();
            value = Some(self.value()?);
        }
        self.comment();
        self.end_of_line()?;
        Ok(name.map(|name| Binding {
            name,
            value,
            span: 0..0,
        }))
    }

    /// The word only counts when blanks follow it; `export=1` is a name.
    fn export(&mut self) {
        if let Some(after) = self.rest().strip_prefix("export") {
            let trimmed = after.trim_start_matches(is_blank);
            if trimmed.len() < after.len() {
                self.at = self.text.len() - trimmed.len();
            }
        }
    }

    fn name(&mut self) -> Result<Option<String>, Malformed> {
        let rest = self.rest();
        match rest.chars().next() {
            Some('#') => Ok(None),
            Some('\'') => {
                let end = rest[1..]
                    .find('\'')
                    .filter(|end| *end > 0)
                    .ok_or(Malformed)?;
                let name = rest[1..=end].to_owned();
                self.take(end + 2);
                Ok(Some(name))
            }
            _ => {
                let end = rest
                    .find(|c| c == '=' || c == '#' || is_space(c))
                    .unwrap_or(rest.len());
                if end == 0 {
                    return Err(Malformed);
                }
                Ok(Some(self.take(end).to_owned()))
            }
        }
    }

    fn value(&mut self) -> Result<String, Malformed> {
        match self.rest().chars().next() {
            Some('\'') => Ok(unescape(self.quoted('\'')?, "\\'")),
            Some('"') => Ok(unescape(self.quoted('"')?, "\\'\"abfnrtv")),
            None | Some('\n' | '\r') => Ok(String::new()),
            Some(_) => {
                let end = self.rest().find(['\r', '\n']).unwrap_or(self.rest().len());
                let raw = self.take(end);
                Ok(without_comment(raw).trim_end_matches(is_space).to_owned())
            }
        }
    }

    /// The text between two quotes; a quote after a backslash does not end it.
    /// When there is no proper end, the last escaped quote is one after all.
    fn quoted(&mut self, quote: char) -> Result<&'a str, Malformed> {
        let body = &self.rest()[1..];
        let mut last_escaped = None;
        let mut escaped = false;
        let mut end = None;
        for (at, c) in body.char_indices() {
            if c == quote {
                if !escaped {
                    end = Some(at);
                    break;
                }
                last_escaped = Some(at);
            }
            escaped = c == '\\';
        }
        let end = end.or(last_escaped).ok_or(Malformed)?;
        self.take(end + 2);
        Ok(&body[..end])
    }

    fn blanks(&mut self) {
        let trimmed = self.rest().trim_start_matches(is_blank);
        self.at = self.text.len() - trimmed.len();
    }

    fn comment(&mut self) {
        let trimmed = self.rest().trim_start_matches(is_blank);
        if trimmed.starts_with('#') {
            let end = trimmed.find(['\r', '\n']).unwrap_or(trimmed.len());
            self.at = self.text.len() - trimmed.len() + end;
        }
    }

    fn end_of_line(&mut self) -> Result<(), Malformed> {
        let trimmed = self.rest().trim_start_matches(is_blank);
        let after = if let Some(after) = trimmed.strip_prefix("\r\n") {
            after
        } else if let Some(after) = trimmed.strip_prefix(['\n', '\r']) {
            after
        } else if trimmed.is_empty() {
            trimmed
        } else {
            return Err(Malformed);
        };
        self.at = self.text.len() - after.len();
        Ok(())
    }

    fn rest_of_line(&mut self) {
        let rest = self.rest();
        let end = rest.find(['\r', '\n']).map_or(rest.len(), |end| end + 1);
        self.take(end);
    }
}

/// ` # note` ends an unquoted value; `#` inside a word does not.
fn without_comment(raw: &str) -> &str {
    let mut blank_from = None;
    for (at, c) in raw.char_indices() {
        if is_space(c) {
            blank_from.get_or_insert(at);
        } else {
            if c == '#'
                && let Some(from) = blank_from
            {
                return &raw[..from];
            }
            blank_from = None;
        }
    }
    raw
}

fn unescape(raw: &str, escapes: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.clone().next() {
            Some(next) if escapes.contains(next) => {
                chars.next();
                out.push(match next {
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    other => other,
                });
            }
            _ => out.push('\\'),
        }
    }
    out
}

/// What Python's `\s` matches.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn is_blank(c: char) -> bool {
    is_space(c) && c != '\r' && c != '\n'
}

fn skip_space(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

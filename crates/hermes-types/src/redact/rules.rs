//! The rules, in the order in which they are applied. A rule sees only the text
//! outside web addresses and outside what an earlier rule masked.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::scan::PREFIXES;
use super::{Redaction, mask};

struct Rules {
    web_url: Regex,
    private_key: Regex,
    database_url: Regex,
    bearer: Regex,
    jwt: Regex,
    telegram: Regex,
    token: Regex,
    assignment: Regex,
    json_field: Regex,
    escaped_field: Regex,
    form: Regex,
    phone: Regex,
}

/// What a token, a name or a number may stand behind although it ends in a letter:
/// an escape as JSON and program text write it, a colour, a percent-encoded byte.
const ESCAPE: &str =
    r"\\[abefnrtv0]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\x1b\[[0-9;]*[A-Za-z]|%[0-9A-Fa-f]{2}";

/// Names of JSON fields whose text is a secret.
const FIELDS: &str = "api_?key|token|secret|password|access_token|refresh_token|auth_token|bearer|secret_value|raw_secret|secret_input|key_material";

static RULES: LazyLock<Option<Rules>> = LazyLock::new(|| compile().ok());

fn compile() -> Result<Rules, regex::Error> {
    let tokens: Vec<String> = PREFIXES
        .iter()
        .map(|(prefix, least)| {
            let class = if *prefix == "AKIA" {
                "[A-Z0-9]"
            } else {
                "[A-Za-z0-9_.-]"
            };
            format!("{}{class}{{{least},}}", regex::escape(prefix))
        })
        .collect();
    Ok(Rules {
        web_url: Regex::new(r#"https?://[^\s"'<>`\\]+"#)?,
        private_key: Regex::new(
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)|(?:[A-Za-z0-9+/]{40,}(?:\s|\\r|\\n)+)*[A-Za-z0-9+/]{8,}=*(?:\s|\\r|\\n)+-----END [A-Z0-9 ]*PRIVATE KEY-----",
        )?,
        database_url: Regex::new(
            r#"(?i)\b((?:postgres(?:ql)?|mysql|mongodb|rediss?|amqps?)(?:\+[a-z0-9]+)?://[^\s:/@"']*:)([^\s@"']+)@"#,
        )?,
        bearer: Regex::new(
            r#"(?i)(authorization\\*"?\s*:\s*\\*"?bearer\s+)([A-Za-z0-9._~+/=-]+)"#,
        )?,
        jwt: Regex::new(&format!(
            r"(\b|{ESCAPE})(eyJ[A-Za-z0-9_-]{{5,}}\.[A-Za-z0-9_-]{{5,}}(?:\.[A-Za-z0-9_-]*)?)"
        ))?,
        telegram: Regex::new(&format!(r"(\b|{ESCAPE})(\d{{8,}}):([A-Za-z0-9_-]{{30,}})"))?,
        token: Regex::new(&format!(
            r"(^|[^A-Za-z0-9_-]|{ESCAPE})({})",
            tokens.join("|")
        ))?,
        assignment: Regex::new(&format!(
            r#"(\b|{ESCAPE})([A-Z0-9_]*(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)[A-Z0-9_]*\s*=\s*)("[^"\n]*"|'[^'\n]*'|(?:[^\s"'\\]|\\[^nrtu"])+)"#
        ))?,
        json_field: Regex::new(&format!(
            r#"(?i)("(?:{FIELDS})"\s*:\s*")((?:[^"\\]|\\.)*)(")"#
        ))?,
        escaped_field: Regex::new(&format!(
            r#"(?i)(\\+"(?:{FIELDS})\\+"\s*:\s*\\+")([^"\\]*)(\\+")"#
        ))?,
        form: Regex::new(r"\A[A-Za-z0-9_.-]+=[^&\s]*(?:&[A-Za-z0-9_.-]+=[^&\s]*)+\z")?,
        phone: Regex::new(&format!(
            r"(^|[^\w+.]|{ESCAPE})(\+\d{{3}})(\d{{3,8}})(\d{{4}})\b"
        ))?,
    })
}

pub(super) fn apply(text: &str, mode: Redaction) -> Cow<'_, str> {
    // The patterns are constants; a test compiles them.
    let Some(rules) = RULES.as_ref() else {
        return Cow::Borrowed(text);
    };
    if mode == Redaction::Text && rules.form.is_match(text) {
        return Cow::Owned(form_body(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = 0;
    for Range { start, end } in rules.web_url.find_iter(text).map(|found| found.range()) {
        out.push_str(&outside_urls(rules, &text[rest..start], mode));
        out.push_str(&url_without_token(rules, &text[start..end]));
        rest = end;
    }
    out.push_str(&outside_urls(rules, &text[rest..], mode));
    if out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out)
    }
}

fn outside_urls(rules: &Rules, text: &str, mode: Redaction) -> String {
    let text = rules
        .private_key
        .replace_all(text, "[REDACTED PRIVATE KEY]");
    let text = rules.database_url.replace_all(&text, "${1}***@");
    let text = rules.bearer.replace_all(&text, |c: &Captures<'_>| {
        format!("{}{}", &c[1], masked(&c[2]))
    });
    let text = rules.jwt.replace_all(&text, |c: &Captures<'_>| {
        format!("{}{}", &c[1], mask(&c[2]))
    });
    let text = rules.telegram.replace_all(&text, "${1}${2}:***");
    let text = tokens(rules, &text);
    if mode == Redaction::Code {
        return text.into_owned();
    }
    let text = rules.assignment.replace_all(&text, |c: &Captures<'_>| {
        format!("{}{}{}", &c[1], &c[2], masked_value(&c[3]))
    });
    let field = |c: &Captures<'_>| format!("{}{}{}", &c[1], masked(&c[2]), &c[3]);
    let text = rules.json_field.replace_all(&text, field);
    let text = rules.escaped_field.replace_all(&text, field);
    rules
        .phone
        .replace_all(&text, "${1}${2}****${4}")
        .into_owned()
}

fn tokens<'t>(rules: &Rules, text: &'t str) -> Cow<'t, str> {
    rules.token.replace_all(text, |c: &Captures<'_>| {
        format!("{}{}", &c[1], mask_token(&c[2]))
    })
}

/// A full stop that ends the sentence is not part of the token.
fn mask_token(token: &str) -> String {
    let body = token.trim_end_matches(['.', '-']);
    format!("{}{}", masked(body), &token[body.len()..])
}

/// A mask stays what it is, so that masking twice changes nothing.
fn masked(value: &str) -> String {
    let is_mask = value == "***" || (value.len() == 13 && value.get(6..9) == Some("..."));
    if is_mask || value.is_empty() {
        value.to_owned()
    } else {
        mask(value)
    }
}

fn masked_value(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some(inner) = value
            .strip_prefix(quote)
            .and_then(|v| v.strip_suffix(quote))
        {
            return format!("{quote}{}{quote}", masked(inner));
        }
    }
    // `TOKEN=$TOKEN` names a variable and gives nothing away.
    if value.starts_with('$') {
        value.to_owned()
    } else {
        masked(value)
    }
}

fn url_without_token(rules: &Rules, url: &str) -> String {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let authority_end = url[authority..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| authority + at);
    match url[..authority_end].rfind('@') {
        Some(at) => format!("{}{}", tokens(rules, &url[..at]), &url[at..]),
        None => url.to_owned(),
    }
}

fn form_body(text: &str) -> String {
    let pairs: Vec<String> = text
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) if is_sensitive_key(key) => format!("{key}={}", masked(value)),
            _ => pair.to_owned(),
        })
        .collect();
    pairs.join("&")
}

fn is_sensitive_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    [
        "api_key",
        "apikey",
        "token",
        "secret",
        "password",
        "passwd",
        "auth",
        "client_secret",
        "code",
    ]
    .iter()
    .any(|name| key == *name || key.ends_with(&format!("_{name}")))
}

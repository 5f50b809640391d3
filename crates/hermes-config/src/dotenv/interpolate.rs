//! `${NAME}` and `${NAME:-otherwise}` in values of `.env`. Here an unknown name is
//! empty, unlike in `config.yaml`.

use hermes_home::Environment;

use super::parse::Binding;

/// The variables that the bindings set, in order, each seeing those before it.
pub(super) fn interpolate(bindings: Vec<Binding>, process: &Environment) -> Environment {
    let mut made = Environment::default();
    for binding in bindings {
        if let Some(value) = binding.value {
            let value = resolve(&value, |name| made.get(name).or_else(|| process.get(name)));
            made.set(binding.name, value);
        }
    }
    made
}

fn resolve<'a>(text: &str, lookup: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let body = &rest[at + 2..];
        match template(body) {
            Some((name, otherwise, length)) => {
                out.push_str(lookup(name).unwrap_or(otherwise));
                rest = &body[length..];
            }
            None => {
                out.push_str("${");
                rest = body;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Name, default, and the length up to and including the closing brace.
fn template(body: &str) -> Option<(&str, &str, usize)> {
    let end = body.find(['}', ':'])?;
    let name = &body[..end];
    if body[end..].starts_with('}') {
        return Some((name, "", end + 1));
    }
    let otherwise = body[end..].strip_prefix(":-")?;
    let close = otherwise.find('}')?;
    Some((name, &otherwise[..close], end + 2 + close + 1))
}

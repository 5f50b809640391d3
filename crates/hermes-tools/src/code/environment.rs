//! What a script sees of the environment: less than a command does, because its
//! text was not written to be read by a person first.

const SECRET: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "CREDENTIAL",
    "PASSWD",
    "AUTH",
    "DSN",
    "WEBHOOK",
];
const KEPT_PREFIXES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SHELL",
    "LOGNAME",
    "XDG_",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA",
];
const KEPT: &[&str] = &[
    "HERMES_HOME",
    "HERMES_PROFILE",
    "HERMES_CONFIG",
    "HERMES_ENV",
    "TZ",
];

/// Of a machine's variables, those that a script may have. `passthrough` names
/// were chosen by the user.
pub(super) fn allowed(
    variables: &[(String, String)],
    passthrough: &[String],
) -> Vec<(String, String)> {
    let may = |name: &str| {
        let upper = name.to_ascii_uppercase();
        passthrough.iter().any(|chosen| chosen == name)
            || !SECRET.iter().any(|word| upper.contains(word))
                && (KEPT.contains(&name)
                    || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
    };
    let mut kept: Vec<(String, String)> = variables
        .iter()
        .filter(|(name, _)| may(name))
        .cloned()
        .collect();
    let zone = variables
        .iter()
        .find(|(name, value)| name == "HERMES_TIMEZONE" && !value.is_empty());
    kept.extend(zone.map(|(_, zone)| ("TZ".to_owned(), zone.clone())));
    kept
}

/// For every interpreter, wherever it runs.
pub(super) fn always() -> Vec<(String, String)> {
    [
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("PYTHONIOENCODING", "utf-8"),
        ("PYTHONUTF8", "1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_and_chosen_names_pass() {
        let variables = [
            "PATH",
            "GITHUB_TOKEN",
            "MY_TOKEN",
            "LC_ALL",
            "EDITOR",
            "XDG_AUTH_FILE",
        ]
        .map(|name| (name.to_owned(), "x".to_owned()));
        let names: Vec<String> = allowed(&variables, &["MY_TOKEN".to_owned()])
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["PATH", "MY_TOKEN", "LC_ALL"]);
    }
}

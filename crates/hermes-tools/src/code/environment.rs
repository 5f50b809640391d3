//! What a script sees of the environment: less than a command does, because its
//! text was not written to be read by a person first.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

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

/// Whether a machine with these variables has an interpreter: that of the active
/// environment, or one that the shell would find.
pub fn has_interpreter(variables: &[(String, String)]) -> bool {
    let value = |name: &str| {
        let found = variables.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let own = [value("VIRTUAL_ENV"), value("CONDA_PREFIX")]
        .into_iter()
        .filter(|prefix| !prefix.is_empty())
        .map(|prefix| Path::new(prefix).join("bin/python"));
    let found = value("PATH")
        .split(':')
        .filter(|directory| directory.starts_with('/'))
        .map(|directory| Path::new(directory).join("python3"));
    own.chain(found).any(|program| {
        let runs = |meta: std::fs::Metadata| meta.is_file() && meta.mode() & 0o111 != 0;
        program.metadata().is_ok_and(runs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_a_program_in_the_path_or_of_the_environment() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_str().unwrap();
        let has = |name: &str, value: String| has_interpreter(&[(name.to_owned(), value)]);
        let path = || format!("/nowhere:{root}:relative");
        assert!(!has("PATH", path()));
        std::fs::write(directory.path().join("python3"), "").unwrap();
        assert!(!has("PATH", path()));
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path().join("python3"), runs).unwrap();
        assert!(has("PATH", path()));
        std::fs::create_dir(directory.path().join("bin")).unwrap();
        assert!(!has("VIRTUAL_ENV", root.to_owned()));
        std::os::unix::fs::symlink("../python3", directory.path().join("bin/python")).unwrap();
        assert!(has("VIRTUAL_ENV", root.to_owned()));
        assert!(!has_interpreter(&[]));
    }

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

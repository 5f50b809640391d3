//! What commands on this machine see of our environment.

use std::collections::BTreeSet;

use hermes_home::{Environment, Home};

use super::terminal::is_variable_name;
use super::withheld::is_withheld;

/// A variable with this prefix is passed on without it, whatever its name.
const FORCE: &str = "_HERMES_FORCE_";

/// Appended when the path lacks the usual places.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Names that may pass although they are not ours to give, minus those that are
/// keys of Hermes: neither a skill nor a setting can pull those out.
pub fn passthrough<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names
        .into_iter()
        .filter(|name| is_variable_name(name))
        .filter(|name| {
            let refused = is_withheld(name);
            if refused {
                tracing::warn!(
                    name,
                    "not passed on to commands: it is a credential of Hermes"
                );
            }
            !refused
        })
        .map(str::to_owned)
        .collect()
}

/// The variables that the user chose to let through, with their values.
pub fn passed_on(names: &[String], environment: &Environment) -> Vec<(String, String)> {
    passthrough(names.iter().map(String::as_str))
        .into_iter()
        .filter_map(|name| {
            let value = environment.get(&name)?.to_owned();
            Some((name, value))
        })
        .collect()
}

/// The variables of a local command, sorted by name.
pub fn local_environment(environment: &Environment, home: &Home) -> Vec<(String, String)> {
    let mut variables: std::collections::BTreeMap<String, String> = environment
        .iter()
        .filter(|(name, _)| !is_withheld(name) && !name.starts_with(FORCE))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    for (name, value) in environment.iter() {
        if let Some(name) = name.strip_prefix(FORCE)
            && is_variable_name(name)
        {
            variables.insert(name.to_owned(), value.to_owned());
        }
    }
    let path = variables.entry("PATH".to_owned()).or_default();
    if !path.split(':').any(|directory| directory == "/usr/bin") {
        if !path.is_empty() {
            path.push(':');
        }
        path.push_str(USUAL_PATH);
    }
    let own_home = home.join("home");
    if own_home.is_dir() {
        variables.insert("HOME".to_owned(), own_home.display().to_string());
    }
    variables.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn commands_see_no_key_of_ours_but_the_operators_own() {
        let given = environment(&[
            ("OPENAI_API_KEY", "sk"),
            ("AUXILIARY_VISION_API_KEY", "sk"),
            ("AWS_ACCESS_KEY_ID", "AKIA"),
            ("PATH", "/opt/bin"),
            ("_HERMES_FORCE_GITHUB_TOKEN", "t"),
            ("GH_TOKEN", "no"),
        ]);
        let seen = local_environment(&given, &Home::at("/no/home", "/no/home"));
        let names: Vec<&str> = seen.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["AWS_ACCESS_KEY_ID", "GITHUB_TOKEN", "PATH"]);
        assert_eq!(seen[2].1, format!("/opt/bin:{USUAL_PATH}"));
    }

    #[test]
    fn a_profile_with_a_home_of_its_own_uses_it() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("home")).unwrap();
        let home = Home::at(directory.path(), directory.path());
        let seen = local_environment(&environment(&[("HOME", "/h")]), &home);
        assert!(seen.contains(&(
            "HOME".to_owned(),
            directory.path().join("home").display().to_string()
        )));
    }

    #[test]
    fn a_credential_cannot_be_let_through_by_name() {
        let names = passthrough(["OPENAI_API_KEY", "TENOR", "bad-name"]);
        assert_eq!(names, BTreeSet::from(["TENOR".to_owned()]));
    }
}

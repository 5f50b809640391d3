use std::fs;

use hermes_home::profile::{Selected, SelectedBy, select};
use hermes_home::{ProfileError, env};
use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::environment;

/// A root with the profiles `coder` and `builder`, and this `active_profile`.
fn root(active: Option<&[u8]>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["coder", "builder"] {
        fs::create_dir_all(directory.path().join(".hermes/profiles").join(name)).unwrap();
    }
    if let Some(bytes) = active {
        fs::write(directory.path().join(".hermes/active_profile"), bytes).unwrap();
    }
    directory
}

fn chosen(
    directory: &TempDir,
    home: Option<&str>,
    flag: Option<&str>,
) -> Result<(String, SelectedBy), ProfileError> {
    let home = home.map(|home| directory.path().join(home).display().to_string());
    let variables: Vec<_> = home.iter().map(|home| (env::HOME, home.as_str())).collect();
    let Selected { home, by } = select(&environment(directory.path(), &variables), flag)?;
    Ok((home.profile_name(), by))
}

fn is(name: &str, by: SelectedBy) -> (String, SelectedBy) {
    (name.to_owned(), by)
}

#[test]
fn the_flag_wins_in_any_case() {
    let directory = root(Some(b"builder\n"));
    for flag in ["coder", "Coder", " CODER "] {
        assert_eq!(
            chosen(&directory, None, Some(flag)).unwrap(),
            is("coder", SelectedBy::Flag)
        );
    }
    assert_eq!(
        chosen(&directory, Some(".hermes/profiles/builder"), Some("coder")).unwrap(),
        is("coder", SelectedBy::Flag)
    );
    assert_eq!(
        chosen(&directory, None, Some("Default")).unwrap(),
        is("default", SelectedBy::Flag)
    );
}

#[test]
fn an_inherited_home_beats_the_sticky_choice_and_the_root_does_not() {
    let directory = root(Some(b"builder\n"));
    assert_eq!(
        chosen(&directory, Some(".hermes/profiles/coder"), None).unwrap(),
        is("coder", SelectedBy::Inherited)
    );
    for home in [None, Some(".hermes")] {
        assert_eq!(
            chosen(&directory, home, None).unwrap(),
            is("builder", SelectedBy::Sticky)
        );
    }
}

#[test]
fn a_sticky_file_that_says_nothing_is_ignored() {
    for content in [&b""[..], b"\n", b"default\n", b"\xff\xfe\n"] {
        assert_eq!(
            chosen(&root(Some(content)), None, None).unwrap(),
            is("default", SelectedBy::Default)
        );
    }
}

#[test]
fn unknown_and_impossible_names_are_errors() {
    let directory = root(None);
    assert!(matches!(
        chosen(&directory, None, Some("nosuch")),
        Err(ProfileError::Unknown { .. })
    ));
    for bad in ["../coder", "a/b", "a.b", "", ".."] {
        assert!(
            matches!(
                chosen(&directory, None, Some(bad)),
                Err(ProfileError::InvalidName(_))
            ),
            "{bad:?}"
        );
    }
    for ghost in ["ghost\n", "../../etc\n"] {
        assert!(matches!(
            chosen(&root(Some(ghost.as_bytes())), None, None),
            Err(ProfileError::Dangling { name, .. }) if name == ghost.trim()
        ));
    }
}

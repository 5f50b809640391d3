use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use hermes_home::profile::{Contents, NewProfile, Profiles};
use hermes_home::{DIRECTORIES, FilePolicy, Home, HomeError, env};
use hermes_types::ProfileName;
use pretty_assertions::assert_eq;

use super::{Scratch, environment, mode};

#[test]
fn a_new_home_is_private_and_complete() {
    let scratch = Scratch::new();
    scratch.home.ensure(&scratch.policy).unwrap();
    assert_eq!(mode(scratch.home.path()), 0o700);
    for name in DIRECTORIES {
        assert_eq!(mode(&scratch.home.join(name)), 0o700, "{name}");
    }
    assert!(scratch.home.join("SOUL.md").is_file());
    assert_eq!(scratch.home.missing_directories(), Vec::<&str>::new());
}

#[test]
fn what_exists_stays_as_it_is() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home.path()).unwrap();
    fs::set_permissions(scratch.home.path(), Permissions::from_mode(0o750)).unwrap();
    fs::write(scratch.home.join("SOUL.md"), "mine").unwrap();
    scratch.home.ensure(&scratch.policy).unwrap();
    assert_eq!(mode(scratch.home.path()), 0o750);
    assert_eq!(
        fs::read_to_string(scratch.home.join("SOUL.md")).unwrap(),
        "mine"
    );
}

#[test]
fn the_mode_of_directories_can_be_chosen_and_beats_the_umask() {
    let scratch = Scratch::with(&[(env::HOME_MODE, "0775")]);
    scratch.home.ensure(&scratch.policy).unwrap();
    assert_eq!(mode(scratch.home.path()), 0o775);
}

#[test]
fn what_root_creates_can_belong_to_somebody_else() {
    let scratch = Scratch::with(&[(env::UID, "4711"), (env::GID, "4712")]);
    scratch.home.ensure(&scratch.policy).unwrap();
    let profiles = Profiles::new(&scratch.home, &scratch.policy);
    let new = NewProfile {
        name: ProfileName::parse("a").unwrap(),
        contents: Contents::Empty,
        bundled_skills: false,
    };
    let profile = profiles.create(&new, &|_, _| unreachable!()).unwrap();
    // Anybody but root cannot give files away, and that is no failure.
    let me = fs::metadata(scratch.directory.path()).unwrap();
    let expected = if nix::unistd::geteuid().is_root() {
        (4711, 4712)
    } else {
        (me.uid(), me.gid())
    };
    for path in [
        scratch.home.path().to_owned(),
        scratch.home.join("logs/curator"),
        scratch.home.join("SOUL.md"),
        profile.path().to_owned(),
        profile.join(".no-bundled-skills"),
        profile.join("workspace"),
    ] {
        let owner = fs::metadata(&path).unwrap();
        assert_eq!((owner.uid(), owner.gid()), expected, "{}", path.display());
    }
}

#[test]
fn a_file_in_the_place_of_a_directory_is_named() {
    let scratch = Scratch::new();
    fs::write(scratch.home.path(), "").unwrap();
    let error = scratch.home.ensure(&scratch.policy).unwrap_err();
    assert!(matches!(&error, HomeError::NotADirectory { path } if path == scratch.home.path()));

    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home.path()).unwrap();
    fs::write(scratch.home.join("logs"), "").unwrap();
    let error = scratch.home.ensure(&scratch.policy).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} is not a directory", scratch.home.join("logs").display())
    );
}

#[test]
fn a_managed_home_must_be_complete_already() {
    let scratch = Scratch::with(&[(env::MANAGED, "brew")]);
    let error = scratch.home.ensure(&scratch.policy).unwrap_err();
    assert!(error.to_string().starts_with("Homebrew manages"), "{error}");
    assert!(!scratch.home.path().exists());
    for name in ["cron", "sessions", "logs", "memories"] {
        fs::create_dir_all(scratch.home.join(name)).unwrap();
    }
    scratch.home.ensure(&scratch.policy).unwrap();
    assert!(!scratch.home.join("hooks").exists());
    assert!(scratch.policy.refuse_if_managed().is_err());
}

#[test]
fn the_marker_file_makes_a_home_managed() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.home.path()).unwrap();
    fs::write(scratch.home.join(".managed"), "").unwrap();
    let policy = FilePolicy::of(&environment(scratch.directory.path(), &[]), &scratch.home);
    assert_eq!(policy.managed().map(|m| m.manager.as_str()), Some("NixOS"));
    assert_eq!(policy.log_file_bits(), 0o660);
}

#[test]
fn tightening_takes_bits_from_secrets_but_not_in_a_container() {
    for (variables, expected) in [(vec![], 0o600), (vec![(env::SKIP_CHMOD, "1")], 0o644)] {
        let scratch = Scratch::with(&variables);
        // The test machine may itself be a container.
        if variables.is_empty() && scratch.policy.in_container() {
            continue;
        }
        fs::create_dir_all(scratch.home.path()).unwrap();
        let secret = scratch.home.join(".env");
        fs::write(&secret, "A=b").unwrap();
        fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();
        scratch.home.tighten(&scratch.policy).unwrap();
        assert_eq!(mode(&secret), expected);
    }
}

#[test]
fn the_root_is_found_from_every_kind_of_home() {
    let root = |home: Option<&str>| {
        let variables: Vec<_> = home.map(|home| (env::HOME, home)).into_iter().collect();
        let located = Home::locate(&environment("/home/user".as_ref(), &variables));
        (located.root().display().to_string(), located.profile_name())
    };
    let is = |root: &str, name: &str| (root.to_owned(), name.to_owned());
    assert_eq!(root(None), is("/home/user/.hermes", "default"));
    assert_eq!(root(Some("  ")), is("/home/user/.hermes", "default"));
    assert_eq!(
        root(Some("~/.hermes/profiles/a")),
        is("/home/user/.hermes", "a")
    );
    assert_eq!(
        root(Some("/home/user/.hermes/deep/er")),
        is("/home/user/.hermes", "custom")
    );
    assert_eq!(root(Some("/srv/profiles/b")), is("/srv", "b"));
    assert_eq!(root(Some("/opt/data")), is("/opt/data", "default"));
}

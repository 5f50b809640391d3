use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use hermes_home::profile::{Contents, NewProfile, Profiles};
use hermes_home::{Home, ProfileError};
use hermes_types::ProfileName;
use pretty_assertions::assert_eq;

use super::{Scratch, mode};

fn name(text: &str) -> ProfileName {
    ProfileName::parse(text).unwrap()
}

fn empty(text: &str) -> NewProfile {
    NewProfile {
        name: name(text),
        contents: Contents::Empty,
        bundled_skills: true,
    }
}

fn plain_copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(|_| ())
}

fn names(profiles: &Profiles<'_>) -> Vec<String> {
    let list = profiles.list().unwrap();
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn the_whole_life_of_a_profile() {
    let scratch = Scratch::new();
    let profiles = Profiles::new(&scratch.home, &scratch.policy);
    assert_eq!(names(&profiles), ["default"]);

    let home = profiles.create(&empty("tester"), &plain_copy).unwrap();
    assert_eq!(mode(home.path()), 0o700);
    for directory in [
        "memories",
        "sessions",
        "skills",
        "skins",
        "logs",
        "plans",
        "workspace",
        "cron",
        "home",
    ] {
        assert!(home.join(directory).is_dir(), "{directory}");
    }
    assert!(home.join("SOUL.md").is_file());
    profiles.create(&empty("builder"), &plain_copy).unwrap();
    assert_eq!(names(&profiles), ["default", "builder", "tester"]);

    profiles.set_active(&name("tester")).unwrap();
    let active = scratch.home.active_profile_file();
    assert_eq!(fs::read_to_string(&active).unwrap(), "tester\n");
    profiles.rename(&name("tester"), &name("checker")).unwrap();
    assert_eq!(fs::read_to_string(&active).unwrap(), "checker\n");
    assert_eq!(names(&profiles), ["default", "builder", "checker"]);

    profiles.delete(&name("checker")).unwrap();
    assert!(!active.exists());
    assert_eq!(names(&profiles), ["default", "builder"]);
    // Nothing but the profile and the lock is left.
    let left: Vec<_> = fs::read_dir(scratch.home.profiles_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn names_that_are_taken_or_reserved_are_refused() {
    let scratch = Scratch::new();
    let profiles = Profiles::new(&scratch.home, &scratch.policy);
    profiles.create(&empty("a"), &plain_copy).unwrap();
    for taken in ["a", "default", "hermes", "test", "tmp", "root", "sudo"] {
        let error = profiles.create(&empty(taken), &plain_copy).unwrap_err();
        assert!(
            matches!(
                error,
                ProfileError::Exists { .. } | ProfileError::Reserved { .. }
            ),
            "{taken}: {error}"
        );
    }
    assert!(matches!(
        profiles.delete(&name("default")),
        Err(ProfileError::DefaultProfile { .. })
    ));
    assert!(matches!(
        profiles.rename(&name("nosuch"), &name("b")),
        Err(ProfileError::Unknown { .. })
    ));
    assert_eq!(names(&profiles), ["default", "a"]);
}

#[test]
fn directories_that_cannot_be_profiles_are_not_listed() {
    let scratch = Scratch::new();
    let profiles = Profiles::new(&scratch.home, &scratch.policy);
    for directory in ["Upper", ".hidden", "with.dot", "with space", "-dash", "ok"] {
        fs::create_dir_all(scratch.home.profiles_dir().join(directory)).unwrap();
    }
    fs::write(scratch.home.profiles_dir().join("file"), "").unwrap();
    assert_eq!(names(&profiles), ["default", "ok"]);
}

fn furnished(scratch: &Scratch) -> Home {
    let home = &scratch.home;
    for (path, content) in [
        ("config.yaml", "model: x\n"),
        (".env", "A=b\n"),
        ("SOUL.md", "soul"),
        ("memories/MEMORY.md", "memory"),
        ("skills/writing/SKILL.md", "skill"),
        ("skills/writing/__pycache__/x.pyc", ""),
        ("gateway.pid", "{}"),
        ("active_profile", "ghost\n"),
        ("state.db", "database"),
        ("state.db-wal", "log"),
        ("profiles/other/SOUL.md", "other"),
        ("hermes-agent/setup.py", "source"),
        ("custom/file", "kept"),
    ] {
        fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        fs::write(home.join(path), content).unwrap();
    }
    fs::set_permissions(home.join(".env"), Permissions::from_mode(0o644)).unwrap();
    home.clone()
}

fn tree(path: &Path) -> Vec<String> {
    fn walk(root: &Path, path: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(path).unwrap().flatten() {
            if entry.path().is_dir() {
                walk(root, &entry.path(), found);
            } else {
                let path = entry.path();
                let relative = path.strip_prefix(root).unwrap();
                found.push(relative.display().to_string());
            }
        }
    }
    let mut found = Vec::new();
    walk(path, path, &mut found);
    found.sort();
    found
}

#[test]
fn a_clone_takes_settings_and_a_full_clone_everything_but_running_state() {
    let scratch = Scratch::new();
    let source = furnished(&scratch);
    let profiles = Profiles::new(&scratch.home, &scratch.policy);
    let create = |text: &str, contents: Contents| {
        let new = NewProfile {
            name: name(text),
            contents,
            bundled_skills: false,
        };
        profiles
            .create(&new, &|from, to| {
                assert!(from.ends_with("state.db"));
                plain_copy(from, to)
            })
            .unwrap()
    };

    let settings = create("a", Contents::Settings(source.clone()));
    assert_eq!(
        tree(settings.path()),
        [
            ".env",
            ".no-bundled-skills",
            "SOUL.md",
            "config.yaml",
            "memories/MEMORY.md",
            "skills/writing/SKILL.md"
        ]
    );
    assert_eq!(mode(&settings.join(".env")), 0o600);
    assert_eq!(
        fs::read_to_string(settings.join("SOUL.md")).unwrap(),
        "soul"
    );

    let everything = create("b", Contents::Everything(source));
    assert_eq!(
        tree(everything.path()),
        [
            ".env",
            ".no-bundled-skills",
            "SOUL.md",
            "config.yaml",
            "custom/file",
            "memories/MEMORY.md",
            "skills/writing/SKILL.md",
            "state.db"
        ]
    );
}

#[test]
fn a_failed_create_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let source = furnished(&scratch);
    let profiles = Profiles::new(&scratch.home, &scratch.policy);
    let new = NewProfile {
        name: name("a"),
        contents: Contents::Everything(source),
        bundled_skills: true,
    };
    let error = profiles
        .create(&new, &|_, _| Err(io::Error::other("disk full")))
        .unwrap_err();
    assert!(error.to_string().starts_with("cannot copy"), "{error}");
    assert_eq!(names(&profiles), ["default", "other"]);
    let scraps: Vec<_> = fs::read_dir(scratch.home.profiles_dir())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".creating"))
        .collect();
    assert!(scraps.is_empty(), "{scraps:?}");
}

#[test]
fn deleting_a_linked_profile_keeps_what_it_points_to() {
    let scratch = Scratch::new();
    let profiles = Profiles::new(&scratch.home, &scratch.policy);
    let elsewhere = scratch.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("precious"), "").unwrap();
    fs::create_dir_all(scratch.home.profiles_dir()).unwrap();
    symlink(&elsewhere, scratch.home.profiles_dir().join("linked")).unwrap();
    assert_eq!(names(&profiles), ["default", "linked"]);
    profiles.delete(&name("linked")).unwrap();
    assert!(elsewhere.join("precious").exists());
    assert_eq!(names(&profiles), ["default"]);
}

#[test]
fn profiles_created_at_the_same_time_do_not_meet() {
    let scratch = Scratch::new();
    let created = std::thread::scope(|scope| {
        let attempts: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let profiles = Profiles::new(&scratch.home, &scratch.policy);
                    profiles.create(&empty("same"), &plain_copy).is_ok()
                })
            })
            .collect();
        attempts
            .into_iter()
            .map(|a| a.join().unwrap())
            .filter(|ok| *ok)
            .count()
    });
    assert_eq!(created, 1);
}

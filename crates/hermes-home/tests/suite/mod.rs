mod atomic;
mod creation;
mod lock;
mod profiles;
mod selection;
mod wrappers;

use std::path::Path;

use hermes_home::{Environment, FilePolicy, Home, env};
use tempfile::TempDir;

/// A user's home directory with nothing in it.
struct Scratch {
    directory: TempDir,
    home: Home,
    policy: FilePolicy,
}

impl Scratch {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let environment = environment(directory.path(), variables);
        let home = Home::locate(&environment);
        let policy = FilePolicy::of(&environment, &home);
        Self {
            directory,
            home,
            policy,
        }
    }
}

fn environment(user_home: &Path, variables: &[(&str, &str)]) -> Environment {
    let user_home = (env::USER_HOME, user_home.to_str().unwrap());
    variables
        .iter()
        .chain([&user_home])
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

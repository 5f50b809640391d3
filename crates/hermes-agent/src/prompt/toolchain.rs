//! What is unusual about this machine's Python, as one line of the prompt: models
//! assume that `python3` and `pip install` work, and lose rounds when they do not.
//! Looked up in the file system; nothing is started.

use std::fs;
use std::path::{Path, PathBuf};

/// `None` when everything is as a model expects it.
pub(super) fn python_line(search_path: &str) -> Option<String> {
    let find = |name: &str| {
        search_path
            .split(':')
            .filter(|directory| directory.starts_with('/'))
            .map(|directory| Path::new(directory).join(name))
            .find(|path| path.is_file())
    };
    let uv = find("uv").is_some();
    let with_uv = if uv { "; uv is there" } else { "" };
    let Some(python) = find("python3") else {
        return Some(match find("python") {
            Some(_) => format!("Python: only `python`, no `python3`{with_uv}."),
            None => format!("Python: not installed{with_uv}."),
        });
    };
    let library = library_of(&python);
    let mut oddities = Vec::new();
    match find("pip3").or_else(|| find("pip")) {
        None if !has_pip(&library) => oddities.push(format!("pip is not installed{with_uv}")),
        None => oddities.push("pip only as `python3 -m pip`".to_owned()),
        Some(pip) => {
            let other = interpreter_of(&pip).filter(|other| !is_same(other, &python));
            oddities.extend(other.map(|other| {
                format!(
                    "`pip` belongs to {}, so use `python3 -m pip`",
                    other.display()
                )
            }));
        }
    }
    let managed = library
        .iter()
        .any(|directory| directory.join("EXTERNALLY-MANAGED").is_file());
    if managed && !uv && !is_virtual(&python) {
        oddities.push(
            "pip may not install into the system (PEP 668), so make a virtual environment first"
                .to_owned(),
        );
    }
    (!oddities.is_empty()).then(|| format!("Python: {}.", oddities.join("; ")))
}

/// Directories of the standard library of this interpreter.
fn library_of(python: &Path) -> Vec<PathBuf> {
    let real = python.canonicalize().unwrap_or_else(|_| python.to_owned());
    let Some(prefix) = real.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    let name = real
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let library = prefix.join("lib");
    if name.starts_with("python3.") {
        return vec![library.join(name)];
    }
    fs::read_dir(library)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3."))
        .map(|entry| entry.path())
        .collect()
}

fn has_pip(library: &[PathBuf]) -> bool {
    library.iter().any(|directory| {
        ["site-packages", "dist-packages"]
            .iter()
            .any(|packages| directory.join(packages).join("pip").is_dir())
            || directory
                .with_file_name("python3")
                .join("dist-packages/pip")
                .is_dir()
    })
}

/// Whom the first line of a script names.
fn interpreter_of(script: &Path) -> Option<PathBuf> {
    use std::io::Read;
    let mut start = [0; 256];
    let read = fs::File::open(script).ok()?.read(&mut start).ok()?;
    let first = String::from_utf8_lossy(&start[..read]);
    let named = first.strip_prefix("#!")?.lines().next()?.trim();
    let path = Path::new(named.split(' ').next()?);
    // `env` decides when it runs; that is the one of the path.
    (path.is_absolute() && !path.ends_with("env") && path.exists()).then(|| path.to_owned())
}

fn is_same(one: &Path, other: &Path) -> bool {
    // Two virtual environments share the file behind their links, not their packages.
    match (virtual_root(one), virtual_root(other)) {
        (None, None) => one.canonicalize().ok() == other.canonicalize().ok(),
        (one, other) => one == other,
    }
}

fn is_virtual(python: &Path) -> bool {
    virtual_root(python).is_some()
}

fn virtual_root(python: &Path) -> Option<PathBuf> {
    let root = python.parent()?.parent()?;
    root.join("pyvenv.cfg").is_file().then(|| root.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let scratch = tempfile::tempdir().unwrap();
            fs::create_dir_all(scratch.path().join("bin")).unwrap();
            Self(scratch)
        }

        fn file(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn python(&self) {
            self.file("bin/python3.12", "");
            symlink("python3.12", self.0.path().join("bin/python3")).unwrap();
        }

        fn pip_of(&self, interpreter: &str) {
            let interpreter = self.0.path().join(interpreter);
            self.file(
                "bin/pip3",
                &format!("#!{}\nimport pip", interpreter.display()),
            );
        }

        fn line(&self) -> Option<String> {
            python_line(&self.0.path().join("bin").display().to_string())
        }
    }

    #[test]
    fn what_works_as_expected_is_not_mentioned() {
        let machine = Machine::new();
        machine.python();
        machine.pip_of("bin/python3.12");
        assert_eq!(machine.line(), None);
    }

    #[test]
    fn what_is_missing_or_different_is_one_line() {
        let machine = Machine::new();
        assert_eq!(machine.line().unwrap(), "Python: not installed.");
        machine.file("bin/python", "");
        assert!(machine.line().unwrap().contains("no `python3`"));
        machine.python();
        assert_eq!(machine.line().unwrap(), "Python: pip is not installed.");
        machine.file("lib/python3.12/site-packages/pip/__init__.py", "");
        assert!(machine.line().unwrap().contains("python3 -m pip"));
        machine.file("other/bin/python3", "");
        machine.pip_of("other/bin/python3");
        assert!(machine.line().unwrap().contains("`pip` belongs to"));
        machine.pip_of("bin/python3");
        machine.file("lib/python3.12/EXTERNALLY-MANAGED", "");
        assert!(machine.line().unwrap().contains("PEP 668"));
        machine.file("bin/uv", "");
        assert_eq!(machine.line(), None);
    }
}

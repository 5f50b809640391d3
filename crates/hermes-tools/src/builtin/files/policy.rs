//! Files that the tools leave alone. Not a wall (a shell can do anything), but
//! the same answer every time: keys and the settings that decide what the agent
//! may do are neither read nor written by it.

use hermes_sandbox::SandboxPath;

/// Places that the rules speak of, as the sandbox sees them.
#[derive(Clone, Debug, Default)]
pub struct FilePolicy {
    /// The active home and the root home.
    pub hermes_homes: Vec<SandboxPath>,
    /// The active home alone: other profiles lie beside it.
    pub active_home: Option<SandboxPath>,
    pub user_home: Option<SandboxPath>,
    /// The user's home is on another host: the sandbox knows where.
    pub asks_for_home: bool,
    /// A container's own copy of a Hermes home, which nothing reads.
    pub mirror: Option<SandboxPath>,
    /// `HERMES_WRITE_SAFE_ROOT`: nothing outside of it is written.
    pub safe_root: Option<SandboxPath>,
    /// `HERMES_DISABLE_FILE_STATE_GUARD`: what other agents wrote is not told.
    pub ignores_other_writers: bool,
}

const HOME_FILES: &[&str] = &[
    ".ssh/authorized_keys",
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/config",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".zprofile",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
];
const HOME_TREES: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config/gh",
    ".config/gcloud",
];
const SYSTEM_FILES: &[&str] = &["/etc/sudoers", "/etc/passwd", "/etc/shadow"];
const SYSTEM_TREES: &[&str] = &[
    "/etc",
    "/boot",
    "/usr/lib/systemd",
    "/private/etc",
    "/private/var",
];
const SOCKETS: &[&str] = &["/var/run/docker.sock", "/run/docker.sock"];
const HERMES_UNWRITABLE: &[&str] = &[
    ".env",
    ".anthropic_oauth.json",
    "auth.json",
    "config.yaml",
    "webhook_subscriptions.json",
];
const HERMES_UNREADABLE: &[&str] = &[
    "auth.json",
    "auth.lock",
    ".anthropic_oauth.json",
    ".env",
    "webhook_subscriptions.json",
    "auth/google_oauth.json",
    "cache/bws_cache.json",
];
const ENVIRONMENT_FILES: &[&str] = &[
    ".env",
    ".env.local",
    ".env.development",
    ".env.production",
    ".env.test",
    ".env.staging",
    ".envrc",
];
const DEVICES: &[&str] = &[
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
    "/dev/stdin",
    "/dev/tty",
    "/dev/console",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/fd/0",
    "/dev/fd/1",
    "/dev/fd/2",
    "/proc/kmsg",
    "/proc/kcore",
    "/sys/kernel/tracing/trace_pipe",
    "/sys/kernel/debug/tracing/trace_pipe",
];

impl FilePolicy {
    /// Why the file may not be read, for a path with its links resolved.
    pub fn refuses_read(&self, path: &SandboxPath) -> Option<String> {
        let text = path.as_str();
        if DEVICES.contains(&text) || is_process_file(text) {
            return Some(format!(
                "Cannot read '{text}': it is a device or a process file, which has no end or no business here."
            ));
        }
        let hidden = self.hermes_homes.iter().any(|home| {
            path.below(home).is_some_and(|rest| {
                let rest = of_a_profile(rest);
                HERMES_UNREADABLE.iter().any(|name| is_copy(rest, name))
                    || is_below(rest, "mcp-tokens")
                    || is_below(rest, "skills/.hub")
            })
        });
        let named = path
            .file_name()
            .is_some_and(|name| ENVIRONMENT_FILES.contains(&name));
        (hidden || named).then(|| {
            format!("Read denied: '{text}' holds credentials or untrusted downloads. Ask the user for what you need from it.")
        })
    }

    /// Why the file may not be written, for a path with its links resolved.
    pub fn refuses_write(
        &self,
        path: &SandboxPath,
        user_home: Option<&SandboxPath>,
    ) -> Option<String> {
        let text = path.as_str();
        if let Some(root) = &self.safe_root
            && path.below(root).is_none()
        {
            return Some(format!(
                "Write denied: '{text}' is outside of the allowed directory '{root}'."
            ));
        }
        let below_home = user_home.and_then(|home| path.below(home));
        let personal = below_home.is_some_and(|rest| {
            HOME_FILES.contains(&rest) || HOME_TREES.iter().any(|tree| is_below(rest, tree))
        });
        let ours = self.hermes_homes.iter().any(|home| {
            path.below(home).is_some_and(|rest| {
                HERMES_UNWRITABLE.contains(&rest)
                    || is_below(rest, "mcp-tokens")
                    || is_below(rest, "pairing")
            })
        });
        let system = SYSTEM_FILES.contains(&text)
            || SOCKETS.contains(&text)
            || SYSTEM_TREES.iter().any(|tree| {
                SandboxPath::absolute(tree).is_some_and(|tree| path.below(&tree).is_some())
            });
        (personal || ours || system)
            .then(|| format!("Write denied: '{text}' is a protected system/credential file."))
    }

    /// Why a write needs `cross_profile`: it would change another profile's mind.
    pub fn crosses_profiles(&self, path: &SandboxPath) -> Option<String> {
        let text = path.as_str();
        let copied = text
            .split_once("/sandboxes/")
            .is_some_and(|(_, rest)| rest.contains("/home/.hermes/"));
        let mirrored = self
            .mirror
            .as_ref()
            .is_some_and(|mirror| path.below(mirror).is_some());
        if copied || mirrored {
            return Some(format!(
                "'{text}' is a sandbox's private copy of a Hermes home, which nothing reads. Set cross_profile to write it anyway."
            ));
        }
        let active = self.active_home.as_ref()?;
        let owner = self.hermes_homes.iter().find_map(|root| {
            let rest = path.below(root)?;
            match rest.strip_prefix("profiles/") {
                Some(rest) => rest
                    .split_once('/')
                    .map(|(name, rest)| (root.join(&format!("profiles/{name}")), rest)),
                None => Some((root.clone(), rest)),
            }
        });
        let (home, rest) = owner?;
        let guarded = ["skills", "plugins", "cron", "memories"]
            .iter()
            .any(|tree| is_below(rest, tree));
        (guarded && home != *active).then(|| {
            format!("'{text}' belongs to another profile. Set cross_profile if the user asked for exactly that.")
        })
    }
}

/// A profile has the same files as the home that it lies in.
fn of_a_profile(rest: &str) -> &str {
    rest.strip_prefix("profiles/")
        .and_then(|rest| rest.split_once('/'))
        .map_or(rest, |(_, rest)| rest)
}

/// The file itself, or one that was put aside: `auth.json.corrupt`, `auth.json~`.
fn is_copy(rest: &str, name: &str) -> bool {
    rest.strip_prefix(name).is_some_and(|ending| {
        ending.is_empty()
            || (ending.starts_with(['.', '~', '-', '_'])
                && !ending.contains('/')
                && ending != ".example")
    })
}

fn is_below(rest: &str, tree: &str) -> bool {
    rest.strip_prefix(tree)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_process_file(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("/proc/") else {
        return false;
    };
    let Some((_, file)) = rest.split_once('/') else {
        return false;
    };
    // Of a process, or of one of its threads.
    let own = file
        .strip_prefix("task/")
        .and_then(|rest| rest.split_once('/'));
    matches!(
        own.map_or(file, |(_, file)| file),
        "environ" | "cmdline" | "maps" | "mem" | "fd/0" | "fd/1" | "fd/2"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> SandboxPath {
        SandboxPath::absolute(text).unwrap()
    }

    fn policy() -> FilePolicy {
        FilePolicy {
            hermes_homes: vec![
                path("/home/u/.hermes/profiles/work"),
                path("/home/u/.hermes"),
            ],
            active_home: Some(path("/home/u/.hermes/profiles/work")),
            user_home: Some(path("/home/u")),
            safe_root: None,
            ..FilePolicy::default()
        }
    }

    fn refused(policy: &FilePolicy, path: &SandboxPath) -> bool {
        let home = policy.user_home.as_ref();
        policy.refuses_write(path, home).is_some()
    }

    #[test]
    fn keys_are_neither_read_nor_written_in_either_home() {
        for home in ["/home/u/.hermes", "/home/u/.hermes/profiles/work"] {
            for file in [
                ".env",
                "auth.json",
                ".anthropic_oauth.json",
                "mcp-tokens/x.json",
            ] {
                let path = path(&format!("{home}/{file}"));
                assert!(policy().refuses_read(&path).is_some(), "{path}");
                assert!(refused(&policy(), &path), "{path}");
            }
            assert!(refused(&policy(), &path(&format!("{home}/config.yaml"))));
            assert!(
                policy()
                    .refuses_read(&path(&format!("{home}/config.yaml")))
                    .is_none()
            );
        }
    }

    #[test]
    fn system_and_personal_files_are_not_written() {
        for file in [
            "/etc/passwd",
            "/etc/hosts",
            "/boot/x",
            "/home/u/.ssh/id_rsa",
            "/home/u/.aws/x",
            "/home/u/.bashrc",
            "/run/docker.sock",
            "/home/u/.config/gh/hosts.yml",
        ] {
            assert!(refused(&policy(), &path(file)), "{file}");
        }
        for file in [
            "/home/u/project/a.rs",
            "/tmp/etc/x",
            "/home/u/.config/x",
            "/home/u/.sshx",
        ] {
            assert!(!refused(&policy(), &path(file)), "{file}");
        }
    }

    #[test]
    fn environment_files_are_not_read_but_examples_are() {
        assert!(policy().refuses_read(&path("/p/.env.local")).is_some());
        assert_eq!(policy().refuses_read(&path("/p/.env.example")), None);
        assert!(policy().refuses_read(&path("/dev/zero")).is_some());
        assert!(policy().refuses_read(&path("/proc/self/environ")).is_some());
    }

    #[test]
    fn what_was_put_aside_is_as_secret() {
        for file in [
            "auth.json.corrupt",
            "auth.json.bak-3",
            ".env.bak",
            "profiles/other/auth.json",
            "skills/.hub/x/SKILL.md",
        ] {
            let path = path(&format!("/home/u/.hermes/{file}"));
            assert!(policy().refuses_read(&path).is_some(), "{path}");
        }
        for file in ["auth.jsonl", "auth.json.d/x", ".env.example", "config.yaml"] {
            let path = path(&format!("/home/u/.hermes/{file}"));
            assert_eq!(policy().refuses_read(&path), None, "{path}");
        }
    }

    #[test]
    fn other_profiles_need_a_word() {
        let crosses = |text: &str| policy().crosses_profiles(&path(text)).is_some();
        assert!(crosses("/home/u/.hermes/skills/a/SKILL.md"));
        assert!(crosses("/home/u/.hermes/profiles/other/memories/MEMORY.md"));
        assert!(!crosses("/home/u/.hermes/profiles/work/skills/a/SKILL.md"));
        assert!(!crosses("/home/u/.hermes/notes.txt"));
        let container = FilePolicy {
            mirror: Some(path("/root/.hermes")),
            ..FilePolicy::default()
        };
        let note = container.crosses_profiles(&path("/root/.hermes/memories/MEMORY.md"));
        assert!(note.is_some_and(|text| text.contains("nothing reads")));
    }

    #[test]
    fn a_safe_root_bounds_every_write() {
        let policy = FilePolicy {
            safe_root: Some(path("/work")),
            ..policy()
        };
        assert!(refused(&policy, &path("/tmp/x")));
        assert!(!refused(&policy, &path("/work/x")));
    }
}

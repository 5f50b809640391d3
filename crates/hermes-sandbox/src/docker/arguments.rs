//! The command line of `docker run`, as pure data.
//!
//! The order is that of the reference, and so is every argument, except that
//! `/tmp` is mounted with `exec` (the reference's form turns out `noexec`, which
//! breaks native builds) and that values of variables never stand here.

use std::collections::BTreeMap;

use super::labels::{self, Identity};
use super::place::Place;
use super::settings::{ContainerSettings, Persist, ReadOnlyMount};

/// What only the engine can tell, asked once before creating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineFacts {
    /// The image brings an init of its own as PID 1.
    pub image_has_init: bool,
    /// A size limit on the container's own layer works.
    pub disk_quota: bool,
    /// The kernel lets the engine limit CPU, memory and processes.
    pub limits: bool,
    /// The engine has an init program to put before ours.
    pub init: bool,
}

/// A `docker run` to be: arguments after the program name, and what its own
/// environment must hold so that no value stands on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunPlan {
    pub name: String,
    pub arguments: Vec<String>,
    /// For `-e NAME` arguments: the client passes on what it has.
    pub environment: BTreeMap<String, String>,
    /// Content of a private `--env-file`, for names that would change the client itself.
    pub env_file: Option<String>,
}

/// Stands in the arguments where the path of the env file goes.
pub const ENV_FILE: &str = "\u{0}env-file";

pub struct RunInput<'a> {
    pub settings: &'a ContainerSettings,
    pub identity: &'a Identity,
    pub place: &'a Place,
    pub persist: Persist,
    pub facts: EngineFacts,
    pub read_only: &'a [ReadOnlyMount],
    /// `hermes-` and eight random digits; never used to find the container.
    pub name: String,
}

pub fn run_plan(input: &RunInput<'_>) -> RunPlan {
    let settings = input.settings;
    let mut arguments = Arguments(Vec::with_capacity(80));
    arguments.flags(&["run", "-d"]);
    if input.facts.init && !input.facts.image_has_init {
        arguments.flags(&["--init"]);
    }
    arguments.pair("--name", &input.name);
    for (label, value) in input.identity.shared() {
        arguments.pair("--label", &format!("{label}={value}"));
    }
    arguments.pair(
        "--label",
        &format!("{}={}", labels::HOME, input.identity.home),
    );
    arguments.pair(
        "--label",
        &format!("{}={}", labels::SPEC, settings.spec().hash()),
    );
    if input.persist == Persist::WithProcess {
        arguments.pair("--label", &format!("{}=1", labels::PRIVATE));
    }
    arguments.pair("-w", &settings.working_directory);
    security(&mut arguments, settings, input.facts);
    if let Some(user) = settings.run_as {
        arguments.pair("--user", &format!("{}:{}", user.uid, user.gid));
    }
    writable(&mut arguments, settings, input.place);
    resources(&mut arguments, settings, input.facts);
    if !settings.network {
        arguments.flags(&["--network=none"]);
    }
    volumes(&mut arguments, settings, input.read_only);
    let (environment, env_file) = variables(&mut arguments, settings);
    arguments.0.extend(settings.extra_arguments.iter().cloned());
    arguments.flags(&[&settings.image, "sleep", "infinity"]);
    RunPlan {
        name: input.name.clone(),
        arguments: arguments.0,
        environment,
        env_file,
    }
}

struct Arguments(Vec<String>);

impl Arguments {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(|flag| (*flag).to_owned()));
    }

    fn pair(&mut self, flag: &str, value: &str) {
        self.flags(&[flag, value]);
    }
}

fn security(arguments: &mut Arguments, settings: &ContainerSettings, facts: EngineFacts) {
    arguments.pair("--cap-drop", "ALL");
    // Package managers chown, and root must write what the host user owns.
    for capability in ["DAC_OVERRIDE", "CHOWN", "FOWNER"] {
        arguments.pair("--cap-add", capability);
    }
    arguments.pair("--security-opt", "no-new-privileges");
    if facts.limits {
        arguments.pair("--pids-limit", "256");
    }
    arguments.pair("--tmpfs", "/tmp:rw,exec,nosuid,size=512m");
    arguments.pair("--tmpfs", "/var/tmp:rw,noexec,nosuid,size=256m");
    // An s6 image starts its services from /run.
    let run = if facts.image_has_init {
        "exec"
    } else {
        "noexec"
    };
    arguments.pair("--tmpfs", &format!("/run:rw,{run},nosuid,size=64m"));
    if settings.run_as.is_none() {
        // The image's init must be able to drop privileges.
        for capability in ["SETUID", "SETGID"] {
            arguments.pair("--cap-add", capability);
        }
    }
}

/// Whether the user, or the mounted working directory, provides `/workspace`.
pub fn workspace_is_covered(settings: &ContainerSettings) -> bool {
    settings.host_workspace.is_some() || user_volume_covers_workspace(settings)
}

fn user_volume_covers_workspace(settings: &ContainerSettings) -> bool {
    settings.volumes.iter().any(|v| v.contains(":/workspace"))
}

fn writable(arguments: &mut Arguments, settings: &ContainerSettings, place: &Place) {
    if settings.persistent_files {
        arguments.pair("-v", &format!("{}:/root", place.home().display()));
        if !workspace_is_covered(settings) {
            arguments.pair("-v", &format!("{}:/workspace", place.workspace().display()));
        }
    } else {
        if !workspace_is_covered(settings) {
            arguments.pair("--tmpfs", "/workspace:rw,exec,size=10g");
        }
        arguments.pair("--tmpfs", "/home:rw,exec,size=1g");
        arguments.pair("--tmpfs", "/root:rw,exec,size=1g");
    }
}

fn resources(arguments: &mut Arguments, settings: &ContainerSettings, facts: EngineFacts) {
    if facts.limits && settings.cpus > 0.0 {
        // With a fraction always, as the reference prints it.
        arguments.pair("--cpus", &format!("{:?}", settings.cpus));
    }
    if facts.limits && settings.memory_mb > 0 {
        arguments.pair("--memory", &format!("{}m", settings.memory_mb));
    }
    if facts.disk_quota && settings.disk_mb > 0 {
        arguments.pair("--storage-opt", &format!("size={}m", settings.disk_mb));
    }
}

fn volumes(arguments: &mut Arguments, settings: &ContainerSettings, read_only: &[ReadOnlyMount]) {
    if let Some(directory) = &settings.host_workspace
        && !user_volume_covers_workspace(settings)
    {
        arguments.pair("-v", &format!("{}:/workspace", directory.display()));
    }
    for volume in &settings.volumes {
        arguments.pair("-v", volume);
    }
    for mount in read_only {
        arguments.pair(
            "-v",
            &format!("{}:{}:ro", mount.source.display(), mount.target),
        );
    }
}

/// Names only. The client fills them in from its environment; what would change
/// the client (its own PATH, HOME, proxies) goes through a private file instead.
fn variables(
    arguments: &mut Arguments,
    settings: &ContainerSettings,
) -> (BTreeMap<String, String>, Option<String>) {
    let mut environment = BTreeMap::new();
    let mut file = String::new();
    for (name, value) in &settings.environment {
        if changes_the_client(name) && !value.contains('\n') {
            file.push_str(&format!("{name}={value}\n"));
        } else {
            arguments.pair("-e", name);
            environment.insert(name.clone(), value.clone());
        }
    }
    if file.is_empty() {
        return (environment, None);
    }
    arguments.pair("--env-file", ENV_FILE);
    (environment, Some(file))
}

fn changes_the_client(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["PATH", "HOME", "USER", "TMPDIR"].contains(&upper.as_str())
        || upper.ends_with("_PROXY")
        || [
            "DOCKER_",
            "BUILDKIT_",
            "CONTAINER",
            "XDG_",
            "LD_",
            "SSH_",
            "GO",
            "HTTP",
        ]
        .iter()
        .any(|prefix| upper.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use pretty_assertions::assert_eq;

    use super::super::settings::{HostUser, plain_settings};
    use super::*;

    const FIRST: &str = include_str!("../../tests/fixtures/docker/first-start.json");
    const HOST_USER: &str = include_str!("../../tests/fixtures/docker/host-user.json");
    const MOUNT_CWD: &str = include_str!("../../tests/fixtures/docker/mount-cwd.json");
    const MEMORY_ONLY: &str = include_str!("../../tests/fixtures/docker/not-persistent.json");
    const VOLUMES: &str = include_str!("../../tests/fixtures/docker/volumes-env-limits.json");

    /// The reference's `docker run`, with what we change on purpose changed.
    fn recorded(fixture: &str) -> Vec<String> {
        let recording: serde_json::Value = serde_json::from_str(fixture).expect("json");
        let calls = recording["calls"].as_array().expect("calls");
        let run = calls
            .iter()
            .map(|call| call["argv"].as_array().expect("argv"))
            .find(|argv| argv[1] == "run")
            .expect("a run");
        let mut words: Vec<String> = run[1..]
            .iter()
            .map(|word| word.as_str().expect("text").to_owned())
            .collect();
        for index in 0..words.len() {
            if words[index] == "--name" {
                words[index + 1] = "hermes-00000000".to_owned();
            }
            if words[index] == "-e" {
                let name = words[index + 1]
                    .split('=')
                    .next()
                    .expect("a name")
                    .to_owned();
                words[index + 1] = name;
            }
            if words[index] == "/tmp:rw,nosuid,size=512m" {
                words[index] = "/tmp:rw,exec,nosuid,size=512m".to_owned();
            }
        }
        words
    }

    fn plan(settings: &ContainerSettings, persist: Persist, facts: EngineFacts) -> RunPlan {
        let home = Path::new("/home/user/.hermes/profiles/builder");
        let mount = |source: &str, target: &str| ReadOnlyMount {
            source: home.join(source),
            target: format!("/root/.hermes/{target}"),
        };
        let read_only = [
            mount("skills", "skills"),
            mount("image_cache", "cache/images"),
            mount("audio_cache", "cache/audio"),
        ];
        run_plan(&RunInput {
            settings,
            identity: &Identity::new("default", "builder", home),
            place: &Place::new(&home.join("sandboxes"), "default"),
            persist,
            facts,
            read_only: &read_only,
            name: "hermes-00000000".to_owned(),
        })
    }

    const FACTS: EngineFacts = EngineFacts {
        image_has_init: false,
        disk_quota: false,
        limits: true,
        init: true,
    };

    /// Our arguments without the labels that only we write.
    fn shared(settings: &ContainerSettings) -> Vec<String> {
        let mut words = plan(settings, Persist::AcrossProcesses, FACTS).arguments;
        let ours = |word: &String| {
            [labels::HOME, labels::SPEC, labels::PRIVATE]
                .iter()
                .any(|label| word.starts_with(&format!("{label}=")))
        };
        while let Some(at) = words.iter().position(ours) {
            words.drain(at - 1..=at);
        }
        words
    }

    #[test]
    fn the_arguments_are_those_of_the_reference() {
        let plain = plain_settings();
        assert_eq!(shared(&plain), recorded(FIRST));
        let user = ContainerSettings {
            run_as: Some(HostUser { uid: 0, gid: 0 }),
            ..plain.clone()
        };
        assert_eq!(shared(&user), recorded(HOST_USER));
        let cwd = ContainerSettings {
            working_directory: "/workspace".to_owned(),
            host_workspace: Some(PathBuf::from("/home/user/project")),
            ..plain.clone()
        };
        assert_eq!(shared(&cwd), recorded(MOUNT_CWD));
        let memory = ContainerSettings {
            persistent_files: false,
            ..plain.clone()
        };
        assert_eq!(shared(&memory), recorded(MEMORY_ONLY));
        let volumes = ContainerSettings {
            cpus: 0.0,
            memory_mb: 0,
            volumes: vec!["/home/user/project:/data:ro".to_owned()],
            environment: BTreeMap::from([
                ("ZED".to_owned(), "1".to_owned()),
                ("ALPHA".to_owned(), "two words".to_owned()),
            ]),
            extra_arguments: vec!["--hostname".to_owned(), "sandbox".to_owned()],
            ..plain
        };
        assert_eq!(shared(&volumes), recorded(VOLUMES));
    }

    #[test]
    fn no_value_of_a_variable_is_an_argument() {
        let settings = ContainerSettings {
            environment: BTreeMap::from([
                ("TOKEN".to_owned(), "hunter2".to_owned()),
                ("PATH".to_owned(), "/opt/hunter2".to_owned()),
            ]),
            ..plain_settings()
        };
        let plan = plan(&settings, Persist::AcrossProcesses, FACTS);
        assert!(!plan.arguments.iter().any(|word| word.contains("hunter2")));
        assert_eq!(plan.environment["TOKEN"], "hunter2");
        // The client keeps its own PATH.
        assert!(!plan.environment.contains_key("PATH"));
        assert_eq!(plan.env_file.as_deref(), Some("PATH=/opt/hunter2\n"));
    }

    #[test]
    fn private_containers_say_so_and_their_inits_are_respected() {
        let settings = plain_settings();
        let facts = EngineFacts {
            image_has_init: true,
            ..FACTS
        };
        let words = plan(&settings, Persist::WithProcess, facts).arguments;
        assert!(words.contains(&"hermes-private=1".to_owned()));
        assert!(!words.contains(&"--init".to_owned()));
        assert!(words.contains(&"/run:rw,exec,nosuid,size=64m".to_owned()));
        let cut_off = ContainerSettings {
            network: false,
            disk_mb: 100,
            ..settings
        };
        let quota = EngineFacts {
            disk_quota: true,
            limits: false,
            ..FACTS
        };
        let words = plan(&cut_off, Persist::AcrossProcesses, quota).arguments;
        assert!(words.contains(&"--network=none".to_owned()));
        assert!(words.contains(&"size=100m".to_owned()));
        assert!(!words.contains(&"--pids-limit".to_owned()));
        assert!(!words.contains(&"--memory".to_owned()));
    }

    #[test]
    fn a_user_volume_on_the_workspace_replaces_both_others() {
        let settings = ContainerSettings {
            volumes: vec!["/x:/workspace".to_owned()],
            host_workspace: Some(PathBuf::from("/home/user/project")),
            ..plain_settings()
        };
        let words = shared(&settings);
        let workspaces: Vec<&String> = words.iter().filter(|w| w.contains(":/workspace")).collect();
        assert_eq!(workspaces, ["/x:/workspace"]);
    }
}

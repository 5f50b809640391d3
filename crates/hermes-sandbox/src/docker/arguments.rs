//! The command line of `docker run`, as pure data.
//!
//! The order is that of the reference, and so is every argument, except that
//! `/tmp` is mounted with `exec` (the reference's form turns out `noexec`, which
//! breaks native builds) and that values of variables never stand here.

use std::collections::BTreeMap;

use super::labels::{self, Identity};
use super::place::Place;
use super::settings::{ContainerSettings, Persist};

/// What only the engine can tell, asked once before creating.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineFacts {
    /// The image brings an init of its own as PID 1.
    pub image_has_init: bool,
    /// A size limit on the container's own layer works.
    pub disk_quota: bool,
    /// The kernel lets the engine limit CPU, memory and processes.
    pub limits: bool,
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
    /// Random part of the name.
    pub name: String,
}

pub fn run_plan(input: &RunInput<'_>) -> RunPlan {
    let settings = input.settings;
    let mut arguments = Arguments(Vec::with_capacity(80));
    arguments.flags(&["run", "-d"]);
    if !input.facts.image_has_init {
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
    volumes(&mut arguments, settings);
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

fn volumes(arguments: &mut Arguments, settings: &ContainerSettings) {
    if let Some(directory) = &settings.host_workspace
        && !user_volume_covers_workspace(settings)
    {
        arguments.pair("-v", &format!("{}:/workspace", directory.display()));
    }
    for volume in &settings.volumes {
        arguments.pair("-v", volume);
    }
    for mount in &settings.read_only {
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

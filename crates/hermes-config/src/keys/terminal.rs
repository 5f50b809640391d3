//! Where commands run.

use super::key::{Default, Key, Type, flag, float, int, list, map, text, unset, with};

const IMAGE: &str = "nikolaik/python-nodejs:python3.11-nodejs20";

#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    text("terminal.backend", "local", "where commands run").bridged("TERMINAL_ENV").mirrored().choices(&["local", "docker", "ssh", "modal", "daytona", "singularity"]).live(),
    text("terminal.cwd", ".", "directory in which commands start; `.`, `auto` and `cwd` mean the one Hermes was started in").bridged("TERMINAL_CWD").live(),
    int("terminal.timeout", 180, "seconds for one command").bridged("TERMINAL_TIMEOUT").mirrored().live(),
    int("terminal.lifetime_seconds", 300, "idle seconds after which an environment is let go").bridged("TERMINAL_LIFETIME_SECONDS").live(),
    list("terminal.env_passthrough", &[], "names of variables that commands may see").live(),
    list("terminal.credential_files", &[], "files of the home that are copied into a sandbox").live(),
    list("terminal.shell_init_files", &[], "files sourced before the first command").live(),
    flag("terminal.auto_source_bashrc", true, "source the user's shell start-up file").live(),
    text("terminal.docker_image", IMAGE, "image of the docker backend").bridged("TERMINAL_DOCKER_IMAGE").mirrored().live(),
    list("terminal.docker_forward_env", &[], "names of variables passed into the container").bridged("TERMINAL_DOCKER_FORWARD_ENV").mirrored().live(),
    map("terminal.docker_env", "variables set in the container").bridged("TERMINAL_DOCKER_ENV").mirrored().live(),
    list("terminal.docker_volumes", &[], "mounts as `host:container[:ro]`").bridged("TERMINAL_DOCKER_VOLUMES").mirrored().live(),
    list("terminal.docker_extra_args", &[], "further arguments of `docker run`").bridged("TERMINAL_DOCKER_EXTRA_ARGS").mirrored().live(),
    flag("terminal.docker_mount_cwd_to_workspace", false, "mount the start directory at `/workspace`").bridged("TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE").mirrored().live(),
    flag("terminal.docker_run_as_host_user", false, "run as the user who started Hermes").bridged("TERMINAL_DOCKER_RUN_AS_HOST_USER").mirrored().live(),
    flag("terminal.docker_persist_across_processes", true, "keep the container when Hermes ends and find it again").bridged("TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES").mirrored().live(),
    flag("terminal.docker_orphan_reaper", true, "remove containers that nobody uses any more").bridged("TERMINAL_DOCKER_ORPHAN_REAPER").mirrored().live(),
    text("terminal.docker_on_drift", "warn", "what to do when the container was made with other settings").choices(&["warn", "recreate"]).live(),
    float("terminal.docker_idle_stop_hours", 0.0, "idle hours after which the container is stopped; 0 never").live(),
    flag("terminal.docker_network", true, "give the container a network").bridged("TERMINAL_DOCKER_NETWORK").live(),
    float("terminal.container_cpu", 1.0, "cores of a container; 0 no limit").bridged("TERMINAL_CONTAINER_CPU").mirrored().live(),
    int("terminal.container_memory", 5120, "memory of a container in MB; 0 no limit").bridged("TERMINAL_CONTAINER_MEMORY").mirrored().live(),
    int("terminal.container_disk", 51200, "disk of a container in MB; 0 no limit").bridged("TERMINAL_CONTAINER_DISK").mirrored().live(),
    flag("terminal.container_persistent", true, "keep the container's home and workspace on the host").bridged("TERMINAL_CONTAINER_PERSISTENT").mirrored().live(),
    text("terminal.singularity_image", "docker://nikolaik/python-nodejs:python3.11-nodejs20", "image of the singularity backend").bridged("TERMINAL_SINGULARITY_IMAGE").mirrored(),
    text("terminal.modal_image", IMAGE, "image of the Modal backend").bridged("TERMINAL_MODAL_IMAGE").mirrored(),
    text("terminal.modal_mode", "auto", "own Modal account or the managed one").bridged("TERMINAL_MODAL_MODE").mirrored().choices(&["auto", "direct", "managed"]),
    text("terminal.daytona_image", IMAGE, "image of the Daytona backend").bridged("TERMINAL_DAYTONA_IMAGE").mirrored(),
    unset("terminal.ssh_host", Type::String, "host of the ssh backend").bridged_if_set("TERMINAL_SSH_HOST").live(),
    unset("terminal.ssh_user", Type::String, "user on that host").bridged_if_set("TERMINAL_SSH_USER").live(),
    int("terminal.ssh_port", 22, "port on that host").bridged("TERMINAL_SSH_PORT").live(),
    unset("terminal.ssh_key", Type::String, "private key file for that host").bridged_if_set("TERMINAL_SSH_KEY").live(),
    unset("terminal.ssh_sync_back", Type::Bool, "fetch skills and caches that changed on that host when the sandbox is closed; on unless false").live(),
    unset("terminal.sandbox_dir", Type::String, "directory for what sandboxes keep; empty means `sandboxes` in the home").bridged_if_set("TERMINAL_SANDBOX_DIR").mirrored().live(),
    unset("terminal.sudo_password", Type::String, "password for sudo in commands; better kept in `.env`").secret().bridged_if_set("SUDO_PASSWORD").live(),
    flag("terminal.persistent_shell", true, "has no effect: every command runs in a shell that keeps its state").bridged("TERMINAL_PERSISTENT_SHELL").mirrored().inert(),
    with("terminal.env_type", Type::String, Default::Unset, "older name of `terminal.backend`").live(),
];

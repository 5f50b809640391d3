//! An image to make a container of, without a registry.
//!
//! A fresh machine has an engine and no image, and a download of a gigabyte is no
//! first impression. So the image is made of what is here: the machine's own shell,
//! a few programs and their libraries, packed and imported in about a second.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use hermes_process::{Command, Limits};
use hermes_sandbox::docker::EngineProgram;

use super::stage::Stage;
use crate::Context;

/// What a shell session of the demo needs.
const PROGRAMS: &[&str] = &[
    "sh", "bash", "basename", "cat", "chmod", "chown", "cmp", "cp", "cut", "date", "dd", "dirname",
    "env", "find", "grep", "head", "hostname", "id", "kill", "ln", "ls", "mkdir", "mktemp", "mv",
    "od", "ps", "readlink", "rm", "sed", "setsid", "sleep", "sort", "stat", "tail", "test",
    "touch", "tr", "true", "uname", "wc",
];
const ANSWER: u64 = 4;

/// Where commands of the demo run.
pub(super) enum Ground {
    Container {
        engine: EngineProgram,
        image: String,
        /// Made for this run.
        made: bool,
    },
    /// Why it is this machine.
    Local(String),
}

pub(super) async fn ground(
    wanted: Option<&str>,
    local: bool,
    context: &Context,
    stage: &mut Stage,
) -> Ground {
    if local {
        return Ground::Local("as asked by --local".to_owned());
    }
    let engine = match EngineProgram::find(&context.environment, context.home.user_home()) {
        Ok(engine) => engine,
        Err(error) => return Ground::Local(error.to_string()),
    };
    if !succeeds(&engine, &["version"]).await {
        let name = engine.name();
        return Ground::Local(format!("{name} is installed, but no engine answers"));
    }
    let candidate = wanted.map(str::to_owned).or_else(|| configured(context));
    if let Some(image) = candidate
        && succeeds(&engine, &["image", "inspect", &image]).await
    {
        return Ground::Container {
            engine,
            image,
            made: false,
        };
    }
    if let Some(image) = wanted {
        return Ground::Local(format!("{} has no image {image}", engine.name()));
    }
    let image = format!("hermes-demo:{}", std::process::id());
    // An import that is interrupted may still come to its end in the engine.
    stage.owns_image(&engine, image.clone());
    match import(&engine, &image).await {
        Ok(()) => Ground::Container {
            engine,
            image,
            made: true,
        },
        Err(reason) => Ground::Local(reason),
    }
}

fn configured(context: &Context) -> Option<String> {
    let config = context.config().ok()?;
    config.string("terminal.docker_image").ok()
}

async fn succeeds(engine: &EngineProgram, arguments: &[&str]) -> bool {
    let command = Command::new(&engine.path).args(arguments.iter().copied());
    hermes_process::output(command, Limits::seconds(ANSWER))
        .await
        .is_ok_and(|done| done.success())
}

/// Packs the programs with `tar` and hands them to the engine.
async fn import(engine: &EngineProgram, image: &str) -> Result<(), String> {
    let files = files().await;
    if !files.iter().any(|path| path.ends_with("sh")) {
        return Err("there is no shell here to make an image of".to_owned());
    }
    // One pipeline, so that megabytes of programs never pass through this process.
    let pack = "engine=$1 image=$2; shift 2; \
                tar -chf - --transform 's,^,/,' --absolute-names \"$@\" 2>/dev/null | \"$engine\" import - \"$image\"";
    let mut command = Command::new("sh")
        .args(["-c", pack, "sh"])
        .arg(&engine.path)
        .arg(image);
    for file in &files {
        command = command.arg(file);
    }
    match hermes_process::output(command, Limits::seconds(60)).await {
        Ok(done) if done.success() => Ok(()),
        Ok(done) => Err(format!(
            "no image could be made: {}",
            done.stderr_text().trim()
        )),
        Err(error) => Err(format!("no image could be made: {error}")),
    }
}

/// The programs that this machine has, and the libraries that they load.
async fn files() -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for name in PROGRAMS {
        for directory in ["/bin", "/usr/bin"] {
            let path = Path::new(directory).join(name);
            if path.is_file() {
                files.insert(path);
            }
        }
    }
    let command = Command::new("ldd").args(files.iter().cloned());
    if let Ok(listed) = hermes_process::output(command, Limits::seconds(20)).await {
        files.extend(libraries(&listed.stdout_text()));
    }
    files
}

/// The absolute paths in what `ldd` prints.
fn libraries(listed: &str) -> impl Iterator<Item = PathBuf> + '_ {
    listed
        .split_whitespace()
        .filter(|word| word.starts_with('/') && word.contains(".so"))
        .map(|word| PathBuf::from(word.trim_end_matches(':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_the_paths_and_nothing_else() {
        let listed = "/bin/sh:\n\tlinux-vdso.so.1 (0x7ffd)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x7f)\n\t/lib64/ld-linux.so.2 (0x7f)\n";
        let found: Vec<PathBuf> = libraries(listed).collect();
        assert_eq!(
            found,
            [
                PathBuf::from("/lib/x/libc.so.6"),
                PathBuf::from("/lib64/ld-linux.so.2")
            ]
        );
    }
}

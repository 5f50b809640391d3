//! What a person is asked about first. One function per family, in the order of
//! the shared table; the texts are allowlist keys that Python Hermes reads too.

use super::hardline::formats;
use super::interpreters::{heredoc, scripts};
use super::paths::{
    is_block_device, is_etc, is_filesystem_root, is_hermes_file, is_home, is_project_settings,
    is_sensitive_file, is_system_directory,
};
use super::program::Call;
use super::shell::Simple;

/// The key of the first rule that the call matches.
pub(crate) fn dangerous(call: &Call<'_>) -> Option<&'static str> {
    deletion(call)
        .or_else(|| permissions(call))
        .or_else(|| disks(call))
        .or_else(|| services(call))
        .or_else(|| killing(call))
        .or_else(|| scripts(call))
        .or_else(|| overwriting(call))
        .or_else(|| finding(call))
        .or_else(|| containers(call))
        .or_else(|| copying(call))
        .or_else(|| editing(call))
        .or_else(|| heredoc(call))
        .or_else(|| git(call))
        .or_else(|| sudo(call))
}

fn deletion(call: &Call<'_>) -> Option<&'static str> {
    let unlinks = call.name == "unlink"
        || (call.name == "shred" && (call.has_short('u') || call.has_long("remove")));
    if unlinks && call.operands().any(|path| path.starts_with('/')) {
        return Some("delete in root path");
    }
    // What is moved away is gone from there.
    let is_needed =
        |path: &String| is_filesystem_root(path) || is_system_directory(path) || is_home(path);
    if call.name == "mv" && call.places().any(|path| is_needed(&path)) && !moves_into(call) {
        return Some("delete in root path");
    }
    if !call.is_called("rm") {
        return None;
    }
    if call.operands().any(|path| path.starts_with('/')) {
        return Some("delete in root path");
    }
    if call.has_short('r') || call.has_short('R') {
        return Some("recursive delete");
    }
    call.has_long("recursive")
        .then_some("recursive delete (long flag)")
}

/// Only the last path is one that a system needs: there the others go.
fn moves_into(call: &Call<'_>) -> bool {
    let needed: Vec<bool> = call
        .places()
        .map(|path| is_filesystem_root(&path) || is_system_directory(&path) || is_home(&path))
        .collect();
    matches!(needed.as_slice(), [others @ .., true] if !others.contains(&true))
}

fn permissions(call: &Call<'_>) -> Option<&'static str> {
    if call.is_called("chmod") && call.operands().next().is_some_and(is_world_writable) {
        return Some(if call.has_long("recursive") {
            "recursive world/other-writable (long flag)"
        } else {
            "world/other-writable permissions"
        });
    }
    let to_root = |word: &str| {
        word == "root" || word.starts_with("root:") || word.starts_with("0:") || word == "0"
    };
    if call.is_called("chown") && call.operands().next().is_some_and(to_root) {
        if call.has_short('R') {
            return Some("recursive chown to root");
        }
        if call.has_long("recursive") {
            return Some("recursive chown to root (long flag)");
        }
    }
    None
}

fn is_world_writable(mode: &str) -> bool {
    let digits = mode.trim_start_matches(['+', '=']);
    if !digits.is_empty() && digits.chars().all(|c| c.is_digit(8)) {
        return digits
            .chars()
            .next_back()
            .is_some_and(|other| matches!(other, '2' | '3' | '6' | '7'));
    }
    mode.split(',').any(|clause| {
        clause.split_once(['+', '=']).is_some_and(|(who, what)| {
            what.contains('w') && (who.contains('o') || who.contains('a'))
        })
    })
}

fn disks(call: &Call<'_>) -> Option<&'static str> {
    let wipes = call.is_one_of(&[
        "wipefs",
        "blkdiscard",
        "sgdisk",
        "sfdisk",
        "parted",
        "fdisk",
    ]) && call.operands().any(is_block_device)
        && !call.has_short('l');
    if formats(call) || wipes {
        return Some("format filesystem");
    }
    if call.is_one_of(&["shred", "cp", "mv", "tee"]) && call.operands().any(is_block_device) {
        return Some("write to block device");
    }
    if call.is_called("dd") && call.operands().any(|word| word.starts_with("if=")) {
        return Some("disk copy");
    }
    call.simple
        .redirects
        .iter()
        .any(|r| r.writes && is_block_device(&call.simple.placed(&r.target)))
        .then_some("write to block device")
}

fn services(call: &Call<'_>) -> Option<&'static str> {
    let verbs = ["stop", "restart", "disable", "mask"];
    (call.name == "systemctl" && verbs.iter().any(|verb| call.has_word(verb)))
        .then_some("stop/restart system service")
}

fn killing(call: &Call<'_>) -> Option<&'static str> {
    let text = call.arguments.join(" ").to_lowercase();
    let own = text.contains("hermes") || text.contains("gateway");
    match call.name.as_str() {
        "pkill" | "killall" if own => Some("kill hermes/gateway process (self-termination)"),
        "kill" if text.contains("$(pgrep") || text.contains("$(pidof") => {
            Some("kill process via pgrep expansion (self-termination)")
        }
        "kill" if call.arguments.iter().any(|word| word == "-1") && call.arguments.len() > 1 => {
            Some("kill all processes")
        }
        "killall5" => Some("kill all processes"),
        "pkill" if is_force(call) => Some("force kill processes"),
        "kill" if is_force(call) => Some("force kill processes"),
        "killall" if sends(call, &["-s", "--signal"]) => {
            Some("force kill processes (killall -s KILL)")
        }
        "killall" if is_force(call) => Some("force kill processes (killall -KILL)"),
        "killall" if call.has_short('r') || call.has_long("regexp") => {
            Some("kill processes by regex (killall -r)")
        }
        _ => None,
    }
}

fn is_force(call: &Call<'_>) -> bool {
    call.arguments
        .iter()
        .any(|word| matches!(word.to_lowercase().as_str(), "-9" | "-kill" | "-sigkill"))
        || sends(call, &["-s", "--signal", "-n"])
}

fn sends(call: &Call<'_>, options: &[&str]) -> bool {
    let kill = |word: &str| matches!(word.to_lowercase().as_str(), "9" | "kill" | "sigkill");
    call.arguments
        .windows(2)
        .any(|pair| options.contains(&pair[0].as_str()) && kill(&pair[1]))
        || call.arguments.iter().any(|word| {
            options.iter().any(|option| {
                word.strip_prefix(option)
                    .is_some_and(|rest| kill(rest.trim_start_matches('=')))
            })
        })
}

fn overwriting(call: &Call<'_>) -> Option<&'static str> {
    if call.name == "tee" {
        if call.places().any(|path| is_sensitive_file(&path)) {
            return Some("overwrite system file via tee");
        }
        if call.operands().any(is_project_settings) {
            return Some("overwrite project env/config via tee");
        }
    }
    let empties = call.is_one_of(&["truncate", "shred"]);
    if empties && call.places().any(|path| is_sensitive_file(&path)) {
        return Some("overwrite system config");
    }
    redirects(call.simple)
}

pub(crate) fn redirects(simple: &Simple) -> Option<&'static str> {
    let written = simple.redirects.iter().filter(|r| r.writes);
    let mut targets = written.map(|r| simple.placed(&r.target));
    targets.find_map(|target| {
        if is_etc(&target) {
            Some("overwrite system config")
        } else if is_sensitive_file(&target) {
            Some("overwrite system file via redirection")
        } else if is_project_settings(&target) {
            Some("overwrite project env/config via redirection")
        } else {
            None
        }
    })
}

fn finding(call: &Call<'_>) -> Option<&'static str> {
    let runs_rm = |words: &[String]| {
        words
            .iter()
            .any(|word| word == "rm" || word.ends_with("/rm"))
    };
    if call.name == "xargs" && runs_rm(call.arguments) {
        return Some("xargs with rm");
    }
    if call.name == "find" {
        let exec = call
            .arguments
            .iter()
            .position(|w| matches!(w.as_str(), "-exec" | "-execdir" | "-ok"));
        if exec.is_some_and(|at| runs_rm(&call.arguments[at..])) {
            return Some("find -exec/-execdir rm");
        }
        if call.has_word("-delete") {
            return Some("find -delete");
        }
    }
    None
}

fn containers(call: &Call<'_>) -> Option<&'static str> {
    let words: Vec<&str> = call.operands().collect();
    if call.name == "hermes" {
        return hermes(call, &words);
    }
    let life = |word: &str| matches!(word, "restart" | "stop" | "kill" | "down");
    let composes = call.name == "docker-compose"
        || (call.is_one_of(&["docker", "podman"]) && words.first() == Some(&"compose"));
    if composes && words.iter().any(|word| life(word)) {
        return Some("docker compose restart/stop/kill/down (container lifecycle)");
    }
    let direct = match words.as_slice() {
        ["container", verb, ..] | [verb, ..] => matches!(*verb, "restart" | "stop" | "kill"),
        [] => false,
    };
    (call.is_one_of(&["docker", "podman"]) && direct)
        .then_some("docker restart/stop/kill (container lifecycle)")
}

/// Verbs of our own that would end the very process that runs the command. The
/// verb may stand behind global options and their values.
fn hermes(call: &Call<'_>, words: &[&str]) -> Option<&'static str> {
    let detached = call.simple.background
        || call
            .wrappers
            .iter()
            .any(|wrapper| wrapper == "nohup" || wrapper == "setsid");
    let gateway = words
        .windows(2)
        .find_map(|pair| (pair[0] == "gateway").then_some(pair[1]));
    // A command must not decide what the next conversation is asked about.
    let loosens = matches!(words, ["config", "set" | "unset", key, ..]
        if ["approvals", "command_allowlist", "security"].iter().any(|part| key.starts_with(part)));
    if loosens || matches!(words, ["config", "edit", ..]) {
        return Some("in-place edit of Hermes config/env");
    }
    match gateway {
        Some("stop" | "restart") => Some("stop/restart hermes gateway (kills running agents)"),
        Some("run" | "start") if detached => {
            Some("start gateway outside systemd (use 'systemctl --user restart hermes-gateway')")
        }
        None if words.first() == Some(&"update") && !call.has_long("check") => {
            Some("hermes update (restarts gateway, kills running agents)")
        }
        _ => None,
    }
}

fn copying(call: &Call<'_>) -> Option<&'static str> {
    if !call.is_one_of(&["cp", "mv", "install", "ln"]) {
        return None;
    }
    let target = call
        .places()
        .last()
        .filter(|_| call.operands().count() > 1)?;
    if is_sensitive_file(&target) || target.trim_end_matches('/') == "/etc" {
        return Some("copy/move file into system config path");
    }
    is_project_settings(&target).then_some("overwrite project env/config file")
}

fn editing(call: &Call<'_>) -> Option<&'static str> {
    let files = || call.places();
    match call.name.as_str() {
        "sed" | "gsed" => {
            let short = call.arguments.iter().any(|w| {
                w.starts_with("-i")
                    || (w.starts_with('-') && !w.starts_with("--") && w.contains('i'))
            });
            let long = call.has_long("in-place");
            let hermes = files().any(|file| is_hermes_file(&file));
            let system = files().any(|file| is_sensitive_file(&file));
            match (short, long, hermes, system) {
                (true, _, true, _) => Some("in-place edit of Hermes config/env"),
                (_, true, true, _) => Some("in-place edit of Hermes config/env (long flag)"),
                (true, _, _, true) => Some("in-place edit of system config"),
                (_, true, _, true) => Some("in-place edit of system config (long flag)"),
                _ => None,
            }
        }
        "perl" | "ruby"
            if call
                .arguments
                .iter()
                .any(|w| w.starts_with('-') && w.contains('i')) =>
        {
            if files().any(|file| is_hermes_file(&file)) {
                Some("in-place edit of Hermes config/env (perl/ruby)")
            } else {
                files()
                    .any(|file| is_sensitive_file(&file))
                    .then_some("in-place edit of system config")
            }
        }
        _ => None,
    }
}

fn git(call: &Call<'_>) -> Option<&'static str> {
    if call.name != "git" {
        return None;
    }
    match git_verb(call)? {
        "reset" if call.has_long("hard") => Some("git reset --hard (destroys uncommitted changes)"),
        "push" if call.arguments.iter().any(|w| w.starts_with("--force")) => {
            Some("git force push (rewrites remote history)")
        }
        "push" if call.has_short('f') || call.operands().any(|w| w.starts_with('+')) => {
            Some("git force push short flag (rewrites remote history)")
        }
        "clean" if call.has_short('f') || call.has_long("force") => {
            Some("git clean with force (deletes untracked files)")
        }
        // Unlike Python Hermes, `-d` (which refuses to lose work) is not asked about.
        "branch" if call.has_short('D') || (forces(call) && deletes(call)) => {
            Some("git branch force delete")
        }
        _ => None,
    }
}

fn forces(call: &Call<'_>) -> bool {
    call.has_short('f') || call.has_long("force")
}

fn deletes(call: &Call<'_>) -> bool {
    call.has_short('d') || call.has_long("delete")
}

/// The first word that is neither an option nor the value of one.
fn git_verb<'c>(call: &Call<'c>) -> Option<&'c str> {
    let mut words = call.arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

fn sudo(call: &Call<'_>) -> Option<&'static str> {
    let words = &call.simple.words;
    let at = words
        .iter()
        .position(|word| word == "sudo" || word.ends_with("/sudo"))?;
    if !call.wrappers.iter().any(|w| w == "sudo") && call.name != "sudo" {
        return None;
    }
    let mut options = words[at + 1..]
        .iter()
        .take_while(|word| word.starts_with('-'));
    options.find_map(|option| match option.as_str() {
        "-S" | "-A" | "-s" | "-i" | "-l" | "--stdin" | "--askpass" | "--shell" | "--login"
        | "--list" => Some("sudo with privilege flag (stdin/askpass/shell/list)"),
        cluster
            if !cluster.starts_with("--")
                && cluster.len() > 2
                && cluster.contains(['S', 'A', 's', 'i']) =>
        {
            Some("sudo with combined-flag privilege escalation")
        }
        _ => None,
    })
}

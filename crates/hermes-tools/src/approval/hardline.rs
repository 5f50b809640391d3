//! What is never run, whoever said yes. The texts are a format shared with
//! Python Hermes.

use super::paths::{is_block_device, is_filesystem_root, is_home, is_system_directory};
use super::program::Call;
use super::shell::Simple;

/// The description of the first hardline rule that the call breaks.
pub(crate) fn hardline(call: &Call<'_>) -> Option<&'static str> {
    if call.is_called("rm") {
        for operand in call.operands() {
            // A bare name is a file of the place; a whole tree there is another matter.
            let path = match call.is_recursive() {
                true => call.simple.placed(operand),
                false => operand.to_owned(),
            };
            if is_filesystem_root(&path) {
                return Some("recursive delete of root filesystem");
            }
            if is_system_directory(&path) {
                return Some("recursive delete of system directory");
            }
            if is_home(&path) {
                return Some("recursive delete of home directory");
            }
        }
    }
    if formats(call) {
        return Some("format filesystem (mkfs)");
    }
    if call.is_called("tee") && call.operands().any(is_block_device) {
        return Some("redirect to raw block device");
    }
    if call.is_called("dd") && call.operands().any(writes_device) {
        return Some("dd to raw block device");
    }
    if call.is_called("kill") && kills_everything(call) {
        return Some("kill all processes");
    }
    power(call)
}

/// `mkfs` and the names that it has for single kinds of file systems.
pub(crate) fn formats(call: &Call<'_>) -> bool {
    const OTHERS: &[&str] = &["mke2fs", "mkdosfs", "mkntfs", "mkexfatfs"];
    call.name.starts_with("mkfs") || call.is_called("mkfs") || call.is_one_of(OTHERS)
}

/// A redirect is a rule of its own: it needs no program at all.
pub(crate) fn hardline_redirect(simple: &Simple) -> Option<&'static str> {
    let to_device = simple
        .redirects
        .iter()
        .any(|r| r.writes && is_block_device(&simple.placed(&r.target)));
    to_device.then_some("redirect to raw block device")
}

/// `:(){ :|:& };:` under any name: a function whose body pipes itself into
/// itself in the background. Looked for in the text, because it is all syntax.
pub(crate) fn is_fork_bomb(text: &str) -> bool {
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    squeezed.match_indices("(){").any(|(at, _)| {
        let head = &squeezed[..at];
        let start = head
            .char_indices()
            .rev()
            .take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | ':' | '.' | '-'))
            .last()
            .map_or(at, |(index, _)| index);
        let name = squeezed[start..at].trim_start_matches("function");
        !name.is_empty() && squeezed[at + 3..].starts_with(&format!("{name}|{name}&"))
    })
}

fn writes_device(operand: &str) -> bool {
    operand.strip_prefix("of=").is_some_and(is_block_device)
}

fn kills_everything(call: &Call<'_>) -> bool {
    // The first `-1` may be a signal; as a target it comes after one, or after `--`.
    let mut words = call.arguments.iter().map(String::as_str);
    let last = words.next_back();
    last == Some("-1") && call.arguments.len() > 1
}

fn power(call: &Call<'_>) -> Option<&'static str> {
    if call.simple.nested && call.name.is_empty() {
        return None;
    }
    let first = call.operands().next();
    match call.name.as_str() {
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("system shutdown/reboot"),
        "init" if matches!(first, Some("0" | "6")) => Some("init 0/6 (shutdown/reboot)"),
        "telinit" if matches!(first, Some("0" | "6")) => Some("telinit 0/6 (shutdown/reboot)"),
        "systemctl"
            if ["poweroff", "reboot", "halt", "kexec"]
                .iter()
                .any(|w| call.has_word(w)) =>
        {
            Some("systemctl poweroff/reboot")
        }
        _ => None,
    }
}

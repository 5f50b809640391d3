//! The text around a command.
//!
//! Only builtins, so that a command costs one shell and nothing else: a snapshot
//! of 8 KB adds about two milliseconds to a bare `bash -c`. Words are escaped
//! (`\builtin`) because the session's own aliases and functions are in force. The
//! command's text stands in no group, is followed by what was read together with it,
//! and then by a simple command: after an unfinished quote in it bash takes the next
//! `{` for a word.
//!
//! `extglob` stays on: functions of start-up files may need it to be parsed and to
//! run, and text that means something else without it is a syntax error then.
//!
//! The report at the end goes to a copy of standard output that the command and
//! its children cannot see: it is closed while the command runs, which makes bash
//! keep it on a descriptor that exec closes. So a command that redirects its
//! shell's output away does not lose its working directory.

use serde::{Deserialize, Serialize};

use super::trailer::Nonce;

/// Last line of a complete snapshot.
const SNAPSHOT_END: &str = "# hermes-end";

/// The shell's copy of standard output, out of everybody's way.
const BASH_REPORT: u32 = 199;
const BUILTIN: &str = "\\builtin ";

/// POSIX shells know one digit.
const SH_REPORT: u32 = 9;

/// `'text'` for any shell.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    quoted.push_str(&text.replace('\'', "'\\''"));
    quoted.push('\'');
    quoted
}

/// A directory as a word; `~` and `~/x` are left for the shell to expand.
fn directory_word(path: &str) -> String {
    match path.strip_prefix('~') {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~/{}", quote(&rest[1..])),
        _ => quote(path),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Dialect {
    #[default]
    Bash,
    /// Keeps variables and the working directory; such shells cannot print
    /// functions.
    Sh,
}

impl Dialect {
    /// Before a word that no function of the user's shall stand for.
    fn builtin(self) -> &'static str {
        match self {
            Dialect::Bash => BUILTIN,
            Dialect::Sh => "",
        }
    }
}

/// Where a command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The session's directory: when it is gone, the nearest parent that exists.
    Session(String),
    /// Asked for by the caller: when it is gone, the command does not run.
    Explicit(String),
}

pub(super) struct Wrapped<'a> {
    pub(super) command: &'a str,
    pub(super) start: &'a Start,
    /// Read before the command.
    pub(super) snapshot: &'a str,
    /// Written after the command, if anything changed.
    pub(super) next_snapshot: &'a str,
    pub(super) exports: &'a [(String, String)],
    /// For state that outlives this process: leave no file that nobody will read.
    pub(super) tidy: Option<Tidy<'a>>,
    pub(super) nonce: &'a Nonce,
}

/// What to remove after a command.
pub(super) struct Tidy<'a> {
    /// Older than what any running command reads; goes when the state changed.
    pub(super) stale: Option<&'a str>,
}

impl Tidy<'_> {
    /// One process more for a command, which only such sessions pay for.
    fn lines(&self, next: &str) -> String {
        let stale = self.stale.map_or(String::new(), |path| {
            format!("+) \\command rm -f -- {} ;; ", quote(path))
        });
        format!(
            "case $__hermes_same in {stale}=) \\command rm -f -- {} ;; esac 2>/dev/null\n",
            quote(next)
        )
    }
}

/// Runs the command within the state of the snapshot and reports what changed.
pub(super) fn wrap(dialect: Dialect, parts: &Wrapped<'_>) -> String {
    match dialect {
        Dialect::Bash => wrap_bash(parts),
        Dialect::Sh => wrap_sh(parts),
    }
}

fn wrap_bash(parts: &Wrapped<'_>) -> String {
    let snapshot = quote(parts.snapshot);
    let next = quote(parts.next_snapshot);
    let (open, close) = (parts.nonce.open_words(), parts.nonce.close_words());
    let enter = enter(parts.start, BUILTIN);
    let exports = exports(parts.exports, BUILTIN);
    let command = quote(parts.command);
    let tidy = tidy(parts);
    let fd = BASH_REPORT;
    format!(
        r#"exec {fd}>&1
__hermes_base=
{{ IFS= \builtin read -r -d '' __hermes_base <{snapshot}; }} 2>/dev/null
case $__hermes_base in *'{SNAPSHOT_END}
') ;; *) \builtin printf '%s%s?' {open}; \builtin printf '%s%s' {close}; \builtin exit 0 ;; esac
\builtin shopt -s extglob
\builtin eval "$__hermes_base" >/dev/null 2>&1
\builtin shopt -s expand_aliases
{exports}__hermes_back=${{OLDPWD-}}
{enter}\builtin declare OLDPWD="$__hermes_back" 2>/dev/null
\builtin eval {command} {fd}>&-; {{ __hermes_code=$?; \builtin set +xvue; \builtin trap - DEBUG ERR RETURN; \builtin export -n PWD; \builtin declare OLDPWD="$OLDPWD" || \builtin export -n OLDPWD; }} 2>/dev/null
\builtin :
{{ {{ \builtin export -p; \builtin declare -f; \builtin alias -p; \builtin printf '{SNAPSHOT_END}\n'; }} >|{next}
\builtin read -r -d '' <{next}; __hermes_next=$REPLY; }} 2>/dev/null
case $__hermes_next in "$__hermes_base") __hermes_same== ;; *'{SNAPSHOT_END}
') __hermes_same=+ ;; *) __hermes_same=! ;; esac
{tidy}case $PWD in "$__hermes_start") __hermes_moved=. ;; *) __hermes_moved=/ ;; esac
{{ \builtin printf '%s%s%s%s' {open} "$__hermes_same" "$__hermes_moved"; \builtin pwd -P; \builtin printf '%s%s' {close}; }} >&{fd} 2>/dev/null
\builtin exit "$__hermes_code"
"#
    )
}

fn wrap_sh(parts: &Wrapped<'_>) -> String {
    let snapshot = quote(parts.snapshot);
    let next = quote(parts.next_snapshot);
    let (open, close) = (parts.nonce.open_words(), parts.nonce.close_words());
    let enter = enter(parts.start, "");
    let exports = exports(parts.exports, "");
    let command = quote(parts.command);
    let tidy = tidy(parts);
    let fd = SH_REPORT;
    format!(
        r#"exec {fd}>&1
if [ ! -s {snapshot} ]; then printf '%s%s?' {open}; printf '%s%s' {close}; exit 0; fi
. {snapshot} >/dev/null 2>&1
{exports}{enter}{{ eval {command}
}} {fd}>&-
{{ __hermes_code=$?; set +xvue; }} 2>/dev/null
__hermes_same=!
{{ export -p >{next} && __hermes_same=+; }} 2>/dev/null
{tidy}case $PWD in "$__hermes_start") __hermes_moved=. ;; *) __hermes_moved=/ ;; esac
{{ printf '%s%s%s%s' {open} "$__hermes_same" "$__hermes_moved"; pwd -P; printf '%s%s' {close}; }} >&{fd} 2>/dev/null
exit "$__hermes_code"
"#
    )
}

fn tidy(parts: &Wrapped<'_>) -> String {
    parts
        .tidy
        .as_ref()
        .map_or(String::new(), |tidy| tidy.lines(parts.next_snapshot))
}

/// Changes to where the command starts and remembers it in `__hermes_start`.
fn enter(start: &Start, builtin: &str) -> String {
    let cd = format!("{builtin}cd");
    match start {
        Start::Explicit(path) => {
            let word = directory_word(path);
            format!("{cd} -- {word} || {builtin}exit 126\n__hermes_start=$PWD\n")
        }
        Start::Session(path) => {
            let word = directory_word(path);
            let shown = quote(path);
            // With `~` the start is known only after the change.
            format!(
                "__hermes_start={word}\n\
                 {cd} -- {word} 2>/dev/null || {{ __hermes_up={word}; \
                 while case $__hermes_up in /?*) ;; *) false ;; esac; do __hermes_up=${{__hermes_up%/*}}; \
                 {cd} -- \"${{__hermes_up:-/}}\" 2>/dev/null && break; done; \
                 {builtin}printf '[%s cannot be entered any more; running in %s]\\n' {shown} \"$PWD\"; }}\n"
            )
        }
    }
}

fn exports(variables: &[(String, String)], builtin: &str) -> String {
    variables
        .iter()
        .map(|(name, value)| format!("{builtin}export {name}={}\n", quote(value)))
        .collect()
}

pub(super) struct Bootstrap<'a> {
    /// Made with mode 0700; holds the snapshots.
    pub(super) directory: &'a str,
    pub(super) snapshot: &'a str,
    pub(super) cwd: &'a str,
    /// Read first, in this order, when they exist.
    pub(super) init_files: &'a [String],
    pub(super) nonce: &'a Nonce,
}

/// Runs once in a login shell: makes the first snapshot.
pub(super) fn bootstrap(dialect: Dialect, parts: &Bootstrap<'_>) -> String {
    let directory = quote(parts.directory);
    let snapshot = quote(parts.snapshot);
    let (open, close) = (parts.nonce.open_words(), parts.nonce.close_words());
    let cwd = directory_word(parts.cwd);
    let sources: String = parts
        .init_files
        .iter()
        .map(|file| {
            let file = quote(file);
            // A file that fails or reads input must not take the bootstrap along.
            format!("[ -r {file} ] && . {file} </dev/null >/dev/null 2>&1\n")
        })
        .collect();
    let builtin = dialect.builtin();
    let report =
        format!("{builtin}printf '%s%s+/' {open}; {builtin}pwd -P; {builtin}printf '%s%s' {close}");
    match dialect {
        Dialect::Bash => format!(
            r#"{sources}{{ \builtin set +euvx; \builtin trap - DEBUG ERR RETURN EXIT; \builtin unalias builtin command mkdir printf cd; }} 2>/dev/null
while \builtin read -r _ _ __hermes_name; do
  case $__hermes_name in __*) ;; _*) \builtin unset -f "$__hermes_name" ;; esac
done < <(\builtin declare -F)
\builtin unset __hermes_name
\builtin cd -- {cwd} 2>/dev/null
\builtin umask 077
\command mkdir -p -- {directory} || \builtin exit 1
{{ \builtin export -p; \builtin declare -f; \builtin alias -p; \builtin printf '{SNAPSHOT_END}\n'; }} >|{snapshot} || \builtin exit 1
{report}
"#
        ),
        Dialect::Sh => format!(
            r#"{sources}set +euvx
cd -- {cwd} 2>/dev/null
umask 077
mkdir -p -- {directory} || exit 1
export -p >{snapshot} || exit 1
{report}
"#
        ),
    }
}

/// The command in the state of the snapshot, and nothing after it.
pub(super) fn detached(
    dialect: Dialect,
    command: &str,
    start: &Start,
    snapshot: Option<&str>,
    exported: &[(String, String)],
) -> String {
    let state = match (dialect, snapshot) {
        (_, None) => String::new(),
        (Dialect::Bash, Some(path)) => format!(
            "shopt -s extglob\n{{ . {}; }} >/dev/null 2>&1\n\\builtin shopt -s expand_aliases\n",
            quote(path)
        ),
        (Dialect::Sh, Some(path)) => {
            let path = quote(path);
            format!("[ -s {path} ] && . {path} >/dev/null 2>&1\n")
        }
    };
    format!("{state}{}", bare(dialect, command, start, exported))
}

/// For a target whose snapshots cannot be written: no state, but commands run.
pub(super) fn bare(
    dialect: Dialect,
    command: &str,
    start: &Start,
    exported: &[(String, String)],
) -> String {
    let builtin = dialect.builtin();
    format!(
        "{}{}{builtin}eval {}\n",
        exports(exported, builtin),
        enter(start, builtin),
        quote(command)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn quotes_survive_any_text() {
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote("'"), "''\\'''");
        assert_eq!(quote("''x"), "''\\'''\\''x'");
    }

    #[test]
    fn home_is_left_to_the_shell() {
        assert_eq!(directory_word("~"), "~");
        assert_eq!(directory_word("~/my dir"), "~/'my dir'");
        assert_eq!(directory_word("~user"), "'~user'");
        assert_eq!(directory_word("/a b"), "'/a b'");
    }

    #[test]
    fn the_markers_are_not_in_the_script_as_one_piece() {
        let nonce = Nonce::fresh();
        let script = wrap(
            Dialect::Bash,
            &Wrapped {
                command: "true",
                start: &Start::Session("/".to_owned()),
                snapshot: "/tmp/a",
                next_snapshot: "/tmp/b",
                exports: &[],
                tidy: None,
                nonce: &nonce,
            },
        );
        assert!(!script.contains(nonce.open()));
        assert!(!script.contains(nonce.close()));
    }
}

//! `hermes completion`: a small script per shell that asks the binary itself, so
//! that completions always fit the installed version and know live names.

mod candidates;

use std::ffi::OsString;
use std::io::Write;

use clap::ValueEnum;
use hermes_home::env;

use crate::{CommandError, Context, Exit, Out};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The shell; default: yours
    shell: Option<Shell>,
}

/// What the scripts call: the words of the line after `--`.
#[derive(clap::Args, Debug)]
pub(crate) struct CompleteArgs {
    shell: Shell,
    /// Which of the words is being typed, from 0
    position: usize,
    #[arg(last = true)]
    words: Vec<OsString>,
}

const BASH: &str = r#"# hermes completion for bash: eval "$(hermes completion bash)"
_hermes() {
    local IFS=$'\n' program=${COMP_WORDS[0]}
    [[ $program == '~'* ]] && program=hermes
    COMPREPLY=($("$program" __complete bash "$COMP_CWORD" -- "${COMP_WORDS[@]}" 2>/dev/null))
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
    return 0
}
complete -o bashdefault -o default -F _hermes hermes
"#;

const ZSH: &str = r#"#compdef hermes
# hermes completion for zsh: put this into a directory of $fpath as _hermes, or
# source <(hermes completion zsh) after compinit
_hermes() {
    local -a lines
    lines=(${(f)"$(${(Q)words[1]} __complete zsh $((CURRENT - 1)) -- "${(@Q)words}" 2>/dev/null)"})
    if (( ${#lines} )); then
        _describe -t hermes hermes lines
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _hermes ]]; then
    _hermes "$@"
else
    compdef _hermes hermes
fi
"#;

const FISH: &str = r#"# hermes completion for fish: hermes completion fish | source
function __hermes_complete
    set -l before (commandline -opc)
    set -l lines (hermes __complete fish (count $before) -- $before (commandline -ct) 2>/dev/null)
    if test (count $lines) -gt 0
        printf '%s\n' $lines
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c hermes -f -a '(__hermes_complete)'
"#;

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let shell = args.shell.or_else(|| {
        let path = context.environment.get_non_empty(env::SHELL)?;
        let name = path.rsplit('/').next()?;
        <Shell as ValueEnum>::from_str(name, true).ok()
    });
    let script = match shell {
        Some(Shell::Zsh) => ZSH,
        Some(Shell::Fish) => FISH,
        Some(Shell::Bash) | None => BASH,
    };
    out.write_all(script.as_bytes())?;
    Ok(Exit::SUCCESS)
}

pub(crate) fn complete(
    args: &CompleteArgs,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let words: Vec<String> = args
        .words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let request = match args.shell {
        Shell::Bash => candidates::Request::from_bash(&words, args.position),
        Shell::Zsh | Shell::Fish => candidates::Request::new(&words, args.position),
    };
    for candidate in candidates::find(&request, context) {
        let about = candidate.about.as_deref().unwrap_or_default();
        match args.shell {
            Shell::Bash => writeln!(out, "{}", candidate.value)?,
            Shell::Zsh => writeln!(out, "{}:{about}", candidate.value.replace(':', "\\:"))?,
            Shell::Fish => writeln!(out, "{}\t{about}", candidate.value)?,
        }
    }
    Ok(Exit::SUCCESS)
}

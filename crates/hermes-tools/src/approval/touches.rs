//! Which commands take files away or overwrite them: not a matter of permission,
//! but of keeping a copy first.

use super::normalize::normalize;
use super::program::Call;
use super::{MAX_DEPTH, inner_scripts, shell};

/// What a command line is about to change, as far as its text tells.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Where it changes to first, in order.
    pub(crate) directories: Vec<String>,
    /// What the changing commands name.
    pub(crate) paths: Vec<String>,
}

/// `None` for a command that does not look as if it destroyed anything.
pub(crate) fn touches(command: &str) -> Option<Touched> {
    let mut touched = Touched::default();
    look(&normalize(command), 0, &mut touched).then_some(touched)
}

fn look(text: &str, depth: usize, touched: &mut Touched) -> bool {
    let mut found = false;
    for simple in shell::parse(text) {
        for redirect in simple.redirects.iter().filter(|redirect| redirect.writes) {
            if !redirect.target.starts_with("/dev/") {
                touched.paths.push(redirect.target.clone());
                found = true;
            }
        }
        let Some(call) = Call::of(&simple) else {
            continue;
        };
        if call.is_one_of(&["cd", "pushd", "chdir"]) {
            touched
                .directories
                .extend(call.operands().next().map(str::to_owned));
        }
        if destroys(&call) {
            touched.paths.extend(call.operands().map(str::to_owned));
            found = true;
        }
        if depth < MAX_DEPTH {
            for script in inner_scripts(&call) {
                found |= look(&script, depth + 1, touched);
            }
        }
    }
    found
}

fn destroys(call: &Call<'_>) -> bool {
    match call.name.as_str() {
        "rm" | "rmdir" | "unlink" | "cp" | "install" | "mv" | "truncate" | "dd" | "shred"
        | "tee" | "patch" | "rsync" => true,
        "sed" | "perl" | "ruby" => call.has_short('i') || call.has_long("in-place"),
        "find" => call.has_word("-delete"),
        "git" => [
            "reset", "clean", "checkout", "restore", "switch", "stash", "rebase",
        ]
        .iter()
        .any(|word| call.has_word(word)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_destroys_is_told_from_what_looks() {
        for command in [
            "rm a.txt",
            "cd src && rm -rf x",
            "sudo mv a b",
            "sed -i s/a/b/ f",
            "sed --in-place=.bak s/a/b/ f",
            "git reset --hard",
            "git -C x checkout -- .",
            "echo x > file",
            "bash -c 'truncate -s 0 f'",
            "find . -name '*.o' -delete",
            "find . -exec rm {} +",
            "xargs rm < list",
        ] {
            assert!(touches(command).is_some(), "{command}");
        }
        for command in [
            "ls -l",
            "sed s/a/b/ f",
            "echo rm",
            "cargo build 2>/dev/null",
            "git status",
            "grep -r 'rm -rf' .",
        ] {
            assert_eq!(touches(command), None, "{command}");
        }
    }

    #[test]
    fn places_are_named() {
        assert_eq!(
            touches("cd sub && rm -f /srv/p/x y"),
            Some(Touched {
                directories: vec!["sub".to_owned()],
                paths: vec!["/srv/p/x".to_owned(), "y".to_owned()],
            })
        );
    }
}

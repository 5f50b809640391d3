//! The two changes ever made to a command before it runs.

use super::lexer::{Token, TokenKind, tokens};

/// `A && B &` forks the whole list into a shell that waits for B and holds the
/// output; `A && { B & }` starts B alone. Only at the outermost level; a command
/// that needs no change comes back as it is.
pub fn background_tail(command: &str) -> String {
    let changed = wrap_tails(command);
    // Braces that do not match would be read differently afterwards: what is not
    // understood stays as it is.
    if wrap_tails(&changed) == changed {
        changed
    } else {
        command.to_owned()
    }
}

fn wrap_tails(command: &str) -> String {
    let tokens = tokens(command);
    let mut edits: Vec<(usize, String)> = Vec::new();
    // Where the last member of the current list begins, once the list has two.
    let mut last_member: Option<usize> = None;
    for (index, token) in tokens.iter().enumerate() {
        if token.depth > 0 {
            continue;
        }
        match token.kind {
            TokenKind::AndOr => {
                last_member = next_member(&tokens, index).map(|next| next.span.start);
            }
            TokenKind::Semicolon => last_member = None,
            // A list goes on after `&&` and a line break.
            TokenKind::Newline => {
                let continues = index > 0 && tokens[index - 1].kind == TokenKind::AndOr;
                if !continues {
                    last_member = None;
                }
            }
            TokenKind::Background => {
                let Some(start) = last_member.take() else {
                    continue;
                };
                let closing = match tokens.get(index + 1).map(|next| next.kind) {
                    None | Some(TokenKind::Newline) => " }",
                    Some(TokenKind::Word | TokenKind::Redirect | TokenKind::Open) => " };",
                    // No shell accepts this; let it say so itself.
                    Some(_) => continue,
                };
                edits.push((start, "{ ".to_owned()));
                edits.push((token.span.end, closing.to_owned()));
            }
            _ => {}
        }
    }
    apply(command, edits)
}

/// The member after `&&`, which may begin on a later line.
fn next_member(tokens: &[Token], index: usize) -> Option<&Token> {
    tokens[index + 1..]
        .iter()
        .find(|token| token.kind != TokenKind::Newline)
        .filter(|token| {
            matches!(
                token.kind,
                TokenKind::Word | TokenKind::Redirect | TokenKind::Open
            )
        })
}

/// What a command says about `sudo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SudoUse {
    /// `sudo` is called somewhere.
    pub called: bool,
    /// A call reads its password from standard input already.
    pub reads_password: bool,
}

pub fn sudo_use(command: &str) -> SudoUse {
    let mut found = SudoUse {
        called: false,
        reads_password: false,
    };
    each_sudo(command, 0, &mut |_, options| {
        found.called = true;
        found.reads_password |= options
            .iter()
            .any(|option| *option == "--stdin" || (is_short(option) && option.contains('S')));
    });
    found
}

/// `sudo x` becomes `sudo -S -p '' x`: the password comes from standard input and
/// nothing is asked for. Calls that have `-S` already stay as they are.
pub fn sudo_with_password(command: &str) -> String {
    let mut edits = Vec::new();
    each_sudo(command, 0, &mut |end, options| {
        let has = options
            .iter()
            .any(|option| *option == "--stdin" || (is_short(option) && option.contains('S')));
        if !has {
            edits.push((end, " -S -p ''".to_owned()));
        }
    });
    edits.sort_by_key(|(at, _)| *at);
    apply(command, edits)
}

fn is_short(option: &str) -> bool {
    option.starts_with('-') && !option.starts_with("--")
}

/// Calls `see` with the end of each `sudo` word in command position and the options
/// that follow it, in substitutions too.
fn each_sudo(command: &str, offset: usize, see: &mut dyn FnMut(usize, &[&str])) {
    let tokens = tokens(command);
    for (index, token) in tokens.iter().enumerate() {
        for inside in &token.substitutions {
            each_sudo(&command[inside.clone()], offset + inside.start, see);
        }
        // `sudo() { …; }` defines a function of that name.
        let defined = tokens
            .get(index + 1)
            .is_some_and(|next| next.kind == TokenKind::Open);
        if token.is_command && !token.quoted && !defined && token.text(command) == "sudo" {
            let options: Vec<&str> = tokens[index + 1..]
                .iter()
                .take_while(|token| token.kind == TokenKind::Word)
                .map(|token| token.text(command))
                .take_while(|text| text.starts_with('-'))
                .collect();
            see(offset + token.span.end, &options);
        }
    }
}

/// Inserts texts at positions, which must be in order.
fn apply(command: &str, edits: Vec<(usize, String)>) -> String {
    let mut result = String::with_capacity(command.len() + 16 * edits.len());
    let mut copied = 0;
    for (at, text) in edits {
        result.push_str(&command[copied..at]);
        result.push_str(&text);
        copied = at;
    }
    result.push_str(&command[copied..]);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn only_the_tail_of_a_list_goes_to_the_background() {
        for (before, after) in [
            ("A && B &", "A && { B & }"),
            ("A || B &", "A || { B & }"),
            ("A && B && C -x 'y z' &", "A && B && { C -x 'y z' & }"),
            ("A && B & C", "A && { B & }; C"),
            ("A && B & # note", "A && { B & } # note"),
            ("A && B &\nC && D &", "A && { B & }\nC && { D & }"),
            ("A &&\n  B &", "A &&\n  { B & }"),
            ("A && (B; C) &", "A && { (B; C) & }"),
            ("A && { B; } &", "A && { { B; } & }"),
            ("A && B >log 2>&1 &", "A && { B >log 2>&1 & }"),
            ("A && B | C &", "A && { B | C & }"),
        ] {
            assert_eq!(background_tail(before), after, "{before}");
        }
    }

    #[test]
    fn everything_else_stays() {
        for command in [
            "B &",
            "A; B &",
            "A && B",
            "A &> log && B",
            "(A && B &)",
            "{ A && B & }",
            "echo 'A && B &'",
            "echo \"A && B &\"",
            "A && B # C &",
            "f() { A && B & }",
            "A && B\nC &",
            "A && { B & }",
            "cat <<E && x\na && b &\nE\n",
            "echo $(A && B &)",
        ] {
            assert_eq!(background_tail(command), command);
        }
    }

    #[test]
    fn only_real_calls_of_sudo_are_rewritten() {
        for (before, after) in [
            ("sudo ls", "sudo -S -p '' ls"),
            (
                "A=1 sudo -u bob ls; sudo id",
                "A=1 sudo -S -p '' -u bob ls; sudo -S -p '' id",
            ),
            (
                "true && sudo x | sudo tee f",
                "true && sudo -S -p '' x | sudo -S -p '' tee f",
            ),
            ("echo \"$(sudo cat f)\"", "echo \"$(sudo -S -p '' cat f)\""),
            ("if sudo x; then y; fi", "if sudo -S -p '' x; then y; fi"),
            ("sudo -S ls", "sudo -S ls"),
            ("sudo -nS ls", "sudo -nS ls"),
            ("echo sudo ls", "echo sudo ls"),
            ("'sudo' ls", "'sudo' ls"),
            ("# sudo ls", "# sudo ls"),
            ("man sudo", "man sudo"),
            ("sudo() { :; }", "sudo() { :; }"),
            ("sudoedit f", "sudoedit f"),
            ("cat <<E\nsudo ls\nE", "cat <<E\nsudo ls\nE"),
        ] {
            assert_eq!(sudo_with_password(before), after, "{before}");
        }
        assert_eq!(
            sudo_use("echo x | sudo -S ls"),
            SudoUse {
                called: true,
                reads_password: true
            }
        );
        assert_eq!(
            sudo_use("sudo ls -S"),
            SudoUse {
                called: true,
                reads_password: false
            }
        );
        assert_eq!(
            sudo_use("echo sudo"),
            SudoUse {
                called: false,
                reads_password: false
            }
        );
    }

    fn shellish() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![
                Just("a"),
                Just("sudo"),
                Just("&&"),
                Just("||"),
                Just("&"),
                Just(";"),
                Just("|"),
                Just("\n"),
                Just("("),
                Just(")"),
                Just("{"),
                Just("}"),
                Just("'x & y'"),
                Just("\"b && c &\""),
                Just("$(sudo d)"),
                Just(">f"),
                Just("2>&1"),
                Just("&>g"),
                Just("# c"),
                Just("V=1"),
                Just("if"),
                Just("fi"),
                Just("-S"),
                Just("\\"),
                Just("é")
            ],
            0..14,
        )
        .prop_map(|parts| parts.join(" "))
    }

    proptest! {
        #[test]
        fn rewriting_twice_is_rewriting_once(command in shellish()) {
            let once = background_tail(&command);
            prop_assert_eq!(background_tail(&once), once.clone());
            let once = sudo_with_password(&command);
            prop_assert_eq!(sudo_with_password(&once), once.clone());
        }

        #[test]
        fn rewriting_only_inserts(command in shellish()) {
            let changed = background_tail(&command);
            let mut rest = changed.chars();
            for wanted in command.chars() {
                prop_assert!(rest.any(|found| found == wanted), "{changed:?}");
            }
        }

        #[test]
        fn any_text_is_rewritten_without_panic(command in ".{0,80}") {
            background_tail(&command);
            sudo_with_password(&command);
        }
    }
}

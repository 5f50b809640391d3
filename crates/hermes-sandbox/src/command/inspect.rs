//! Questions about a command that does not run yet.

use super::lexer::{Token, TokenKind, tokens};

/// Why a command should be started in the background instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endless {
    /// `nohup`, `disown` or `setsid` detaches a process from us.
    Detaches(&'static str),
    /// `&`
    BackgroundOperator,
    /// A server or watcher that does not end by itself.
    Server(String),
}

/// Looks at what the shell would run, not at quoted text. Asking a program for its
/// help or version is never endless.
pub fn endless(command: &str) -> Option<Endless> {
    let tokens = tokens(command);
    let asks_only = tokens.iter().any(|token| {
        token.kind == TokenKind::Word
            && matches!(token.text(command), "--help" | "-h" | "--version" | "-v")
    });
    if asks_only {
        return None;
    }
    for token in tokens
        .iter()
        .filter(|token| token.is_command && !token.quoted)
    {
        for name in ["nohup", "disown", "setsid"] {
            if token.text(command) == name {
                return Some(Endless::Detaches(name));
            }
        }
    }
    if tokens
        .iter()
        .any(|token| token.kind == TokenKind::Background)
    {
        return Some(Endless::BackgroundOperator);
    }
    tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.is_command && !token.quoted)
        .find_map(|(index, _)| server(&words_from(command, &tokens, index)))
        .map(Endless::Server)
}

/// The name and the arguments of the simple command that begins at `index`.
fn words_from<'a>(command: &'a str, tokens: &[Token], index: usize) -> Vec<&'a str> {
    tokens[index..]
        .iter()
        .take_while(|token| matches!(token.kind, TokenKind::Word | TokenKind::Redirect))
        .filter(|token| token.kind == TokenKind::Word)
        .map(|token| token.text(command))
        .collect()
}

fn server(words: &[&str]) -> Option<String> {
    let name = words.first()?.rsplit('/').next()?;
    let rest = &words[1..];
    let first = rest.first().copied().unwrap_or("");
    let found = match name {
        "npm" | "pnpm" | "yarn" | "bun" => {
            let script = if first == "run" {
                rest.get(1).copied().unwrap_or("")
            } else {
                first
            };
            matches!(script, "dev" | "start" | "serve" | "watch")
        }
        "docker" => {
            first == "compose"
                && rest.contains(&"up")
                && !rest.iter().any(|word| matches!(*word, "-d" | "--detach"))
        }
        "docker-compose" => {
            rest.contains(&"up") && !rest.iter().any(|word| matches!(*word, "-d" | "--detach"))
        }
        "next" => first == "dev",
        "npx" | "bunx" => return server(rest),
        "vite" => !matches!(first, "build" | "optimize"),
        "nodemon" | "uvicorn" | "gunicorn" => true,
        _ if name == "python" || name.starts_with("python3") || name == "python2" => {
            rest.windows(2).any(|pair| pair == ["-m", "http.server"])
        }
        _ => false,
    };
    found.then(|| words.iter().take(3).copied().collect::<Vec<_>>().join(" "))
}

/// What a code other than 0 means when it is no failure, judged by the last member
/// of the last pipeline.
pub fn code_meaning(command: &str, code: i32) -> Option<&'static str> {
    let tokens = tokens(command);
    let last = tokens.iter().rposition(|token| token.is_command)?;
    let words = words_from(command, &tokens, last);
    let name = words.first()?.rsplit('/').next()?;
    match (name, code) {
        ("grep" | "egrep" | "fgrep" | "rg" | "ag" | "ack", 1) => {
            Some("No matches found (not an error)")
        }
        ("diff" | "colordiff", 1) => Some("Files differ (not an error)"),
        ("find", 1) => Some("Some directories could not be read; the results may still be valid"),
        ("test" | "[", 1) => Some("The condition is false (not an error)"),
        ("git", 1) => Some(
            "Often not an error: `git diff --exit-code` and `git grep` answer 1 for differences or no match",
        ),
        ("curl", 6) => Some("The host name could not be resolved"),
        ("curl", 7) => Some("The host could not be reached"),
        ("curl", 22) => Some("The server answered with an HTTP error"),
        ("curl", 28) => Some("The request timed out"),
        _ => None,
    }
}

/// `gh auth login --with-token` waits for the end of its input, which a terminal
/// does not have.
pub fn needs_pipe(command: &str) -> bool {
    let tokens = tokens(command);
    (0..tokens.len())
        .filter(|index| tokens[*index].is_command)
        .map(|index| words_from(command, &tokens, index))
        .any(|words| words.starts_with(&["gh", "auth", "login"]) && words.contains(&"--with-token"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn endless_commands_are_known_and_others_are_not() {
        for command in [
            "nohup ./x",
            "a; setsid b",
            "x & disown",
            "sleep 5 &",
            "npm run dev",
            "cd app && yarn start",
            "pnpm serve",
            "bun run watch",
            "docker compose up",
            "docker compose -f x.yml up",
            "next dev",
            "vite",
            "npx vite",
            "nodemon app.js",
            "uvicorn app:app",
            "gunicorn -w 4 app",
            "python3 -m http.server 8000",
            "A=1 python -m http.server",
            "(sleep 1 &)",
            "a && b &",
        ] {
            assert!(endless(command).is_some(), "{command}");
        }
        for command in [
            "echo 'nohup x &'",
            "grep nohup file",
            "ls 2>&1",
            "make &> log",
            "npm run build",
            "npm test",
            "docker compose up -d",
            "docker compose ps",
            "next build",
            "vite build",
            "uvicorn --help",
            "nodemon --version",
            "python3 -m pytest",
            "man setsid",
            "echo a # b &",
            "cat <<E\nsleep 1 &\nE\n",
            "echo \"$(date) & more\"",
            "test a -a b && echo x",
        ] {
            assert_eq!(endless(command), None, "{command}");
        }
    }

    #[test]
    fn benign_codes_are_told_by_the_last_command() {
        assert!(code_meaning("cat x | grep y", 1).is_some());
        assert!(code_meaning("grep y x | sort", 1).is_none());
        assert!(code_meaning("cd a && LANG=C /usr/bin/diff a b", 1).is_some());
        assert!(code_meaning("grep y x", 2).is_none());
        assert!(code_meaning("curl -s http://x", 28).is_some());
        assert!(code_meaning("", 1).is_none());
    }

    #[test]
    fn a_login_by_token_needs_a_pipe() {
        assert!(needs_pipe("gh auth login --hostname x --with-token"));
        assert!(!needs_pipe("gh auth login"));
    }
}

//! Statements that lose data, wherever a line of SQL may stand.

use super::program::Call;
use super::shell::Simple;

const SQL_CLIENTS: &[&str] = &[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "sqlcmd",
    "duckdb",
    "clickhouse",
    "clickhouse-client",
    "cockroach",
    "mycli",
    "pgcli",
    "litecli",
    "usql",
];
/// Programs that only show or search their arguments.
const SPEAKERS: &[&str] = &[
    "echo", "printf", "grep", "rg", "git", "gh", "cat", "sed", "awk", "less", "man", "which", "ls",
    "hermes",
];

/// SQL is looked for in the whole line as soon as a client takes part in it, and
/// in the arguments of programs that do more than speak.
pub(crate) fn sql(text: &str, commands: &[Simple]) -> Option<&'static str> {
    let calls: Vec<Call<'_>> = commands.iter().filter_map(Call::of).collect();
    if calls.iter().any(|call| call.is_one_of(SQL_CLIENTS)) {
        return statement(text);
    }
    calls
        .iter()
        .filter(|call| !call.is_one_of(SPEAKERS))
        .find_map(|call| call.arguments.iter().find_map(|word| statement(word)))
}

fn statement(text: &str) -> Option<&'static str> {
    text.lines().find_map(|line| {
        let line = line.to_uppercase();
        let words: Vec<&str> = line
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|w| !w.is_empty())
            .collect();
        let pair = |first: &str, second: &[&str]| {
            words
                .windows(2)
                .any(|w| w[0] == first && second.contains(&w[1]))
        };
        if pair("DROP", &["TABLE", "DATABASE", "SCHEMA"]) {
            Some("SQL DROP")
        } else if pair("DELETE", &["FROM"]) && !words.contains(&"WHERE") {
            Some("SQL DELETE without WHERE")
        } else if pair("TRUNCATE", &["TABLE"]) {
            Some("SQL TRUNCATE")
        } else {
            None
        }
    })
}

//! The reference pages, generated from what the program itself knows: the command
//! tree and the table of environment variables. A test keeps the checked-in pages
//! equal to them.

use std::fmt::Write;

use clap::{Arg, Command};
use hermes_agent::slash::{CATALOGUE, NOT_BUILT, When};
use hermes_home::env;

use crate::cli;

/// `docs/reference/cli.md`.
pub fn cli_page() -> String {
    let mut tree = cli::command();
    tree.build();
    let mut page = String::from(
        "# Commands\n\n\
         Generated from the command tree. Long options may be shortened to a unique prefix;\n\
         options on every verb may stand before or after it.\n",
    );
    node(&mut page, &tree, "hermes");
    page
}

/// `docs/reference/chat.md`.
pub fn chat_page() -> String {
    let mut page = String::from(
        "# Commands of the chat\n\n\
         Generated from the catalogue that help, completion and dispatch use. A beginning that only one command\n\
         has is enough. Your own commands (`quick_commands`) and skills by their name come before beginnings.\n\
         While a turn runs: `at once` does what it says, `noted` is looked at at once and takes hold after the\n\
         turn, `after` waits for its end.\n\n\
         | Command | Also | While a turn runs | Meaning |\n|---|---|---|---|\n",
    );
    for command in CATALOGUE {
        let aliases: Vec<String> = command
            .aliases
            .iter()
            .map(|alias| format!("`/{alias}`"))
            .collect();
        let when = match command.when {
            When::Always => "at once",
            When::Soon => "noted",
            When::Idle => "after",
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {when} | {} |",
            cell(format!("/{} {}", command.name, command.usage).trim_end()),
            aliases.join(", "),
            cell(command.summary)
        );
    }
    let missing: Vec<String> = NOT_BUILT.iter().map(|name| format!("`/{name}`")).collect();
    let _ = write!(
        page,
        "\nKnown by name, and said to be not built: {}.\n",
        missing.join(", ")
    );
    page
}

/// `docs/reference/env.md`.
pub fn env_page() -> String {
    let mut page = String::from(
        "# Environment variables\n\n\
         Generated. Variables that stand for a config key are listed with that key.\n\n\
         | Variable | Meaning |\n|---|---|\n",
    );
    for variable in env::ALL {
        let _ = writeln!(
            page,
            "| `{}` | {} |",
            variable.name,
            cell(variable.description.trim())
        );
    }
    page
}

fn node(page: &mut String, command: &Command, path: &str) {
    let _ = write!(page, "\n## `{path}`\n\n");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let _ = write!(page, "{}\n\n", about.to_string().trim());
    }
    let _ = write!(page, "```\n{}\n```\n", usage(command, path));
    let everywhere = |argument: &&Arg| path == "hermes" || !argument.is_global_set();
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && argument.get_id() != "help")
        .filter(everywhere)
        .collect();
    if !shown.is_empty() {
        page.push_str("\n| Argument | Meaning |\n|---|---|\n");
        for argument in shown {
            let _ = writeln!(
                page,
                "| `{}` | {} |",
                cell(&name(argument)),
                cell(&meaning(argument))
            );
        }
    }
    if let Some(text) = command
        .get_after_long_help()
        .or_else(|| command.get_after_help())
    {
        let _ = write!(page, "\n{}\n", text.to_string().trim());
    }
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        node(page, verb, &format!("{path} {}", verb.get_name()));
    }
}

fn usage(command: &Command, path: &str) -> String {
    let mut text = path.to_owned();
    if command.get_opts().any(|argument| !argument.is_hide_set()) {
        text.push_str(" [OPTIONS]");
    }
    for argument in command
        .get_positionals()
        .filter(|argument| !argument.is_hide_set())
    {
        let _ = write!(text, " {argument}");
    }
    if command.get_subcommands().any(|verb| !verb.is_hide_set()) {
        text.push_str(if command.is_subcommand_required_set() {
            " VERB"
        } else {
            " [VERB]"
        });
    }
    text
}

fn name(argument: &Arg) -> String {
    match (argument.get_short(), argument.is_positional()) {
        (Some(short), false) if argument.get_long().is_some() => format!("-{short}, {argument}"),
        _ => argument.to_string(),
    }
}

fn meaning(argument: &Arg) -> String {
    let mut text = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let shown = !argument.is_hide_default_value_set() && argument.get_action().takes_values();
    let defaults: Vec<_> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    if shown && !defaults.is_empty() {
        let _ = write!(text, " (default: {})", defaults.join(", "));
    }
    let possible: Vec<String> = argument
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if argument.get_action().takes_values() && !possible.is_empty() {
        let _ = write!(text, " ({})", possible.join(", "));
    }
    text
}

/// Text that does not end a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

//! `hermes model`: which model answers. The list is the one that `/model` shows.

mod choices;
mod decision;
mod named;
mod own;
mod pick;
mod tasks;

use std::io::{IsTerminal, Write};

use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_llm::snapshot_month;
use serde_json::{Value, json};

pub(crate) use choices::{Choice, choices, choices_beside, current, is_set_up};
pub(crate) use decision::{Decision, key_variable};
pub(crate) use named::Named;
pub(crate) use pick::{choose_model, of_server};

use crate::output::{Column, Table};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Use this model from now on; without it, you are asked
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Who serves it; with --list, only the models of this provider
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,

    /// Print what can be chosen
    #[arg(long, conflicts_with = "name")]
    list: bool,

    /// Print JSON
    #[arg(long, requires = "list")]
    json: bool,

    /// Ask the providers again, also when they were asked within the hour
    #[arg(long)]
    refresh: bool,

    /// Take NAME also when its provider does not list it
    #[arg(long, requires = "name", conflicts_with = "list")]
    force: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if let Some(name) = &args.name {
        return set(name, args, context, out);
    }
    if args.list {
        return list(args, context, out);
    }
    if args.provider.is_some() {
        return Err(CommandError::usage("`--provider` needs a model beside it")
            .hint("`hermes model NAME --provider PROVIDER`, or `--list --provider PROVIDER`"));
    }
    if !std::io::stdin().is_terminal() || !out.is_terminal() {
        return Err(
            CommandError::user("`hermes model` asks questions and needs a terminal")
                .hint("`hermes model --list` prints the models, `hermes model NAME` chooses one"),
        );
    }
    context.policy().refuse_if_managed()?;
    choose_model(context, args.refresh, out)?;
    Ok(Exit::SUCCESS)
}

fn list(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut listed = runtime.block_on(choices(context, args.refresh))?;
    if let Some(provider) = &args.provider {
        let wanted = hermes_llm::catalogue::provider(provider)
            .map_or(provider.as_str(), |known| known.id.as_str());
        listed.retain(|choice| {
            choice.provider == wanted || choice.provider.strip_prefix("custom:") == Some(wanted)
        });
        if listed.is_empty() {
            return Err(
                CommandError::user(format!("no models of {provider:?} are known"))
                    .hint("`hermes model --list` shows every provider"),
            );
        }
    }
    print(&listed, args.json, out)
}

fn print(listed: &[Choice], json: bool, out: &mut Out) -> Result<Exit, CommandError> {
    if json {
        let rows: Vec<Value> = listed
            .iter()
            .map(|choice| {
                json!({
                    "provider": choice.provider, "model": choice.model,
                    "current": choice.is_current, "ready": choice.is_ready,
                    "source": choice.origin.as_str(),
                })
            })
            .collect();
        out.json(&rows)?;
        return Ok(Exit::SUCCESS);
    }
    let mut table = Table::new([
        Column::new(""),
        Column::new("Model").flexible(20),
        Column::new("Provider").flexible(10),
        Column::new("").flexible(10),
    ]);
    for choice in listed {
        let mark = if choice.is_current { "*" } else { "" };
        table.row([
            mark.to_owned(),
            choice.model.clone(),
            choice.provider.clone(),
            choice.remarks(),
        ]);
    }
    table.print(out)?;
    if listed
        .iter()
        .any(|choice| choice.origin == hermes_llm::Origin::Snapshot)
    {
        out.flush()?;
        out.stderr_line(&format!(
            "snapshot: names known to this program in {}; a provider with a key is asked itself. \
             `hermes model` takes a key and chooses.",
            snapshot_month()
        ));
    }
    Ok(Exit::SUCCESS)
}

fn set(name: &str, args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    // What cannot be used is not stored.
    let found = runtime.block_on(
        Named {
            model: Some(name),
            provider: args.provider.as_deref(),
            force: args.force,
            command: "hermes model",
            answering: None,
        }
        .check(context),
    )?;
    let (provider, name) = match found.provider == DEMO_PROVIDER {
        true => (DEMO_PROVIDER, DEMO_MODEL),
        false => (args.provider.as_deref().unwrap_or(&found.provider), name),
    };
    save(context, provider, name, None)?;
    writeln!(out, "From now on: {name} ({provider})")?;
    Ok(Exit::SUCCESS)
}

/// Stores the choice in `config.yaml`.
pub(crate) fn save(
    context: &Context,
    provider: &str,
    model: &str,
    base_url: Option<&str>,
) -> Result<(), CommandError> {
    Decision::model(context, provider, model, base_url)?.write(context)
}

//! `hermes fallback`: the models to turn to when the main one fails.

use std::io::Write;

use clap::Subcommand;
use hermes_config::edit::{Change, change_config};
use hermes_http::Http;
use hermes_llm::Models;
use hermes_llm::resolve::{Route, Selection, fallback_routes, pool_of};
use serde_json::{Map, Value, json};

use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show the chain
    #[command(visible_alias = "ls")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Append a model
    Add {
        /// Who serves the model
        provider: String,
        /// Its name there
        model: String,
        /// Address, when it is not the provider's own
        #[arg(long, value_name = "URL")]
        base_url: Option<String>,
        /// The variable that holds the key, when it is not the provider's own
        #[arg(long, value_name = "VARIABLE")]
        key_env: Option<String>,
    },
    /// Remove one by its number
    #[command(visible_alias = "rm")]
    Remove {
        /// Its number in the list, from 1
        #[arg(value_name = "NUMBER")]
        number: usize,
    },
    /// Remove all
    Clear,
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    match args.action.unwrap_or(Action::List { json: false }) {
        Action::List { json } => list(json, context, out),
        Action::Add {
            provider,
            model,
            base_url,
            key_env,
        } => add(&provider, &model, base_url, key_env, context, out),
        Action::Remove { number } => remove(number, context, out),
        Action::Clear => clear(context, out),
    }
}

fn models(context: &Context) -> Result<Models, CommandError> {
    Ok(Models::new(
        context.config()?.clone(),
        context.home.clone(),
        Http::default(),
        context.clock.clone(),
    ))
}

fn routes(context: &Context) -> Result<Vec<Route>, CommandError> {
    Ok(models(context)?.with_sources(fallback_routes)?)
}

fn list(json: bool, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let routes = routes(context)?;
    if json {
        let rows: Vec<Value> = routes
            .iter()
            .map(|route| {
                json!({"provider": route.provider, "model": route.model, "base_url": route.base_url})
            })
            .collect();
        writeln!(out, "{}", Value::Array(rows))?;
        return Ok(Exit::SUCCESS);
    }
    if routes.is_empty() {
        writeln!(out, "No fallback providers configured.")?;
        writeln!(out, "`hermes fallback add PROVIDER MODEL` appends one.")?;
        return Ok(Exit::SUCCESS);
    }
    for (place, route) in routes.iter().enumerate() {
        let address = route
            .base_url
            .as_deref()
            .map_or(String::new(), |url| format!("  {url}"));
        writeln!(
            out,
            "{}. {}  {}{address}",
            place + 1,
            route.provider,
            route.model
        )?;
    }
    Ok(Exit::SUCCESS)
}

fn add(
    provider: &str,
    model: &str,
    base_url: Option<String>,
    key_env: Option<String>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    context.policy().refuse_if_managed()?;
    let models = models(context)?;
    // Says at once when there is no such provider.
    models.with_sources(|sources| pool_of(provider, sources))??;
    let known = routes(context)?.iter().any(|route| {
        route.provider == provider && route.model == model && route.base_url == base_url
    });
    if known {
        return Err(CommandError::user(format!(
            "{provider} ({model}) is in the chain already"
        )));
    }
    let mut entry = Map::new();
    entry.insert("provider".to_owned(), json!(provider));
    entry.insert("model".to_owned(), json!(model));
    if let Some(url) = &base_url {
        entry.insert("base_url".to_owned(), json!(url));
    }
    if let Some(variable) = &key_env {
        entry.insert("key_env".to_owned(), json!(variable));
    }
    let mut entries = written(context, "fallback_providers")?;
    entries.push(Value::Object(entry));
    write(context, entries, false)?;
    writeln!(out, "✓ Added {provider} ({model}) to the fallback chain")?;
    let selection = Selection {
        base_url,
        ..Selection::of(Some(provider), Some(model))
    };
    if key_env.is_none()
        && let Err(error) = models.resolve(&selection)
    {
        out.warning(&format!("it cannot be used yet: {error}"));
    }
    Ok(Exit::SUCCESS)
}

fn remove(number: usize, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    context.policy().refuse_if_managed()?;
    let routes = routes(context)?;
    let Some(route) = number.checked_sub(1).and_then(|at| routes.get(at)) else {
        return Err(
            CommandError::user(format!("there is no fallback number {number}"))
                .hint("`hermes fallback list` shows the numbers"),
        );
    };
    let is_it = |entry: &Value| {
        entry["provider"].as_str() == Some(&route.provider)
            && entry["model"].as_str() == Some(&route.model)
            && entry["base_url"].as_str() == route.base_url.as_deref()
    };
    // Both spellings become one list, without the one that goes.
    let mut entries = written(context, "fallback_providers")?;
    entries.extend(written(context, "fallback_model")?);
    entries.retain(|entry| !is_it(entry));
    write(context, entries, true)?;
    writeln!(
        out,
        "✓ Removed {} ({}) from the fallback chain",
        route.provider, route.model
    )?;
    Ok(Exit::SUCCESS)
}

fn clear(context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    context.policy().refuse_if_managed()?;
    let count = routes(context)?.len();
    write(context, Vec::new(), true)?;
    writeln!(out, "✓ Removed {count} fallback providers")?;
    Ok(Exit::SUCCESS)
}

/// The entries as the file has them, templates unexpanded.
fn written(context: &Context, key: &str) -> Result<Vec<Value>, CommandError> {
    Ok(match context.config()?.raw().get(key) {
        Some(Value::Array(entries)) => entries.clone(),
        Some(entry @ Value::Object(_)) => vec![entry.clone()],
        _ => Vec::new(),
    })
}

fn write(context: &Context, entries: Vec<Value>, merge_older: bool) -> Result<(), CommandError> {
    let config = context.config()?;
    let mut changes = vec![Change::Set {
        path: "fallback_providers".to_owned(),
        value: Value::Array(entries),
    }];
    if merge_older && config.raw().get("fallback_model").is_some() {
        changes.push(Change::Unset {
            path: "fallback_model".to_owned(),
        });
    }
    change_config(&context.home, config.environment(), &changes)?;
    Ok(())
}

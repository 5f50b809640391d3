//! `hermes model`: which model answers. The list is the one that `/model` shows.

use std::io::{IsTerminal, Write};

use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_config::edit::{Change, change_config};
use hermes_llm::ListedModel;
use hermes_llm::resolve::Selection;
use hermes_tui::PickItem;
use serde_json::{Value, json};

use crate::output::{Column, Table};
use crate::wiring::{is_demo, open_models, refused};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Use this model from now on
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Who serves it
    #[arg(long, value_name = "PROVIDER", requires = "name")]
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
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if let Some(name) = &args.name {
        return set(name, args.provider.as_deref(), context, out);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listed = runtime.block_on(choices(context, args.refresh))?;
    let now = current(context)?;
    if args.list {
        return print(&listed, now.as_ref(), args.json, out);
    }
    if !std::io::stdin().is_terminal() || !out.is_terminal() {
        return Err(
            CommandError::user("`hermes model` asks questions and needs a terminal")
                .hint("`hermes model --list` prints the models, `hermes model NAME` chooses one"),
        );
    }
    let items = listed
        .iter()
        .map(|choice| PickItem {
            value: format!("{}\n{}", choice.provider, choice.model),
            label: match now.as_ref() == Some(choice) {
                true => format!("{} (now)", choice.model),
                false => choice.model.clone(),
            },
            detail: choice.provider.clone(),
        })
        .collect();
    match runtime.block_on(hermes_tui::pick("Models", items))? {
        Some(chosen) => {
            let (provider, model) = chosen.split_once('\n').unwrap_or(("", &chosen));
            set(model, Some(provider), context, out)
        }
        None => {
            writeln!(out, "Nothing was changed.")?;
            Ok(Exit::SUCCESS)
        }
    }
}

/// Everything that can be chosen; the demo model last.
pub(crate) async fn choices(
    context: &Context,
    refresh: bool,
) -> Result<Vec<ListedModel>, CommandError> {
    let listing = open_models(context)?.list(refresh).await.map_err(refused)?;
    for failure in &listing.failures {
        tracing::warn!(%failure, "a provider's models could not be listed");
    }
    let mut models = listing.models;
    if let Some(now) = current(context)?
        && !models.contains(&now)
    {
        models.insert(0, now);
    }
    let demo = ListedModel {
        provider: DEMO_PROVIDER.to_owned(),
        model: DEMO_MODEL.to_owned(),
    };
    if !models.contains(&demo) {
        models.push(demo);
    }
    Ok(models)
}

/// Whether a conversation could begin.
pub(crate) fn is_set_up(context: &Context) -> Result<bool, CommandError> {
    Ok(current(context)?.is_some())
}

/// The model that a conversation would begin with.
fn current(context: &Context) -> Result<Option<ListedModel>, CommandError> {
    let selection = Selection::default();
    if is_demo(context, &selection)? {
        return Ok(Some(ListedModel {
            provider: DEMO_PROVIDER.to_owned(),
            model: DEMO_MODEL.to_owned(),
        }));
    }
    let resolved = open_models(context)?.resolve(&selection).ok();
    Ok(resolved.map(|resolved| ListedModel {
        provider: resolved.endpoint.provider.clone(),
        model: resolved.endpoint.model().to_owned(),
    }))
}

fn print(
    listed: &[ListedModel],
    now: Option<&ListedModel>,
    json: bool,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    if json {
        let rows: Vec<Value> = listed
            .iter()
            .map(|choice| {
                json!({"provider": choice.provider, "model": choice.model, "current": now == Some(choice)})
            })
            .collect();
        out.json(&rows)?;
        return Ok(Exit::SUCCESS);
    }
    let mut table = Table::new([
        Column::new(""),
        Column::new("Model").flexible(20),
        Column::new("Provider").flexible(10),
    ]);
    for choice in listed {
        let mark = if now == Some(choice) { "*" } else { "" };
        table.row([
            mark.to_owned(),
            choice.model.clone(),
            choice.provider.clone(),
        ]);
    }
    table.print(out)?;
    Ok(Exit::SUCCESS)
}

fn set(
    name: &str,
    provider: Option<&str>,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let selection = Selection::of(provider, Some(name));
    let (provider, name) = if is_demo(context, &selection)? {
        (DEMO_PROVIDER.to_owned(), DEMO_MODEL.to_owned())
    } else {
        // What cannot be used is not stored.
        let resolved = open_models(context)?.resolve(&selection).map_err(refused)?;
        let provider = provider.unwrap_or(&resolved.endpoint.provider).to_owned();
        (provider, name.to_owned())
    };
    save(context, &provider, &name, None)?;
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
    context.policy().refuse_if_managed()?;
    let set = |path: &str, value: &str| Change::Set {
        path: path.to_owned(),
        value: Value::from(value),
    };
    let mut changes = vec![set("model.provider", provider), set("model.default", model)];
    match base_url {
        Some(url) => changes.push(set("model.base_url", url)),
        // An address of another provider would win over the new one's own.
        None if provider != "custom" => changes.push(Change::Unset {
            path: "model.base_url".to_owned(),
        }),
        None => {}
    }
    change_config(&context.home, context.config()?.environment(), &changes)?;
    Ok(())
}

//! Where models come from, and which one answers.

use std::io::Write;

use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_llm::auth::{AuthFile, add_key};
use hermes_llm::catalogue::{self, Provider};
use hermes_llm::resolve::{Selection, pool_of};
use hermes_llm::{LocalServer, Models, Secret, find_local_servers, find_servers_at};

use super::questions::{choose, item, line};
use super::{Args, set};
use crate::commands::auth::hidden;
use crate::commands::model::save;
use crate::wiring::{open_models, refused};
use crate::{CommandError, Context, Out};

/// What the flags say about the model, checked before anything is written.
pub(super) fn store(args: &Args, context: &Context, out: &mut Out) -> Result<(), CommandError> {
    if args.provider.is_some() || args.model.is_some() || args.base_url.is_some() {
        let provider = match (&args.provider, &args.base_url) {
            (Some(provider), _) => provider.clone(),
            (None, Some(_)) => "custom".to_owned(),
            (None, None) => current_provider(context)?,
        };
        let selection = Selection {
            provider: Some(provider.clone()),
            model: args.model.clone(),
            base_url: args.base_url.clone(),
            api_key: args.api_key.clone(),
            api_mode: None,
        };
        let model = if provider == DEMO_PROVIDER {
            DEMO_MODEL.to_owned()
        } else {
            let resolved = open_models(context)?.resolve(&selection).map_err(refused)?;
            resolved.endpoint.model().to_owned()
        };
        if let Some(key) = &args.api_key {
            store_key(&provider, key, context)?;
        }
        save(context, &provider, &model, args.base_url.as_deref())?;
        writeln!(out, "Model: {model} ({provider})")?;
    } else if let Some(key) = &args.api_key {
        let provider = current_provider(context)?;
        store_key(&provider, key, context)?;
        writeln!(out, "Stored a key for {provider}")?;
    }
    Ok(())
}

fn current_provider(context: &Context) -> Result<String, CommandError> {
    context
        .config()?
        .optional_string("model.provider")?
        .ok_or_else(|| {
            CommandError::usage("whose model or key is it?").hint("add `--provider PROVIDER`")
        })
}

/// Where models come from, then which one. `false` when the person left.
pub(crate) fn model_section(context: &Context, out: &mut Out) -> Result<bool, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let models = open_models(context)?;
    let servers = runtime.block_on(find_local_servers(models.http()));
    let mut items: Vec<_> = servers
        .iter()
        .enumerate()
        .map(|(index, server)| item(&format!("local:{index}"), &server.label, &server.base_url))
        .collect();
    items.extend(
        catalogue::providers()
            .iter()
            .filter(|provider| provider.auth.takes_key() && provider.id != "custom")
            .map(|provider| item(&provider.id, &provider.label, provider_detail(provider))),
    );
    items.push(item(
        "custom",
        "A server of your own",
        "you type its address",
    ));
    items.push(item(
        DEMO_PROVIDER,
        "The demo model",
        "no key, no network; a set of rules, not a language model",
    ));
    let Some(chosen) = choose("Where do models come from?", items)? else {
        writeln!(out, "The model was not changed.")?;
        return Ok(false);
    };
    let local = chosen
        .strip_prefix("local:")
        .and_then(|index| servers.get(index.parse::<usize>().ok()?));
    let stored = if chosen == DEMO_PROVIDER {
        save(context, DEMO_PROVIDER, DEMO_MODEL, None)?;
        true
    } else if let Some(server) = local {
        of_server(server, context)?
    } else if chosen == "custom" {
        own_server(&models, &runtime, context, out)?
    } else {
        of_provider(&chosen, &models, &runtime, context, out)?
    };
    if stored {
        writeln!(out, "Stored in {}", context.home.config_file().display())?;
    } else {
        writeln!(out, "The model was not changed.")?;
    }
    Ok(stored)
}

fn of_server(server: &LocalServer, context: &Context) -> Result<bool, CommandError> {
    let Some(model) = one_of(&server.models)? else {
        return Ok(false);
    };
    save(context, "custom", &model, Some(&server.base_url))?;
    Ok(true)
}

/// An address, a key if it needs one, and a model of those it offers.
fn own_server(
    models: &Models,
    runtime: &tokio::runtime::Runtime,
    context: &Context,
    out: &mut Out,
) -> Result<bool, CommandError> {
    let url = line("Address, such as http://127.0.0.1:8080/v1: ", out)?;
    if url.is_empty() {
        return Ok(false);
    }
    let key = hidden("Key (not shown; Enter if it needs none):", out)?;
    let found = match key.is_empty() {
        true => runtime.block_on(find_servers_at(models.http(), &[("", &url)])),
        false => Vec::new(),
    };
    let model = match found.first() {
        Some(server) => one_of(&server.models)?,
        None => Some(line("Name of the model: ", out)?).filter(|name| !name.is_empty()),
    };
    let Some(model) = model else {
        return Ok(false);
    };
    let selection = Selection {
        base_url: Some(url.clone()),
        api_key: (!key.is_empty()).then(|| key.clone()),
        ..Selection::of(Some("custom"), Some(&model))
    };
    models.resolve(&selection).map_err(refused)?;
    save(context, "custom", &model, Some(&url))?;
    if !key.is_empty() {
        set(context, "model.api_key", key.as_str().into())?;
    }
    Ok(true)
}

fn of_provider(
    provider: &str,
    models: &Models,
    runtime: &tokio::runtime::Runtime,
    context: &Context,
    out: &mut Out,
) -> Result<bool, CommandError> {
    let has_key = models
        .with_sources(|sources| {
            pool_of(provider, sources).is_ok_and(|pool| !pool.entries(sources.auth).is_empty())
        })
        .map_err(CommandError::user)?;
    if !has_key {
        let key = hidden(&format!("Key for {provider} (not shown):"), out)?;
        if key.is_empty() {
            return Ok(false);
        }
        store_key(provider, &key, context)?;
    }
    let listed = runtime.block_on(models.list(false)).map_err(refused)?;
    let offered: Vec<String> = listed
        .models
        .into_iter()
        .filter(|listed| listed.provider == provider)
        .map(|listed| listed.model)
        .collect();
    let model = if offered.is_empty() {
        for failure in &listed.failures {
            writeln!(out, "{failure}")?;
        }
        Some(line("Name of the model: ", out)?).filter(|name| !name.is_empty())
    } else {
        one_of(&offered)?
    };
    let Some(model) = model else {
        return Ok(false);
    };
    save(context, provider, &model, None)?;
    Ok(true)
}

fn provider_detail(provider: &Provider) -> &str {
    provider.keys.first().map_or("", String::as_str)
}

fn one_of(models: &[String]) -> Result<Option<String>, CommandError> {
    if let [only] = models {
        return Ok(Some(only.clone()));
    }
    let items = models.iter().map(|model| item(model, model, "")).collect();
    choose("Which model?", items)
}

fn store_key(provider: &str, key: &str, context: &Context) -> Result<(), CommandError> {
    let models = open_models(context)?;
    let pool = models
        .with_sources(|sources| pool_of(provider, sources))
        .map_err(CommandError::user)?
        .map_err(CommandError::user)?;
    add_key(
        &AuthFile::of(&context.home),
        &context.clock,
        &pool,
        &Secret::new(key),
        None,
    )
    .map_err(CommandError::user)?;
    Ok(())
}

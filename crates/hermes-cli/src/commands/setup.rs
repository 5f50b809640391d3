//! `hermes setup`: the few things that must be decided before the first chat.
//! Every question has the present value as its default, and every answer has a
//! flag.

use std::io::{self, BufRead, IsTerminal, Write};

use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_config::edit::{Change, change_config};
use hermes_llm::auth::{AuthFile, add_key};
use hermes_llm::catalogue::{self, Provider};
use hermes_llm::resolve::{Selection, pool_of};
use hermes_llm::{LocalServer, Secret, find_local_servers};
use hermes_tui::PickItem;
use serde_json::Value;

use super::auth::hidden;
use super::model::save;
use crate::wiring::{open_models, refused};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug, Default)]
pub(crate) struct Args {
    /// Only this section
    #[arg(value_name = "SECTION", value_parser = ["model", "terminal"])]
    section: Option<String>,

    /// Ask nothing: store what the flags say
    #[arg(long)]
    non_interactive: bool,

    /// Provider of the model
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,

    /// The model's name
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Address of a server of your own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// The provider's key; other users of this machine may see it while this runs
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,

    /// Where commands run
    #[arg(long, value_name = "BACKEND", value_parser = ["local", "docker"])]
    backend: Option<String>,
}

impl Args {
    fn says_something(&self) -> bool {
        self.provider.is_some()
            || self.model.is_some()
            || self.base_url.is_some()
            || self.api_key.is_some()
            || self.backend.is_some()
    }
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    // Before any question: a file that cannot be read cannot be changed either.
    context.config()?;
    context.policy().refuse_if_managed()?;
    if args.says_something() {
        return store(args, context, out);
    }
    if args.non_interactive || !io::stdin().is_terminal() || !out.is_terminal() {
        writeln!(out, "Nothing was changed. These lines set Hermes up:\n")?;
        writeln!(out, "  hermes config set OPENROUTER_API_KEY your-key")?;
        writeln!(out, "  hermes config set model.provider openrouter")?;
        writeln!(out, "  hermes config set model.default vendor/model")?;
        return Ok(Exit::SUCCESS);
    }
    let section = args.section.as_deref();
    if section.is_none_or(|name| name == "model") {
        model_section(context, out)?;
    }
    if section.is_none_or(|name| name == "terminal") {
        terminal_section(context, out)?;
    }
    writeln!(
        out,
        "\nDone. `hermes` starts a chat; `hermes doctor` looks for problems."
    )?;
    Ok(Exit::SUCCESS)
}

/// What the flags say, checked before anything is written.
fn store(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
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
    if let Some(backend) = &args.backend {
        set_backend(backend, context)?;
        writeln!(out, "Commands run in: {backend}")?;
    }
    Ok(Exit::SUCCESS)
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
    let mut items: Vec<PickItem> = servers
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
    let chosen = runtime.block_on(hermes_tui::pick("Where do models come from?", items))?;
    let Some(chosen) = chosen else {
        writeln!(out, "The model was not changed.")?;
        return Ok(false);
    };
    if chosen == DEMO_PROVIDER {
        save(context, DEMO_PROVIDER, DEMO_MODEL, None)?;
    } else if let Some(server) = chosen
        .strip_prefix("local:")
        .and_then(|index| servers.get(index.parse::<usize>().ok()?))
    {
        let Some(model) = pick_of(server, &runtime)? else {
            return Ok(false);
        };
        save(context, "custom", &model, Some(&server.base_url))?;
    } else if chosen == "custom" {
        let url = line("Address, such as http://127.0.0.1:8080/v1: ", out)?;
        let model = line("Name of the model: ", out)?;
        let selection = Selection {
            base_url: Some(url.clone()),
            ..Selection::of(Some("custom"), Some(&model))
        };
        models.resolve(&selection).map_err(refused)?;
        save(context, "custom", &model, Some(&url))?;
    } else {
        let has_key = models
            .with_sources(|sources| {
                pool_of(&chosen, sources).is_ok_and(|pool| !pool.entries(sources.auth).is_empty())
            })
            .map_err(CommandError::user)?;
        if !has_key {
            let key = hidden(&format!("Key for {chosen} (not shown): "), out)?;
            if key.is_empty() {
                writeln!(out, "Nothing was changed.")?;
                return Ok(false);
            }
            store_key(&chosen, &key, context)?;
        }
        let listed = runtime.block_on(models.list(false)).map_err(refused)?;
        let offered: Vec<PickItem> = listed
            .models
            .iter()
            .filter(|listed| listed.provider == chosen)
            .map(|listed| item(&listed.model, &listed.model, ""))
            .collect();
        let model = if offered.is_empty() {
            Some(line("Name of the model: ", out)?)
        } else {
            runtime.block_on(hermes_tui::pick("Which model?", offered))?
        };
        let Some(model) = model.filter(|name| !name.is_empty()) else {
            return Ok(false);
        };
        save(context, &chosen, &model, None)?;
    }
    writeln!(out, "Stored in {}", context.home.config_file().display())?;
    Ok(true)
}

fn provider_detail(provider: &Provider) -> &str {
    provider.keys.first().map_or("", String::as_str)
}

fn pick_of(
    server: &LocalServer,
    runtime: &tokio::runtime::Runtime,
) -> Result<Option<String>, CommandError> {
    if let [only] = &server.models[..] {
        return Ok(Some(only.clone()));
    }
    let items = server
        .models
        .iter()
        .map(|model| item(model, model, ""))
        .collect();
    Ok(runtime.block_on(hermes_tui::pick("Which model?", items))?)
}

fn terminal_section(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let now = context.config()?.string("terminal.backend")?;
    let mark = |name: &str| if now == name { " (now)" } else { "" };
    let items = vec![
        item(
            "local",
            &format!("On this machine{}", mark("local")),
            "commands act on your files; dangerous ones are asked about",
        ),
        item(
            "docker",
            &format!("In a container{}", mark("docker")),
            "commands act inside; needs docker or podman",
        ),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if let Some(chosen) = runtime.block_on(hermes_tui::pick("Where do commands run?", items))? {
        set_backend(&chosen, context)?;
        writeln!(out, "Commands run in: {chosen}")?;
    }
    Ok(())
}

fn set_backend(backend: &str, context: &Context) -> Result<(), CommandError> {
    let change = Change::Set {
        path: "terminal.backend".to_owned(),
        value: Value::from(backend),
    };
    change_config(&context.home, context.config()?.environment(), &[change])?;
    Ok(())
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

fn item(value: &str, label: &str, detail: &str) -> PickItem {
    PickItem {
        value: value.to_owned(),
        label: label.to_owned(),
        detail: detail.to_owned(),
    }
}

fn line(question: &str, out: &mut Out) -> Result<String, CommandError> {
    write!(out, "{question}")?;
    out.flush()?;
    let mut text = String::new();
    io::stdin().lock().read_line(&mut text)?;
    Ok(text.trim().to_owned())
}

//! Choosing with a person: a provider, its key if it is missing, a model. Nothing is
//! written before the last of these is known.

use std::io::Write;
use std::time::Duration;

use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_llm::resolve::Selection;
use hermes_llm::{
    AskFailure, ListedModel, LocalServer, Models, ProviderModels, find_local_servers, local_places,
};
use hermes_tui::PickItem;
use tokio::runtime::Runtime;

use super::choices::{current, groups, remarks, rows};
use super::decision::{Decision, key_variable};
use super::{own, tasks};
use crate::commands::ask::{choose, hidden, item, line, tell};
use crate::wiring::{open_models, refused};
use crate::{CommandError, Context, Out};

/// What the first question can come to.
const PROVIDER: &str = "provider:";
const SERVER: &str = "server:";
const MODEL: &str = "model:";
const LOOK: &str = "look";
const OWN: &str = "own";
const DEMO: &str = "demo";
const EFFORT: &str = "effort";
const TASKS: &str = "tasks";
const REMOVE: &str = "remove";

const TYPED: &str = "";

/// Longer than this, a person wants to know what is waited for.
const SILENCE: Duration = Duration::from_millis(400);

/// Everything that the questions look at.
pub(super) struct Asking<'a> {
    pub(super) context: &'a Context,
    pub(super) models: Models,
    pub(super) runtime: Runtime,
    pub(super) groups: Vec<ProviderModels>,
    pub(super) now: Option<ListedModel>,
}

impl<'a> Asking<'a> {
    fn new(context: &'a Context, refresh: bool, out: &mut Out) -> Result<Self, CommandError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let groups = runtime.block_on(async {
            let asked = groups(context, refresh);
            tokio::pin!(asked);
            tokio::select! {
                biased;
                groups = &mut asked => groups,
                () = tokio::time::sleep(SILENCE) => {
                    out.stderr_line("Asking the providers for their models…");
                    asked.await
                }
            }
        })?;
        Ok(Self {
            context,
            models: open_models(context)?,
            runtime,
            groups,
            now: current(context)?,
        })
    }

    fn servers(&self) -> Result<Vec<LocalServer>, CommandError> {
        let places = local_places(self.context.config()?);
        Ok(self
            .runtime
            .block_on(find_local_servers(self.models.http(), &places)))
    }

    /// The models of one provider, with a key that nobody stored yet.
    pub(super) fn ask(&self, selection: &Selection) -> Result<ProviderModels, CommandError> {
        self.runtime
            .block_on(self.models.list_one(selection))
            .map_err(refused)
    }
}

/// Lets a person choose and stores it. `false` when they left without a choice.
pub(crate) fn choose_model(
    context: &Context,
    refresh: bool,
    out: &mut Out,
) -> Result<bool, CommandError> {
    let asking = Asking::new(context, refresh, out)?;
    // Nobody looks around on a machine whose owner has decided already.
    let mut servers = match asking.now {
        None => asking.servers()?,
        Some(_) => Vec::new(),
    };
    let chosen = loop {
        let items = first_question(&asking, &servers)?;
        match choose("Which model answers?", items)? {
            Some(value) if value == LOOK => {
                servers = asking.servers()?;
                if servers.is_empty() {
                    let places: Vec<String> = local_places(context.config()?)
                        .iter()
                        .map(|place| place.as_str().trim_end_matches('/').to_owned())
                        .collect();
                    let looked = match places.is_empty() {
                        true => "nowhere (`local_servers` is empty)".to_owned(),
                        false => places.join(", "),
                    };
                    tell(
                        &format!("No model server answers on this machine. Looked at: {looked}."),
                        out,
                    )?;
                }
            }
            chosen => break chosen,
        }
    };
    let decision = match chosen.as_deref() {
        None => None,
        Some(TASKS) => return tasks::menu(&asking, out),
        Some(REMOVE) => return own::remove(context, out),
        Some(EFFORT) => effort(context)?,
        Some(OWN) => own::ask(&asking, out)?,
        Some(DEMO) => Some(Decision::model(context, DEMO_PROVIDER, DEMO_MODEL, None)?),
        Some(value) => match value.split_once(':') {
            Some(("server", index)) => {
                let server = index.parse().ok().and_then(|at: usize| servers.get(at));
                match server {
                    Some(server) => of_server(server, context, out)?,
                    None => None,
                }
            }
            Some(("model", both)) => {
                let (provider, model) = both.split_once('\n').unwrap_or((both, ""));
                of_model(&asking, provider, model, out)?
            }
            Some((_, provider)) => of_provider(&asking, provider, out)?,
            None => None,
        },
    };
    let Some(decision) = decision else {
        writeln!(out, "Nothing was changed.")?;
        return Ok(false);
    };
    decision.write(context)?;
    told(context, &decision, out)?;
    Ok(true)
}

fn told(context: &Context, decision: &Decision, out: &mut Out) -> Result<(), CommandError> {
    let renewed = context.renewed(None);
    if let Some(now) = current(&renewed)? {
        writeln!(out, "From now on: {} ({})", now.model, now.provider)?;
    }
    let file = |path: std::path::PathBuf| context.home.display(&path);
    if decision.has_secret() {
        writeln!(out, "The key is in {}", file(context.home.env_file()))?;
    }
    writeln!(out, "Stored in {}", file(context.home.config_file()))?;
    let window = renewed.config()?.get("model.context_length").cloned();
    if let Some(window) = window.filter(|window| !window.is_null()) {
        out.warning(&format!(
            "`model.context_length` ({window}) stays as it is; \
             `hermes config unset model.context_length` if it was meant for the other model"
        ));
    }
    Ok(())
}

/// Providers (what is set up first), other ways, then every model by name: typing
/// finds either.
fn first_question(
    asking: &Asking<'_>,
    servers: &[LocalServer],
) -> Result<Vec<PickItem>, CommandError> {
    let mut items: Vec<PickItem> = servers
        .iter()
        .enumerate()
        .map(|(index, server)| {
            let label = format!("{} on this machine", server.label);
            let count = server.models.len();
            item(
                format!("{SERVER}{index}"),
                &label,
                &format!("{} · {count} models", server.base_url),
            )
        })
        .collect();
    let (ready, others): (Vec<_>, Vec<_>) = asking.groups.iter().partition(|group| group.is_ready);
    items.extend(ready.iter().map(|group| provider_item(group, asking)));
    items.push(item(OWN, "A server of your own", "you type its address"));
    if servers.is_empty() {
        items.push(item(
            LOOK,
            "Look for a model server on this machine",
            "Ollama, LM Studio, llama.cpp, vLLM",
        ));
    }
    items.extend(others.iter().map(|group| provider_item(group, asking)));
    let demo_mark = mark(
        asking
            .now
            .as_ref()
            .is_some_and(|now| now.provider == DEMO_PROVIDER),
    );
    items.push(item(
        DEMO,
        &format!("The demo model{demo_mark}"),
        "no key, no network; a set of rules, not a language model",
    ));
    let config = asking.context.config()?;
    let level = config
        .optional_string("agent.reasoning_effort")?
        .unwrap_or_else(|| "left to the model".to_owned());
    items.push(item(EFFORT, "How long the model thinks", &level));
    items.push(item(
        TASKS,
        "Models of side tasks",
        "titles, summaries, judging commands",
    ));
    if !own::removable(config).is_empty() {
        items.push(item(REMOVE, "Remove a server of your own", ""));
    }
    for row in rows(&asking.groups, asking.now.as_ref()) {
        if row.provider == DEMO_PROVIDER {
            continue;
        }
        items.push(item(
            format!("{MODEL}{}\n{}", row.provider, row.model),
            &row.name(),
            &row.detail(),
        ));
    }
    Ok(items)
}

fn provider_item(group: &ProviderModels, asking: &Asking<'_>) -> PickItem {
    let is_current = asking
        .now
        .as_ref()
        .is_some_and(|now| now.provider == group.provider);
    let detail = match (group.is_ready, key_variable(&group.provider)) {
        (false, Some(variable)) => format!("needs a key ({variable})"),
        _ => {
            let remarks = remarks(group.origin, group.is_ready);
            let count = format!("{} models", group.models.len());
            [count, remarks]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(", ")
        }
    };
    item(
        format!("{PROVIDER}{}", group.provider),
        &format!("{}{}", group.label, mark(is_current)),
        &detail,
    )
}

fn mark(is_current: bool) -> &'static str {
    match is_current {
        true => " (now)",
        false => "",
    }
}

/// A model of a server that was found.
pub(crate) fn of_server(
    server: &LocalServer,
    context: &Context,
    out: &mut Out,
) -> Result<Option<Decision>, CommandError> {
    let model = match server.models.as_slice() {
        [only] => Some(only.clone()),
        models => one_of(models, None, out)?,
    };
    match model {
        Some(model) => Ok(Some(Decision::model(
            context,
            "custom",
            &model,
            Some(&server.base_url),
        )?)),
        None => Ok(None),
    }
}

/// A model by name: only the key may be missing.
fn of_model(
    asking: &Asking<'_>,
    provider: &str,
    model: &str,
    out: &mut Out,
) -> Result<Option<Decision>, CommandError> {
    let group = asking
        .groups
        .iter()
        .find(|group| group.provider == provider);
    let mut key = None;
    if let Some(group) = group
        && !group.is_ready
    {
        match ask_key(asking, group, out)? {
            Some((typed, _)) => key = Some(typed),
            None => return Ok(None),
        }
    }
    decide(asking, provider, model, key).map(Some)
}

fn of_provider(
    asking: &Asking<'_>,
    provider: &str,
    out: &mut Out,
) -> Result<Option<Decision>, CommandError> {
    let Some(group) = asking
        .groups
        .iter()
        .find(|group| group.provider == provider)
    else {
        return Ok(None);
    };
    let mut group = group.clone();
    let mut key = None;
    let is_refused = matches!(group.failure, Some(AskFailure::KeyRefused(_)));
    if let Some(failure) = &group.failure {
        tell(&format!("{}: {failure}.", group.label), out)?;
    }
    if !group.is_ready || is_refused {
        match ask_key(asking, &group, out)? {
            Some((typed, listed)) => {
                key = Some(typed);
                group = listed;
            }
            None if group.is_ready => {}
            None => return Ok(None),
        }
    }
    if let Some(remark) = group.origin.remark() {
        tell(&format!("The models of {}: {remark}.", group.label), out)?;
    }
    let now = asking
        .now
        .as_ref()
        .filter(|now| now.provider == group.provider)
        .map(|now| now.model.as_str());
    match one_of(&group.models, now, out)? {
        Some(model) => decide(asking, &group.provider, &model, key).map(Some),
        None => Ok(None),
    }
}

fn decide(
    asking: &Asking<'_>,
    provider: &str,
    model: &str,
    key: Option<String>,
) -> Result<Decision, CommandError> {
    let mut decision = Decision::model(asking.context, provider, model, None)?;
    if let (Some(key), Some(variable)) = (key, key_variable(provider)) {
        decision.secret(variable, &key, Some(provider));
    }
    Ok(decision)
}

/// Asks until a key is not refused; `None` when none is given.
fn ask_key(
    asking: &Asking<'_>,
    group: &ProviderModels,
    out: &mut Out,
) -> Result<Option<(String, ProviderModels)>, CommandError> {
    loop {
        let question = format!("Key for {} (not shown; Enter: none):", group.label);
        let key = hidden(&question, out)?.unwrap_or_default();
        if key.is_empty() {
            return Ok(None);
        }
        let listed = asking.ask(&Selection {
            api_key: Some(key.clone()),
            ..Selection::of(Some(&group.provider), None)
        })?;
        match &listed.failure {
            Some(failure @ AskFailure::KeyRefused(_)) => {
                tell(&format!("{}: {failure}.", group.label), out)?;
            }
            Some(failure) => {
                tell(
                    &format!("{}: {failure}. The key is not checked.", group.label),
                    out,
                )?;
                return Ok(Some((key, listed)));
            }
            None => return Ok(Some((key, listed))),
        }
    }
}

/// One of these, or one that is typed.
pub(super) fn one_of(
    models: &[String],
    now: Option<&str>,
    out: &mut Out,
) -> Result<Option<String>, CommandError> {
    if !models.is_empty() {
        let mut items: Vec<PickItem> = models
            .iter()
            .map(|model| {
                let mark = mark(now == Some(model));
                item(model, &format!("{model}{mark}"), "")
            })
            .collect();
        // What is set now is what Enter takes.
        items.sort_by_key(|item| now != Some(&item.value));
        items.push(item(TYPED, "Another one", "you type its name"));
        match choose("Which of its models?", items)? {
            Some(model) if model != TYPED => return Ok(Some(model)),
            Some(_) => {}
            None => return Ok(None),
        }
    }
    Ok(line("Name of the model: ", out)?.filter(|name| !name.is_empty()))
}

const LEVELS: [(&str, &str); 7] = [
    (TYPED, "Left to the model"),
    ("none", "Not at all"),
    ("minimal", "Minimal"),
    ("low", "A little"),
    ("medium", "Some"),
    ("high", "Long"),
    ("xhigh", "As long as it likes"),
];

fn effort(context: &Context) -> Result<Option<Decision>, CommandError> {
    let now = context
        .config()?
        .optional_string("agent.reasoning_effort")?
        .unwrap_or_default();
    let mut items: Vec<PickItem> = LEVELS
        .iter()
        .map(|(level, label)| item(*level, &format!("{label}{}", mark(*level == now)), level))
        .collect();
    items.sort_by_key(|item| item.value != now);
    let Some(level) = choose("How long may the model think?", items)? else {
        return Ok(None);
    };
    let mut decision = Decision::default();
    match level.as_str() {
        TYPED => decision.unset("agent.reasoning_effort"),
        level => decision.set("agent.reasoning_effort", level),
    }
    Ok(Some(decision))
}

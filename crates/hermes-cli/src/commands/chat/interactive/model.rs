//! `/model`: another model for the conversation, at once or after the turn.

use std::time::Duration;

use hermes_llm::Origin;
use hermes_llm::resolve::Selection;
use hermes_tui::{Call, Outcome, PickItem, Picker, Switch, Then};

use super::host::ChatHost;
use crate::CommandError;
use crate::commands::model::{choices, save};
use crate::wiring::{is_demo, open_models, refused};

/// How long a provider's list is waited for before a name is taken as it is.
const LIST_PATIENCE: Duration = Duration::from_secs(3);
/// Names that are suggested for one that is not known.
const NEAR: usize = 3;

/// What was asked for.
#[derive(Default)]
struct Wish {
    model: Option<String>,
    provider: Option<String>,
    for_good: bool,
    refresh: bool,
    /// Also when the provider does not list it.
    force: bool,
}

impl Wish {
    fn parse(arguments: &str) -> Result<Self, CommandError> {
        let mut wish = Self::default();
        let mut words = shlex::split(arguments).unwrap_or_default().into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--provider" => wish.provider = words.next(),
                "--global" => wish.for_good = true,
                "--refresh" => wish.refresh = true,
                "--force" => wish.force = true,
                _ if word.starts_with("--") => {
                    return Err(CommandError::usage(format!("`{word}` is not known here"))
                        .hint("`/model NAME [--provider P] [--global] [--force]`"));
                }
                _ => wish.model = Some(word),
            }
        }
        Ok(wish)
    }

    fn selection(&self) -> Selection {
        Selection::of(self.provider.as_deref(), self.model.as_deref())
    }
}

pub(super) async fn run(host: &mut ChatHost, call: &Call) -> Result<Outcome, CommandError> {
    let wish = Wish::parse(&call.arguments)?;
    if wish.model.is_none() && wish.provider.is_none() {
        return pick(host, wish.refresh).await;
    }
    let name = check(host, &wish).await?;
    if call.working {
        return Ok(Outcome::Later {
            arguments: call.arguments.clone(),
            say: format!("Noted: `{name}` answers when this turn has ended."),
        });
    }
    switch(host, &wish).await
}

async fn pick(host: &mut ChatHost, refresh: bool) -> Result<Outcome, CommandError> {
    let listed = choices(&host.context, refresh).await?;
    let (model, provider) = match &host.wired {
        Some(wired) => wired.model(),
        None => ("", ""),
    };
    let items = listed
        .into_iter()
        .map(|choice| {
            let is_current = choice.model == model && choice.provider == provider;
            let mark = if is_current { " (now)" } else { "" };
            let detail = match choice.remarks() {
                remarks if remarks.is_empty() => choice.provider.clone(),
                remarks => format!("{} · {remarks}", choice.provider),
            };
            PickItem {
                // What is listed needs no second look.
                value: format!("{} --provider {} --force", choice.model, choice.provider),
                label: format!("{}{mark}", choice.model),
                detail,
            }
        })
        .collect();
    Ok(Outcome::Pick(Picker::new("Models", "model", items)))
}

/// The model's full name. One that its provider does not list is refused, with the
/// names that come near; where there is no list, any name will do.
async fn check(host: &ChatHost, wish: &Wish) -> Result<String, CommandError> {
    let selection = wish.selection();
    if is_demo(&host.context, &selection)? {
        return Ok(hermes_agent::demo::DEMO_MODEL.to_owned());
    }
    let models = open_models(&host.context)?;
    let resolved = models.resolve(&selection).map_err(refused)?;
    let (model, provider) = (
        resolved.endpoint.model().to_owned(),
        resolved.endpoint.provider.clone(),
    );
    if wish.force || wish.model.is_none() {
        return Ok(model);
    }
    let Ok(Ok(listing)) = tokio::time::timeout(LIST_PATIENCE, models.list(false)).await else {
        return Ok(model);
    };
    let asked = wish.provider.as_deref().unwrap_or(&provider);
    // Only the provider's own word counts: a snapshot knows nothing of tomorrow.
    let known: Vec<String> = listing
        .into_iter()
        .filter(|group| group.provider == provider || group.provider == asked)
        .filter(|group| matches!(group.origin, Origin::Provider | Origin::Earlier))
        .flat_map(|group| group.models)
        .collect();
    if known.is_empty() || known.contains(&model) {
        return Ok(model);
    }
    let error = CommandError::user(format!("{provider} lists no model `{model}`"));
    let near = near(&model, &known);
    let error = match near.is_empty() {
        true => error.hint("`/model` shows what there is"),
        false => error.hint(format!("near it: {}", near.join(", "))),
    };
    Err(error.hint(format!("`/model {model} --force` takes it all the same")))
}

/// The names that have most in common with this one, best first.
fn near<'k>(name: &str, known: &'k [String]) -> Vec<&'k str> {
    let mut scored: Vec<(usize, &str)> = known
        .iter()
        .map(|other| (likeness(name, other), other.as_str()))
        .filter(|(score, _)| *score >= 40)
        .collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    scored
        .into_iter()
        .take(NEAR)
        .map(|(_, name)| name)
        .collect()
}

/// Shared pairs of letters, in percent of all pairs.
fn likeness(one: &str, other: &str) -> usize {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let letters: Vec<char> = text.to_lowercase().chars().collect();
        letters.windows(2).map(|pair| (pair[0], pair[1])).collect()
    };
    let (ours, mut theirs) = (pairs(one), pairs(other));
    let all = ours.len() + theirs.len();
    let mut shared: usize = 0;
    for pair in ours {
        if let Some(at) = theirs.iter().position(|other| *other == pair) {
            theirs.swap_remove(at);
            shared += 2;
        }
    }
    (shared * 100).checked_div(all).unwrap_or(0)
}

async fn switch(host: &mut ChatHost, wish: &Wish) -> Result<Outcome, CommandError> {
    let old_model = host.model_name().to_owned();
    let before = std::mem::replace(&mut host.selection, wish.selection());
    let stored = host.stored().await?;
    let mut chat = match host.chat(stored.as_ref()).await {
        Ok(chat) => chat,
        Err(error) => {
            host.selection = before;
            return Err(error);
        }
    };
    let (name, from) = match &host.wired {
        Some(wired) => {
            let (name, from) = wired.model();
            (name.to_owned(), from.to_owned())
        }
        None => (String::new(), String::new()),
    };
    if stored.is_some() && name != old_model {
        host.tell_next(&format!(
            "Note: the model of this conversation was changed from {old_model} to {name}. \
             What was said before was said by {old_model}."
        ));
    }
    let mut message = format!("From now on: `{name}` ({from}).");
    if wish.for_good {
        save(&host.context, &from, &name, None)?;
        message.push_str(" Stored in config.yaml.");
    }
    chat.greeting.clear();
    Ok(Outcome::Switch(Switch {
        chat,
        ended: None,
        message,
        clear: false,
        then: Then::Nothing,
    }))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_that_come_near_are_found() {
        let known = ["gpt-5-mini", "claude-sonnet-4.5", "claude-opus-4.1"].map(str::to_owned);
        assert_eq!(near("claude-sonet", &known)[0], "claude-sonnet-4.5");
        assert_eq!(near("llama", &known), Vec::<&str>::new());
    }
}

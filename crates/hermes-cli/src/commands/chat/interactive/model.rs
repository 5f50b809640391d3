//! `/model`: another model for the conversation, at once or after the turn.

use hermes_llm::ListedModel;
use hermes_tui::{Call, Outcome, PickItem, Picker, Switch};

use super::host::ChatHost;
use crate::CommandError;
use crate::commands::model::{Named, choices_beside, save};

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

    fn named<'a>(&'a self, host: &'a ChatHost) -> Named<'a> {
        Named {
            model: self.model.as_deref(),
            provider: self.provider.as_deref(),
            force: self.force,
            command: "/model",
            answering: host.wired.as_ref().map(|wired| wired.model().0),
        }
    }
}

pub(super) async fn run(host: &mut ChatHost, call: &Call) -> Result<Outcome, CommandError> {
    let wish = Wish::parse(&call.arguments)?;
    if wish.model.is_none() && wish.provider.is_none() {
        return pick(host, wish.refresh).await;
    }
    let name = wish.named(host).check(&host.context).await?.model;
    if call.working {
        return Ok(Outcome::Later {
            arguments: call.arguments.clone(),
            say: format!("Noted: `{name}` answers when this turn has ended."),
        });
    }
    switch(host, &wish).await
}

/// What answers in this conversation is on top, where Enter takes it.
async fn pick(host: &mut ChatHost, refresh: bool) -> Result<Outcome, CommandError> {
    let now = host.wired.as_ref().map(|wired| {
        let (model, provider) = wired.model();
        ListedModel {
            provider: provider.to_owned(),
            model: model.to_owned(),
        }
    });
    let items = choices_beside(&host.context, refresh, now.as_ref())
        .await?
        .into_iter()
        .map(|choice| PickItem {
            // What is listed needs no second look.
            value: format!("{} --provider {} --force", choice.model, choice.provider),
            label: choice.name(),
            detail: choice.detail(),
        })
        .collect();
    Ok(Outcome::Pick(Picker::new("Models", "model", items)))
}

async fn switch(host: &mut ChatHost, wish: &Wish) -> Result<Outcome, CommandError> {
    let old_model = host.model_name().to_owned();
    let wanted = wish.named(host).selection(&host.context)?;
    let before = std::mem::replace(&mut host.selection, wanted);
    let stored = host.stored().await?;
    let chat = match host.chat(stored.as_ref()).await {
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
    Ok(Outcome::Switch(Switch::going_on(chat, message)))
}

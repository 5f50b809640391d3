//! A model by its name, as `hermes model NAME` and `/model NAME` take it: one rule for
//! both. Nothing is stored or switched here.

use std::time::Duration;

use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_llm::resolve::{ResolveError, Selection};
use hermes_llm::{ListedModel, OpenError, Origin, ProviderModels};

use crate::wiring::{is_demo, open_models, refused};
use crate::{CommandError, Context, ErrorKind};

/// How long a provider's list is waited for before a name is taken as it is.
const LIST_PATIENCE: Duration = Duration::from_secs(3);
/// Names that are suggested for one that is not known.
const NEAR: usize = 3;

/// What was asked for, and where.
pub(crate) struct Named<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) provider: Option<&'a str>,
    /// Also when the provider does not list it.
    pub(crate) force: bool,
    /// What the person typed, for the words about a way out.
    pub(crate) command: &'static str,
    /// The model that answers now and goes on answering if this comes to nothing.
    pub(crate) answering: Option<&'a str>,
}

impl Named<'_> {
    /// The word `demo` alone means the row of that name in the list; a server's own
    /// model of this name is reached with its provider beside it.
    pub(crate) fn selection(&self, context: &Context) -> Result<Selection, CommandError> {
        let is_alias = context.config()?.get("model_aliases.demo").is_some();
        Ok(match (self.provider, self.model) {
            (None, Some(model)) if model.eq_ignore_ascii_case(DEMO_MODEL) && !is_alias => {
                Selection::of(Some(DEMO_PROVIDER), Some(DEMO_MODEL))
            }
            (provider, model) => Selection::of(provider, model),
        })
    }

    /// The model's full name and who serves it. One that its provider does not list
    /// is refused, with the names that come near; where there is no list, any name
    /// will do.
    pub(crate) async fn check(&self, context: &Context) -> Result<ListedModel, CommandError> {
        let selection = self.selection(context)?;
        let models = open_models(context)?;
        if is_demo(context, &selection)? {
            if let Some(model) = self.model
                && !model.eq_ignore_ascii_case(DEMO_MODEL)
            {
                let listing = models.list(false).await.unwrap_or_default();
                return Err(self.unlisted(DEMO_PROVIDER, model, &listing));
            }
            return Ok(ListedModel {
                provider: DEMO_PROVIDER.to_owned(),
                model: DEMO_MODEL.to_owned(),
            });
        }
        let resolved = models
            .resolve(&selection)
            .map_err(|error| self.unresolved(error))?;
        let found = ListedModel {
            provider: resolved.endpoint.provider.clone(),
            model: resolved.endpoint.model().to_owned(),
        };
        if self.force {
            return Ok(found);
        }
        let Ok(Ok(listing)) = tokio::time::timeout(LIST_PATIENCE, models.list(false)).await else {
            return Ok(found);
        };
        let asked = self.provider.unwrap_or(&found.provider);
        // Only the provider's own word counts: a snapshot knows nothing of tomorrow.
        let mut known = listing
            .iter()
            .filter(|group| group.provider == found.provider || group.provider == asked)
            .filter(|group| matches!(group.origin, Origin::Provider | Origin::Earlier))
            .flat_map(|group| &group.models)
            .peekable();
        if known.peek().is_none() || known.any(|model| *model == found.model) {
            return Ok(found);
        }
        Err(self
            .unlisted(&found.provider, &found.model, &listing)
            .hint(format!(
                "`{} {} --force` takes it all the same",
                self.command, found.model
            )))
    }

    fn unlisted(&self, provider: &str, model: &str, listing: &[ProviderModels]) -> CommandError {
        let error = CommandError::user(format!("{provider} lists no model `{model}`"));
        let ready = || listing.iter().filter(|group| group.is_ready);
        let other = ready().find(|group| group.models.iter().any(|known| known == model));
        if let Some(other) = other {
            return error.hint(format!(
                "{} has it: `{} {model} --provider {}`",
                other.label, self.command, other.provider
            ));
        }
        let own = ready().filter(|group| group.provider == provider);
        let known: Vec<&str> = own
            .flat_map(|group| group.models.iter().map(String::as_str))
            .collect();
        match near(model, &known) {
            near if near.is_empty() => {
                error.hint(format!("`{}` shows what there is", self.command))
            }
            near => error.hint(format!("near it: {}", near.join(", "))),
        }
    }

    /// Somebody in a conversation has something that answers, and hears so.
    fn unresolved(&self, error: OpenError) -> CommandError {
        match (&error, self.answering, self.model) {
            (
                OpenError::Resolve(ResolveError::NothingConfigured),
                Some(answering),
                Some(wanted),
            ) => CommandError::new(
                ErrorKind::Config,
                format!(
                    "nobody is set up who could serve `{wanted}`; `{answering}` goes on answering"
                ),
            )
            .hint(format!(
                "`{}` shows what there is; `hermes setup` takes a key or a server of your own",
                self.command
            )),
            _ => refused(error),
        }
    }
}

/// The names that have most in common with this one, best first.
fn near<'k>(name: &str, known: &[&'k str]) -> Vec<&'k str> {
    let mut scored: Vec<(usize, &str)> = known
        .iter()
        .map(|other| (likeness(name, other), *other))
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_that_come_near_are_found() {
        let known = ["gpt-5-mini", "claude-sonnet-4.5", "claude-opus-4.1"];
        assert_eq!(near("claude-sonet", &known)[0], "claude-sonnet-4.5");
        assert_eq!(near("llama", &known), Vec::<&str>::new());
    }
}

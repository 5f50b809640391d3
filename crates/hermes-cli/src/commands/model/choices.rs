//! Everything that can be chosen, as rows: the one list behind `hermes model`,
//! `hermes model --list` and `/model`.

use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_llm::resolve::Selection;
use hermes_llm::{ListedModel, Origin, ProviderModels};

use crate::wiring::{is_demo, open_models, refused};
use crate::{CommandError, Context};

/// One model of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) provider: String,
    pub(crate) label: String,
    pub(crate) model: String,
    pub(crate) origin: Origin,
    pub(crate) is_ready: bool,
    pub(crate) is_current: bool,
}

impl Choice {
    /// What a person should know before choosing it.
    pub(crate) fn remarks(&self) -> String {
        remarks(self.origin, self.is_ready)
    }

    /// The row of a list to pick from.
    pub(crate) fn name(&self) -> String {
        let mark = if self.is_current { " (now)" } else { "" };
        format!("{}{mark}", self.model)
    }

    /// What stands beside it.
    pub(crate) fn detail(&self) -> String {
        match self.remarks() {
            remarks if remarks.is_empty() => self.label.clone(),
            remarks => format!("{} · {remarks}", self.label),
        }
    }
}

pub(super) fn remarks(origin: Origin, is_ready: bool) -> String {
    let need = (!is_ready).then(|| "needs a key".to_owned());
    let words: Vec<String> = need.into_iter().chain(origin.remark()).collect();
    words.join(", ")
}

/// What answers now on top, then what is set up; the demo model last.
pub(crate) async fn choices(context: &Context, refresh: bool) -> Result<Vec<Choice>, CommandError> {
    choices_beside(context, refresh, current(context)?.as_ref()).await
}

/// The same where something else answers than what the configuration says.
pub(crate) async fn choices_beside(
    context: &Context,
    refresh: bool,
    now: Option<&ListedModel>,
) -> Result<Vec<Choice>, CommandError> {
    Ok(rows(&groups(context, refresh).await?, now))
}

/// The lists of all providers.
pub(super) async fn groups(
    context: &Context,
    refresh: bool,
) -> Result<Vec<ProviderModels>, CommandError> {
    let groups = open_models(context)?.list(refresh).await.map_err(refused)?;
    for group in &groups {
        if let Some(failure) = &group.failure {
            tracing::warn!(provider = %group.provider, %failure, "models could not be listed");
        }
    }
    Ok(groups)
}

pub(super) fn rows(groups: &[ProviderModels], now: Option<&ListedModel>) -> Vec<Choice> {
    let row = |provider: &str, label: &str, model: &str, origin, is_ready| Choice {
        provider: provider.to_owned(),
        label: label.to_owned(),
        model: model.to_owned(),
        origin,
        is_ready,
        is_current: now.is_some_and(|now| now.provider == provider && now.model == model),
    };
    let mut rows = Vec::new();
    for group in groups {
        for model in &group.models {
            rows.push(row(
                &group.provider,
                &group.label,
                model,
                group.origin,
                group.is_ready,
            ));
        }
    }
    let demo = row(DEMO_PROVIDER, "Demo", DEMO_MODEL, Origin::Settings, true);
    rows.push(demo);
    if let Some(now) = now
        && !rows.iter().any(|row| row.is_current)
    {
        let label = groups.iter().find(|group| group.provider == now.provider);
        let label = label.map_or(now.provider.as_str(), |group| &group.label);
        rows.push(row(
            &now.provider,
            label,
            &now.model,
            Origin::Settings,
            true,
        ));
    }
    rows.sort_by_key(|row| !row.is_current);
    rows
}

/// Whether a conversation could begin.
pub(crate) fn is_set_up(context: &Context) -> Result<bool, CommandError> {
    Ok(current(context)?.is_some())
}

/// The model that a conversation would begin with.
pub(crate) fn current(context: &Context) -> Result<Option<ListedModel>, CommandError> {
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

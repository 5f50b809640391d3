//! What a person decided, complete before any of it is written.

use hermes_config::edit::{Change, change_config, change_dotenv};
use hermes_llm::auth::AuthFile;
use hermes_llm::catalogue;
use serde_json::Value;

use crate::{CommandError, Context};

/// Changes of `config.yaml`, and secrets for `.env`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Decision {
    pub(crate) changes: Vec<Change>,
    /// Variable, value, and the provider that reads it.
    secrets: Vec<(String, String, Option<String>)>,
}

/// The variable in which a provider's key is kept.
pub(crate) fn key_variable(provider: &str) -> Option<&'static str> {
    let known = catalogue::provider(provider).filter(|known| known.id != "custom")?;
    known.keys.first().map(String::as_str)
}

impl Decision {
    /// This model of this provider answers from now on.
    pub(crate) fn model(
        context: &Context,
        provider: &str,
        model: &str,
        base_url: Option<&str>,
    ) -> Result<Self, CommandError> {
        let before = context.config()?.optional_string("model.provider")?;
        let mut decision = Self::default();
        decision.set("model.provider", provider);
        decision.set("model.default", model);
        match base_url {
            Some(url) => decision.set("model.base_url", url),
            // An address of another provider would win over the new one's own.
            None if provider != "custom" => decision.unset("model.base_url"),
            None => {}
        }
        // So would its wire format, and its key would be sent to the wrong vendor.
        if base_url.is_some() || before.as_deref() != Some(provider) {
            decision.unset("model.api_mode");
            decision.unset("model.api_key");
        }
        Ok(decision)
    }

    pub(crate) fn set(&mut self, path: &str, value: impl Into<Value>) {
        self.changes.push(Change::Set {
            path: path.to_owned(),
            value: value.into(),
        });
    }

    pub(crate) fn unset(&mut self, path: &str) {
        self.changes.push(Change::Unset {
            path: path.to_owned(),
        });
    }

    /// A key goes to `.env`, which only its owner may read.
    pub(crate) fn secret(&mut self, variable: &str, value: &str, provider: Option<&str>) {
        self.secrets.push((
            variable.to_owned(),
            value.to_owned(),
            provider.map(str::to_owned),
        ));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.secrets.is_empty()
    }

    pub(crate) fn has_secret(&self) -> bool {
        !self.secrets.is_empty()
    }

    pub(crate) fn write(&self, context: &Context) -> Result<(), CommandError> {
        context.policy().refuse_if_managed()?;
        let environment = context.config()?.environment();
        if !self.secrets.is_empty() {
            let variables: Vec<(&str, Option<&str>)> = self
                .secrets
                .iter()
                .map(|(name, value, _)| (name.as_str(), Some(value.as_str())))
                .collect();
            change_dotenv(&context.home, &context.environment, &variables)?;
            for (variable, _, provider) in &self.secrets {
                if let Some(provider) = provider {
                    trust_again(context, provider, variable)?;
                }
            }
        }
        if !self.changes.is_empty() {
            change_config(&context.home, environment, &self.changes)?;
        }
        Ok(())
    }
}

/// A variable that was once removed from the pool is used again when somebody
/// types a new key into it.
fn trust_again(context: &Context, provider: &str, variable: &str) -> Result<(), CommandError> {
    let file = AuthFile::of(&context.home);
    let source = format!("env:{variable}");
    if file.read()?.is_suppressed(provider, &source) {
        file.edit(&context.clock, |data| {
            data.lift_suppression(provider);
        })?;
    }
    Ok(())
}

//! The answers as flags: all are checked before the first is stored.

use std::io::Write;

use hermes_agent::demo::{DEMO_MODEL, DEMO_PROVIDER};
use hermes_llm::resolve::{NamedEndpoint, Selection};

use super::{terminal, tools};
use crate::commands::model::{Decision, current, key_variable};
use crate::wiring::{open_models, refused};
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug, Default)]
pub(super) struct Answers {
    /// Provider of the model
    #[arg(long, value_name = "PROVIDER", help_heading = "Answers")]
    provider: Option<String>,

    /// The model's name
    #[arg(long, value_name = "NAME", help_heading = "Answers")]
    model: Option<String>,

    /// Address of a server of your own
    #[arg(long, value_name = "URL", help_heading = "Answers")]
    base_url: Option<String>,

    /// The provider's key; other users of this machine may see it while this runs
    #[arg(long, value_name = "KEY", help_heading = "Answers")]
    api_key: Option<String>,

    /// Where commands run
    #[arg(long, value_name = "BACKEND", value_parser = ["local", "docker", "ssh"], help_heading = "Answers")]
    backend: Option<String>,

    /// The machine of the ssh backend
    #[arg(long, value_name = "HOST", help_heading = "Answers")]
    ssh_host: Option<String>,

    /// The user there
    #[arg(long, value_name = "USER", help_heading = "Answers")]
    ssh_user: Option<String>,

    /// The groups of tools that a chat has, separated by commas
    #[arg(long, value_name = "A,B", help_heading = "Answers")]
    toolsets: Option<String>,

    /// Steps per turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Answers")]
    max_turns: Option<u32>,

    /// How much of a tool call is shown
    #[arg(long, value_name = "MODE", value_parser = ["off", "new", "all", "verbose"], help_heading = "Answers")]
    tool_progress: Option<String>,

    /// Who decides about dangerous commands: you, a model, or nobody
    #[arg(long, value_name = "MODE", value_parser = ["manual", "smart", "off"], help_heading = "Answers")]
    approvals: Option<String>,
}

/// The variable for the key of an address without a provider.
const OWN_KEY: &str = "CUSTOM_API_KEY";

impl Answers {
    pub(super) fn is_given(&self) -> bool {
        let Self {
            provider,
            model,
            base_url,
            api_key,
            backend,
            ssh_host,
            ssh_user,
            toolsets,
            max_turns,
            tool_progress,
            approvals,
        } = self;
        [
            provider,
            model,
            base_url,
            api_key,
            backend,
            ssh_host,
            ssh_user,
            toolsets,
            tool_progress,
            approvals,
        ]
        .iter()
        .any(|answer| answer.is_some())
            || max_turns.is_some()
    }

    /// Whether the answers could be stored.
    pub(super) fn check(&self, context: &Context) -> Result<(), CommandError> {
        self.decision(context).map(drop)
    }

    pub(super) fn store(&self, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
        let (decision, said) = self.decision(context)?;
        decision.write(context)?;
        for line in said {
            writeln!(out, "{line}")?;
        }
        Ok(Exit::SUCCESS)
    }

    /// Everything that is to be written, and a line about each.
    fn decision(&self, context: &Context) -> Result<(Decision, Vec<String>), CommandError> {
        let mut said = Vec::new();
        let mut decision = self.model(context, &mut said)?;
        let mut set = |path: &str, answer: &Option<String>, line: &str| {
            if let Some(answer) = answer {
                decision.set(path, answer.as_str());
                said.push(format!("{line}: {answer}"));
            }
        };
        set(terminal::HOST, &self.ssh_host, "The other machine");
        set(terminal::USER, &self.ssh_user, "The user there");
        set(terminal::BACKEND, &self.backend, "Commands run in");
        set("display.tool_progress", &self.tool_progress, "Tool lines");
        set("approvals.mode", &self.approvals, "Dangerous commands");
        if self.backend.as_deref() == Some("ssh") {
            self.check_host(context)?;
        }
        if let Some(names) = &self.toolsets {
            decision.set(tools::KEY, tools::parse(names)?);
            said.push(format!("Tools: {names}"));
        }
        if let Some(steps) = self.max_turns {
            decision.set("agent.max_turns", steps);
            said.push(format!("Steps per turn: {steps}"));
        }
        Ok((decision, said))
    }

    /// A backend without its machine would fail at the first command.
    fn check_host(&self, context: &Context) -> Result<(), CommandError> {
        for (key, answer, flag) in [
            (terminal::HOST, &self.ssh_host, "--ssh-host HOST"),
            (terminal::USER, &self.ssh_user, "--ssh-user USER"),
        ] {
            let known = context.config()?.optional_string(key)?;
            if answer.is_none() && known.is_none_or(|known| known.is_empty()) {
                return Err(CommandError::usage(
                    "`--backend ssh` needs a machine and a user there",
                )
                .hint(format!("add `{flag}`")));
            }
        }
        Ok(())
    }

    fn model(&self, context: &Context, said: &mut Vec<String>) -> Result<Decision, CommandError> {
        let names_model =
            self.provider.is_some() || self.model.is_some() || self.base_url.is_some();
        if !names_model && self.api_key.is_none() {
            return Ok(Decision::default());
        }
        let provider = match (&self.provider, &self.base_url) {
            (Some(provider), _) => provider.clone(),
            (None, Some(_)) => "custom".to_owned(),
            (None, None) => current_provider(context)?,
        };
        let mut decision = Decision::default();
        if names_model {
            let model = self.resolved_model(&provider, context)?;
            decision = Decision::model(context, &provider, &model, self.base_url.as_deref())?;
            said.push(format!("Model: {model} ({provider})"));
        }
        if let Some(key) = &self.api_key {
            match key_variable(&provider) {
                Some(variable) => {
                    let id = hermes_llm::catalogue::provider(&provider)
                        .map_or(provider.as_str(), |known| known.id.as_str());
                    decision.secret(variable, key, Some(id));
                }
                None if provider == "custom" => {
                    decision.secret(OWN_KEY, key, None);
                    decision.set("model.api_key", format!("${{{OWN_KEY}}}"));
                }
                None => {
                    return Err(CommandError::usage(format!("{provider} takes no key"))
                        .hint("`hermes auth list` shows what takes one"));
                }
            }
            said.push(format!(
                "The key of {provider} is in {}",
                context.home.display(&context.home.env_file())
            ));
        }
        Ok(decision)
    }

    /// The model's name as the provider wants it; an error when it cannot be used.
    fn resolved_model(&self, provider: &str, context: &Context) -> Result<String, CommandError> {
        if provider == DEMO_PROVIDER {
            return Ok(DEMO_MODEL.to_owned());
        }
        let model = match &self.model {
            Some(model) => Some(model.clone()),
            None => self.model_without_name(provider, context)?,
        };
        let selection = Selection {
            provider: Some(provider.to_owned()),
            model,
            base_url: self.base_url.clone(),
            api_key: self.api_key.clone(),
            api_mode: None,
        };
        let resolved = open_models(context)?.resolve(&selection).map_err(refused)?;
        Ok(resolved.endpoint.model().to_owned())
    }

    /// The model of one place says nothing about another: it is kept only where
    /// nothing moves, unless the new place brings a model of its own.
    fn model_without_name(
        &self,
        provider: &str,
        context: &Context,
    ) -> Result<Option<String>, CommandError> {
        let config = context.config()?;
        let id = |name: &str| {
            let name = name.trim().to_lowercase();
            let known = hermes_llm::catalogue::provider(&name).map(|known| known.id.clone());
            known.unwrap_or_else(|| name.trim_start_matches("custom:").to_owned())
        };
        let before = match config.optional_string("model.provider")? {
            Some(name) if !name.trim().is_empty() && name.trim() != "auto" => Some(name),
            _ => current(context)?.map(|now| now.provider),
        };
        let address = |url: &str| url.trim().trim_end_matches('/').to_owned();
        let address_before = config.optional_string("model.base_url")?;
        let is_elsewhere = match (&self.base_url, address_before) {
            (Some(new), Some(old)) => !old.trim().is_empty() && address(new) != address(&old),
            _ => false,
        };
        if before.is_none_or(|before| id(&before) == id(provider)) && !is_elsewhere {
            return Ok(None);
        }
        let named = NamedEndpoint::find(config.effective(), provider);
        if let Some(own) = named.as_ref().and_then(NamedEndpoint::model) {
            return Ok(Some(own.to_owned()));
        }
        Err(
            CommandError::usage(format!("which model of {provider} is to answer?"))
                .hint("add `--model NAME`")
                .hint("`hermes model --list` shows the names"),
        )
    }
}

fn current_provider(context: &Context) -> Result<String, CommandError> {
    context
        .config()?
        .optional_string("model.provider")?
        .ok_or_else(|| {
            CommandError::usage("whose model or key is it?").hint("add `--provider PROVIDER`")
        })
}

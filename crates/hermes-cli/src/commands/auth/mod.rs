//! `hermes auth`: the API keys that this home keeps for model providers.

mod menu;

use std::io::{IsTerminal, Write};

use clap::{Subcommand, ValueEnum};
use hermes_http::Http;
use hermes_llm::auth::{
    AuthError, AuthFile, ManageError, PoolSpec, Row, Status, add_key, list, logout, remove, reset,
};
use hermes_llm::resolve::{ResolveError, pool_for_new_key, pool_of, pool_spec, usable_providers};
use hermes_llm::{Models, OpenError, Secret};
use serde_json::json;

use super::ask::hidden;
use crate::{CommandError, Context, ErrorKind, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Store a key for a provider; without --api-key it is asked for, unseen
    Add {
        /// The provider, such as openrouter
        provider: String,
        /// What kind of credential
        #[arg(long = "type", value_enum, default_value_t = Kind::ApiKey)]
        kind: Kind,
        /// A name for the key; default `api-key-<n>`
        #[arg(long)]
        label: Option<String>,
        /// The key itself; other users of this machine may see it while this runs
        #[arg(long, value_name = "KEY")]
        api_key: Option<String>,
    },
    /// List the keys of one provider, or of all
    #[command(visible_alias = "ls")]
    List {
        /// Only this provider
        provider: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a key by its number, id or label
    #[command(visible_alias = "rm")]
    Remove {
        /// The provider
        provider: String,
        /// Which key: its number in the list, its id or its label
        #[arg(value_name = "INDEX|ID|LABEL")]
        target: String,
    },
    /// Use all keys of a provider again, whatever they were refused for
    Reset {
        /// The provider
        provider: String,
    },
    /// Say whether a provider has a key that works
    Status {
        /// The provider
        provider: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget every key and login that is stored for a provider
    Logout {
        /// The provider
        provider: String,
    },
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    #[value(alias = "api_key")]
    ApiKey,
    Oauth,
}

pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let keys = Keys::of(context)?;
    tell_broken(context, out)?;
    match args.action {
        None if std::io::stdin().is_terminal() && out.is_terminal() => keys.menu(out),
        None => keys.list(None, false, out),
        Some(Action::List { provider, json }) => keys.list(provider.as_deref(), json, out),
        Some(Action::Add {
            kind: Kind::Oauth,
            provider,
            ..
        }) => Err(keys.no_login(&provider)),
        Some(Action::Add {
            provider,
            label,
            api_key,
            ..
        }) => keys.add(&provider, label.as_deref(), api_key, out),
        Some(Action::Remove { provider, target }) => keys.remove(&provider, &target, out),
        Some(Action::Reset { provider }) => keys.reset(&provider, out),
        Some(Action::Status { provider, json }) => keys.status(&provider, json, out),
        Some(Action::Logout { provider }) => keys.logout(&provider, out),
    }
}

/// Keys that cannot be read look like keys that were never stored.
pub(crate) fn tell_broken(context: &Context, out: &mut Out) -> Result<(), CommandError> {
    let file = AuthFile::of(&context.home);
    if let Some(copy) = file.broken()? {
        out.warning(&format!(
            "{} cannot be read, so its keys are not used; what it held is kept in {}",
            context.home.display(file.path()),
            context.home.display(&copy)
        ));
    }
    Ok(())
}

struct Keys<'a> {
    context: &'a Context,
    models: Models,
    file: AuthFile,
}

impl<'a> Keys<'a> {
    fn of(context: &'a Context) -> Result<Self, CommandError> {
        Ok(Self {
            context,
            models: Models::new(
                context.config()?.clone(),
                context.home.clone(),
                Http::default(),
                context.clock.clone(),
            ),
            file: AuthFile::of(&context.home),
        })
    }

    fn spec(&self, provider: &str) -> Result<PoolSpec, CommandError> {
        Ok(self
            .models
            .with_sources(|sources| pool_of(provider, sources))??)
    }

    fn add(
        &self,
        provider: &str,
        label: Option<&str>,
        key: Option<String>,
        out: &mut Out,
    ) -> Result<Exit, CommandError> {
        let spec = self
            .models
            .with_sources(|sources| pool_for_new_key(provider, sources))??;
        let key = match key {
            Some(key) => key,
            None => {
                let question = format!("API key for {} (not shown):", spec.name);
                hidden(&question, out)?.unwrap_or_default()
            }
        };
        let added = add_key(
            &self.file,
            &self.context.clock,
            &spec,
            &Secret::new(key),
            label,
        )?;
        writeln!(
            out,
            "Added {} credential #{}: \"{}\"",
            spec.name, added.number, added.label
        )?;
        Ok(Exit::SUCCESS)
    }

    /// Why nobody can sign in, and how the provider is reached instead.
    fn no_login(&self, provider: &str) -> CommandError {
        let pool = self
            .models
            .with_sources(|sources| pool_for_new_key(provider, sources));
        match pool {
            Ok(Ok(pool)) => CommandError::new(
                ErrorKind::NotBuilt,
                format!("signing in to {} in a browser is not built yet", pool.name),
            )
            .hint(format!("`hermes auth add {}` stores an API key", pool.name)),
            Ok(Err(error)) => error.into(),
            Err(error) => error.into(),
        }
    }

    /// The pools that hold something, by name.
    fn pools(&self) -> Result<Vec<PoolSpec>, CommandError> {
        let mut specs = self.models.with_sources(|sources| {
            let stored = sources.auth.pooled_providers();
            let mut specs: Vec<PoolSpec> = stored
                .iter()
                .filter_map(|name| pool_of(name, sources).ok())
                .collect();
            for provider in usable_providers(sources) {
                if !specs.iter().any(|spec| spec.name == provider.id) {
                    specs.push(pool_spec(provider, sources));
                }
            }
            specs
        })?;
        specs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(specs)
    }

    /// The keys of one provider, or of all, by pool.
    fn listed(&self, provider: Option<&str>) -> Result<Vec<(String, Vec<Row>)>, CommandError> {
        let specs = match provider {
            Some(provider) => vec![self.spec(provider)?],
            None => self.pools()?,
        };
        specs
            .into_iter()
            .map(|spec| {
                let rows = self
                    .models
                    .with_sources(|sources| list(sources.auth, &spec, &self.context.clock))?;
                Ok((spec.name, rows))
            })
            .collect()
    }

    fn list(
        &self,
        provider: Option<&str>,
        json: bool,
        out: &mut Out,
    ) -> Result<Exit, CommandError> {
        let listed = self.listed(provider)?;
        if json {
            let value: serde_json::Map<String, serde_json::Value> = listed
                .iter()
                .map(|(name, rows)| (name.clone(), rows.iter().map(as_json).collect()))
                .collect();
            writeln!(out, "{}", serde_json::Value::Object(value))?;
            return Ok(Exit::SUCCESS);
        }
        let mut any = false;
        for (name, rows) in listed.iter().filter(|(_, rows)| !rows.is_empty()) {
            any = true;
            writeln!(out, "{name} ({} credentials):", rows.len())?;
            for row in rows {
                writeln!(out, "  {}", line(row).trim_end())?;
            }
            writeln!(out)?;
        }
        if !any {
            writeln!(
                out,
                "No keys are stored. `hermes auth add PROVIDER` stores one."
            )?;
        }
        Ok(Exit::SUCCESS)
    }

    fn remove(&self, provider: &str, target: &str, out: &mut Out) -> Result<Exit, CommandError> {
        let spec = self.spec(provider)?;
        let removed = remove(&self.file, &self.context.clock, &spec, target)?;
        writeln!(
            out,
            "Removed {} credential #{} ({})",
            spec.name, removed.number, removed.label
        )?;
        if let Some(variable) = removed.variable {
            let is_in_file = self
                .context
                .config()?
                .dotenv()
                .variables
                .get(&variable)
                .is_some();
            let rid = match is_in_file {
                true => format!(
                    "remove it from {} to be rid of it",
                    self.context.home.display(&self.context.home.env_file())
                ),
                false => "it comes from where `hermes` was started".to_owned(),
            };
            writeln!(
                out,
                "  {variable} is still set, but is ignored for {name} until `hermes auth add {name}`; {rid}",
                name = spec.name,
            )?;
        }
        Ok(Exit::SUCCESS)
    }

    fn reset(&self, provider: &str, out: &mut Out) -> Result<Exit, CommandError> {
        let spec = self.spec(provider)?;
        let forgiven = reset(&self.file, &self.context.clock, &spec)?;
        writeln!(out, "Reset status on {forgiven} {} credentials", spec.name)?;
        Ok(Exit::SUCCESS)
    }

    fn logout(&self, provider: &str, out: &mut Out) -> Result<Exit, CommandError> {
        let spec = self.spec(provider)?;
        let name = &spec.name;
        let gone = logout(&self.file, &self.context.clock, &spec)?;
        let what = match (gone.credentials, gone.login) {
            (0, false) => "nothing was stored".to_owned(),
            (0, true) => "its login is forgotten".to_owned(),
            (1, _) => "one credential is forgotten".to_owned(),
            (more, _) => format!("{more} credentials are forgotten"),
        };
        writeln!(out, "Logged out of {name}: {what}.")?;
        for row in self
            .models
            .with_sources(|sources| list(sources.auth, &spec, &self.context.clock))?
        {
            match row.source.strip_prefix("env:") {
                Some(variable) => writeln!(
                    out,
                    "  {variable} is set and still counts; `hermes auth remove {name} {variable}` has it ignored"
                )?,
                None => writeln!(
                    out,
                    "  {} is a key of the default profile, which this profile may use; `hermes -p default auth logout {name}` forgets it",
                    row.label
                )?,
            }
        }
        Ok(Exit::SUCCESS)
    }

    fn status(&self, provider: &str, json: bool, out: &mut Out) -> Result<Exit, CommandError> {
        let spec = self.spec(provider)?;
        let rows = self
            .models
            .with_sources(|sources| list(sources.auth, &spec, &self.context.clock))?;
        let next = rows.iter().find(|row| row.next);
        if json {
            let value = json!({
                "provider": spec.name, "logged_in": next.is_some(), "credentials": rows.len(),
            });
            writeln!(out, "{value}")?;
            return Ok(Exit::SUCCESS);
        }
        match next {
            Some(row) => writeln!(
                out,
                "{}: logged in ({}, {})",
                spec.name, row.label, row.source
            )?,
            None if rows.is_empty() => writeln!(out, "{}: logged out", spec.name)?,
            None => writeln!(
                out,
                "{}: no key works at the moment; `hermes auth list {}` says why",
                spec.name, spec.name
            )?,
        }
        Ok(Exit::SUCCESS)
    }
}

fn line(row: &Row) -> String {
    let status = match row.status {
        None | Some(Status::Ok) => String::new(),
        Some(Status::Dead) => "[dead]".to_owned(),
        Some(Status::Exhausted) => match row.rests_for {
            Some(seconds) => format!("[exhausted, {} left]", rest(seconds)),
            None => String::new(),
        },
    };
    let arrow = if row.next { "←" } else { "" };
    let words: Vec<&str> = [row.source.as_str(), &status, arrow]
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
    format!(
        "#{}  {:<20} {} {}",
        row.number,
        row.label,
        row.auth_type,
        words.join(" ")
    )
}

fn rest(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil() as u64;
    if minutes >= 60 {
        format!("{}h{:02}m", minutes / 60, minutes % 60)
    } else {
        format!("{minutes}m")
    }
}

fn as_json(row: &Row) -> serde_json::Value {
    json!({
        "index": row.number, "id": row.id, "label": row.label, "type": row.auth_type,
        "source": row.source, "status": row.status.map(Status::as_str),
        "rests_for_seconds": row.rests_for, "next": row.next,
    })
}

impl From<ResolveError> for CommandError {
    fn from(error: ResolveError) -> Self {
        let hint = error.hint();
        let kind = match error {
            ResolveError::NotBuilt { .. } => ErrorKind::NotBuilt,
            _ => ErrorKind::User,
        };
        Self::new(kind, error).hint(hint)
    }
}

impl From<OpenError> for CommandError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Resolve(error) => error.into(),
            OpenError::Auth(error) => error.into(),
        }
    }
}

impl From<AuthError> for CommandError {
    fn from(error: AuthError) -> Self {
        let kind = match error {
            AuthError::Locked { .. } => ErrorKind::Busy,
            AuthError::Read { .. } | AuthError::Write { .. } => ErrorKind::Internal,
        };
        Self::new(kind, error)
    }
}

impl From<ManageError> for CommandError {
    fn from(error: ManageError) -> Self {
        match error {
            ManageError::File(error) => error.into(),
            ManageError::NoSuchCredential { ref provider, .. } => {
                let hint = format!("`hermes auth list {provider}` shows what is there");
                Self::user(error).hint(hint)
            }
            error => Self::user(error),
        }
    }
}

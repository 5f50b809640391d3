//! `config check`: everything that is known to be odd about the two files.

use std::io::Write;

use hermes_config::keys::key;
use hermes_config::variables::OPTIONAL;
use hermes_config::{Config, ConfigError, Which, migrate, structure_warnings};
use serde_json::json;

use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// List every variable, also those that are not set
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

struct Findings {
    broken: Option<ConfigError>,
    wrong: Vec<String>,
    odd: Vec<String>,
    unknown: Vec<(String, Option<&'static str>)>,
    planned: Vec<String>,
    inert: Vec<String>,
}

pub(super) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let (config, broken) = match context.config() {
        Ok(config) => (config.clone(), None),
        Err(error @ (ConfigError::Broken { .. } | ConfigError::Unreadable { .. })) => {
            let (home, environment) = (&context.home, &context.environment);
            let config = Config::load_without_file(home, environment, &context.overrides)?;
            (config, Some(error))
        }
        Err(error) => return Err(error.into()),
    };
    let migration = migrate::plan(&config, &context.home);
    let findings = find(&config, broken);
    if args.json {
        return print_json(&config, &migration, &findings, out);
    }
    let style = out.style();
    writeln!(out)?;
    writeln!(out, "{}", style.heading("Configuration"))?;
    match &findings.broken {
        Some(error) => {
            writeln!(out, "  ✗ {error}")?;
            writeln!(
                out,
                "    commands refuse to run until the file is mended: `hermes config edit`"
            )?;
        }
        None if migration.from >= migration.to => {
            writeln!(out, "  Config version: {} ✓", migration.from)?;
        }
        None => {
            writeln!(
                out,
                "  Config version: {} → {} (update available: `hermes config migrate`)",
                migration.from, migration.to
            )?;
        }
    }
    for line in &findings.wrong {
        writeln!(out, "  ✗ {line}")?;
    }
    for line in findings.odd.iter().chain(&migration.notes) {
        writeln!(out, "  ! {line}")?;
    }
    for (path, suggestion) in &findings.unknown {
        let meant = suggestion
            .map(|name| format!("; did you mean `{name}`?"))
            .unwrap_or_default();
        writeln!(out, "  ! nothing reads `{path}`{meant}")?;
    }
    for path in &findings.inert {
        let about = key(path).map_or("it has no effect", |key| key.about);
        writeln!(out, "  ! `{path}`: {about}")?;
    }
    if !findings.planned.is_empty() {
        writeln!(
            out,
            "  ! set, but not read by this version: {}",
            findings.planned.join(", ")
        )?;
    }
    variables(&config, args.all, out)?;
    Ok(Exit::SUCCESS)
}

fn variables(config: &Config, all: bool, out: &mut Out) -> Result<(), CommandError> {
    let style = out.style();
    writeln!(out)?;
    writeln!(out, "{}", style.heading("Variables"))?;
    let mut missing = 0;
    for variable in OPTIONAL {
        let set = config.environment().get_non_empty(variable.name).is_some();
        if set {
            writeln!(out, "  ✓ {}", variable.name)?;
        } else if all {
            let tools = if variable.tools.is_empty() {
                String::new()
            } else {
                format!(" → {}", variable.tools)
            };
            writeln!(out, "  ○ {}{tools}", variable.name)?;
        } else {
            missing += 1;
        }
    }
    if missing > 0 {
        writeln!(
            out,
            "  ○ {missing} more can be set; `hermes config check --all` lists them"
        )?;
    }
    writeln!(out)?;
    Ok(())
}

fn find(config: &Config, broken: Option<ConfigError>) -> Findings {
    let mut planned = Vec::new();
    let mut inert = Vec::new();
    for setting in config.settings(Which::Chosen) {
        match key(&setting.path) {
            Some(row) if row.inert => inert.push(setting.path),
            Some(row) if row.planned => planned.push(setting.path),
            _ => {}
        }
    }
    Findings {
        broken,
        wrong: config.misfits().iter().map(ToString::to_string).collect(),
        odd: structure_warnings(config),
        unknown: config.unknown_keys(),
        planned,
        inert,
    }
}

fn print_json(
    config: &Config,
    migration: &migrate::Migration,
    findings: &Findings,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let variables: serde_json::Map<String, serde_json::Value> = OPTIONAL
        .iter()
        .map(|variable| {
            let set = config.environment().get_non_empty(variable.name).is_some();
            (variable.name.to_owned(), set.into())
        })
        .collect();
    let unknown: Vec<_> = findings
        .unknown
        .iter()
        .map(|(path, suggestion)| json!({ "key": path, "suggestion": suggestion }))
        .collect();
    out.json(&json!({
        "version": migration.from,
        "newest_version": migration.to,
        "broken": findings.broken.as_ref().map(super::show::broken_json),
        "wrong": findings.wrong,
        "odd": findings.odd,
        "unknown": unknown,
        "planned": findings.planned,
        "inert": findings.inert,
        "variables": variables,
    }))?;
    Ok(Exit::SUCCESS)
}

//! What profiles are there, and what is in them.

use std::io::Write;

use hermes_types::ProfileName;

use super::{Facts, profiles};
use crate::output::{Column, Table};
use crate::{CommandError, Context, Exit, Out};

const NOTHING: &str = "—";

pub(super) fn current(json: bool, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let name = context.home.profile_name();
    // A home outside the root's profiles has no name that could be looked up.
    let Ok(name) = ProfileName::parse(&name) else {
        return Err(CommandError::internal(format!(
            "{name:?} is not a profile's name"
        )));
    };
    let facts = Facts::gather(&name, context);
    if json {
        out.json(&facts)?;
        return Ok(Exit::SUCCESS);
    }
    warn(&facts, out);
    writeln!(out, "Active profile: {}", facts.name)?;
    writeln!(
        out,
        "Path:           {}",
        context.home.display(context.home.path())
    )?;
    if let Some(model) = facts.model_text() {
        writeln!(out, "Model:          {model}")?;
    }
    writeln!(out, "Gateway:        {}", facts.gateway.text())?;
    writeln!(out, "Skills:         {} installed", facts.skills)?;
    if let Some(alias) = &facts.alias {
        writeln!(out, "Alias:          {alias}")?;
    }
    if let Some(description) = &facts.description {
        writeln!(out, "Description:    {description}")?;
    }
    Ok(Exit::SUCCESS)
}

pub(super) fn list(json: bool, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let names = profiles(context).list()?;
    let all: Vec<Facts> = names
        .iter()
        .map(|name| Facts::gather(name, context))
        .collect();
    if json {
        out.json(&all)?;
        return Ok(Exit::SUCCESS);
    }
    let mut table = Table::new([
        Column::new("  Profile").flexible(12),
        Column::new("Model").flexible(10),
        Column::new("Gateway").flexible(7),
        Column::new("Alias").flexible(5),
        Column::new("Distribution").flexible(12),
    ]);
    for facts in &all {
        warn(facts, out);
        let marker = if facts.current { "◆ " } else { "  " };
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
        table.row([
            format!("{marker}{}", facts.name),
            or_nothing(facts.model.clone()),
            facts.gateway.text(),
            or_nothing(facts.alias.clone()),
            or_nothing(
                facts
                    .distribution
                    .as_ref()
                    .map(super::facts::Distribution::text),
            ),
        ]);
    }
    table.print(out)?;
    Ok(Exit::SUCCESS)
}

pub(super) fn one(
    name: &str,
    json: bool,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    let name = ProfileName::parse(name)?;
    profiles(context).require(&name)?;
    let facts = Facts::gather(&name, context);
    if json {
        out.json(&facts)?;
        return Ok(Exit::SUCCESS);
    }
    warn(&facts, out);
    writeln!(out, "Profile: {}", facts.name)?;
    if let Some(description) = &facts.description {
        writeln!(out, "About:   {description}")?;
    }
    writeln!(out, "Path:    {}", facts.path)?;
    if let Some(model) = facts.model_text() {
        writeln!(out, "Model:   {model}")?;
    }
    writeln!(out, "Gateway: {}", facts.gateway.text())?;
    writeln!(out, "Skills:  {}", facts.skills)?;
    writeln!(
        out,
        ".env:    {}",
        if facts.env_file {
            "exists"
        } else {
            "not configured"
        }
    )?;
    writeln!(
        out,
        "SOUL.md: {}",
        if facts.soul {
            "exists"
        } else {
            "not configured"
        }
    )?;
    if let Some(distribution) = &facts.distribution {
        writeln!(out, "From:    {}", distribution.text())?;
    }
    if let Some(alias) = &facts.alias {
        writeln!(out, "Alias:   {alias}")?;
    }
    Ok(Exit::SUCCESS)
}

pub(super) fn info(name: &str, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    let name = ProfileName::parse(name)?;
    profiles(context).require(&name)?;
    match Facts::gather(&name, context).distribution {
        Some(distribution) => {
            writeln!(out, "Distribution: {}", distribution.text())?;
            if let Some(source) = &distribution.source {
                writeln!(out, "Source:       {source}")?;
            }
        }
        None => writeln!(
            out,
            "Profile {name} was not installed from a distribution (it has no distribution.yaml)."
        )?,
    }
    Ok(Exit::SUCCESS)
}

fn warn(facts: &Facts, out: &mut Out) {
    if let Some(error) = &facts.config_error {
        out.warning(error);
    }
}

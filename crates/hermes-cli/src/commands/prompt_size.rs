//! `hermes prompt-size`: what every request costs before anything is said.

use std::io::Write;

use hermes_agent::build::{Place, Wishes};
use hermes_tools::toolsets::PLATFORMS;
use serde_json::json;

use crate::wiring::measure;
use crate::{CommandError, Context, Exit, Out};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Where the agent is talked to
    #[arg(long, default_value = "cli")]
    platform: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, CommandError> {
    if !PLATFORMS.contains(&args.platform.as_str()) {
        return Err(
            CommandError::user(format!("unknown platform {:?}", args.platform))
                .hint(format!("use one of {}", PLATFORMS.join(", "))),
        );
    }
    let cwd = std::env::current_dir()?;
    let wishes = Wishes {
        platform: args.platform.clone(),
        ..Wishes::cli(cwd.clone())
    };
    let place = Place {
        home: context.home.clone(),
        config: context.config()?.clone(),
        clock: context.clock.clone(),
    };
    let sizes = measure(context, &place, wishes, &cwd)?;
    if args.json {
        let size = |text: &str| json!({"chars": text.chars().count(), "bytes": text.len()});
        let tier = |name: &str, text: &str| json!([name, text.chars().count(), text.len()]);
        let prompt = &sizes.prompt;
        out.json(&json!({
            "platform": args.platform,
            "model": sizes.model,
            "system_prompt": size(&prompt.text()),
            "skills_index": {"bytes": prompt.skills_bytes},
            "memory": {"bytes": prompt.memory_bytes},
            "user_profile": {"bytes": prompt.profile_bytes},
            "tools": {"count": sizes.tools, "json_bytes": sizes.schema_bytes},
            "sections": [
                tier("stable (identity/guidance/skills)", &prompt.stable),
                tier("context (AGENTS.md/cwd files)", &prompt.context),
                tier("volatile (memory/profile/timestamp)", &prompt.volatile),
            ],
            "total_bytes": prompt.text().len() + sizes.schema_bytes,
        }))?;
        return Ok(Exit::SUCCESS);
    }
    let prompt = &sizes.prompt;
    let text = prompt.text();
    let model = if sizes.model.is_empty() {
        "unset"
    } else {
        &sizes.model
    };
    writeln!(
        out,
        "Prompt-size breakdown (platform={}, model={model})\n",
        args.platform
    )?;
    writeln!(
        out,
        "  System prompt total : {:>8} B  ({:.1} KB, {} chars)\n",
        grouped(text.len()),
        kilobytes(text.len()),
        grouped(text.chars().count())
    )?;
    writeln!(out, "  Major blocks:")?;
    for (name, bytes) in [
        ("skills index", prompt.skills_bytes),
        ("memory", prompt.memory_bytes),
        ("user profile", prompt.profile_bytes),
    ] {
        writeln!(
            out,
            "    {name:<19}: {:>8} B  ({:.1} KB)",
            grouped(bytes),
            kilobytes(bytes)
        )?;
    }
    writeln!(out, "\n  Prompt tiers:")?;
    for (name, tier) in [
        ("stable (identity/guidance/skills)", &prompt.stable),
        ("context (AGENTS.md/cwd files)", &prompt.context),
        ("volatile (memory/profile/timestamp)", &prompt.volatile),
    ] {
        writeln!(
            out,
            "    {name:<36}: {:>8} B  ({:.1} KB)",
            grouped(tier.len()),
            kilobytes(tier.len())
        )?;
    }
    writeln!(
        out,
        "\n  Tool schemas         : {:>8} B  ({:.1} KB, {} tools)",
        grouped(sizes.schema_bytes),
        kilobytes(sizes.schema_bytes),
        sizes.tools
    )?;
    Ok(Exit::SUCCESS)
}

fn kilobytes(bytes: usize) -> f64 {
    bytes as f64 / 1024.0
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

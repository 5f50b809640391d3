//! The first start, with nothing configured: a few ways on, one word each.

use std::io::Write;

use hermes_llm::resolve::{ResolveError, Selection};
use hermes_llm::{LocalServer, OpenError, find_local_servers, local_places};

use super::demo_selection;
use crate::commands::ask::{line, tell};
use crate::commands::model::{choose_model, of_server};
use crate::output::wrap;
use crate::wiring::{is_demo, open_models};
use crate::{CommandError, Context, Out};

/// Whether there is nothing to talk to.
pub(super) fn needed(context: &Context, wanted: &Selection) -> Result<bool, CommandError> {
    if is_demo(context, wanted)? {
        return Ok(false);
    }
    Ok(matches!(
        open_models(context)?.resolve(wanted),
        Err(OpenError::Resolve(ResolveError::NothingConfigured))
    ))
}

/// What the person decided.
pub(super) enum Offered {
    /// A conversation with this model begins.
    Talk(Selection),
    /// Something was stored; the start is made once more.
    SetUp,
    Left,
}

enum Way {
    Server(LocalServer),
    Demo,
    SetUp,
}

impl Way {
    /// What may be typed for it instead of its number.
    fn is_called(&self, word: &str) -> bool {
        match self {
            Self::Server(server) => {
                server.label.to_lowercase() == word
                    || server.models.iter().any(|model| *model == word)
            }
            Self::Demo => word == "demo",
            Self::SetUp => word == "setup",
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Server(server) => {
                let first = server.models.first().map_or("", String::as_str);
                let label = &server.label;
                let address = server.base_url.trim_end_matches("/v1");
                let address = address.strip_prefix("http://").unwrap_or(address);
                match server.models.len() {
                    1 => format!("use {first} from {label} on this machine, {address}"),
                    count => format!(
                        "use {label} on this machine, {address} ({count} models: {first}, …)"
                    ),
                }
            }
            Self::SetUp => "setup: use a provider with a key, or a server of your own".to_owned(),
            Self::Demo => {
                "demo: look around with built-in rules; no key, no network, no intelligence"
                    .to_owned()
            }
        }
    }
}

/// Shows what there is and lets the person choose.
pub(super) fn ask(context: &Context, out: &mut Out) -> Result<Offered, CommandError> {
    let ways = ways(context)?;
    tell("Welcome to Hermes. No model is set up yet. You can:", out)?;
    writeln!(out)?;
    let width = out.width();
    for (index, way) in ways.iter().enumerate() {
        let text = wrap(&way.text(), width.saturating_sub(5), "     ");
        writeln!(out, "  {}  {text}", index + 1)?;
    }
    writeln!(out)?;
    let way = loop {
        let question = "Number or word (Enter: 1, q: leave): ";
        let Some(typed) = line(question, out)? else {
            return left(out);
        };
        let word = typed.to_lowercase();
        match word.as_str() {
            "q" | "quit" | "exit" => return left(out),
            "" => break ways.into_iter().next(),
            word => {
                let at = match word.parse::<usize>() {
                    Ok(number) => number.checked_sub(1).filter(|at| *at < ways.len()),
                    Err(_) => ways.iter().position(|way| way.is_called(word)),
                };
                if let Some(at) = at {
                    break ways.into_iter().nth(at);
                }
                writeln!(out, "There is no `{typed}` above.")?;
            }
        }
    };
    match way {
        None => left(out),
        Some(Way::Demo) => {
            writeln!(out)?;
            out.flush()?;
            Ok(Offered::Talk(demo_selection()))
        }
        Some(Way::Server(server)) => match of_server(&server, context, out)? {
            Some(decision) => {
                decision.write(context)?;
                let file = context.home.display(&context.home.config_file());
                writeln!(out, "Stored in {file}\n")?;
                out.flush()?;
                Ok(Offered::SetUp)
            }
            None => left(out),
        },
        Some(Way::SetUp) => match choose_model(context, false, out)? {
            true => {
                writeln!(out)?;
                out.flush()?;
                Ok(Offered::SetUp)
            }
            false => left(out),
        },
    }
}

fn ways(context: &Context) -> Result<Vec<Way>, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let models = open_models(context)?;
    let places = local_places(context.config()?);
    let servers = runtime.block_on(find_local_servers(models.http(), &places));
    let mut ways: Vec<Way> = servers.into_iter().map(Way::Server).collect();
    ways.extend([Way::SetUp, Way::Demo]);
    Ok(ways)
}

fn left(out: &mut Out) -> Result<Offered, CommandError> {
    tell(
        "`hermes setup` does this at any time; `hermes demo` shows what there is.",
        out,
    )?;
    Ok(Offered::Left)
}

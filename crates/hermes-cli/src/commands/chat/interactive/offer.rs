//! The first start, with nothing configured: three ways on, one key each.

use std::io::{self, BufRead, Write};

use hermes_llm::resolve::{ResolveError, Selection};
use hermes_llm::{LocalServer, OpenError, find_local_servers};

use super::demo_selection;
use crate::commands::{model, setup};
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

enum Way {
    Server { server: LocalServer, model: String },
    Demo,
    SetUp,
}

/// Shows what there is and lets the person choose; `None` when they leave.
pub(super) fn ask(context: &Context, out: &mut Out) -> Result<Option<Selection>, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let models = open_models(context)?;
    let servers = runtime.block_on(find_local_servers(models.http()));
    let mut ways: Vec<(String, Way)> = servers
        .into_iter()
        .filter_map(|server| {
            let model = server.models.first()?.clone();
            let text = format!("{model} from {} on this machine", server.label);
            Some((text, Way::Server { server, model }))
        })
        .collect();
    ways.push((
        "set up a provider with a key, or a server of your own (`hermes setup`)".to_owned(),
        Way::SetUp,
    ));
    ways.push((
        "look around with the demo model: no key, no network, and no intelligence".to_owned(),
        Way::Demo,
    ));
    writeln!(out, "Welcome to Hermes. No model is set up yet. You can:\n")?;
    for (index, (text, _)) in ways.iter().enumerate() {
        writeln!(out, "  {}  {text}", index + 1)?;
    }
    write!(out, "\nType a number, or Enter to leave: ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let chosen = answer
        .trim()
        .parse::<usize>()
        .ok()
        .and_then(|number| ways.into_iter().nth(number.checked_sub(1)?));
    let Some((_, way)) = chosen else {
        writeln!(out, "`hermes setup` does this at any time.")?;
        return Ok(None);
    };
    match way {
        Way::Demo => {
            writeln!(out)?;
            out.flush()?;
            Ok(Some(demo_selection()))
        }
        Way::Server {
            server,
            model: name,
        } => {
            model::save(context, "custom", &name, Some(&server.base_url))?;
            writeln!(out, "Stored in {}\n", context.home.config_file().display())?;
            out.flush()?;
            Ok(Some(Selection {
                base_url: Some(server.base_url),
                ..Selection::of(Some("custom"), Some(&name))
            }))
        }
        Way::SetUp => {
            if setup::model_section(context, out)? {
                writeln!(out, "\nType `hermes` to begin.")?;
            }
            Ok(None)
        }
    }
}

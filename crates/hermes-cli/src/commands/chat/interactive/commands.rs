//! The catalogue's commands that the program carries out.

use hermes_agent::slash::{self, By};
use hermes_agent::{CompressWish, Conversation};
use hermes_tui::{Call, Outcome};

use super::host::ChatHost;
use super::{
    beside, goal, info, model, own, rollback, sandbox, sessions, settings, snapshots, verbs,
};
use crate::CommandError;
use crate::commands::kanban;

pub(super) async fn run(host: &mut ChatHost, conversation: &Conversation, call: Call) -> Outcome {
    match carry_out(host, conversation, &call).await {
        Ok(outcome) => outcome,
        Err(error) => {
            let mut text = error.error.to_string();
            for hint in &error.hints {
                text.push_str(&format!("\n\n{hint}"));
            }
            Outcome::Say(text)
        }
    }
}

async fn carry_out(
    host: &mut ChatHost,
    conversation: &Conversation,
    call: &Call,
) -> Result<Outcome, CommandError> {
    let (arguments, width) = (call.arguments.trim(), call.width);
    match call.name {
        "new" => sessions::begin(host, arguments, false).await,
        "clear" => sessions::begin(host, arguments, true).await,
        "resume" => sessions::resume(host, arguments).await,
        "sessions" if arguments.is_empty() => sessions::pick(host).await,
        "title" => sessions::title(host, arguments).await,
        "history" => sessions::history(host).await,
        "save" => sessions::save(host).await,
        "branch" => sessions::branch(host, arguments).await,
        "background" => beside::ask(host, arguments).await,
        "goal" => goal::goal(host, arguments).await,
        "subgoal" => goal::subgoal(host, arguments).await,
        "quit" => Ok(quit(host, arguments)),
        "retry" => sessions::retry(host).await,
        "undo" => sessions::undo(host, arguments).await,
        "rollback" => rollback::run(host, arguments).await,
        "snapshot" => snapshots::run(host, arguments).await,
        "compress" => compress(conversation, arguments),
        "model" => model::run(host, call).await,
        "personality" => settings::personality(host, arguments).await,
        "reasoning" => settings::reasoning(host, arguments).await,
        "fast" => settings::fast(host, arguments).await,
        "reload" => settings::reload(host).await,
        "reload-skills" => settings::reload_skills(host),
        "yolo" => yolo(host),
        "status" => info::status(host).await,
        "usage" => info::usage(host).await,
        "whoami" => info::whoami(host),
        "stop" => info::stop(host).await,
        "agents" => Ok(info::background(host)),
        "sandbox" if arguments.is_empty() => sandbox::pick(host, width).await,
        "sandbox" if arguments.starts_with("use ") => {
            sandbox::switch(host, arguments.trim_start_matches("use ").trim()).await
        }
        "kanban" => Ok(Outcome::Output(
            kanban::slash(arguments, &host.context).await?,
        )),
        name if slash::find(name).is_ok_and(|command| command.by == By::Verb) => {
            let words = spelled_out(name, arguments);
            let said = verbs::run(name, &words, &host.context, width).await;
            // A verb may have changed what the files say.
            host.context = host.context.renewed(None);
            let changed = ["enable", "disable"]
                .iter()
                .any(|verb| arguments.split_whitespace().next() == Some(verb));
            match name == "tools" && changed {
                true => sessions::begin_with_tools(host, &said).await,
                false => Ok(Outcome::Output(said)),
            }
        }
        slash::OWN => own::run(host, arguments).await,
        other => Err(CommandError::internal(format!(
            "nothing carries out /{other}"
        ))),
    }
}

/// The verb's arguments where the chat has a shorter form.
fn spelled_out(name: &str, arguments: &str) -> String {
    match (name, arguments) {
        ("insights", days) if days.parse::<u32>().is_ok() => format!("--days {days}"),
        ("skills", "") => "list".to_owned(),
        _ => arguments.to_owned(),
    }
}

/// `here N` keeps the last exchanges as they are; other words are what matters.
fn compress(conversation: &Conversation, arguments: &str) -> Result<Outcome, CommandError> {
    const KEPT: usize = 2;
    let mut words = arguments.split_whitespace();
    let wish = match (words.next(), words.next(), words.next()) {
        (Some("here"), None, _) => CompressWish {
            keep: Some(KEPT),
            ..CompressWish::default()
        },
        (Some("here"), Some(count), None) => match count.parse::<usize>() {
            Ok(count) if count > 0 => CompressWish {
                keep: Some(count),
                ..CompressWish::default()
            },
            _ => {
                return Err(
                    CommandError::usage(format!("`{count}` is no number of exchanges"))
                        .hint("`/compress here 3` keeps the last three as they are"),
                );
            }
        },
        _ => CompressWish {
            topic: (!arguments.is_empty()).then(|| arguments.to_owned()),
            keep: None,
        },
    };
    Ok(Outcome::Say(match conversation.compress(wish) {
        Ok(()) => "Condensing the conversation…".to_owned(),
        Err(error) => error.to_string(),
    }))
}

fn quit(host: &mut ChatHost, arguments: &str) -> Outcome {
    match arguments {
        "" => Outcome::Quit,
        "--delete" | "-d" => {
            host.unwanted = host.session();
            Outcome::Quit
        }
        other => Outcome::Say(format!(
            "`/quit` leaves, `/quit --delete` removes the session too; `{other}` is not known."
        )),
    }
}

fn yolo(host: &mut ChatHost) -> Result<Outcome, CommandError> {
    Ok(Outcome::Say(match host.toggle_yolo() {
        true => {
            "Dangerous commands run without a question, until `/yolo` is typed again.".to_owned()
        }
        false => "Dangerous commands are asked about.".to_owned(),
    }))
}

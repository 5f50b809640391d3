//! The catalogue's commands that the program carries out.

use hermes_agent::Conversation;
use hermes_agent::slash::{self, By};
use hermes_config::edit::{Change, change_config};
use hermes_llm::resolve::Selection;
use hermes_sandbox::background::ProcessStatus;
use hermes_tui::{Outcome, PickItem, Picker, Then};

use super::host::ChatHost;
use super::{beside, goal, own, rollback, sandbox, sessions, verbs};
use crate::CommandError;
use crate::commands::kanban;
use crate::commands::model::{choices, save};

pub(super) async fn run(
    host: &mut ChatHost,
    conversation: &Conversation,
    name: &'static str,
    arguments: String,
    width: usize,
) -> Outcome {
    match carry_out(host, conversation, name, arguments.trim(), width).await {
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
    name: &'static str,
    arguments: &str,
    width: usize,
) -> Result<Outcome, CommandError> {
    match name {
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
        "compress" => {
            let topic = (!arguments.is_empty()).then(|| arguments.to_owned());
            Ok(Outcome::Say(match conversation.compress(topic) {
                Ok(()) => "Condensing the conversation…".to_owned(),
                Err(error) => error.to_string(),
            }))
        }
        "model" if arguments.is_empty() => pick_model(host).await,
        "model" => switch_model(host, arguments).await,
        "reasoning" => reasoning(host, arguments).await,
        "yolo" => yolo(host),
        "status" => status(host).await,
        "usage" => usage(host).await,
        "stop" => stop(host).await,
        "agents" => Ok(processes(host)),
        "sandbox" if arguments.is_empty() => sandbox::pick(host, width).await,
        "sandbox" if arguments.starts_with("use ") => {
            sandbox::switch(host, arguments.trim_start_matches("use ").trim()).await
        }
        "kanban" => Ok(Outcome::Output(
            kanban::slash(arguments, &host.context).await?,
        )),
        name if slash::find(name).is_ok_and(|command| command.by == By::Verb) => {
            let said = verbs::run(name, arguments, &host.context, width).await;
            // A verb may have changed what the files say.
            host.context = host.context.renewed(None);
            Ok(Outcome::Output(said))
        }
        slash::OWN => own::run(host, arguments).await,
        other => Err(CommandError::internal(format!(
            "nothing carries out /{other}"
        ))),
    }
}

async fn pick_model(host: &mut ChatHost) -> Result<Outcome, CommandError> {
    let listed = choices(&host.context, false).await?;
    let current = host.model_name().to_owned();
    let items = listed
        .into_iter()
        .map(|choice| {
            let mark = if choice.model == current {
                " (now)"
            } else {
                ""
            };
            PickItem {
                value: format!("{} --provider {}", choice.model, choice.provider),
                label: format!("{}{mark}", choice.model),
                detail: choice.provider,
            }
        })
        .collect();
    Ok(Outcome::Pick(Picker::new("Models", "model", items)))
}

async fn switch_model(host: &mut ChatHost, arguments: &str) -> Result<Outcome, CommandError> {
    let words = shlex::split(arguments).unwrap_or_default();
    let mut words = words.into_iter();
    let (mut model, mut provider, mut for_good) = (None, None, false);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--provider" => provider = words.next(),
            "--global" => for_good = true,
            _ if word.starts_with("--") => {
                return Err(CommandError::usage(format!("`{word}` is not known here"))
                    .hint("`/model NAME [--provider P] [--global]`"));
            }
            _ => model = Some(word),
        }
    }
    let old_model = host.model_name().to_owned();
    let before = std::mem::replace(
        &mut host.selection,
        Selection::of(provider.as_deref(), model.as_deref()),
    );
    let stored = host.stored().await?;
    let chat = match host.chat(stored.as_ref()).await {
        Ok(chat) => chat,
        Err(error) => {
            host.selection = before;
            return Err(error);
        }
    };
    let (name, from) = match &host.wired {
        Some(wired) => {
            let (name, from) = wired.model();
            (name.to_owned(), from.to_owned())
        }
        None => (String::new(), String::new()),
    };
    if stored.is_some() && name != old_model {
        host.tell_next(&format!(
            "Note: the model of this conversation was changed from {old_model} to {name}. \
             What was said before was said by {old_model}."
        ));
    }
    let mut message = format!("From now on: `{name}` ({from}).");
    if for_good {
        save(&host.context, &from, &name, None)?;
        message.push_str(" Stored in config.yaml.");
    }
    let mut chat = chat;
    chat.greeting.clear();
    Ok(Outcome::Switch(hermes_tui::Switch {
        chat,
        ended: None,
        message,
        clear: false,
        then: Then::Nothing,
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

/// How long the model thinks, for good; and whether one sees it.
async fn reasoning(host: &mut ChatHost, arguments: &str) -> Result<Outcome, CommandError> {
    let set = |path: &str, value: serde_json::Value| Change::Set {
        path: path.to_owned(),
        value,
    };
    let change = match arguments {
        "" => {
            let config = host.context.config()?;
            let effort = config.optional_string("agent.reasoning_effort")?;
            let effort = effort.unwrap_or_else(|| "left to the model".to_owned());
            return Ok(Outcome::Say(format!(
                "Reasoning: {effort}. `/reasoning none|minimal|low|medium|high|xhigh` changes it, \
                 `/reasoning show` and `hide` say whether you see it."
            )));
        }
        "show" | "hide" => set("display.show_reasoning", (arguments == "show").into()),
        "none" | "minimal" | "low" | "medium" | "high" | "xhigh" => {
            set("agent.reasoning_effort", arguments.into())
        }
        other => {
            return Err(
                CommandError::usage(format!("`{other}` is no level of reasoning"))
                    .hint("none, minimal, low, medium, high, xhigh; or show, hide"),
            );
        }
    };
    host.context.policy().refuse_if_managed()?;
    let environment = host.context.config()?.environment();
    change_config(&host.context.home, environment, &[change])?;
    host.context = host.context.renewed(None);
    match arguments {
        "show" => Ok(Outcome::ShowReasoning(
            true,
            "What the model thinks is shown from now on.".to_owned(),
        )),
        "hide" => Ok(Outcome::ShowReasoning(
            false,
            "What the model thinks is hidden from now on.".to_owned(),
        )),
        level => {
            let message = format!("Reasoning: {level}, from now on.");
            match host.stored().await? {
                Some(id) => sessions::again(host, &id, Then::Nothing, &message).await,
                None => {
                    let chat = host.chat(None).await?;
                    Ok(Outcome::Switch(hermes_tui::Switch {
                        chat,
                        ended: None,
                        message,
                        clear: false,
                        then: Then::Nothing,
                    }))
                }
            }
        }
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

async fn status(host: &ChatHost) -> Result<Outcome, CommandError> {
    let (model, provider) = match &host.wired {
        Some(wired) => wired.model(),
        None => ("", ""),
    };
    let mut text = format!(
        "| | |\n|---|---|\n| model | {model} ({provider}) |\n| directory | {} |\n| sandbox | {} |\n| profile | {} |\n",
        host.short_cwd(),
        host.sandbox_name(),
        host.context.home.profile_name(),
    );
    if let Some(id) = host.session() {
        text.push_str(&format!("| session | {id} |\n"));
        let row = host
            .state
            .run(move |database| database.session(&id))
            .await?;
        if let Some(row) = row {
            text.push_str(&format!(
                "| title | {} |\n| messages | {} ({} tool calls) |\n",
                row.title.as_deref().unwrap_or("none"),
                row.message_count,
                row.tool_call_count
            ));
        }
    }
    Ok(Outcome::Say(text))
}

async fn usage(host: &ChatHost) -> Result<Outcome, CommandError> {
    let row = match host.session() {
        Some(id) => {
            host.state
                .run(move |database| database.session(&id))
                .await?
        }
        None => None,
    };
    let Some(row) = row else {
        return Ok(Outcome::Say("Nothing was used yet.".to_owned()));
    };
    let cost = match (row.actual_cost_usd, row.estimated_cost_usd) {
        (Some(usd), _) => format!("${usd:.4}"),
        (None, Some(usd)) => format!("about ${usd:.4}"),
        (None, None) => "unknown".to_owned(),
    };
    Ok(Outcome::Say(format!(
        "| | |\n|---|---|\n| requests | {} |\n| input tokens | {} |\n| from the cache | {} |\n| output tokens | {} |\n| reasoning tokens | {} |\n| cost | {cost} |\n",
        row.api_call_count,
        row.input_tokens,
        row.cache_read_tokens,
        row.output_tokens,
        row.reasoning_tokens,
    )))
}

fn processes(host: &ChatHost) -> Outcome {
    let running = host.running();
    if running.is_empty() {
        return Outcome::Say("Nothing runs in the background.".to_owned());
    }
    let mut text = String::from("| id | since | command |\n|---|---|---|\n");
    for process in running {
        let state = match process.status {
            ProcessStatus::Running => format!("{} s", process.uptime.as_secs()),
            ProcessStatus::Exited(_) => "ended".to_owned(),
        };
        text.push_str(&format!(
            "| {} | {state} | `{}` |\n",
            process.id,
            process.command.replace('|', "\\|").replace('\n', " ")
        ));
    }
    Outcome::Say(text)
}

async fn stop(host: &mut ChatHost) -> Result<Outcome, CommandError> {
    let count = host.running().len();
    if count == 0 {
        return Ok(Outcome::Say("Nothing runs in the background.".to_owned()));
    }
    let left = host.end_processes().await;
    Ok(Outcome::Say(match left.as_slice() {
        [] => format!("Ended {count} background process(es)."),
        left => format!("These could not be ended: {}", left.join(", ")),
    }))
}

//! `/background`: a question that is answered beside the conversation, in a
//! session of its own. Nobody can be asked there, so dangerous commands are refused.

use std::sync::atomic::{AtomicUsize, Ordering};

use hermes_agent::build::Wishes;
use hermes_tui::{Incoming, Outcome};
use hermes_types::Content;

use super::host::ChatHost;
use crate::CommandError;
use crate::wiring::wire;

static ASKED: AtomicUsize = AtomicUsize::new(0);

pub(super) async fn ask(host: &mut ChatHost, text: &str) -> Result<Outcome, CommandError> {
    if text.is_empty() {
        return Ok(Outcome::Say(
            "Write what shall be answered beside: `/background TEXT`.".to_owned(),
        ));
    }
    let Some(place) = host.place().cloned() else {
        return Err(CommandError::internal("the conversation is not open yet"));
    };
    let wishes = Wishes {
        // Not among the sessions that `hermes -c` goes on with.
        source: "tool".to_owned(),
        attended: false,
        ..host.wishes()
    };
    let wired = wire(
        &host.context,
        &host.selection,
        host.state.clone(),
        wishes,
        place,
    )
    .await?;
    let (mut agent, mut events) = wired.agent(None).await?;
    let number = ASKED.fetch_add(1, Ordering::Relaxed) + 1;
    let news = host.news.clone();
    let question = text.to_owned();
    // Nobody reads these events, but a full queue would stop the turn.
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    tokio::spawn(async move {
        let outcome = agent.turn(Content::Text(question.clone())).await;
        if let Err(error) = agent.end("cli_close").await {
            tracing::warn!(%error, "the session beside was not closed");
        }
        let answer = match (outcome.answer.trim(), outcome.error) {
            ("", Some(error)) => format!("It failed: {error}"),
            ("", None) => "There was no answer.".to_owned(),
            (answer, _) => answer.to_owned(),
        };
        let text = format!("**Background {number}**: {question}\n\n{answer}\n");
        // The chat may be gone by now; the session is stored.
        let _ = news.send(Incoming::Text(text)).await;
    });
    Ok(Outcome::Say(format!(
        "Background {number} is under way; its answer will appear here."
    )))
}

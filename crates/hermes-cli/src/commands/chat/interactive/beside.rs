//! `/background`: a question that is answered beside the conversation, in a
//! session of its own. Nobody can be asked there, so dangerous commands are refused.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_agent::Control;
use hermes_agent::build::Wishes;
use hermes_tui::{Incoming, Outcome};
use hermes_types::{Content, Interrupt, StopReason};
use tokio::sync::Notify;

use super::host::ChatHost;
use crate::CommandError;
use crate::wiring::wire;

/// How long the end of the chat waits for questions that it stopped.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The questions that are being answered. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Beside(Arc<Shared>);

#[derive(Default)]
struct Shared {
    table: Mutex<Table>,
    one_done: Notify,
}

#[derive(Default)]
struct Table {
    asked: usize,
    open: Vec<Question>,
}

struct Question {
    number: usize,
    text: String,
    started: Instant,
    control: Arc<Control>,
}

/// One of them, to be shown.
pub(super) struct Running {
    pub(super) number: usize,
    pub(super) text: String,
    pub(super) since: Duration,
}

impl Beside {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, text: &str, control: Arc<Control>) -> usize {
        let mut table = self.table();
        table.asked += 1;
        let number = table.asked;
        table.open.push(Question {
            number,
            text: text.to_owned(),
            started: Instant::now(),
            control,
        });
        number
    }

    fn done(&self, number: usize) {
        self.table().open.retain(|open| open.number != number);
        self.0.one_done.notify_waiters();
    }

    pub(super) fn running(&self) -> Vec<Running> {
        let table = self.table();
        let running = table.open.iter().map(|open| Running {
            number: open.number,
            text: open.text.clone(),
            since: open.started.elapsed(),
        });
        running.collect()
    }

    /// Stops all of them; how many there were.
    pub(super) fn stop(&self) -> usize {
        let table = self.table();
        for open in &table.open {
            open.control.interrupt(Interrupt::User);
        }
        table.open.len()
    }

    /// Stops all of them and waits until what they did is stored.
    pub(super) async fn close(&self) {
        self.stop();
        let all_done = async {
            loop {
                let one_done = self.0.one_done.notified();
                if self.table().open.is_empty() {
                    return;
                }
                one_done.await;
            }
        };
        if tokio::time::timeout(LAST_WORDS, all_done).await.is_err() {
            tracing::warn!("a question beside the conversation did not stop in time");
        }
    }
}

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
    let beside = host.beside.clone();
    let number = beside.begin(text, Arc::clone(&wired.control));
    let news = host.news.clone();
    let question = text.to_owned();
    // Nobody reads these events, but a full queue would stop the turn.
    tokio::spawn(async move { while events.recv().await.is_some() {} });
    tokio::spawn(async move {
        let outcome = agent.turn(Content::Text(question.clone())).await;
        if let Err(error) = agent.end("cli_close").await {
            tracing::warn!(%error, "the session beside was not closed");
        }
        beside.done(number);
        let answer = match (outcome.reason, outcome.answer.trim(), outcome.error) {
            (StopReason::Interrupted, ..) => "It was stopped.".to_owned(),
            (_, "", Some(error)) => format!("It failed: {error}"),
            (_, "", None) => "There was no answer.".to_owned(),
            (_, answer, _) => answer.to_owned(),
        };
        let text = format!("**Background {number}**: {question}\n\n{answer}\n");
        // The chat may be gone by now; the session is stored.
        let _ = news.send(Incoming::Text(text)).await;
    });
    Ok(Outcome::Say(format!(
        "Background {number} is under way; its answer will appear here. `/agents` shows it, `/stop` ends it."
    )))
}

//! A conversation as front ends see it: inputs go in, events come out. It runs as
//! a task of its own; controls work while a turn runs.

use std::sync::Arc;
use std::time::Duration;

use hermes_types::{Asked, Content, Interrupt, SessionId, TurnEvent};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::agent::Agent;
use crate::compress::CompressWish;
use crate::control::{Control, Events};

/// Messages that may wait for the running turn to end.
const INBOX: usize = 32;
/// How long the end of a conversation waits for the name of its session.
const LAST_WORDS: Duration = Duration::from_secs(2);

enum Input {
    Message(Content),
    Compress(CompressWish),
    /// With the reason that the session is marked with; `None` leaves it open.
    Close(Option<&'static str>),
}

/// The handle. Dropping it ends the conversation after the running turn.
pub struct Conversation {
    inbox: mpsc::Sender<Input>,
    control: Arc<Control>,
    task: JoinHandle<Agent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("too many messages are waiting")]
    Full,
    #[error("the conversation has ended")]
    Ended,
}

impl Conversation {
    /// Starts the task. `make` builds the agent around the controls and events.
    pub fn start(
        make: impl FnOnce(Arc<Control>, Events) -> Agent,
    ) -> (Self, mpsc::Receiver<TurnEvent>) {
        let control = Arc::new(Control::default());
        let (events, receiver) = Events::channel();
        let agent = make(Arc::clone(&control), events);
        (Self::spawn(agent, control), receiver)
    }

    /// Starts the task around an agent that was built before.
    pub fn spawn(agent: Agent, control: Arc<Control>) -> Self {
        let (inbox, inputs) = mpsc::channel(INBOX);
        let task = tokio::spawn(run(agent, inputs));
        Self {
            inbox,
            control,
            task,
        }
    }

    /// Queues a message; its turn starts when the one before has ended.
    pub fn send(&self, content: impl Into<Content>) -> Result<(), SendError> {
        self.put(Input::Message(content.into()))
    }

    /// Condenses the conversation when the running turn has ended.
    pub fn compress(&self, wish: CompressWish) -> Result<(), SendError> {
        self.put(Input::Compress(wish))
    }

    fn put(&self, input: Input) -> Result<(), SendError> {
        let place = self.inbox.try_reserve().map_err(|error| match error {
            mpsc::error::TrySendError::Full(()) => SendError::Full,
            mpsc::error::TrySendError::Closed(()) => SendError::Ended,
        })?;
        self.control.expect();
        place.send(input);
        Ok(())
    }

    /// Stops what runs or waits to run; nothing when that has ended meanwhile.
    pub fn interrupt(&self, why: Interrupt) {
        self.control.interrupt_expected(why);
    }

    pub fn steer(&self, text: &str) {
        self.control.steer(text);
    }

    pub fn answer(&self, asked: Asked) -> bool {
        self.control.answer(asked)
    }

    pub fn control(&self) -> Arc<Control> {
        Arc::clone(&self.control)
    }

    /// The session that it writes to now.
    pub fn session(&self) -> Option<SessionId> {
        self.control.session()
    }

    /// Ends the conversation after what is queued and returns where it stood. With
    /// a reason, the session is marked as ended.
    pub async fn close(self, reason: Option<&'static str>) -> Option<SessionId> {
        let _ = self.inbox.send(Input::Close(reason)).await;
        let agent = self.task.await.ok()?;
        Some(agent.session_id().clone())
    }
}

async fn run(mut agent: Agent, mut inputs: mpsc::Receiver<Input>) -> Agent {
    let mut naming: Option<JoinHandle<()>> = None;
    while let Some(input) = inputs.recv().await {
        match input {
            Input::Message(content) => {
                let outcome = agent.turn(content).await;
                if naming.as_ref().is_none_or(JoinHandle::is_finished) {
                    naming = agent.naming(&outcome).map(tokio::spawn);
                }
            }
            Input::Compress(wish) => {
                let condensed = agent.compress_now(&wish).await;
                agent.control.clear();
                match condensed {
                    Ok(true) => {}
                    Ok(false) => {
                        let events = &agent.events;
                        events.notice("there is nothing to condense yet").await;
                    }
                    Err(error) => agent.events.notice(error.to_string()).await,
                }
            }
            Input::Close(reason) => {
                if let Some(reason) = reason
                    && let Err(error) = agent.end(reason).await
                {
                    tracing::warn!(%error, "the session was not marked as ended");
                }
                break;
            }
        }
    }
    // A name that was asked for is worth a moment; then it is given up for good.
    if let Some(mut naming) = naming
        && tokio::time::timeout(LAST_WORDS, &mut naming).await.is_err()
    {
        naming.abort();
    }
    agent
}

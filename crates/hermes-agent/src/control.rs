//! What reaches a running turn from outside: interrupts, guidance, answers to
//! questions. Everything here works while a model, a tool or a reader hangs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_tools::{Asker, EventSink};
use hermes_types::{Answer, Ask, AskId, AskKind, Asked, Interrupt, SessionId, TurnEvent};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Events that may wait for a slow reader; then the turn waits too.
pub const EVENT_QUEUE: usize = 256;

/// Where a conversation says what happens. Cloning is cheap; when nobody reads,
/// events are dropped.
#[derive(Clone)]
pub struct Events(Option<mpsc::Sender<TurnEvent>>);

impl Events {
    pub fn channel() -> (Self, mpsc::Receiver<TurnEvent>) {
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        (Self(Some(sender)), receiver)
    }

    /// For turns whose events nobody wants.
    pub fn nowhere() -> Self {
        Self(None)
    }

    pub async fn send(&self, event: TurnEvent) {
        if let Some(sender) = &self.0 {
            // A reader that went away does not stop the work.
            let _ = sender.send(event).await;
        }
    }

    pub async fn notice(&self, text: impl Into<String>) {
        self.send(TurnEvent::Notice { text: text.into() }).await;
    }

    pub async fn warn(&self, text: impl Into<String>) {
        self.send(TurnEvent::Warning { text: text.into() }).await;
    }
}

impl EventSink for Events {
    fn emit(&self, event: TurnEvent) -> BoxFuture<'_, ()> {
        Box::pin(self.send(event))
    }
}

/// Shared between a conversation and whoever steers it.
#[derive(Default)]
pub struct Control {
    turn: Mutex<Turn>,
    steer: Mutex<Vec<String>>,
    questions: Mutex<HashMap<AskId, oneshot::Sender<Answer>>>,
    next_question: AtomicU64,
    /// Where the conversation stands; compression moves it.
    session: Mutex<Option<SessionId>>,
    /// The name of its shell and processes, which stays.
    task: Mutex<Option<String>>,
}

#[derive(Default)]
struct Turn {
    cancel: CancellationToken,
    why: Option<Interrupt>,
    /// Asked for and not over.
    expected: usize,
}

impl Control {
    /// Stops the running turn; one that has not begun stops at once.
    pub fn interrupt(&self, why: Interrupt) {
        let mut turn = lock(&self.turn);
        turn.why = Some(why);
        turn.cancel.cancel();
    }

    /// The same where every turn is announced by [`Self::expect`]: a person who stops a
    /// turn that has just ended does not mean the next one.
    pub(crate) fn interrupt_expected(&self, why: Interrupt) {
        if lock(&self.turn).expected > 0 || why != Interrupt::User {
            self.interrupt(why);
        }
    }

    /// A turn will run, or something as long.
    pub(crate) fn expect(&self) {
        lock(&self.turn).expected += 1;
    }

    /// Adds guidance for the running turn.
    pub fn steer(&self, text: &str) {
        let text = text.trim();
        if !text.is_empty() {
            lock(&self.steer).push(text.to_owned());
        }
    }

    /// Gives a question its answer; `false` when nobody waits for it any more.
    pub fn answer(&self, asked: Asked) -> bool {
        lock(&self.questions)
            .remove(&asked.id)
            .is_some_and(|waiting| waiting.send(asked.answer).is_ok())
    }

    /// The session that the conversation writes to now.
    pub fn session(&self) -> Option<SessionId> {
        lock(&self.session).clone()
    }

    /// What its shell and its processes are called.
    pub fn task(&self) -> Option<String> {
        lock(&self.task).clone()
    }

    pub(crate) fn set_task(&self, name: &str) {
        *lock(&self.task) = Some(name.to_owned());
    }

    pub(crate) fn set_session(&self, id: &SessionId) {
        *lock(&self.session) = Some(id.clone());
    }

    pub(crate) fn cancel_token(&self) -> CancellationToken {
        lock(&self.turn).cancel.clone()
    }

    pub(crate) fn interrupted(&self) -> Option<Interrupt> {
        lock(&self.turn).why.clone()
    }

    /// The turn is over: the next one starts unstopped. Guidance that an interrupt
    /// overtook is forgotten with it.
    pub(crate) fn clear(&self) {
        let mut turn = lock(&self.turn);
        turn.expected = turn.expected.saturating_sub(1);
        if turn.why.take().is_some() {
            turn.cancel = CancellationToken::new();
            lock(&self.steer).clear();
        }
    }

    /// All waiting guidance, one line each.
    pub(crate) fn take_steer(&self) -> Option<String> {
        let mut waiting = lock(&self.steer);
        (!waiting.is_empty()).then(|| std::mem::take(&mut *waiting).join("\n"))
    }
}

/// Asks through the event stream.
pub(crate) struct EventAsker {
    control: Arc<Control>,
    events: Events,
    attended: bool,
}

impl EventAsker {
    pub(crate) fn new(control: Arc<Control>, events: Events, attended: bool) -> Self {
        Self {
            control,
            events,
            attended,
        }
    }
}

impl Asker for EventAsker {
    fn ask(&self, question: AskKind, patience: Duration) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            if !self.attended {
                return Answer::None;
            }
            let id = AskId(self.control.next_question.fetch_add(1, Ordering::Relaxed));
            let (sender, receiver) = oneshot::channel();
            lock(&self.control.questions).insert(id, sender);
            let ask = Ask {
                id,
                kind: question,
                timeout_seconds: patience.as_secs(),
            };
            self.events.send(TurnEvent::Ask { ask }).await;
            let cancel = self.control.cancel_token();
            let answer = tokio::select! {
                answer = receiver => answer.unwrap_or(Answer::None),
                () = tokio::time::sleep(patience) => Answer::None,
                () = cancel.cancelled() => Answer::None,
            };
            lock(&self.control.questions).remove(&id);
            self.events.send(TurnEvent::AskClosed { id }).await;
            answer
        })
    }

    fn is_attended(&self) -> bool {
        self.attended
    }
}

/// A panic elsewhere must not take the controls away.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

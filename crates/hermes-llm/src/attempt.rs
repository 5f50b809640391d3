//! One request on its way to an answer, tried until it is answered or until trying
//! makes no sense: in another form where a form was refused, with another key where
//! a key is used up, the same again after a wait where time may help.
//!
//! What needs a change of the conversation itself (compression, continuing a
//! truncated answer) is left to the conversation; what needs another provider is
//! left to the [`FallbackChain`](crate::FallbackChain).

use std::sync::Arc;
use std::time::Duration;

use hermes_types::{Content, Part};

use crate::connection::{Connection, Outgoing};
use crate::dump::Sent;
use crate::endpoint::Secret;
use crate::error::{
    Conversation, Fault, RefusedParameter, classify, refused_parameter, says_quota_is_used_up,
};
use crate::guard::RateGuard;
use crate::keys::KeyVerdict;
use crate::model::{Delta, ErrorClass, ModelError, Request};
use crate::provider::Inner;
use crate::rates::RateLimits;
use crate::wire::{Form, Mend};

pub(crate) struct Attempt {
    inner: Arc<Inner>,
    request: Request,
    /// Forms given up for this request only.
    mend: Mend,
    connection: Option<Connection>,
    /// The delta that proved the connection good.
    first: Option<Delta>,
    pending: Vec<Delta>,
    failures: u32,
    reconnects: u32,
    last_try_used: bool,
    output_lowered: bool,
    /// A 429 on this key was already forgiven once.
    forgiven: Option<String>,
    tried: Vec<String>,
    delivered: Delivered,
}

/// What consumers have seen of this answer.
#[derive(Default)]
struct Delivered {
    anything: bool,
    text: bool,
    calls: Vec<String>,
}

/// What to do after a failure.
enum Next {
    Again,
    Wait,
    GiveUp,
}

impl Attempt {
    pub(crate) fn new(inner: Arc<Inner>, request: Request) -> Self {
        Self {
            inner,
            request,
            mend: Mend::default(),
            connection: None,
            first: None,
            pending: Vec::new(),
            failures: 0,
            reconnects: 0,
            last_try_used: false,
            output_lowered: false,
            forgiven: None,
            tried: Vec::new(),
            delivered: Delivered::default(),
        }
    }

    fn form(&self) -> Form {
        let shared = self.inner.mend();
        let mut form = self.inner.endpoint.form.clone();
        form.mend = union(form.mend, union(shared, self.mend));
        form.no_output_cap |= form.mend.no_output_cap;
        form.window_cap = u32::try_from(self.inner.window().saturating_sub(1)).ok();
        form
    }

    fn conversation(&self, tokens: u64) -> Conversation {
        let has_images = self.request.messages.iter().any(|message| {
            matches!(&message.content, Content::Parts(parts)
                if parts.iter().any(|part| matches!(part, Part::Image { .. })))
        });
        Conversation {
            tokens,
            messages: self.request.messages.len(),
            window: self.inner.window(),
            has_images,
        }
    }

    /// Climbs until there is a connection whose first delta has arrived.
    /// `failed` is how an earlier connection of this request ended, and with which
    /// key.
    pub(crate) async fn connect(
        &mut self,
        mut failed: Option<(ModelError, Option<String>)>,
    ) -> Result<(), ModelError> {
        loop {
            if let Some((error, key)) = failed.take() {
                match self.judge(&error, key.as_deref()) {
                    Next::Again => {}
                    Next::Wait => {
                        let wait = self.inner.policy.wait(&error, self.failures);
                        if !self.is_heard(&error, wait) {
                            self.note(&error);
                        }
                        tracing::warn!(
                            model = self.inner.endpoint.form.model,
                            error = error.message,
                            wait_ms = wait.as_millis() as u64,
                            "a request failed and is sent again"
                        );
                        tokio::time::sleep(wait).await;
                    }
                    Next::GiveUp => {
                        let error = ModelError {
                            tried: std::mem::take(&mut self.tried),
                            ..error
                        };
                        // What does not fit is sent again, shorter.
                        if !error.class.wants_compression() {
                            self.write_down(&error);
                        }
                        return Err(error);
                    }
                }
            }
            if let Some(left) = self.inner.guard.as_ref().and_then(RateGuard::rests_for) {
                let mut error = ModelError::new(
                    ErrorClass::RateLimited,
                    format!(
                        "{} will not answer for another {} s (rate limit)",
                        self.inner.endpoint.provider,
                        left.as_secs().max(1)
                    ),
                );
                error.retry_after = Some(left);
                error.tried = std::mem::take(&mut self.tried);
                return Err(error);
            }
            self.scale_pictures().await;
            let form = self.form();
            let outgoing = Outgoing::new(&self.inner.endpoint, &form, &self.request);
            let (key_id, key) = self.inner.keys.choose(self.inner.endpoint.key.as_ref());
            if let Some(dumps) = self.inner.dumps.as_ref().filter(|dumps| dumps.wants_all()) {
                dumps.write(&self.sent(&form, key.as_ref(), &outgoing), None);
            }
            let tokens = outgoing.tokens;
            match self.open(&form, key.as_ref(), outgoing).await {
                Ok(()) => {
                    self.inner.keep_stated_window();
                    return Ok(());
                }
                Err(fault) => {
                    let error = classify(&fault, &self.conversation(tokens));
                    self.inner.note_stated_window(&error);
                    failed = Some((error, key_id));
                }
            }
        }
    }

    /// Pictures as large as the endpoint has turned out to take them.
    async fn scale_pictures(&mut self) {
        let Some(bounds) = self.inner.scaler.bounds() else {
            return;
        };
        let scaler = Arc::clone(&self.inner.scaler);
        let messages = self.request.messages.clone();
        let scaled = tokio::task::spawn_blocking(move || scaler.scaled(&messages, bounds)).await;
        match scaled {
            Ok(messages) => self.request.messages = messages,
            // The pictures go as they are; the endpoint says what it thinks of them.
            Err(error) => tracing::warn!(%error, "pictures were not scaled"),
        }
    }

    async fn open(
        &mut self,
        form: &Form,
        key: Option<&Secret>,
        outgoing: Outgoing,
    ) -> Result<(), Fault> {
        let session = self.request.session.as_deref();
        let mut connection = Connection::open(
            &self.inner.http,
            &self.inner.endpoint,
            form,
            key,
            session,
            outgoing,
        )
        .await?;
        if let Some(rates) = RateLimits::read(&connection.head.headers) {
            self.inner.set_rates(rates);
        }
        match connection.next().await {
            None => Err(Fault::NoAnswer),
            Some(Err(fault)) => Err(fault),
            Some(Ok(first)) => {
                self.first = Some(first);
                self.connection = Some(connection);
                Ok(())
            }
        }
    }

    /// Leaves the request that nobody answered where people can look at it.
    fn write_down(&self, error: &ModelError) {
        if let Some(dumps) = &self.inner.dumps {
            let form = self.form();
            let outgoing = Outgoing::new(&self.inner.endpoint, &form, &self.request);
            let key = self.inner.endpoint.key.as_ref();
            dumps.write(&self.sent(&form, key, &outgoing), Some(error));
        }
    }

    fn sent<'a>(
        &'a self,
        form: &Form,
        key: Option<&'a Secret>,
        outgoing: &'a Outgoing,
    ) -> Sent<'a> {
        Sent {
            endpoint: &self.inner.endpoint,
            streamed: !form.mend.no_stream,
            key,
            session: self.request.session.as_deref(),
            body: &outgoing.body,
        }
    }

    fn note(&mut self, error: &ModelError) {
        self.tried.push(self.told(error));
    }

    fn told(&self, error: &ModelError) -> String {
        format!(
            "attempt {} of {}: {}",
            self.failures, self.inner.policy.attempts, error.message
        )
    }

    /// Whether somebody hears now that this attempt failed and another follows.
    fn is_heard(&self, error: &ModelError, wait: Duration) -> bool {
        self.request.retries.as_ref().is_some_and(|retries| {
            let seconds = wait.as_secs_f64().round().max(1.0);
            let told = self.told(error);
            retries
                .try_send(format!("{told}; again in {seconds:.0} s"))
                .is_ok()
        })
    }

    fn judge(&mut self, error: &ModelError, key: Option<&str>) -> Next {
        if self.change_form(error) || self.lower_output(error) || self.change_key(error, key) {
            return Next::Again;
        }
        let broken = matches!(
            error.class,
            ErrorClass::Connection | ErrorClass::Dropped | ErrorClass::Timeout
        );
        if broken && error.status.is_none() && self.reconnects < self.inner.policy.reconnects {
            self.reconnects += 1;
            return Next::Again;
        }
        if !is_worth_repeating(error.class) {
            return Next::GiveUp;
        }
        let too_long = match (&self.inner.guard, error.class, error.retry_after) {
            (Some(guard), ErrorClass::RateLimited, Some(wait)) => guard.note(wait),
            _ => false,
        };
        if too_long {
            return Next::GiveUp;
        }
        self.failures += 1;
        let better_elsewhere = self.inner.has_fallback
            && match error.class {
                ErrorClass::RateLimited => !self.inner.keys.has_another(),
                class => class == ErrorClass::Invalid,
            };
        if better_elsewhere {
            return Next::GiveUp;
        }
        if self.failures < self.inner.policy.attempts {
            return Next::Wait;
        }
        if broken && !self.inner.has_fallback && !std::mem::replace(&mut self.last_try_used, true) {
            return Next::Wait;
        }
        Next::GiveUp
    }

    /// Sends the same conversation in another form where a form was refused. Each
    /// form is given up once.
    fn change_form(&mut self, error: &ModelError) -> bool {
        let known = union(self.inner.mend(), self.mend);
        let mut shared = self.inner.mend();
        let mut own = self.mend;
        match error.class {
            // A history with foreign signatures is refused for as long as it lasts.
            ErrorClass::ThinkingSignature | ErrorClass::EncryptedReasoning => {
                shared.no_reasoning_details = true;
            }
            ErrorClass::GrammarPattern => shared.no_schema_patterns = true,
            ErrorClass::ToolContentText => shared.tool_results_as_text = true,
            ErrorClass::LongContextBeta => shared.no_long_context_beta = true,
            ErrorClass::ImagesUnsupported => shared.no_images = true,
            ErrorClass::ImageTooLarge if self.inner.scaler.narrow(&self.request.messages) => {
                self.pending.push(Delta::Notice(
                    "a picture was too large for the model and was scaled down".to_owned(),
                ));
                return true;
            }
            // The picture may leave the conversation; the model can see others.
            ErrorClass::ImageTooLarge => own.no_images = true,
            ErrorClass::StreamUnsupported => shared.no_stream = true,
            ErrorClass::BadRequest => match refused_parameter(error) {
                Some(RefusedParameter::Temperature) => shared.no_temperature = true,
                Some(RefusedParameter::OutputCap) => shared.no_output_cap = true,
                None => return false,
            },
            _ => return false,
        }
        if union(shared, own) == known {
            return false;
        }
        self.inner.set_mend(shared);
        self.mend = own;
        if error.class == ErrorClass::ImageTooLarge {
            self.pending.push(Delta::Notice(
                "a picture was too large for the model and was left out".to_owned(),
            ));
        }
        true
    }

    /// The provider said how long an answer still fits.
    fn lower_output(&mut self, error: &ModelError) -> bool {
        const MARGIN: u64 = 64;
        let room = error.output_room.and_then(|room| room.checked_sub(MARGIN));
        let Some(room) = room.filter(|room| *room > 0) else {
            return false;
        };
        if std::mem::replace(&mut self.output_lowered, true) {
            return false;
        }
        self.request.limits.max_output_tokens = u32::try_from(room).ok();
        true
    }

    fn change_key(&mut self, error: &ModelError, key: Option<&str>) -> bool {
        let Some(key) = key else {
            return false;
        };
        let verdict = match error.class {
            ErrorClass::Billing => KeyVerdict::Exhausted,
            ErrorClass::Authentication => KeyVerdict::Refused,
            ErrorClass::RateLimited => {
                let forgiven = self.forgiven.as_deref() == Some(key);
                if !forgiven && !says_quota_is_used_up(error) {
                    // The first refusal may have been about speed only.
                    self.forgiven = Some(key.to_owned());
                    return false;
                }
                KeyVerdict::Exhausted
            }
            _ => return false,
        };
        let another = self.inner.keys.failed(key, verdict, error);
        if another {
            self.tried
                .push(format!("one key, before another: {}", error.message));
        }
        another
    }

    pub(crate) async fn next(&mut self) -> Option<Result<Delta, ModelError>> {
        loop {
            if let Some(delta) = self.pending.pop() {
                return Some(Ok(delta));
            }
            let item = match self.first.take() {
                Some(delta) => Some(Ok(delta)),
                None => self.connection.as_mut()?.next().await,
            };
            match item? {
                Ok(delta) => {
                    self.remember(&delta);
                    return Some(Ok(delta));
                }
                Err(fault) => {
                    self.connection = None;
                    if let Err(error) = self.recover(&fault).await {
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    fn remember(&mut self, delta: &Delta) {
        self.delivered.anything = true;
        match delta {
            Delta::Text(_) => self.delivered.text = true,
            Delta::ToolCall { name, .. } => self.delivered.calls.push(name.clone()),
            _ => {}
        }
    }

    /// The connection broke in the middle. Text that people have read is not asked
    /// for again, unless a call was under way: half a call is of no use.
    async fn recover(&mut self, fault: &Fault) -> Result<(), ModelError> {
        let mut error = classify(fault, &self.conversation(0));
        let calls = std::mem::take(&mut self.delivered.calls);
        if self.delivered.text && calls.is_empty() {
            // Whatever the reason: the answer is cut, and can be continued.
            if !error.class.wants_compression() {
                error.class = ErrorClass::Dropped;
            }
            return Err(error);
        }
        let lost = calls.join(", ");
        self.connect(Some((error, None)))
            .await
            .map_err(|mut error| {
                if !lost.is_empty() {
                    error.message = format!("{} (lost while being written: {lost})", error.message);
                }
                error
            })?;
        if self.delivered.anything {
            // Taken from the end: the consumer forgets first, then reads why.
            self.pending.push(Delta::Notice(
                "the connection broke while the model was answering; asked again".to_owned(),
            ));
            self.pending.push(Delta::Restarted);
        }
        self.delivered = Delivered::default();
        Ok(())
    }
}

fn union(a: Mend, b: Mend) -> Mend {
    Mend {
        no_reasoning_details: a.no_reasoning_details || b.no_reasoning_details,
        no_schema_patterns: a.no_schema_patterns || b.no_schema_patterns,
        tool_results_as_text: a.tool_results_as_text || b.tool_results_as_text,
        no_images: a.no_images || b.no_images,
        no_stream: a.no_stream || b.no_stream,
        no_long_context_beta: a.no_long_context_beta || b.no_long_context_beta,
        no_temperature: a.no_temperature || b.no_temperature,
        no_output_cap: a.no_output_cap || b.no_output_cap,
    }
}

fn is_worth_repeating(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::RateLimited
            | ErrorClass::Overloaded
            | ErrorClass::Server
            | ErrorClass::Timeout
            | ErrorClass::Connection
            | ErrorClass::Dropped
            | ErrorClass::Invalid
            | ErrorClass::Unknown
    )
}

//! One attempt at an answer: a request on the wire and its stream of deltas,
//! watched so that no silence lasts for ever. Dropping it closes the connection.

use std::collections::VecDeque;
use std::time::Duration;

use hermes_http::reqwest::{self, Response};
use hermes_http::{Http, HttpError, Url};
use tokio::time::Instant;

use crate::endpoint::{Endpoint, Secret, Watch};
use crate::error::{Broken, Fault, retry_after};
use crate::model::{Delta, Request};
use crate::sse::{SseDecoder, SseEvent};
use crate::wire::{self, Decoder, Form};

/// More of an error body than any sentence needs.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// More than any answer in one piece has.
const MAX_WHOLE_BYTES: usize = 64 * 1024 * 1024;

/// A request ready to be sent, with the size that decides about patience.
pub(crate) struct Outgoing {
    pub(crate) body: Vec<u8>,
    /// A rough count, four bytes each.
    pub(crate) tokens: u64,
}

impl Outgoing {
    pub(crate) fn new(endpoint: &Endpoint, form: &Form, request: &Request) -> Self {
        let body = wire::encode(endpoint.mode, request, form).to_string();
        Self {
            tokens: body.len().div_ceil(4) as u64,
            body: body.into_bytes(),
        }
    }
}

/// What the head of an answer told besides the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) headers: Vec<(String, String)>,
}

pub(crate) struct Connection {
    response: Option<Response>,
    sse: Option<SseDecoder>,
    decoder: Box<dyn Decoder>,
    ready: VecDeque<Delta>,
    events: Vec<SseEvent>,
    watch: Watch,
    started: Instant,
    last_event: Instant,
    any_event: bool,
    ended: bool,
    fault: Option<Fault>,
    pub(crate) head: Head,
}

impl Connection {
    /// Sends the request and waits for the head of the answer.
    pub(crate) async fn open(
        http: &Http,
        endpoint: &Endpoint,
        form: &Form,
        key: Option<&Secret>,
        session: Option<&str>,
        outgoing: Outgoing,
    ) -> Result<Self, Fault> {
        let streamed = !form.mend.no_stream;
        let url = endpoint.url(streamed);
        let client = http.client(&url).map_err(|error| Fault::Transport {
            broken: Broken::Connect,
            message: error.to_string(),
        })?;
        let mut builder = client
            .post(url.clone())
            .header("content-type", "application/json")
            .header(
                "accept",
                if streamed {
                    "text/event-stream"
                } else {
                    "application/json"
                },
            );
        for (name, value) in &endpoint.headers {
            if form.mend.no_long_context_beta && name.eq_ignore_ascii_case("anthropic-beta") {
                builder = builder.header(name, without_long_context(value));
            } else {
                builder = builder.header(name, value);
            }
        }
        if let (Some(name), Some(session)) = (endpoint.session_header, session) {
            builder = builder.header(name, session);
        }
        if let Some(key) = key {
            let (name, value) = endpoint.auth.header(key);
            builder = builder.header(name, value);
        }
        let watch = endpoint.watch(outgoing.tokens, streamed);
        let started = Instant::now();
        let patience = [
            Some(watch.read),
            Some(watch.total),
            watch.stale,
            watch.first_event,
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(watch.total);
        let sending = builder.body(outgoing.body).send();
        let response = match tokio::time::timeout(patience, sending).await {
            Ok(outcome) => outcome.map_err(|error| transport(error, &url))?,
            Err(_) => return Err(silent(patience)),
        };
        let status = response.status();
        if !status.is_success() {
            return Err(refusal(response, watch.read).await);
        }
        let head = Head {
            headers: response
                .headers()
                .iter()
                .filter_map(|(name, value)| {
                    Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
                })
                .collect(),
        };
        let is_of_type = |kind: &str| {
            response
                .headers()
                .get("content-type")
                .and_then(|value| value.to_str().ok())
                .is_some_and(|value| value.starts_with(kind))
        };
        if is_of_type("text/html") {
            return Err(Fault::WebPage(url.to_string()));
        }
        // Some servers answer in one piece whatever they are asked for.
        let is_json = is_of_type("application/json");
        Ok(Self {
            response: Some(response),
            sse: (streamed && !is_json).then(SseDecoder::new),
            decoder: wire::decoder(endpoint.mode, form),
            ready: VecDeque::new(),
            events: Vec::new(),
            watch,
            started,
            last_event: Instant::now(),
            any_event: false,
            ended: false,
            fault: None,
            head,
        })
    }

    /// The next delta; `None` after the last one.
    pub(crate) async fn next(&mut self) -> Option<Result<Delta, Fault>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            if let Some(fault) = self.fault.take() {
                return Some(Err(fault));
            }
            if self.ended {
                return None;
            }
            // What was complete before a fault is delivered before it.
            if let Err(fault) = self.advance().await {
                self.ended = true;
                self.response = None;
                self.fault = Some(fault);
            }
        }
    }

    async fn advance(&mut self) -> Result<(), Fault> {
        if self.sse.is_none() {
            return self.take_whole().await;
        }
        let chunk = self.read().await?;
        let mut out = Vec::new();
        let outcome = match chunk {
            Some(bytes) => self.take_bytes(&bytes, &mut out),
            None => self.take_end(&mut out),
        };
        self.ready.extend(out);
        outcome
    }

    fn take_bytes(&mut self, bytes: &[u8], out: &mut Vec<Delta>) -> Result<(), Fault> {
        let Some(sse) = &mut self.sse else {
            return Ok(());
        };
        sse.push(bytes, &mut self.events)
            .map_err(|error| Fault::Malformed(error.to_string()))?;
        let events = std::mem::take(&mut self.events);
        for event in &events {
            self.last_event = Instant::now();
            self.any_event = true;
            self.decoder.event(event, out)?;
        }
        if self.decoder.is_complete() {
            self.finish(out)?;
        }
        Ok(())
    }

    fn take_end(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if let Some(event) = self.sse.take().and_then(SseDecoder::finish) {
            self.decoder.event(&event, out)?;
        }
        self.response = None;
        self.finish(out)
    }

    /// The answer is complete. What may follow on the wire is read elsewhere, so
    /// that the connection can be used again and nobody waits for it.
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.ended = true;
        if let Some(response) = self.response.take() {
            tokio::spawn(drain(response));
        }
        self.decoder.end(out)
    }

    /// Bytes, or `None` at the end of the body. A provider that gave its reason to
    /// stop but neither ends nor closes is taken at its word.
    async fn read(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let now = Instant::now();
        let until_total = self.watch.total.saturating_sub(now - self.started);
        let since_event = now - self.last_event;
        let until_stale = self.watch.stale.map(|s| s.saturating_sub(since_event));
        let until_first = self
            .watch
            .first_event
            .filter(|_| !self.any_event)
            .map(|limit| limit.saturating_sub(now - self.started));
        let has_reason = self.decoder.has_reason();
        let patience = [
            Some(self.watch.read),
            Some(until_total),
            until_stale,
            until_first,
        ]
        .into_iter()
        .chain([has_reason.then_some(self.watch.after_reason)])
        .flatten()
        .min()
        .unwrap_or(until_total);
        let Some(response) = &mut self.response else {
            return Ok(None);
        };
        match tokio::time::timeout(patience, response.chunk()).await {
            Ok(Ok(Some(bytes))) => Ok(Some(bytes.to_vec())),
            Ok(Ok(None)) => Ok(None),
            Ok(Err(_)) if has_reason => Ok(None),
            Ok(Err(error)) => Err(Fault::Transport {
                broken: Broken::Closed,
                message: format!(
                    "the connection was closed before the answer was complete: {}",
                    HttpError::from(error).cause()
                ),
            }),
            Err(_) if has_reason => {
                self.response = None;
                Ok(None)
            }
            Err(_) if patience >= until_total => Err(Fault::Transport {
                broken: Broken::TooLong,
                message: format!(
                    "the answer took longer than {} s",
                    self.watch.total.as_secs()
                ),
            }),
            Err(_) => Err(silent(patience.max(since_event))),
        }
    }

    async fn take_whole(&mut self) -> Result<(), Fault> {
        let mut body = Vec::new();
        while let Some(bytes) = self.read().await? {
            if body.len() + bytes.len() > MAX_WHOLE_BYTES {
                return Err(Fault::Malformed("the answer is too long".to_owned()));
            }
            body.extend_from_slice(&bytes);
        }
        self.response = None;
        let value = wire::read_json(&String::from_utf8_lossy(&body))
            .map_err(|error| Fault::Malformed(format!("answer is not JSON ({error})")))?;
        let mut out = Vec::new();
        let outcome = self
            .decoder
            .whole(&value, &mut out)
            .and_then(|()| self.finish(&mut out));
        self.ready.extend(out);
        outcome
    }
}

async fn drain(mut response: Response) {
    let all = async { while let Ok(Some(_)) = response.chunk().await {} };
    // Whether the connection can be used again is a matter of speed only.
    let _ = tokio::time::timeout(Duration::from_secs(2), all).await;
}

fn silent(patience: Duration) -> Fault {
    Fault::Transport {
        broken: Broken::Silent,
        message: format!(
            "nothing came for {} s (timed out)",
            patience.as_secs().max(1)
        ),
    }
}

fn transport(error: reqwest::Error, url: &Url) -> Fault {
    let broken = if error.is_connect() {
        Broken::Connect
    } else if error.is_timeout() {
        Broken::Silent
    } else {
        Broken::Closed
    };
    let cause = HttpError::from(error).cause();
    let place = url.origin().ascii_serialization();
    let message = match broken {
        Broken::Connect => format!("cannot connect to {place}: {cause}"),
        _ => format!("no answer from {place}: {cause}"),
    };
    Fault::Transport { broken, message }
}

async fn refusal(mut response: Response, patience: Duration) -> Fault {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok());
    let wait = retry_after(header, chrono::Utc::now());
    let redirected = header("location").map(str::to_owned);
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() > MAX_ERROR_BYTES {
                break;
            }
        }
    };
    // A body that never ends says enough with its status.
    let _ = tokio::time::timeout(patience.min(Duration::from_secs(10)), reading).await;
    let mut body = String::from_utf8_lossy(&body).into_owned();
    if let (300..400, Some(place)) = (status, redirected) {
        body = format!("the endpoint has moved to {place}: set `model.base_url` to that");
    }
    Fault::Status {
        status,
        body,
        retry_after: wait,
    }
}

fn without_long_context(betas: &str) -> String {
    betas
        .split(',')
        .map(str::trim)
        .filter(|beta| !beta.starts_with("context-1m"))
        .collect::<Vec<_>>()
        .join(",")
}

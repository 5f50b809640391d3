//! The server itself: a thread, a listener, a script and a record.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::gate::Counter;
use super::http::{self, Framing};
use super::reply::{Emit, Reply, Step};
use super::{Dialect, Recorded};
use super::{chat, gemini, messages, responses};

type Responder = Box<dyn FnMut(&Recorded) -> Reply + Send>;

struct Script {
    /// Replies for one model name; the empty name holds those for any model.
    queues: BTreeMap<String, VecDeque<Reply>>,
    fallback: Option<Responder>,
    routes: BTreeMap<String, Reply>,
    models: Vec<Value>,
    requests: Vec<Recorded>,
    /// The index of the next request.
    arrived: usize,
    remembers: bool,
    /// Indices of requests whose client went away before the answer was complete.
    abandoned: Vec<usize>,
}

struct Shared {
    script: Mutex<Script>,
    arrived: Counter,
    model_requests: Counter,
    abandoned: Counter,
}

/// A scripted model provider on a port of loopback.
///
/// Every model request takes the next reply pushed for its model, else the next
/// pushed for any model, else what the fallback says; with none of these the
/// answer is a 500 that says so.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// The model that `/v1/models` offers unless told otherwise.
    pub const DEFAULT_MODEL: &'static str = "scripted-model";

    pub fn start() -> Self {
        Self::start_on(0)
    }

    /// Listens on a chosen port of loopback (0: any).
    pub fn start_on(port: u16) -> Self {
        let listener = StdListener::bind(("127.0.0.1", port)).expect("listen on loopback");
        listener.set_nonblocking(true).expect("make it nonblocking");
        let address = listener.local_addr().expect("know the address");
        let shared = Arc::new(Shared {
            script: Mutex::new(Script {
                queues: BTreeMap::new(),
                fallback: None,
                routes: BTreeMap::new(),
                models: vec![json!({
                    "id": Self::DEFAULT_MODEL, "object": "model", "owned_by": "test",
                    "context_length": 200_000,
                })],
                requests: Vec::new(),
                arrived: 0,
                remembers: true,
                abandoned: Vec::new(),
            }),
            arrived: Counter::new(),
            model_requests: Counter::new(),
            abandoned: Counter::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("scripted-model".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("build a runtime");
                runtime.block_on(async move {
                    let listener = TcpListener::from_std(listener).expect("adopt the listener");
                    tokio::select! {
                        () = accept(listener, served) => {}
                        _ = stopped => {}
                    }
                });
            })
            .expect("start the server thread");
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The base URL of the OpenAI-style formats, with `/v1`.
    pub fn url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// Scheme, host and port only.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn script<T>(&self, work: impl FnOnce(&mut Script) -> T) -> T {
        work(&mut self.shared.script.lock().unwrap())
    }

    /// The next reply for any model.
    pub fn push(&self, reply: Reply) -> &Self {
        self.push_for("", reply)
    }

    /// The next reply for one model.
    pub fn push_for(&self, model: &str, reply: Reply) -> &Self {
        self.script(|s| {
            s.queues
                .entry(model.to_owned())
                .or_default()
                .push_back(reply);
        });
        self
    }

    /// Answers whatever no pushed reply is left for.
    pub fn fallback(&self, respond: impl FnMut(&Recorded) -> Reply + Send + 'static) -> &Self {
        self.script(|s| s.fallback = Some(Box::new(respond)));
        self
    }

    /// Answers every request to this path (probes, model lists) with this reply.
    pub fn route(&self, path: &str, reply: Reply) -> &Self {
        self.script(|s| s.routes.insert(path.to_owned(), reply));
        self
    }

    /// Keeps no requests from now on: for long runs whose fallback looks at each.
    pub fn remember_nothing(&self) -> &Self {
        self.script(|s| {
            s.remembers = false;
            s.requests.clear();
        });
        self
    }

    /// Replaces the entries of `/v1/models`.
    pub fn models(&self, entries: Vec<Value>) -> &Self {
        self.script(|s| s.models = entries);
        self
    }

    /// The model requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Recorded> {
        self.script(|s| {
            s.requests
                .iter()
                .filter(|request| request.dialect().is_some())
                .cloned()
                .collect()
        })
    }

    /// All requests so far, probes and lists included.
    pub fn all_requests(&self) -> Vec<Recorded> {
        self.script(|s| s.requests.clone())
    }

    /// How many pushed replies nobody has taken.
    pub fn replies_left(&self) -> usize {
        self.script(|s| s.queues.values().map(VecDeque::len).sum())
    }

    /// Blocks until `n` model requests have arrived.
    pub fn wait_for_requests(&self, n: usize) -> Vec<Recorded> {
        self.shared
            .model_requests
            .wait(n, &format!("model request {n}"));
        self.requests()
    }

    /// Resolves when `n` model requests have arrived.
    pub async fn requested(&self, n: usize) -> Vec<Recorded> {
        self.shared
            .model_requests
            .reached(n, &format!("model request {n}"))
            .await;
        self.requests()
    }

    /// Blocks until `n` clients have gone away before their answer was complete.
    pub fn wait_for_abandoned(&self, n: usize) {
        self.shared.abandoned.wait(n, "a client to go away");
    }

    /// Resolves when `n` clients have gone away before their answer was complete.
    pub async fn abandoned(&self, n: usize) {
        self.shared
            .abandoned
            .reached(n, "a client to go away")
            .await;
    }

    /// The indices ([`Recorded::index`]) of abandoned requests.
    pub fn abandoned_requests(&self) -> Vec<usize> {
        self.script(|s| s.abandoned.clone())
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, peer)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // A client may break the connection at any byte; that is its right.
            let _ = serve(stream, peer.port(), shared).await;
        });
    }
}

async fn serve(stream: TcpStream, client_port: u16, shared: Arc<Shared>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (read, mut writer) = stream.into_split();
    let mut reader = BufReader::new(read);
    while let Some(raw) = http::read_request(&mut reader).await? {
        let (path, query) = raw.target.split_once('?').unwrap_or((&raw.target, ""));
        let mut recorded = Recorded {
            index: 0,
            method: raw.method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: raw.headers,
            body: serde_json::from_slice(&raw.body).unwrap_or(Value::Null),
            raw_body: raw.body,
            arrived: Instant::now(),
            arrived_at: SystemTime::now(),
            client_port,
        };
        let reply = {
            let mut script = shared.script.lock().unwrap();
            recorded.index = script.arrived;
            script.arrived += 1;
            if script.remembers {
                script.requests.push(recorded.clone());
            }
            script.answer(&recorded)
        };
        shared.arrived.increment();
        if recorded.dialect().is_some() {
            shared.model_requests.increment();
        }
        match deliver(&recorded, &reply, &mut reader, &mut writer).await {
            Ok(Outcome::KeepAlive) => {}
            Ok(Outcome::Close) => return Ok(()),
            Ok(Outcome::Reset) => {
                // Dropped, the half would say a polite goodbye first.
                writer.forget();
                return Ok(());
            }
            Ok(Outcome::ClientGone) | Err(_) => {
                shared.script.lock().unwrap().abandoned.push(recorded.index);
                shared.abandoned.increment();
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Script {
    fn answer(&mut self, request: &Recorded) -> Reply {
        if let Some(reply) = self.routes.get(&request.path) {
            return reply.clone();
        }
        if request.dialect().is_none() {
            return match request.path.as_str() {
                "/v1/models" | "/models" => {
                    Reply::json(200, &json!({"object": "list", "data": self.models}))
                }
                _ => Reply::error(404, "not found"),
            };
        }
        for name in [request.model(), ""] {
            let next = self.queues.get_mut(name).and_then(VecDeque::pop_front);
            if let Some(reply) = next {
                return reply;
            }
        }
        match &mut self.fallback {
            Some(respond) => respond(request),
            None => Reply::error(
                500,
                format!("no scripted reply is left for model {:?}", request.model()),
            ),
        }
    }
}

enum Outcome {
    KeepAlive,
    Close,
    Reset,
    ClientGone,
}

async fn deliver(
    request: &Recorded,
    reply: &Reply,
    reader: &mut BufReader<OwnedReadHalf>,
    writer: &mut OwnedWriteHalf,
) -> io::Result<Outcome> {
    for step in &reply.before_head {
        match step {
            Step::Stall(gate) => tokio::select! {
                () = gate.pass() => {}
                () = http::client_gone(reader) => return Ok(Outcome::ClientGone),
            },
            _ => return Ok(Outcome::Close),
        }
    }
    let mut headers = reply.headers.clone();
    let streamed = reply.body.is_none() && request.streamed();
    let content_type = match &reply.content_type {
        Some(given) => given.clone(),
        None if streamed => "text/event-stream".to_owned(),
        None => "application/json".to_owned(),
    };
    headers.push(("content-type".to_owned(), content_type));
    if !streamed {
        let body = match &reply.body {
            Some(body) => body.clone(),
            None => whole(request, reply).to_string().into_bytes(),
        };
        // Stalls and cuts of a whole answer happen between its head and its body.
        let mut out = http::head(reply.status, &headers, Framing::Length(body.len()));
        let faults = reply.steps.iter().filter_map(Emit::common);
        for emit in faults {
            writer.write_all(&out).await?;
            out.clear();
            match emit {
                Emit::Stall(gate) => tokio::select! {
                    () = gate.pass() => {}
                    () = http::client_gone(reader) => return Ok(Outcome::ClientGone),
                },
                Emit::Cut | Emit::Reset => return Ok(Outcome::Close),
                Emit::Bytes(_) => {}
            }
        }
        out.extend_from_slice(&body);
        writer.write_all(&out).await?;
        return Ok(Outcome::KeepAlive);
    }
    writer
        .write_all(&http::head(reply.status, &headers, Framing::Chunked))
        .await?;
    for emit in stream(request, reply) {
        match emit {
            Emit::Bytes(bytes) => {
                let size = reply.bytes_per_write.unwrap_or(bytes.len().max(1));
                for piece in bytes.chunks(size) {
                    http::write_chunk(writer, piece).await?;
                    if reply.bytes_per_write.is_some() {
                        // Lets the client read each write on its own.
                        tokio::task::yield_now().await;
                    }
                }
            }
            Emit::Stall(gate) => tokio::select! {
                () = gate.pass() => {}
                () = http::client_gone(reader) => return Ok(Outcome::ClientGone),
            },
            Emit::Cut => return Ok(Outcome::Close),
            Emit::Reset => {
                nix::sys::socket::setsockopt(
                    writer.as_ref(),
                    nix::sys::socket::sockopt::Linger,
                    &nix::libc::linger {
                        l_onoff: 1,
                        l_linger: 0,
                    },
                )
                .map_err(io::Error::from)?;
                return Ok(Outcome::Reset);
            }
        }
    }
    writer.write_all(b"0\r\n\r\n").await?;
    Ok(Outcome::KeepAlive)
}

fn reply_id(request: &Recorded) -> String {
    format!("answer-{:06}", request.index)
}

fn stream(request: &Recorded, reply: &Reply) -> Vec<Emit> {
    let (model, id, size) = (request.model(), reply_id(request), request.raw_body.len());
    match request.dialect() {
        None | Some(Dialect::Chat) => chat::stream(reply, model, &id, size),
        Some(Dialect::Messages) => messages::stream(reply, model, &id, size),
        Some(Dialect::Responses) => responses::stream(reply, model, &id, size),
        Some(Dialect::Gemini) => gemini::stream(reply, model, size),
    }
}

fn whole(request: &Recorded, reply: &Reply) -> Value {
    let (model, id, size) = (request.model(), reply_id(request), request.raw_body.len());
    match request.dialect() {
        None | Some(Dialect::Chat) => chat::whole(reply, model, &id, size),
        Some(Dialect::Messages) => messages::whole(reply, model, &id, size),
        Some(Dialect::Responses) => responses::whole(reply, model, &id, size),
        Some(Dialect::Gemini) => gemini::whole(reply, model, size),
    }
}

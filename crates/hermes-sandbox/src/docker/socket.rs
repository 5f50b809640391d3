//! The same engine over its local socket, for what happens often: looking up
//! and opening execs cost a daemon's answer instead of a client program.
//! Everything else goes through the client.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::net::unix::OwnedReadHalf;

use super::arguments::RunPlan;
use super::cli::CliEngine;
use super::engine::{
    Container, ContainerId, ContainerProcess, Engine, EngineError, ExecRequest, PlainExec, limits,
};
use super::http::{self, Answer, Upgrade, Upgraded};
use super::parse;
use crate::channel::{Frame, Frames, Wire, poll_read};

pub struct SocketEngine {
    client: CliEngine,
    socket: PathBuf,
}

impl SocketEngine {
    pub fn new(client: CliEngine, socket: PathBuf) -> Self {
        Self { client, socket }
    }

    async fn ask(
        &self,
        operation: &str,
        method: &str,
        path: &str,
        body: Option<&serde_json::Value>,
        limit: Duration,
    ) -> Result<Answer, EngineError> {
        http::request(&self.socket, method, path, body, limit)
            .await
            .map_err(|error| self.failure(operation, &error, limit))
    }

    fn failure(&self, operation: &str, error: &io::Error, limit: Duration) -> EngineError {
        if error.kind() == io::ErrorKind::TimedOut {
            return EngineError::Timeout {
                engine: self.name().to_owned(),
                operation: operation.to_owned(),
                limit,
            };
        }
        EngineError::Unreachable {
            engine: self.name().to_owned(),
            reason: format!("{}: {error}", self.socket.display()),
        }
    }

    fn refusal(&self, operation: &str, answer: &Answer) -> EngineError {
        let message = serde_json::from_slice::<serde_json::Value>(&answer.body)
            .ok()
            .and_then(|value| Some(value.get("message")?.as_str()?.to_owned()));
        EngineError::Refused {
            engine: self.name().to_owned(),
            operation: operation.to_owned(),
            reason: message.unwrap_or_else(|| format!("status {}", answer.status)),
        }
    }

    fn unreadable(&self, operation: &str, error: &serde_json::Error) -> EngineError {
        EngineError::Unreadable {
            engine: self.name().to_owned(),
            operation: operation.to_owned(),
            reason: error.to_string(),
        }
    }

    async fn list_by(&self, labels: &[(&str, &str)]) -> Result<Vec<Container>, EngineError> {
        let filters: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let filters = http::percent_encode(&json!({ "label": filters }).to_string());
        let path = format!("/containers/json?all=1&filters={filters}");
        let answer = self.ask("ps", "GET", &path, None, limits::LIST).await?;
        if answer.status != 200 {
            return Err(self.refusal("ps", &answer));
        }
        parse::listed(&answer.body).map_err(|error| self.unreadable("ps", &error))
    }

    async fn inspect_one(&self, id: &ContainerId) -> Result<Option<Container>, EngineError> {
        let path = format!("/containers/{}/json", http::percent_encode(id.as_str()));
        let answer = self
            .ask("inspect", "GET", &path, None, limits::INSPECT)
            .await?;
        match answer.status {
            200 => parse::inspected_one(&answer.body)
                .map(Some)
                .map_err(|error| self.unreadable("inspect", &error)),
            404 => Ok(None),
            _ => Err(self.refusal("inspect", &answer)),
        }
    }

    async fn exec_wire(
        &self,
        id: &ContainerId,
        request: &ExecRequest,
    ) -> Result<Wire, EngineError> {
        let mut body = json!({
            "AttachStdin": true, "AttachStdout": true, "AttachStderr": true,
            "WorkingDir": "/", "Cmd": request.command,
        });
        if let Some(user) = request.user {
            body["User"] = json!(user.to_string());
        }
        let path = format!("/containers/{}/exec", http::percent_encode(id.as_str()));
        let answer = self
            .ask("exec", "POST", &path, Some(&body), limits::INSPECT)
            .await?;
        if answer.status != 201 {
            return Err(self.refusal("exec", &answer));
        }
        let created: Created = serde_json::from_slice(&answer.body)
            .map_err(|error| self.unreadable("exec", &error))?;
        let path = format!("/exec/{}/start", http::percent_encode(&created.id));
        let body = json!({ "Detach": false, "Tty": false });
        let upgrade = http::upgrade(&self.socket, &path, &body, limits::INSPECT)
            .await
            .map_err(|error| self.failure("exec", &error, limits::INSPECT))?;
        match upgrade {
            Upgrade::Done(upgraded) => Ok(wire(upgraded)),
            Upgrade::Refused(answer) => Err(self.refusal("exec", &answer)),
        }
    }
}

#[derive(serde::Deserialize)]
struct Created {
    #[serde(rename = "Id")]
    id: String,
}

fn wire(upgraded: Upgraded) -> Wire {
    let (reader, writer) = upgraded.stream.into_split();
    Wire {
        input: Box::new(writer),
        frames: Box::new(Multiplexed {
            reader,
            buffer: upgraded.early,
            left: 0,
            stream: 0,
        }),
    }
}

/// The engine's framing: one byte of stream number, three of nothing, four of
/// length, then that many bytes. Pieces are passed on as they come.
struct Multiplexed {
    reader: OwnedReadHalf,
    buffer: BytesMut,
    /// Bytes still to come of the frame whose header was read.
    left: usize,
    stream: u8,
}

impl Multiplexed {
    fn next_piece(&mut self) -> Option<Frame> {
        while self.left == 0 && self.buffer.len() >= 8 {
            self.stream = self.buffer[0];
            let length = &self.buffer[4..8];
            self.left = length
                .iter()
                .fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
            self.buffer.advance(8);
        }
        let size = self.left.min(self.buffer.len());
        if size == 0 {
            return None;
        }
        self.left -= size;
        let piece = self.buffer.split_to(size).freeze();
        Some(match self.stream {
            2 => Frame::Control(piece),
            _ => Frame::Output(piece),
        })
    }
}

impl Frames for Multiplexed {
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Frame>> {
        loop {
            if let Some(frame) = self.next_piece() {
                return Poll::Ready(Ok(frame));
            }
            match poll_read(&mut self.reader, context, &mut self.buffer) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => return Poll::Ready(Ok(Frame::End(None))),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl Engine for SocketEngine {
    fn name(&self) -> &str {
        self.client.name()
    }

    fn alive(&self) -> BoxFuture<'_, Result<(), EngineError>> {
        async move {
            let answer = self
                .ask("ping", "GET", "/_ping", None, limits::ALIVE)
                .await?;
            match answer.status {
                200 => Ok(()),
                _ => Err(self.refusal("ping", &answer)),
            }
        }
        .boxed()
    }

    fn list<'a>(
        &'a self,
        labels: &'a [(&'a str, &'a str)],
    ) -> BoxFuture<'a, Result<Vec<Container>, EngineError>> {
        self.list_by(labels).boxed()
    }

    fn inspect<'a>(
        &'a self,
        id: &'a ContainerId,
    ) -> BoxFuture<'a, Result<Option<Container>, EngineError>> {
        self.inspect_one(id).boxed()
    }

    fn run<'a>(
        &'a self,
        plan: &'a RunPlan,
        held: Option<File>,
    ) -> BoxFuture<'a, Result<ContainerId, EngineError>> {
        self.client.run(plan, held)
    }

    fn start<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>> {
        self.client.start(id)
    }

    fn unpause<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>> {
        self.client.unpause(id)
    }

    fn stop<'a>(&'a self, id: &'a ContainerId) -> BoxFuture<'a, Result<(), EngineError>> {
        self.client.stop(id)
    }

    fn remove<'a>(
        &'a self,
        id_or_name: &'a str,
        limit: Duration,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        self.client.remove(id_or_name, limit)
    }

    fn entrypoint<'a>(
        &'a self,
        image: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, EngineError>> {
        async move {
            let path = format!("/images/{}/json", http::percent_encode(image));
            let answer = self
                .ask("image inspect", "GET", &path, None, limits::IMAGE)
                .await?;
            if answer.status != 200 {
                return Err(self.refusal("image inspect", &answer));
            }
            let image: serde_json::Value = serde_json::from_slice(&answer.body)
                .map_err(|error| self.unreadable("image inspect", &error))?;
            let first = image.pointer("/Config/Entrypoint/0");
            Ok(first.and_then(|word| word.as_str()).map(str::to_owned))
        }
        .boxed()
    }

    fn processes<'a>(
        &'a self,
        id: &'a ContainerId,
    ) -> BoxFuture<'a, Result<Vec<ContainerProcess>, EngineError>> {
        self.client.processes(id)
    }

    fn logs<'a>(
        &'a self,
        id: &'a ContainerId,
        lines: u32,
    ) -> BoxFuture<'a, Result<String, EngineError>> {
        self.client.logs(id, lines)
    }

    fn exec<'a>(
        &'a self,
        id: &'a ContainerId,
        request: &'a ExecRequest,
    ) -> BoxFuture<'a, Result<Wire, EngineError>> {
        self.exec_wire(id, request).boxed()
    }

    fn exec_plain<'a>(
        &'a self,
        id: &'a ContainerId,
        request: &'a PlainExec,
    ) -> BoxFuture<'a, Result<Wire, EngineError>> {
        self.client.exec_plain(id, request)
    }
}

//! One exec per command, for engines and proxies that do not let us keep a
//! channel open: slower, without input, and with the same endings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::engine::{ContainerId, Engine, PlainExec};
use crate::channel::{Frame, Wire, fresh_mark, sweep_script};
use crate::target::{
    Control, EndError, Exit, Launch, LaunchError, OUTPUT_QUEUE, PtySize, Running, Stdin, Survivors,
};

/// The most that one argument may be.
const ARGUMENT: usize = 120 << 10;

/// For one look at the processes of a call.
const SWEEP_LIMIT: Duration = Duration::from_secs(5);
const KILL_PATIENCE: Duration = Duration::from_secs(2);

pub(crate) async fn launch(
    engine: &Arc<dyn Engine>,
    id: &ContainerId,
    launch: Launch,
) -> Result<Running, LaunchError> {
    let refused = |reason: &str| Err(LaunchError::NotStarted(reason.to_owned()));
    if launch.stdin != Stdin::Null {
        return refused("without a channel into the container a command can have no input");
    }
    if launch.script.len() > ARGUMENT {
        return refused("without a channel into the container a command must be shorter");
    }
    let Ok(script) = String::from_utf8(launch.script) else {
        return refused("without a channel into the container a command must be UTF-8");
    };
    let mark = fresh_mark();
    let mut command: Vec<String> = launch
        .shell
        .argv()
        .iter()
        .map(|w| (*w).to_owned())
        .collect();
    command.push("-c".to_owned());
    command.push(format!(
        "{{ ulimit -x {mark} || ulimit -w {mark}; }} 2>/dev/null\n{script}"
    ));
    let request = PlainExec {
        command,
        environment: launch.environment,
    };
    let wire = engine
        .exec_plain(id, &request)
        .await
        .map_err(|error| LaunchError::Unavailable(error.to_string()))?;
    let (output_sender, output) = mpsc::channel(OUTPUT_QUEUE);
    let (exit_sender, exit) = oneshot::channel();
    let over = Arc::new(AtomicBool::new(false));
    tokio::spawn(pump(wire, output_sender, exit_sender, over.clone()));
    Ok(Running {
        output,
        exit: exit
            .map(|exit| exit.unwrap_or_else(|_| Exit::Lost("the call was dropped".to_owned())))
            .boxed(),
        control: Box::new(PlainControl {
            engine: engine.clone(),
            id: id.clone(),
            mark,
            over,
        }),
    })
}

/// Ends with the client, which waits for whoever holds the output.
async fn pump(
    mut wire: Wire,
    output: mpsc::Sender<Bytes>,
    exit: oneshot::Sender<Exit>,
    over: Arc<AtomicBool>,
) {
    let ended = loop {
        let frame = std::future::poll_fn(|context| wire.frames.poll_frame(context)).await;
        match frame {
            Ok(Frame::Output(bytes) | Frame::Control(bytes)) => {
                // Nobody reads: the command goes on all the same.
                let _ = output.send(bytes).await;
            }
            Ok(Frame::End(Some(code))) => break Exit::Code(code),
            Ok(Frame::End(None)) => break Exit::Lost("its exit code was lost".to_owned()),
            Err(error) => break Exit::Lost(error.to_string()),
        }
    };
    over.store(true, Ordering::Release);
    let _ = exit.send(ended);
}

struct PlainControl {
    engine: Arc<dyn Engine>,
    id: ContainerId,
    mark: u64,
    over: Arc<AtomicBool>,
}

impl PlainControl {
    async fn end(&self, grace: Duration) -> Result<(), EndError> {
        end(&self.engine, &self.id, self.mark, grace).await
    }
}

async fn end(
    engine: &Arc<dyn Engine>,
    id: &ContainerId,
    mark: u64,
    grace: Duration,
) -> Result<(), EndError> {
    let look = |signal| sweep(engine, id, mark, signal);
    if look("TERM").await?.is_empty() {
        return Ok(());
    }
    let deadline = Instant::now() + grace;
    while Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if look("0").await?.is_empty() {
            return Ok(());
        }
    }
    let deadline = Instant::now() + KILL_PATIENCE;
    loop {
        let left = look("KILL").await?;
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Survivors { pids: left }.into());
        }
    }
}

/// The living processes that carry the mark, signalled.
async fn sweep(
    engine: &Arc<dyn Engine>,
    id: &ContainerId,
    mark: u64,
    signal: &str,
) -> Result<Vec<i32>, EndError> {
    let script = format!(
        "{}\n_h_sweep {signal} {mark} 0 0\necho \"swept$_h_members\"",
        sweep_script()
    );
    let request = PlainExec {
        command: vec!["sh".to_owned(), "-c".to_owned(), script],
        environment: Vec::new(),
    };
    let unknown = |reason: String| EndError::Unknown(reason);
    let work = async {
        let mut wire = engine
            .exec_plain(id, &request)
            .await
            .map_err(|error| unknown(error.to_string()))?;
        let mut said = Vec::new();
        loop {
            let frame = std::future::poll_fn(|context| wire.frames.poll_frame(context)).await;
            match frame.map_err(|error| unknown(error.to_string()))? {
                Frame::Output(bytes) if said.len() < 64 << 10 => said.extend_from_slice(&bytes),
                Frame::Output(_) | Frame::Control(_) => {}
                Frame::End(_) => break,
            }
        }
        let text = String::from_utf8_lossy(&said).into_owned();
        match text.trim_end().strip_prefix("swept") {
            Some(pids) => Ok(pids.split(' ').filter_map(|pid| pid.parse().ok()).collect()),
            None => Err(unknown("the container did not say who is left".to_owned())),
        }
    };
    tokio::time::timeout(SWEEP_LIMIT, work)
        .await
        .unwrap_or_else(|_| Err(unknown(format!("{} does not answer", engine.name()))))
}

impl Drop for PlainControl {
    fn drop(&mut self) {
        if self.over.load(Ordering::Acquire) || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (engine, id, mark) = (self.engine.clone(), self.id.clone(), self.mark);
        tokio::spawn(async move {
            let _ = end(&engine, &id, mark, Duration::from_millis(500)).await;
        });
    }
}

impl Control for PlainControl {
    fn terminate(&self, grace: Duration) -> BoxFuture<'_, Result<(), EndError>> {
        self.end(grace).boxed()
    }

    fn write(&self, _: Bytes) -> BoxFuture<'_, std::io::Result<()>> {
        std::future::ready(Err(std::io::ErrorKind::BrokenPipe.into())).boxed()
    }

    fn close_stdin(&self) -> BoxFuture<'_, std::io::Result<()>> {
        std::future::ready(Ok(())).boxed()
    }

    fn resize(&self, _: PtySize) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn pid(&self) -> Option<i32> {
        None
    }
}

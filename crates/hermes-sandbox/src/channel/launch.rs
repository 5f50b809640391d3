//! What a backend over a channel answers for: launches in, running scripts out.

use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::{Call, CallControl, CallExit, CallInput, CallRequest, TerminateError};
use crate::target::{Control, EndError, Exit, Launch, PtySize, Running, Stdin, Survivors};

pub(crate) fn request(launch: &Launch) -> CallRequest {
    let shell: Vec<String> = launch
        .shell
        .argv()
        .iter()
        .map(|w| (*w).to_owned())
        .collect();
    CallRequest {
        shell,
        script: launch.script.clone(),
        environment: launch.environment.clone(),
        input: match &launch.stdin {
            Stdin::Null => CallInput::Nothing,
            Stdin::Bytes(bytes) => CallInput::Bytes(bytes.clone()),
            Stdin::Pipe => CallInput::Stream,
        },
    }
}

pub(crate) fn running(call: Call) -> Running {
    Running {
        output: call.output,
        exit: call
            .exit
            .map(|exit| match exit {
                CallExit::Code(code) => Exit::Code(code),
                CallExit::Lost(reason) => Exit::Lost(reason),
            })
            .boxed(),
        control: Box::new(ChannelControl(call.control)),
    }
}

struct ChannelControl(CallControl);

impl Control for ChannelControl {
    fn terminate(&self, grace: Duration) -> BoxFuture<'_, Result<(), EndError>> {
        async move {
            self.0.terminate(grace).await.map_err(|error| match error {
                TerminateError::Survivors(pids) => EndError::Survivors(Survivors { pids }),
                TerminateError::Unverified(reason) => EndError::Unknown(reason),
            })
        }
        .boxed()
    }

    fn write(&self, bytes: Bytes) -> BoxFuture<'_, std::io::Result<()>> {
        async move {
            if self.0.write(bytes).await {
                return Ok(());
            }
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        .boxed()
    }

    fn close_stdin(&self) -> BoxFuture<'_, std::io::Result<()>> {
        self.0.close_input();
        std::future::ready(Ok(())).boxed()
    }

    fn resize(&self, _: PtySize) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    fn pid(&self) -> Option<i32> {
        self.0.pid().and_then(|pid| i32::try_from(pid).ok())
    }
}

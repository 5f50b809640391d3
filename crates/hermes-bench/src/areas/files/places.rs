//! The tools of one place, and what they cost on this machine and in a container.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use hermes_config::Config;
use hermes_home::{Clock, Environment, Home};
use hermes_sandbox::docker::HostUser;
use hermes_sandbox::settings::FrontEnd;
use hermes_sandbox::{Sandboxes, SandboxesPlan};
use hermes_testkit::docker::{self, PYTHON, Sweep};
use hermes_tools::approval::{ApprovalGate, ApprovalPolicy, ConfigAllowlist, Occasion, Yolo};
use hermes_tools::builtin::files::{
    FileLimits, FilePolicy, SandboxWorkspace, Workspace, add_file_tools,
};
use hermes_tools::code::{CodeLimits, ExecuteCodeTool};
use hermes_tools::{Reader, Registry, ToolContext, Unattended, Unheard};
use hermes_types::SessionId;
use serde_json::{Value, json};

use super::{at_most, ms};
use crate::measure::Bench;
use crate::report::{Row, Unit};

/// The file and code tools with the real gate, which asks nothing.
pub(super) struct Place {
    pub(super) sandboxes: Arc<Sandboxes>,
    tools: Registry,
}

impl Place {
    /// Of a home with this configuration.
    pub(super) fn new(home: &Path, yaml: &str) -> Result<Self> {
        std::fs::write(home.join("config.yaml"), yaml)?;
        let environment = Environment::of_process();
        let home = Home::at(home, home);
        let config = Config::load(&home, &environment, &[])?;
        let sandboxes = Sandboxes::new(SandboxesPlan {
            config: Arc::new(config.clone()),
            home: home.clone(),
            environment: environment.clone(),
            front_end: FrontEnd::Terminal,
            launched_in: Some(home.path().to_owned()),
            user: HostUser {
                uid: nix::unistd::getuid().as_raw(),
                gid: nix::unistd::getgid().as_raw(),
            },
            clock: Clock::System,
            notify: Arc::new(|text| eprintln!("sandbox: {text}")),
        });
        let sandbox = sandboxes.get("bench")?;
        let gate = Arc::new(ApprovalGate::new(
            ApprovalPolicy::read(&config, Occasion::Worker)?,
            Arc::new(ConfigAllowlist::read(home, environment, &config)?),
            None,
            Yolo::new(true),
        ));
        let mut tools = Registry::new();
        let workspace: Arc<dyn Workspace> = Arc::new(SandboxWorkspace::new(sandbox));
        add_file_tools(
            &mut tools,
            &workspace,
            &Arc::new(FilePolicy::default()),
            FileLimits::default(),
        );
        let code =
            ExecuteCodeTool::new(sandboxes.clone(), gate, CodeLimits::read(&config)?, &tools);
        tools.add(code);
        Ok(Self { sandboxes, tools })
    }

    /// The result's first value: a note may follow it. Each call is another
    /// conversation, which has read nothing yet.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        let tool = self.tools.get(tool).context("no such tool")?;
        let context = ToolContext {
            session: SessionId::new(format!("{:?}", Instant::now())),
            task: "bench".to_owned(),
            call_id: "bench".to_owned(),
            round: 1,
            reader: Reader::Model,
            cancel: Default::default(),
            asker: Arc::new(Unattended),
            events: Arc::new(Unheard),
        };
        let output = tool.call(&context, arguments).await;
        let mut values = serde_json::Deserializer::from_str(&output.text).into_iter();
        Ok(values.next().context("a result")??)
    }

    async fn code(&self) -> Result<f64> {
        let began = Instant::now();
        let result = self
            .call("execute_code", json!({"code": "print(1)"}))
            .await?;
        let took = ms(began);
        ensure!(result["output"] == "1\n", "{result}");
        Ok(took)
    }
}

pub(super) async fn local(bench: &Bench) -> Result<Vec<Row>> {
    let directory = tempfile::tempdir()?;
    let place = Place::new(directory.path(), "terminal: {auto_source_bashrc: false}\n")?;
    let mut samples = Vec::new();
    for _ in 0..bench.rounds {
        samples.push(place.code().await?);
    }
    place.sandboxes.close().await;
    let measure = "execute_code, no tool calls, local, interpreter start included";
    Ok(at_most(measure, Unit::Ms, 120.0, samples)
        .into_iter()
        .collect())
}

pub(super) async fn docker(bench: &Bench) -> Result<Vec<Row>> {
    ensure!(
        docker::available(),
        "no container engine answers: this area needs one"
    );
    let image = docker::image(PYTHON);
    let directory = tempfile::tempdir()?;
    let home = directory.path().canonicalize()?;
    let hash = hermes_sandbox::docker::Identity::new("default", "default", &home).home;
    let _sweep = Sweep::new(format!("hermes-home={hash}"));
    let yaml = format!("terminal:\n  backend: docker\n  docker_image: {image}\n");
    let place = Place::new(&home, &yaml)?;
    place.code().await?;
    let mut code = Vec::new();
    for _ in 0..bench.rounds {
        code.push(place.code().await?);
    }
    let text: String = (0..10_000)
        .map(|n| format!("{n:08} {}\n", "x".repeat(91)))
        .collect();
    let written = place
        .call(
            "write_file",
            json!({"path": "/tmp/large.txt", "content": text}),
        )
        .await?;
    ensure!(written["bytes_written"] == 1_010_000, "{written}");
    let mut reads = Vec::new();
    for round in 0..bench.rounds {
        let began = Instant::now();
        let arguments = json!({"path": "/tmp/large.txt", "offset": 1 + round * 300});
        let page = place.call("read_file", arguments).await?;
        reads.push(ms(began));
        ensure!(page["total_lines"] == 10_000, "{page}");
    }
    place.sandboxes.close().await;
    Ok([
        at_most(
            "execute_code, no tool calls, docker, interpreter start included",
            Unit::Ms,
            150.0,
            code,
        ),
        at_most("read_file of 1 MB in docker, warm", Unit::Ms, 20.0, reads),
    ]
    .into_iter()
    .flatten()
    .collect())
}

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_config::Config;
use hermes_home::{Clock, Environment, Home};
use hermes_sandbox::docker::HostUser;
use hermes_sandbox::settings::FrontEnd;
use hermes_sandbox::{Sandboxes, SandboxesPlan};
use hermes_tools::approval::{
    Allowlist, ApprovalGate, ApprovalPolicy, Judge, Nobody, Occasion, Verdict, Yolo,
};
use hermes_tools::terminal::{ProcessTool, TerminalTool};
use hermes_tools::{Asker, EventSink, Tool, ToolContext};
use hermes_types::{Answer, AskKind, SessionId, TurnEvent};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// Answers every question the same way and remembers them.
pub(super) struct Script {
    pub(super) answer: Option<Answer>,
    pub(super) asked: Mutex<Vec<AskKind>>,
}

impl Asker for Script {
    fn ask(&self, question: AskKind, _: Duration) -> BoxFuture<'_, Answer> {
        self.asked.lock().unwrap().push(question);
        let answer = self.answer.clone().unwrap_or(Answer::None);
        Box::pin(async move { answer })
    }

    fn is_attended(&self) -> bool {
        self.answer.is_some()
    }
}

#[derive(Default)]
pub(super) struct Events(pub(super) Mutex<Vec<TurnEvent>>);

impl EventSink for Events {
    fn emit(&self, event: TurnEvent) -> BoxFuture<'_, ()> {
        self.0.lock().unwrap().push(event);
        Box::pin(async {})
    }
}

#[derive(Default)]
pub(super) struct Listed(pub(super) Mutex<Vec<String>>);

impl Allowlist for Listed {
    fn contains(&self, key: &str) -> bool {
        self.0.lock().unwrap().iter().any(|known| known == key)
    }

    fn add<'a>(&'a self, keys: &'a [String]) -> BoxFuture<'a, Result<(), String>> {
        self.0.lock().unwrap().extend(keys.iter().cloned());
        Box::pin(async { Ok(()) })
    }
}

/// A model that gives the same verdict on everything.
struct Says(Verdict);

impl Judge for Says {
    fn judge<'a>(&'a self, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Verdict> {
        Box::pin(async { self.0 })
    }
}

pub(super) struct Bed {
    pub(super) sandboxes: Arc<Sandboxes>,
    pub(super) terminal: Arc<TerminalTool>,
    pub(super) gate: Arc<ApprovalGate>,
    pub(super) process: ProcessTool,
    pub(super) context: ToolContext,
    pub(super) asker: Arc<Script>,
    pub(super) events: Arc<Events>,
    pub(super) listed: Arc<Listed>,
    pub(super) yolo: Yolo,
    pub(super) directory: tempfile::TempDir,
}

pub(super) fn bed() -> Bed {
    bed_with("terminal: {auto_source_bashrc: false}", None, Nobody::Deny)
}

pub(super) fn bed_with(yaml: &str, answer: Option<Answer>, unattended: Nobody) -> Bed {
    bed_judged(yaml, answer, unattended, None)
}

pub(super) fn bed_judged(
    yaml: &str,
    answer: Option<Answer>,
    unattended: Nobody,
    verdict: Option<Verdict>,
) -> Bed {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("work");
    let home = directory.path().join("home-of-hermes");
    std::fs::create_dir_all(&work).unwrap();
    std::fs::create_dir_all(&home).unwrap();
    let temp = directory.path().join("tmp");
    std::fs::create_dir_all(&temp).unwrap();
    let mut environment = Environment::of_process();
    environment.set("OPENAI_API_KEY", "sk-not-for-commands");
    environment.set("TMPDIR", temp.to_str().unwrap());
    // Start-up files of whoever runs the tests may do anything, and take their time.
    let user_home = directory.path().join("user");
    std::fs::create_dir_all(&user_home).unwrap();
    environment.set("HOME", user_home.to_str().unwrap());
    let home = Home::at(&home, &home);
    let config_file = home.config_file();
    std::fs::write(&config_file, yaml).unwrap();
    let config = Config::load(&home, &environment, &[]).unwrap();
    let policy = ApprovalPolicy::read(&config, Occasion::Worker)
        .unwrap_or_else(|_| ApprovalPolicy::read(&Config::defaults(), Occasion::Worker).unwrap());
    let sandboxes = Sandboxes::new(SandboxesPlan {
        config: Arc::new(config),
        home,
        environment,
        front_end: FrontEnd::Terminal,
        launched_in: Some(work.canonicalize().unwrap()),
        user: HostUser { uid: 0, gid: 0 },
        clock: Clock::System,
        notify: Arc::new(|_| {}),
    });
    let asker = Arc::new(Script {
        answer,
        asked: Mutex::default(),
    });
    let events = Arc::new(Events::default());
    let listed = Arc::new(Listed::default());
    let policy = ApprovalPolicy {
        unattended,
        ..policy
    };
    let judge = verdict.map(|verdict| Arc::new(Says(verdict)) as Arc<dyn Judge>);
    let yolo = Yolo::default();
    let gate = Arc::new(ApprovalGate::new(
        policy,
        listed.clone(),
        judge,
        yolo.clone(),
    ));
    Bed {
        terminal: Arc::new(TerminalTool::new(sandboxes.clone(), gate.clone())),
        gate,
        process: ProcessTool::new(sandboxes.clone()),
        sandboxes,
        context: ToolContext {
            session: SessionId::new("s1"),
            task: "default".to_owned(),
            call_id: "call_1".to_owned(),
            round: 1,
            reader: hermes_tools::Reader::Model,
            cancel: CancellationToken::new(),
            asker: asker.clone(),
            events: events.clone(),
        },
        asker,
        events,
        listed,
        yolo,
        directory,
    }
}

impl Bed {
    pub(super) async fn call(&self, arguments: Value) -> Value {
        let output = self.terminal.call(&self.context, arguments).await;
        serde_json::from_str(&output.text).unwrap()
    }

    pub(super) async fn run(&self, command: &str) -> Value {
        self.call(serde_json::json!({ "command": command })).await
    }

    pub(super) async fn process(&self, arguments: Value) -> Value {
        let output = self.process.call(&self.context, arguments).await;
        serde_json::from_str(&output.text).unwrap()
    }
}

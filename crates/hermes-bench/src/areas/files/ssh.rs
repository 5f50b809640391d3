//! A host behind ssh: a real `sshd` on loopback.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use hermes_home::Home;
use hermes_sandbox::background::{Owner, Processes, ProcessesOptions, StartRequest};
use hermes_sandbox::docker::HomeShare;
use hermes_sandbox::session::{RunRequest, SessionOptions, ShellSession};
use hermes_sandbox::ssh::{ShareRules, SshLogin, SshTarget};
use hermes_testkit::ssh::SshServer;

use super::{at_most, ms};
use crate::measure::Bench;
use crate::report::{Row, Unit};

/// Skills that are looked through before commands.
const SKILLS: usize = 200;

pub(super) async fn run(bench: &Bench) -> Result<Vec<Row>> {
    let server = SshServer::start();
    let home = tempfile::tempdir()?;
    for number in 0..SKILLS {
        let skill = home.path().join(format!("skills/group/skill-{number}"));
        std::fs::create_dir_all(&skill)?;
        std::fs::write(skill.join("SKILL.md"), "text\n".repeat(400))?;
    }
    let target = Arc::new(SshTarget::new(login(&server)).sharing(
        Home::at(home.path(), home.path()),
        ShareRules {
            share: HomeShare {
                home: home.path().to_owned(),
                external_skills: Vec::new(),
                credential_files: Vec::new(),
            },
            back: true,
            always: false,
        },
    ));
    let session = Arc::new(ShellSession::new(
        target.clone(),
        SessionOptions::starting_in("~"),
    ));
    command(&session, "true").await?;
    let mut commands = Vec::new();
    for _ in 0..bench.rounds * 4 {
        commands.push(command(&session, "true").await?);
    }
    let processes = Processes::new(ProcessesOptions { checkpoint: None });
    let owner = Owner {
        task: "bench".to_owned(),
        ..Owner::default()
    };
    let mut starts = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        let process = processes
            .start(StartRequest::new(
                session.clone(),
                "sleep 300",
                owner.clone(),
            ))
            .await?;
        starts.push(ms(began));
        processes.kill(&process.id, "bench").await?;
    }
    target.close().await;
    target.hang_up().await;
    Ok([
        at_most(
            "ssh `true`, warm, 200 skills shared",
            Unit::Ms,
            8.0,
            commands,
        ),
        at_most("background start over ssh", Unit::Ms, 200.0, starts),
    ]
    .into_iter()
    .flatten()
    .collect())
}

async fn command(session: &ShellSession, text: &str) -> Result<f64> {
    let began = Instant::now();
    let outcome = session.run(RunRequest::new(text)).await?;
    let took = ms(began);
    ensure!(outcome.ending.code() == 0, "{}", outcome.output.joined());
    Ok(took)
}

fn login(server: &SshServer) -> SshLogin {
    SshLogin {
        host: "127.0.0.1".to_owned(),
        user: server.user(),
        port: server.port(),
        key: Some(server.key()),
        program: "ssh".to_owned(),
        temp_dir: server.path(""),
        options: server.options(),
    }
}

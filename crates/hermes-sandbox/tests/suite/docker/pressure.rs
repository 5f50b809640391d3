//! A sandbox without room: commands still run, and what cannot be kept is not half kept.

use std::sync::Arc;
use std::time::Duration;

use hermes_sandbox::session::{RunRequest, SessionOptions, ShellSession};
use hermes_sandbox::{Exit, Target};
use hermes_testkit::docker::BASH;
use pretty_assertions::assert_eq;

use super::support::{Setup, run, says, setup};

/// Its `/tmp`, where our own files lie, holds a megabyte. Podman refuses to mount it
/// twice, and the behaviour is not the engine's.
fn small() -> Option<Setup> {
    let mut setup = setup(BASH)?;
    setup.plan.settings.extra_arguments = vec!["--tmpfs".into(), "/tmp:rw,exec,size=1m".into()];
    Some(setup)
}

const FILL: &str = "head -c 2000000 /dev/zero > /tmp/fill 2>/dev/null; true";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_a_full_disk_inside_stops_no_call() {
    let Some(setup) = small() else { return };
    let target = setup.target();
    says(&target, FILL).await;
    assert_eq!(run(&target, "echo x > /tmp/more").await.1, Exit::Code(1));
    assert_eq!(says(&target, "echo works").await, "works\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_a_session_on_a_full_disk_keeps_the_state_it_had() {
    let Some(setup) = small() else { return };
    let target: Arc<dyn Target> = Arc::new(setup.target());
    let session = ShellSession::new(target, SessionOptions::starting_in("/root"));
    let run = async |command: &str| {
        let request = RunRequest {
            timeout: Duration::from_secs(30),
            ..RunRequest::new(command)
        };
        let outcome = session.run(request).await.expect("it runs");
        (outcome.output.joined(), outcome.ending.code())
    };
    assert_eq!(run("export A=before").await, (String::new(), 0));
    assert_eq!(run(FILL).await.1, 0);
    let (text, code) = run(
        "export A=lost BIG=$(head -c 90000 /dev/zero | tr '\\0' x); cd /usr; echo said; (exit 3)",
    )
    .await;
    assert!(
        text.starts_with("said\n") && text.contains("may be full"),
        "{text}"
    );
    assert_eq!(code, 3);
    // Neither lost nor mixed: the variables are those of the last state that was kept.
    assert_eq!(
        run("echo \"$A ${#BIG}\"; pwd").await,
        ("before 0\n/usr\n".to_owned(), 0)
    );
    assert_eq!(run("rm /tmp/fill; export A=after").await.1, 0);
    assert_eq!(run("echo $A").await, ("after\n".to_owned(), 0));
}

//! A daemon that is restarted, between calls and during one.

use std::time::{Duration, Instant};

use hermes_home::Environment;
use hermes_sandbox::Exit;
use hermes_sandbox::docker::DockerTarget;
use hermes_testkit::docker::{BASH, PrivateEngine};
use pretty_assertions::assert_eq;

use super::support::{finish, says, setup, start};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_a_restarted_daemon_is_healed_between_calls_and_told_during_one() {
    let Some(setup) = setup(BASH) else { return };
    let Some(mut engine) = PrivateEngine::start() else {
        return;
    };
    engine.image(BASH);
    let mut environment = Environment::of_process();
    environment.set("DOCKER_HOST", engine.host());
    let target = DockerTarget::new(setup.host_with(&environment), setup.plan.clone());
    says(&target, "touch /marker").await;
    let (id, _) = target.container().expect("attached");

    engine.down();
    let began = Instant::now();
    let error = start(&target, "true").await.err().expect("no daemon");
    assert!(error.to_string().contains("cannot reach docker"), "{error}");
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    engine.up();
    assert_eq!(says(&target, "ls /marker").await, "/marker\n");
    assert_eq!(target.container().expect("attached").0, id);

    let mut running = start(&target, "echo run >> /root/runs; echo partial; sleep 60")
        .await
        .expect("starts");
    assert_eq!(
        running.output.recv().await.as_deref(),
        Some(&b"partial\n"[..])
    );
    engine.down();
    let (_, exit) = finish(running).await;
    assert!(matches!(exit, Exit::Lost(_)), "{exit:?}");
    engine.up();
    assert_eq!(says(&target, "cat /root/runs").await, "run\n");
    assert_eq!(engine.docker(&["ps", "-aq"]).lines().count(), 1);
    target.cleanup(true).await;
    engine.docker(&["ps", "-aq"]);
}

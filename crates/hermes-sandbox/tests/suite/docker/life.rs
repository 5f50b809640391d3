//! Finding, making, keeping and giving up containers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use hermes_home::Clock;
use hermes_sandbox::docker::{
    DockerHost, DockerTarget, HostUser, Identity, OnDrift, Persist, Place,
};
use hermes_sandbox::{Exit, Target};
use hermes_testkit::docker::{BARE, BASH, wait_until};
use pretty_assertions::assert_eq;

use super::CLIENT;
use super::support::{environment, run, says, setup, start};

fn inspect(id: &str, format: &str) -> String {
    CLIENT.run(&["inspect", "--format", format, id])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_two_processes_share_one_container_and_its_background_processes() {
    let Some(setup) = setup(BASH) else { return };
    let first = setup.target();
    says(&first, "setsid sleep 3500 </dev/null >/dev/null 2>&1 &").await;
    let (id, name) = first.container().expect("attached");
    assert!(name.starts_with("hermes-") && name.len() == 15);
    first.cleanup(false).await;
    drop(first);
    let second = setup.target();
    says(&second, "true").await;
    assert_eq!(second.container().expect("attached").0, id);
    let running = CLIENT.processes(id.as_str());
    assert!(running.iter().any(|p| p.contains("3500")), "{running:#?}");
    assert_eq!(setup.notices(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_the_container_is_hardened_limited_and_labelled() {
    let Some(mut setup) = setup(BASH) else { return };
    setup.plan.settings.cpus = 0.5;
    setup.plan.settings.environment = BTreeMap::from([
        ("ALPHA".into(), "two words".into()),
        ("PATH".into(), "/bin:/opt/x".into()),
    ]);
    setup.plan.settings.extra_arguments = vec!["--hostname".into(), "box".into()];
    let target = setup.target();
    assert_eq!(
        says(&target, "hostname; echo $ALPHA; echo $PATH; pwd").await,
        "box\ntwo words\n/bin:/opt/x\n/\n"
    );
    let (id, _) = target.container().expect("attached");
    let id = id.as_str();
    assert_eq!(
        inspect(
            id,
            "{{.HostConfig.SecurityOpt}} {{.HostConfig.PidsLimit}} {{.HostConfig.Init}}"
        ),
        "[no-new-privileges] 256 true"
    );
    assert_eq!(
        inspect(id, "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}}"),
        "536870912 500000000"
    );
    // CHOWN, DAC_OVERRIDE, FOWNER, SETGID, SETUID and nothing else.
    assert_eq!(capabilities(&target).await, 0xcb);
    assert_eq!(
        says(&target, "grep NoNewPrivs /proc/self/status").await,
        "NoNewPrivs:\t1\n"
    );
    assert_eq!(
        inspect(
            id,
            "{{index .Config.Labels \"hermes-agent\"}} {{index .Config.Labels \"hermes-task-id\"}} {{index .Config.Labels \"hermes-profile\"}}"
        ),
        "1 default tester"
    );
    assert_eq!(
        inspect(id, "{{index .Config.Labels \"hermes-home\"}}"),
        setup.plan.whose.identity.home
    );
    // Native builds run what they put into /tmp.
    assert_eq!(
        says(&target, "cp /bin/cat /tmp/b && echo runs | /tmp/b").await,
        "runs\n"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_names_of_any_shape_find_their_container_again() {
    let Some(mut setup) = setup(BASH) else { return };
    let long = "x".repeat(200);
    for key in ["täsk/with:weird*chars/😀", long.as_str(), "../../escape"] {
        let home = setup.plan.whose.home.clone();
        setup.plan.whose.identity = Identity::new(key, "pröfile/x", &home);
        setup.plan.whose.place = Place::new(&home.join("sandboxes"), key);
        let target = setup.target();
        says(&target, "true").await;
        let (id, _) = target.container().expect("attached");
        target.cleanup(false).await;
        let again = setup.target();
        says(&again, "true").await;
        assert_eq!(again.container().expect("attached").0, id, "{key}");
        again.cleanup(true).await;
    }
    assert!(
        setup
            .directory
            .path()
            .join("sandboxes/docker")
            .read_dir()
            .expect("a directory")
            .count()
            >= 3
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_another_home_with_the_same_profile_name_gets_its_own_container() {
    let Some(one) = setup(BASH) else { return };
    let Some(two) = setup(BASH) else { return };
    let (first, second) = (one.target(), two.target());
    says(&first, "echo mine > /root/file").await;
    assert_eq!(run(&second, "cat /root/file").await.1, Exit::Code(1));
    assert_ne!(
        first.container().expect("a").0,
        second.container().expect("b").0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_a_private_container_is_never_shared_and_goes_with_its_process() {
    let Some(mut setup) = setup(BASH) else { return };
    setup.plan.life.persist = Persist::WithProcess;
    let host = setup.host_with(&environment());
    let one = DockerTarget::new(host.clone(), setup.plan.clone());
    let two = DockerTarget::new(host.clone(), setup.plan.clone());
    says(&one, "true").await;
    says(&two, "true").await;
    assert_eq!(setup.sweep.containers().len(), 2);
    let mut shared = setup.plan.clone();
    shared.life.persist = Persist::AcrossProcesses;
    let three = DockerTarget::new(host.clone(), shared);
    says(&three, "true").await;
    assert_eq!(
        setup.sweep.containers().len(),
        3,
        "the probe skips private ones"
    );
    one.cleanup(false).await;
    two.cleanup(false).await;
    three.cleanup(false).await;
    assert!(host.finish().await);
    assert_eq!(setup.sweep.containers(), vec![three_id(&setup)]);
}

fn three_id(setup: &super::support::Setup) -> String {
    let filter = format!("label=hermes-home={}", setup.plan.whose.identity.home);
    CLIENT.run(&["ps", "-q", "--no-trunc", "--filter", &filter])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_removal_by_force_takes_a_shared_container() {
    let Some(setup) = setup(BASH) else { return };
    let host = setup.host_with(&environment());
    let target = DockerTarget::new(host.clone(), setup.plan.clone());
    says(&target, "true").await;
    target.cleanup(true).await;
    assert!(host.finish().await);
    assert_eq!(setup.sweep.containers(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_a_failed_creation_names_the_image_and_leaves_nothing() {
    let Some(mut setup) = setup(BASH) else { return };
    setup.plan.settings.image = "hermes-test/nonesuch:9".to_owned();
    setup.plan.settings.environment = BTreeMap::from([("SECRET".into(), "hunter2".into())]);
    let target = setup.target();
    let error = start(&target, "true")
        .await
        .err()
        .expect("no image")
        .to_string();
    assert!(error.contains("hermes-test/nonesuch:9"), "{error}");
    assert!(
        !error.contains("--cap-drop") && !error.contains("hunter2"),
        "{error}"
    );
    // A container that is created and cannot be started must not stay either.
    setup.plan.settings.image = CLIENT.image(BASH).to_owned();
    setup.plan.settings.extra_arguments = vec!["--entrypoint".into(), "/no/such/program".into()];
    let target = setup.target();
    start(&target, "true").await.err().expect("cannot start");
    assert_eq!(setup.sweep.containers(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_an_image_without_any_shell_is_told() {
    let Some(setup) = setup(BARE) else { return };
    let target = setup.target();
    let error = start(&target, "true")
        .await
        .err()
        .expect("no shell")
        .to_string();
    assert_eq!(error, "there is no `sh` in the sandbox");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_drift_is_told_and_cured_only_when_nobody_is_harmed() {
    let Some(mut setup) = setup(BASH) else { return };
    let first = setup.target();
    says(&first, "true").await;
    let (id, _) = first.container().expect("attached");
    setup.plan.settings.memory_mb = 256;
    let warned = setup.target();
    says(&warned, "true").await;
    assert_eq!(warned.container().expect("attached").0, id);
    let notice = setup.notices().join("\n");
    assert!(
        notice.contains("container_memory: container has `512`, configuration says `256`"),
        "{notice}"
    );
    // Leased by others: stays.
    setup.plan.life.on_drift = OnDrift::Recreate;
    let kept = setup.target();
    says(&kept, "true").await;
    assert_eq!(kept.container().expect("attached").0, id);
    for target in [&first, &warned, &kept] {
        target.cleanup(false).await;
    }
    wait_until("our shells are gone", || {
        CLIENT.processes(id.as_str()).len() == 2
    });
    // A process of somebody who takes no lease: stays.
    CLIENT.run(&[
        "exec",
        "-d",
        id.as_str(),
        "sh",
        "-c",
        "echo $$ > /tmp/pid; exec sleep 3600",
    ]);
    wait_until("it runs", || {
        CLIENT
            .processes(id.as_str())
            .iter()
            .any(|p| p.contains("sleep 3600"))
    });
    let kept = setup.target();
    says(&kept, "true").await;
    assert_eq!(kept.container().expect("attached").0, id);
    kept.cleanup(false).await;
    CLIENT.run(&["exec", id.as_str(), "sh", "-c", "kill $(cat /tmp/pid)"]);
    wait_until("nobody is left", || {
        CLIENT.processes(id.as_str()).len() == 2
    });
    let cured = setup.target();
    says(&cured, "true").await;
    let (new, _) = cured.container().expect("attached");
    assert_ne!(new, id);
    assert_eq!(inspect(new.as_str(), "{{.HostConfig.Memory}}"), "268435456");
    assert_eq!(setup.sweep.containers().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_without_network_a_container_that_has_one_is_not_used() {
    let Some(mut setup) = setup(BASH) else { return };
    let with = setup.target();
    says(&with, "true").await;
    let (id, _) = with.container().expect("attached");
    setup.plan.settings.network = false;
    let refused = setup.target();
    let error = start(&refused, "true")
        .await
        .err()
        .expect("in use")
        .to_string();
    assert!(error.contains("docker_network"), "{error}");
    with.cleanup(false).await;
    wait_until("our shells are gone", || {
        CLIENT.processes(id.as_str()).len() == 2
    });
    let without = setup.target();
    assert_eq!(says(&without, "ls /sys/class/net").await, "lo\n");
    assert_eq!(setup.sweep.containers().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_the_container_of_a_killed_process_is_reaped_and_no_other() {
    let Some(mut setup) = setup(BASH) else { return };
    setup.plan.life.orphan_reaper = true;
    setup.plan.life.persist = Persist::WithProcess;
    let home = format!("hermes-home={}", setup.plan.whose.identity.home);
    let living = setup.target();
    says(&living, "true").await;
    let (living_id, _) = living.container().expect("attached");
    // Without an owner: as after a kill.
    let orphan = |name: &str| {
        CLIENT.run(&[
            "run",
            "-d",
            "--init",
            "--name",
            name,
            "--label",
            "hermes-agent=1",
            "--label",
            "hermes-task-id=default",
            "--label",
            "hermes-profile=tester",
            "--label",
            "hermes-private=1",
            "--label",
            &home,
            CLIENT.image(BASH),
            "sleep",
            "infinity",
        ])
    };
    let tag = &setup.plan.whose.identity.home[..8];
    let dead = orphan(&format!("hermes-dead-{tag}"));
    let busy = orphan(&format!("hermes-busy-{tag}"));
    CLIENT.run(&["exec", "-d", &busy, "sleep", "3500"]);
    wait_until("something runs in it", || {
        CLIENT.processes(&busy).iter().any(|p| p.contains("3500"))
    });
    let lease = setup
        .plan
        .whose
        .place
        .private_lease(&format!("hermes-dead-{tag}"));
    std::fs::write(&lease, "").expect("a lease that nobody holds");
    let exists = |id: &str| CLIENT.try_run(&["inspect", id]).is_some();
    for (minutes, gone) in [(0, false), (60, true)] {
        let clock = Clock::fixed(Utc::now() + chrono::Duration::minutes(minutes));
        let nowhere = PathBuf::from("/nonexistent");
        let host = DockerHost::find(&environment(), &nowhere, clock, Arc::new(|_: String| {}));
        let another = DockerTarget::new(host.expect("engine"), setup.plan.clone());
        says(&another, "true").await;
        if gone {
            wait_until("it is gone", || !exists(&dead) && !lease.exists());
        }
        assert_eq!(exists(&dead), !gone);
        another.cleanup(false).await;
    }
    assert!(exists(&busy) && exists(living_id.as_str()));
    living.cleanup(false).await;
    CLIENT.discard(&busy);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_leftovers_are_reaped_after_the_probe_and_only_ours() {
    let Some(mut setup) = setup(BASH) else { return };
    setup.plan.life.orphan_reaper = true;
    setup.plan.life.lifetime = Duration::from_secs(60);
    let home = setup.plan.whose.identity.home.clone();
    let leftover = |task: &str, profile: &str, home: &str, running: bool| {
        let labels: Vec<String> = vec![
            "hermes-agent=1".into(),
            format!("hermes-task-id={task}"),
            format!("hermes-profile={profile}"),
            format!("hermes-home={home}"),
            format!("hermes-sweep={}", setup.plan.whose.identity.home),
        ];
        let mut words = vec!["run", "-d", "--init"];
        for label in &labels {
            words.extend(["--label", label]);
        }
        words.extend([CLIENT.image(BASH), "sleep", "600"]);
        let id = CLIENT.run(&words);
        if !running {
            CLIENT.run(&["kill", &id]);
        }
        id
    };
    let own = leftover("default", "tester", &home, false);
    let old = leftover("other", "tester", &home, false);
    let busy = leftover("other", "tester", &home, true);
    let profile = leftover("other", "someone", &home, false);
    let foreign = leftover("other", "tester", "0123456789abcdef", false);
    let created = CLIENT.run(&[
        "create",
        "--label",
        "hermes-agent=1",
        "--label",
        "hermes-profile=tester",
        "--label",
        &format!("hermes-home={home}"),
        CLIENT.image(BASH),
        "true",
    ]);
    wait_until("they have exited", || {
        inspect(&old, "{{.State.Status}}") == "exited"
            && inspect(&own, "{{.State.Status}}") == "exited"
    });
    let exists = |id: &str| CLIENT.try_run(&["inspect", id]).is_some();
    let at = |minutes: i64| {
        let clock = Clock::fixed(Utc::now() + chrono::Duration::minutes(minutes));
        let notify = Arc::new(|_: String| {});
        DockerHost::find(
            &environment(),
            &PathBuf::from("/nonexistent"),
            clock,
            notify,
        )
        .expect("engine")
    };
    // Young ones stay, and with the reaper off nothing is looked for.
    let mut off = setup.plan.clone();
    off.life.orphan_reaper = false;
    let host = at(60);
    says_true(&DockerTarget::new(host.clone(), off)).await;
    says_true(&DockerTarget::new(at(0), setup.plan.clone())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(exists(&old) && exists(&created));
    // The flag was not used up by the plan that had it off.
    CLIENT.run(&["stop", "-t", "0", &own]);
    let target = DockerTarget::new(host, setup.plan.clone());
    says_true(&target).await;
    assert_eq!(
        target.container().expect("attached").0.as_str(),
        own,
        "reused, not reaped"
    );
    wait_until("the old ones are gone", || {
        !exists(&old) && !exists(&created)
    });
    assert!(exists(&busy) && exists(&profile) && exists(&foreign) && exists(&own));
    for id in [busy, profile, foreign, own] {
        CLIENT.discard(&id);
    }
}

async fn says_true(target: &DockerTarget) {
    let running = target
        .launch(hermes_sandbox::Launch::new(
            "true",
            hermes_sandbox::Shell::Sh,
        ))
        .await
        .expect("starts");
    assert_eq!(running.exit.await, Exit::Code(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_files_belong_to_the_host_user_when_asked() {
    let Some(mut setup) = setup(BASH) else { return };
    setup.plan.settings.run_as = Some(HostUser {
        uid: 4321,
        gid: 4321,
    });
    let workspace = setup.plan.whose.place.workspace();
    std::fs::create_dir_all(&workspace).expect("mkdir");
    std::os::unix::fs::chown(&workspace, Some(4321), Some(4321)).expect("chown");
    let target = setup.target();
    assert_eq!(
        says(&target, "id -u; touch /workspace/file").await,
        "4321\n"
    );
    let meta = std::fs::metadata(workspace.join("file")).expect("a file");
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&meta), 4321);
    assert_eq!(capabilities(&target).await, 0x0b);
}

/// What a process inside can have at most.
async fn capabilities(target: &DockerTarget) -> u64 {
    let line = says(target, "grep CapBnd /proc/self/status").await;
    let digits = line.split_whitespace().last().expect("a mask");
    u64::from_str_radix(digits, 16).expect("hexadecimal")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn docker_an_idle_shared_container_is_let_go_and_found_again_and_a_private_one_goes() {
    let Some(mut setup) = setup(BASH) else { return };
    setup.plan.life.lifetime = Duration::from_secs(1);
    let target = setup.target();
    says(&target, "touch /tmp/state").await;
    let (id, _) = target.container().expect("attached");
    wait_until("it is let go", || target.container().is_none());
    wait_until("our shells are gone", || {
        CLIENT.processes(id.as_str()).len() == 2
    });
    assert_eq!(says(&target, "ls /tmp/state").await, "/tmp/state\n");
    assert_eq!(target.container().expect("attached").0, id);
    target.cleanup(true).await;

    setup.plan.life.persist = Persist::WithProcess;
    let host = setup.host_with(&environment());
    let private = DockerTarget::new(host.clone(), setup.plan.clone());
    says(&private, "setsid sleep 3 </dev/null >/dev/null 2>&1 &").await;
    let (id, _) = private.container().expect("attached");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(private.container().is_some(), "something still runs in it");
    wait_until("it is gone", || {
        CLIENT.try_run(&["inspect", id.as_str()]).is_none()
    });
    assert_eq!(says(&private, "echo new").await, "new\n");
    private.cleanup(false).await;
    assert!(host.finish().await);
}

//! The warm channel against a real container.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hermes_sandbox::{Exit, Launch, Shell, Stdin, Target};
use hermes_testkit::docker::{BASH, BUSYBOX};
use hermes_testkit::engine::Client;
use pretty_assertions::assert_eq;

use super::CLIENT;
use super::support::{finish, run, says, setup, start};

#[tokio::test]
async fn docker_commands_return_exact_output_and_code_over_both_drivers() {
    let Some(setup) = setup(BASH) else { return };
    for target in [setup.target(), setup.target_over_client()] {
        assert_eq!(
            run(&target, "printf exact").await,
            ("exact".into(), Exit::Code(0))
        );
        assert_eq!(
            run(&target, "echo out; echo err >&2; exit 3").await,
            ("out\nerr\n".into(), Exit::Code(3))
        );
        assert_eq!(
            run(&target, "kill -9 $$").await,
            (String::new(), Exit::Code(137))
        );
        let (bytes, _) = finish(
            start(&target, "printf '\\x00\\xff\\x1e'")
                .await
                .expect("starts"),
        )
        .await;
        assert_eq!(bytes, b"\x00\xff\x1e");
        assert_eq!(says(&target, "cat; echo end").await, "end\n");
        // Neither our descriptors nor our names reach a command.
        assert_eq!(
            says(&target, "ls /proc/self/fd | tr '\\n' ' '").await,
            "0 1 2 3 "
        );
        assert_eq!(says(&target, "env | grep -c _h_ || true").await, "0\n");
        // Podman's clients are parents of what they start: there it has what we ignore.
        if CLIENT == Client::Docker {
            assert_eq!(
                says(&target, "trap; grep SigIgn /proc/self/status | tr -d 0").await,
                "SigIgn:\t\n"
            );
        }
        target.cleanup(false).await;
    }
    assert_eq!(setup.sweep.containers().len(), 1);
}

#[tokio::test]
async fn docker_output_that_imitates_the_framing_arrives_as_it_is() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    let nonce = "0123456789abcdef0123456789abcdef";
    let lines = format!(
        "{nonce} ready\n{nonce} started 1 (x) S\n{nonce} exit 0\n{nonce} drained\nhello 1 2 bash\n\x1e{nonce}"
    );
    let script =
        format!("printf '%s' \"{lines}\"; printf '%s' \"{lines}\" >&2; printf '\\036'; exit 7");
    let (bytes, exit) = finish(start(&target, &script).await.expect("starts")).await;
    assert_eq!(
        String::from_utf8_lossy(&bytes),
        format!("{lines}{lines}\x1e")
    );
    assert_eq!(exit, Exit::Code(7));
    // Two calls at once, each printing the other's words, stay apart.
    let (one, two) = tokio::join!(
        says(&target, "for i in $(seq 200); do echo one; done"),
        says(&target, "for i in $(seq 200); do echo two; done"),
    );
    assert_eq!(one, "one\n".repeat(200));
    assert_eq!(two, "two\n".repeat(200));
}

#[tokio::test]
async fn docker_a_descendant_that_keeps_the_output_open_pollutes_no_later_call() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    let mut running = start(
        &target,
        "(sleep 0.6; while :; do echo stray; sleep 0.01; done) & echo first",
    )
    .await
    .expect("starts");
    assert_eq!(
        running.output.recv().await,
        Some(Bytes::from_static(b"first\n"))
    );
    assert_eq!((&mut running.exit).await, Exit::Code(0));
    drop(running);
    for _ in 0..40 {
        assert_eq!(says(&target, "sleep 0.03; echo clean").await, "clean\n");
    }
    let (id, _) = target.container().expect("attached");
    assert!(
        CLIENT
            .processes(id.as_str())
            .iter()
            .any(|p| p.contains("stray") || p.contains("sleep 0.0"))
    );
}

#[tokio::test]
async fn docker_input_reaches_the_command_small_large_and_streamed() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    let with = |stdin: Stdin, script: &str| {
        let mut launch = Launch::new(script, Shell::Bash);
        launch.stdin = stdin;
        launch
    };
    for size in [0, 10, 5000, 300_000] {
        let bytes: Vec<u8> = (0..size).map(|i| (i % 256) as u8).collect();
        let running = target
            .launch(with(Stdin::Bytes(bytes.clone()), "cat"))
            .await
            .expect("starts");
        let (output, exit) = finish(running).await;
        assert_eq!((output == bytes, exit), (true, Exit::Code(0)), "{size}");
    }
    let mut running = target
        .launch(with(
            Stdin::Pipe,
            "while read -r x; do echo got $x; done; echo eof",
        ))
        .await
        .expect("starts");
    running
        .control
        .write(Bytes::from_static(b"one\n"))
        .await
        .expect("writes");
    assert_eq!(
        running.output.recv().await,
        Some(Bytes::from_static(b"got one\n"))
    );
    running.control.close_stdin().await.expect("closes");
    let (output, exit) = finish(running).await;
    assert_eq!((output, exit), (b"eof\n".to_vec(), Exit::Code(0)));
}

#[tokio::test]
async fn docker_scripts_and_variables_of_any_shape_arrive() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    let mut launch = Launch::new("printf '%s|' \"$A\" \"$B\"", Shell::Bash);
    launch.environment = vec![
        ("A".into(), "it's $HOME `x`\n\"two\"".into()),
        ("B".into(), "ü😀".into()),
    ];
    let (output, _) = finish(target.launch(launch).await.expect("starts")).await;
    assert_eq!(
        String::from_utf8_lossy(&output),
        "it's $HOME `x`\n\"two\"|ü😀|"
    );
    // Far beyond what one argument may be.
    let long = format!(
        ": '{}'\necho ${{#BASH_VERSION}} | grep -c .",
        "0123456789 0123456789 0123456789\n".repeat(5_000)
    );
    assert_eq!(says(&target, &long).await, "1\n");
    // Bytes that are no text.
    let launch = Launch::new(b"printf '%s' '\xff\xfe'".to_vec(), Shell::Bash);
    let (output, _) = finish(target.launch(launch).await.expect("starts")).await;
    assert_eq!(output, b"\xff\xfe");
}

#[tokio::test]
async fn docker_sixteen_calls_at_once_do_not_queue() {
    let Some(setup) = setup(BASH) else { return };
    let target = setup.target();
    says(&target, "true").await;
    // One after another they would take 16 s.
    let began = Instant::now();
    let calls = (0..16).map(|_| says(&target, "sleep 1"));
    futures_util::future::join_all(calls).await;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(12), "{took:?}");
}

#[tokio::test]
async fn docker_an_image_without_bash_says_so_and_runs_sh() {
    let Some(setup) = setup(BUSYBOX) else { return };
    let target = setup.target();
    let error = start(&target, "true").await.err().expect("no bash");
    assert_eq!(error.to_string(), "there is no `bash` in the sandbox");
    let running = target
        .launch(Launch::new("echo $0; exit 4", Shell::Sh))
        .await
        .expect("starts");
    assert_eq!(finish(running).await, (b"sh\n".to_vec(), Exit::Code(4)));
}

//! Output to the letter, in bounded memory.

use std::time::{Duration, Instant};

use hermes_sandbox::session::{RunRequest, Tee};
use hermes_sandbox::target::Stdin;
use pretty_assertions::assert_eq;

use super::support::{SECOND, alive, bed, unique_sleep};

#[tokio::test]
async fn output_is_exact() {
    let bed = bed();
    assert_eq!(bed.out("printf exact").await, "exact");
    assert_eq!(bed.out("printf '\\n\\nx\\n\\n'").await, "\n\nx\n\n");
    assert_eq!(bed.out("true").await, "");
    assert_eq!(
        bed.out("printf '\\xff|\\xc3\\xa9|\\xe2\\x82'").await,
        "\u{fffd}|é|\u{fffd}"
    );
    assert_eq!(
        bed.out("echo out; echo err >&2; echo out2").await,
        "out\nerr\nout2\n"
    );
    assert_ne!(bed.run("echo 'unbalanced").await.1, 0);
    assert_eq!(
        bed.out("echo 'it'\\''s' \"$(echo sub)\" # comment").await,
        "it's sub\n"
    );
    assert_eq!(bed.out("cat <<'EOF'\nhere $x\nEOF").await, "here $x\n");
}

#[tokio::test]
async fn codes_are_the_commands_own() {
    let bed = bed();
    for (command, code) in [
        ("exit 3", 3),
        ("false", 1),
        ("(exit 42)", 42),
        ("nosuchcommand", 127),
        ("kill -9 $$", 137),
        ("bash -c 'kill -SEGV $$'", 139),
    ] {
        assert_eq!(bed.run(command).await.1, code, "{command}");
    }
}

#[tokio::test]
async fn output_that_imitates_our_frame_is_output() {
    let bed = bed();
    let imitation = "printf '\\n__HERMES_0123456789abcdef0123456789abcdef_CWD__+//etc\\n0123456789abcdef_CWD____HERMES_0123456789abcdef\\n'";
    assert_eq!(
        bed.out(imitation).await,
        "\n__HERMES_0123456789abcdef0123456789abcdef_CWD__+//etc\n0123456789abcdef_CWD____HERMES_0123456789abcdef\n"
    );
    assert_eq!(bed.session.cwd(), bed.directory());
    // A command that prints the script it runs in.
    let script = bed.out("tr '\\0' '\\n' </proc/$$/cmdline").await;
    assert!(script.contains("__HERMES_"), "{script}");
    assert_eq!(bed.session.cwd(), bed.directory());
}

#[tokio::test]
async fn what_an_exit_trap_prints_is_kept() {
    let bed = bed();
    assert_eq!(
        bed.out("trap 'echo bye' EXIT; echo hello").await,
        "hello\nbye\n"
    );
}

#[tokio::test]
async fn input_is_empty_unless_given() {
    let bed = bed();
    assert_eq!(bed.out("cat; echo end").await, "end\n");
    let request = RunRequest {
        stdin: Stdin::Bytes(b"from outside".to_vec()),
        ..RunRequest::new("cat")
    };
    assert_eq!(
        bed.session.run(request).await.unwrap().output.head,
        "from outside"
    );
}

#[tokio::test]
async fn a_command_longer_than_an_argument_may_be_runs() {
    let bed = bed();
    let long = "x".repeat(400_000);
    let text = bed
        .out(&format!(
            "printf '%s' '{long}' | wc -c; cd /; export Q=\"it's\""
        ))
        .await;
    assert_eq!(text.trim(), "400000");
    assert_eq!(bed.out("pwd; echo $Q").await, "/\nit's\n");
}

#[tokio::test]
async fn output_larger_than_the_limit_keeps_both_ends() {
    let bed = bed();
    let request = RunRequest {
        output_limit: 1000,
        ..RunRequest::new("seq 1 100000")
    };
    let outcome = bed.session.run(request).await.unwrap();
    let text = outcome.output.joined();
    assert!(text.starts_with("1\n2\n3\n"));
    assert!(text.ends_with("99999\n100000\n"));
    assert_eq!(outcome.output.total_chars, 588_895);
    // Both ends are cut between words, so that no key loses the half that gives it away.
    let omitted = outcome.output.omitted_chars();
    assert!((587_895..587_915).contains(&omitted), "{omitted}");
}

#[tokio::test]
async fn a_copy_of_the_output_arrives_while_the_command_runs() {
    let bed = bed();
    bed.out("true").await;
    let (sender, mut receiver) = tokio::sync::mpsc::channel(4);
    let request = RunRequest {
        tee: Some(Tee::All(sender)),
        ..RunRequest::new("echo first; sleep 0.4; echo second")
    };
    let session = bed.session.clone();
    let run = tokio::spawn(async move { session.run(request).await.unwrap() });
    assert_eq!(&receiver.recv().await.unwrap()[..], b"first\n");
    assert!(!run.is_finished());
    let mut rest = Vec::new();
    while let Some(chunk) = receiver.recv().await {
        rest.extend_from_slice(&chunk);
    }
    assert_eq!(rest, b"second\n");
    assert_eq!(run.await.unwrap().output.head, "first\nsecond\n");
}

#[tokio::test]
async fn a_descendant_that_holds_the_pipe_does_not_hold_the_call() {
    let bed = bed();
    bed.out("true").await;
    let number = unique_sleep();
    let began = Instant::now();
    assert_eq!(
        bed.out(&format!("sleep {number} & echo done")).await,
        "done\n"
    );
    assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
    let left = alive(&number);
    assert_eq!(left.len(), 1, "a finished command's leftovers live on");
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(left[0]),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
}

#[tokio::test]
async fn late_output_of_a_process_substitution_is_not_lost() {
    let bed = bed();
    assert_eq!(
        bed.out("echo through > >(sleep 0.1; cat)").await,
        "through\n"
    );
}

#[tokio::test]
async fn a_descendant_that_never_stops_printing_does_not_hold_the_call() {
    let bed = bed();
    bed.out("true").await;
    let began = Instant::now();
    let outcome = bed
        .outcome("(while echo noise; do sleep 0.05; done) & echo $!")
        .await;
    assert!(
        began.elapsed() < Duration::from_millis(1500),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(outcome.ending.code(), 0);
}

#[tokio::test]
async fn a_text_that_does_not_end_shows_nothing_of_ours_and_keeps_the_state() {
    let bed = bed();
    bed.out("export A=kept; mkdir d").await;
    for command in [
        "echo \"abc",
        "echo 'abc",
        "echo $(ls",
        "if true; then",
        "echo a; )",
        "f() {",
        "echo `ls",
        "cat <<EOF\nx",
        "{",
        "x=(",
        "case a in",
    ] {
        let (text, _) = bed.run(command).await;
        assert!(
            !text.contains("__hermes") && !text.contains("builtin"),
            "{command}: {text}"
        );
        assert_eq!(bed.out("cd d; cd ..; echo $A").await, "kept\n", "{command}");
    }
}

#[tokio::test]
async fn a_full_disk_keeps_the_old_state_and_runs_the_command() {
    if !nix::unistd::geteuid().is_root() {
        // Only root can mount the small disk this needs.
        return;
    }
    let disk = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
        .arg(disk.path())
        .status()
        .unwrap()
        .success();
    if !mounted {
        // A container without the right to mount.
        return;
    }
    let target = hermes_sandbox::local::LocalTarget::new(
        disk.path().to_str().unwrap(),
        vec![("PATH".to_owned(), super::support::path())],
    );
    let session = hermes_sandbox::session::ShellSession::new(
        std::sync::Arc::new(target),
        hermes_sandbox::session::SessionOptions::starting_in("/"),
    );
    let run = async |command: &str| {
        let outcome = session.run(RunRequest::new(command)).await.unwrap();
        (outcome.output.joined(), outcome.ending.code())
    };
    assert_eq!(run("export A=kept").await.1, 0);
    let fill = format!(
        "head -c 1000000 /dev/zero > {}/fill; export A=lost BIG=$(printf '%020000d' 0); echo $A",
        disk.path().display()
    );
    let (text, code) = run(&fill).await;
    let told = text.split_once("lost\n").map(|(_, note)| note.to_owned());
    assert!(
        code == 0 && told.is_some_and(|note| note.contains("may be full")),
        "{text}"
    );
    assert_eq!(run("echo $A").await, ("kept\n".to_owned(), 0));
    assert_eq!(
        run(&format!("rm {}/fill; export A=new", disk.path().display()))
            .await
            .1,
        0
    );
    assert_eq!(run("echo $A").await, ("new\n".to_owned(), 0));
    assert!(
        std::process::Command::new("umount")
            .arg("-l")
            .arg(disk.path())
            .status()
            .unwrap()
            .success()
    );
}

//! `hermes sandbox exec` on this machine.

use pretty_assertions::assert_eq;

use super::support::Scratch;

#[test]
fn exec_runs_locally_with_state_between_processes() {
    let scratch = Scratch::new();
    let ran = scratch.run(["sandbox", "exec", "--", "echo out; echo err >&2; exit 3"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (3, "out\nerr\n"),
        "{ran:#?}"
    );
    scratch.ok(["sandbox", "exec", "--", "cd /usr; export A=7"]);
    assert_eq!(
        scratch.ok(["sandbox", "exec", "--", "pwd; echo $A"]),
        "/usr\n7\n"
    );
    let other = scratch.ok(["sandbox", "exec", "--session", "other", "--", "pwd"]);
    assert_eq!(other, format!("{}\n", scratch.user_home().display()));
    let late = scratch.run(["sandbox", "exec", "--timeout", "0.3", "--", "sleep 60"]);
    assert_eq!(late.code, 124, "{late:#?}");
}

#[test]
fn exec_says_what_is_wrong_with_its_words_and_values() {
    let scratch = Scratch::new();
    assert!(scratch.fails(2, ["sandbox", "exec"]).contains("CMD"));
    let told = scratch.fails(2, ["sandbox", "exec", "--timeout=-1", "--", "true"]);
    assert!(told.contains("--timeout"), "{told}");
    let told = scratch.fails(
        2,
        [
            "-c",
            "terminal.backend=singularity",
            "sandbox",
            "exec",
            "--",
            "true",
        ],
    );
    assert!(told.contains("`singularity`"), "{told}");
}

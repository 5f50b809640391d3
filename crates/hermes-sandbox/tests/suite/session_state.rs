//! What survives from one command to the next, and what does not.

use std::os::unix::fs::PermissionsExt;

use hermes_sandbox::session::{RunRequest, SessionOptions, ShellSession};
use pretty_assertions::assert_eq;

use super::support::{bed, bed_with};

#[tokio::test]
async fn the_directory_survives() {
    let bed = bed();
    assert_eq!(bed.out("pwd").await, format!("{}\n", bed.directory()));
    bed.out("mkdir -p 'a b/c' && cd 'a b/c'").await;
    assert_eq!(bed.out("pwd").await, format!("{}/a b/c\n", bed.directory()));
    bed.out("cd ..").await;
    assert_eq!(bed.session.cwd(), format!("{}/a b", bed.directory()));
    assert_eq!(
        bed.out("cd - && pwd").await,
        format!("{0}/a b/c\n{0}/a b/c\n", bed.directory())
    );
}

#[tokio::test]
async fn exports_functions_and_aliases_survive_and_plain_variables_do_not() {
    let bed = bed();
    bed.out("export A='one two' ; B=plain; greet() { echo \"hello $1 $A\"; }; alias ll='echo aliased'; export -f greet").await;
    bed.out("true").await;
    assert_eq!(
        bed.out("greet you; ll; echo \"[$B]\"; bash -c 'greet child'")
            .await,
        "hello you one two\naliased\n[]\nhello child one two\n"
    );
    bed.out("unset A; unset -f greet; unalias ll").await;
    assert_eq!(bed.run("echo \"[$A]\"; greet; ll").await.1, 127);
}

#[tokio::test]
async fn values_with_every_kind_of_character_survive() {
    let bed = bed();
    bed.out(r#"export ODD=$'line\nquote\' "double" $dollar `tick` \\ \x01 ü 😀'; export EMPTY="#)
        .await;
    let expected = "line\nquote' \"double\" $dollar `tick` \\ \u{1} ü 😀|\n";
    assert_eq!(bed.out("echo \"$ODD|${EMPTY-unset}\"").await, expected);
    bed.out("true").await;
    assert_eq!(bed.out("echo \"$ODD|${EMPTY-unset}\"").await, expected);
}

#[tokio::test]
async fn shell_options_traps_and_redirections_do_not_survive() {
    let bed = bed();
    assert_eq!(
        bed.run("set -e; set -u; set -x; trap 'echo bye' EXIT; exec >/dev/null; true")
            .await
            .1,
        0
    );
    assert_eq!(
        bed.out("false; echo \"still $UNSET here\"").await,
        "still  here\n"
    );
    assert_eq!(
        bed.run("set -e; false; echo never").await,
        (String::new(), 1)
    );
    assert_eq!(bed.out("echo fine").await, "fine\n");
}

#[tokio::test]
async fn a_command_that_redirects_its_shell_keeps_its_state() {
    let bed = bed();
    bed.out("mkdir sub; exec >log 2>&1; cd sub; export KEPT=yes; echo hidden")
        .await;
    assert_eq!(
        bed.out("pwd; echo $KEPT; cat ../log").await,
        format!("{}/sub\nyes\nhidden\n", bed.directory())
    );
}

#[tokio::test]
async fn exit_gives_its_code_and_leaves_the_state_alone() {
    let bed = bed();
    assert_eq!(
        bed.run("cd /tmp; export LOST=1; exit 5").await,
        (String::new(), 5)
    );
    assert_eq!(
        bed.out("pwd; echo \"[$LOST]\"").await,
        format!("{}\n[]\n", bed.directory())
    );
}

#[tokio::test]
async fn an_explicit_directory_is_for_one_command_only() {
    let bed = bed();
    let run = |command: &str, workdir: &str| RunRequest {
        workdir: Some(workdir.to_owned()),
        ..RunRequest::new(command)
    };
    let outcome = bed.session.run(run("pwd", "/usr")).await.unwrap();
    assert_eq!(
        (outcome.output.head.as_str(), outcome.cwd),
        ("/usr\n", bed.directory())
    );
    assert_eq!(bed.out("pwd").await, format!("{}\n", bed.directory()));
    let outcome = bed.session.run(run("cd lib", "/usr")).await.unwrap();
    assert!(outcome.cwd.ends_with("/usr/lib"), "{}", outcome.cwd);
    let refused = bed
        .session
        .run(run("echo never", "/no/such/place"))
        .await
        .unwrap();
    assert_eq!(refused.ending.code(), 126);
    assert!(
        refused.output.head.contains("/no/such/place"),
        "{}",
        refused.output.head
    );
    let home = bed.session.run(run("pwd", "~")).await.unwrap();
    assert_eq!(home.output.head, format!("{}\n", bed.work.path().display()));
}

#[tokio::test]
async fn a_deleted_directory_gives_way_to_its_nearest_parent() {
    let bed = bed();
    bed.out("mkdir -p one/two/three && cd one/two/three").await;
    bed.out("rm -rf ../../../one/two").await;
    let text = bed.out("pwd").await;
    let expected = format!(
        "{0}/one/two/three cannot be entered any more; running in {0}/one]\n{0}/one\n",
        bed.directory()
    );
    assert_eq!(text, format!("[{expected}"));
    assert_eq!(bed.out("pwd").await, format!("{}/one\n", bed.directory()));
}

#[tokio::test]
async fn start_up_files_are_read_once_and_their_noise_is_not_shown() {
    let bed = bed_with(|options| {
        let home = options.cwd.clone();
        std::fs::write(
            format!("{home}/.bashrc"),
            "echo noise; export FROM_RC=1; _hidden() { echo body ran; }; __kept() { echo kept; }; seen() { echo seen; }; alias rc='echo rc'; shopt -s extglob\npat() { case $1 in @(a|b)) echo match;; esac; }; cd /; set -eu\n",
        )
        .unwrap();
        std::fs::write(format!("{home}/broken"), "if then fi\nexport NEVER=1\n").unwrap();
        options.init_files = vec![
            format!("{home}/missing"),
            format!("{home}/broken"),
            format!("{home}/.bashrc"),
        ];
    });
    assert_eq!(
        bed.out(
            "echo $FROM_RC; seen; __kept; rc; pat a; type _hidden 2>/dev/null || echo gone; pwd"
        )
        .await,
        format!("1\nseen\nkept\nrc\nmatch\ngone\n{}\n", bed.directory())
    );
}

#[tokio::test]
async fn a_missing_or_truncated_snapshot_is_made_again_and_the_command_runs_once() {
    let bed = bed();
    bed.out("export A=1").await;
    let directory = bed.session.state_directory().to_owned();
    std::fs::remove_dir_all(&directory).unwrap();
    bed.out("echo ran >> runs").await;
    assert_eq!(
        std::fs::read_to_string(bed.work.path().join("runs")).unwrap(),
        "ran\n"
    );
    bed.out("export B=2").await;
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    }
    bed.out("echo ran >> runs").await;
    assert_eq!(
        std::fs::read_to_string(bed.work.path().join("runs")).unwrap(),
        "ran\nran\n"
    );
}

#[tokio::test]
async fn snapshots_are_private_and_few() {
    let bed = bed();
    for number in 0..20 {
        bed.out(&format!("export N={number}")).await;
    }
    let directory = std::path::Path::new(bed.session.state_directory());
    assert_eq!(
        std::fs::metadata(directory).unwrap().permissions().mode() & 0o777,
        0o700
    );
    assert!(std::fs::read_dir(directory).unwrap().count() <= 3);
    bed.session.close().await;
    assert!(!directory.exists());
}

#[tokio::test]
async fn a_command_that_changes_nothing_does_not_undo_what_another_changed_meanwhile() {
    let bed = bed();
    bed.out("true").await;
    let slow = {
        let session = bed.session.clone();
        tokio::spawn(async move { session.run(RunRequest::new("sleep 0.5")).await.unwrap() })
    };
    tokio::time::sleep(std::time::Duration::from_millis(150)).await;
    bed.out("export MEANWHILE=1; mkdir x; cd x").await;
    slow.await.unwrap();
    assert_eq!(
        bed.out("echo $MEANWHILE; pwd").await,
        format!("1\n{}/x\n", bed.directory())
    );
}

#[tokio::test]
async fn sixteen_commands_at_once_do_not_queue() {
    let bed = bed();
    bed.out("true").await;
    let began = std::time::Instant::now();
    let mut set = tokio::task::JoinSet::new();
    for number in 0..16 {
        let session = bed.session.clone();
        set.spawn(async move {
            let outcome = session
                .run(RunRequest::new(format!("sleep 0.2; echo {number}")))
                .await
                .unwrap();
            outcome.output.head == format!("{number}\n")
        });
    }
    assert_eq!(set.join_all().await, vec![true; 16]);
    assert!(began.elapsed().as_millis() < 1500, "{:?}", began.elapsed());
}

#[tokio::test]
async fn other_processes_take_a_named_session_up_and_leave_few_files() {
    let keep = tempfile::tempdir().unwrap();
    let record = keep.path().join("sessions/cli.json");
    let first = bed_with(|options| options.record = Some(record.clone()));
    first
        .out("mkdir d; cd d; export KEPT=0; f() { echo f; }")
        .await;
    first.session.close().await;
    for round in 0..6 {
        let options = SessionOptions {
            record: Some(record.clone()),
            resume: true,
            ..SessionOptions::starting_in("/")
        };
        let next = ShellSession::new(first.session.target().clone(), options);
        let run = async |command: &str| {
            next.run(RunRequest::new(command))
                .await
                .unwrap()
                .output
                .head
        };
        assert_eq!(
            run("pwd; echo $KEPT; f").await,
            format!("{}/d\n{round}\nf\n", first.directory())
        );
        run("true").await;
        run(&format!("export KEPT={}", round + 1)).await;
        run("true").await;
    }
    let files = std::fs::read_dir(first.session.state_directory())
        .unwrap()
        .count();
    assert!(files <= 2, "{files}");
    // Beside the record: whoever removes the home removes it.
    assert!(std::path::Path::new(first.session.state_directory()).starts_with(keep.path()));
}

#[tokio::test]
async fn aliases_and_functions_named_like_builtins_do_not_break_the_session() {
    let bed = bed();
    bed.out("alias cd='echo no' printf='echo no' export='echo no' exit='echo no'; pwd() { echo mine; }; read() { echo no; }; mkdir e").await;
    assert_eq!(bed.out("builtin cd e; pwd").await, "mine\n");
    assert_eq!(bed.session.cwd(), format!("{}/e", bed.directory()));
    bed.out("builtin export STILL=1").await;
    assert_eq!(bed.out("echo $STILL").await, "1\n");
}

#[tokio::test]
async fn neither_functions_nor_read_only_variables_take_the_session_away() {
    let bed = bed();
    bed.out("mkdir e; for f in printf cd trap exit set export eval exec shopt declare read pwd; do builtin eval \"$f() { echo mine; }\"; done").await;
    assert_eq!(
        bed.out("builtin cd e; printf x; builtin export A=1").await,
        "mine\n"
    );
    assert_eq!(
        bed.out("builtin pwd; builtin printf '%s\\n' $A").await,
        format!("{}/e\n1\n", bed.directory())
    );
    let other = super::support::bed();
    other
        .out("mkdir e; export B=1; readonly PWD OLDPWD; export PWD OLDPWD; readonly IFS")
        .await;
    assert_eq!(
        other.out("cd e && pwd; echo $B").await,
        format!("{}/e\n1\n", other.directory())
    );
    assert_eq!(
        other.out("export B=2; pwd").await,
        format!("{}/e\n", other.directory())
    );
    assert_eq!(other.out("readonly IFS; export B=3").await, "");
    assert_eq!(other.out("echo $B").await, "3\n");
}

#[tokio::test]
async fn a_start_up_file_that_never_ends_is_told_and_left_out() {
    let bed = bed_with(|options| {
        let file = std::path::Path::new(&options.cwd).join("slow.sh");
        std::fs::write(&file, "sleep 600").unwrap();
        options.init_files = vec![file.to_str().unwrap().to_owned()];
        options.bootstrap_timeout = std::time::Duration::from_secs(1);
    });
    let first = bed.out("echo ran").await;
    assert!(
        first.starts_with("ran\n") && first.contains("start-up files took longer than 1 s"),
        "{first}"
    );
    assert_eq!(bed.out("echo again").await, "again\n");
}

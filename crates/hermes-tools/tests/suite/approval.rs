//! The gate as the terminal tool meets it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use hermes_config::Config;
use hermes_home::Home;
use hermes_sandbox::background::{Processes, ProcessesOptions};
use hermes_sandbox::local::{LocalFiles, LocalTarget};
use hermes_sandbox::session::SessionOptions;
use hermes_sandbox::settings::{Backend, TerminalSettings};
use hermes_sandbox::{MountMap, Sandbox, SandboxParts, SandboxPath, Sandboxes};
use hermes_tools::approval::{ApprovalGate, ApprovalPolicy, Nobody, Occasion, Verdict, Yolo};
use hermes_tools::terminal::TerminalTool;
use hermes_tools::{Asker, Tool};
use hermes_types::{Answer, ApprovalChoice, AskKind};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::support::{Listed, bed_judged, bed_with};

fn choice(choice: ApprovalChoice) -> Option<Answer> {
    Some(Answer::Approval { choice })
}

const DANGEROUS: &str = "mkdir -p sub; rm -r sub";

#[tokio::test]
async fn no_questions_can_be_switched_on_and_off_and_never_covers_the_hardline() {
    let bed = bed_with("{}", choice(ApprovalChoice::Deny), Nobody::Deny);
    assert_eq!(bed.run(DANGEROUS).await["status"], "blocked");
    bed.yolo.set(true);
    assert_eq!(bed.run(DANGEROUS).await["exit_code"], 0);
    assert_eq!(bed.run("rm -rf /").await["status"], "blocked");
    assert_eq!(bed.run("echo x | sudo -S ls").await["status"], "blocked");
    bed.yolo.set(false);
    assert_eq!(bed.run(DANGEROUS).await["status"], "blocked");
    let off = bed_with("approvals: {mode: off}", None, Nobody::Deny);
    assert_eq!(off.run(DANGEROUS).await["exit_code"], 0);
    assert_eq!(off.run("rm -rf /").await["status"], "blocked");
}

#[tokio::test]
async fn silence_is_a_refusal_that_says_so() {
    let bed = bed_with("{}", Some(Answer::None), Nobody::Allow);
    let refused = bed.run(DANGEROUS).await;
    assert_eq!(
        (
            &refused["status"],
            &refused["outcome"],
            &refused["user_consent"]
        ),
        (&json!("blocked"), &json!("timeout"), &json!(false))
    );
    let text = refused["error"].as_str().unwrap();
    assert!(text.contains("Do not try it again"), "{text}");
    let nobody = bed_with("{}", None, Nobody::Deny).run(DANGEROUS).await;
    let text = nobody["error"].as_str().unwrap();
    assert!(
        text.contains("recursive delete") && text.contains("approvals.worker_mode"),
        "{text}"
    );
    assert_eq!(nobody["outcome"], "denied");
}

#[tokio::test]
async fn a_model_may_judge_first() {
    let smart = "approvals: {mode: smart}";
    let deny = || choice(ApprovalChoice::Deny);
    let bed = bed_judged(smart, deny(), Nobody::Deny, Some(Verdict::Approve));
    let result = bed.run(DANGEROUS).await;
    assert_eq!(result["exit_code"], 0);
    assert!(
        result["approval"]
            .as_str()
            .unwrap()
            .contains("judging model")
    );
    assert!(bed.asker.asked.lock().unwrap().is_empty());
    let bed = bed_judged(
        smart,
        choice(ApprovalChoice::Once),
        Nobody::Deny,
        Some(Verdict::Deny),
    );
    assert_eq!(bed.run(DANGEROUS).await["outcome"], "denied");
    assert!(bed.asker.asked.lock().unwrap().is_empty());
    let bed = bed_judged(
        smart,
        choice(ApprovalChoice::Once),
        Nobody::Deny,
        Some(Verdict::Unsure),
    );
    assert_eq!(bed.run(DANGEROUS).await["exit_code"], 0);
    assert_eq!(bed.asker.asked.lock().unwrap().len(), 1);
    // Nobody there: what the model does not approve is refused.
    for (verdict, status) in [
        (Verdict::Approve, Value::Null),
        (Verdict::Unsure, json!("blocked")),
    ] {
        let bed = bed_judged("{}", None, Nobody::Judge, Some(verdict));
        assert_eq!(bed.run(DANGEROUS).await["status"], status);
    }
}

/// Answers when it is told to, and counts how many wait at a time.
struct Slow {
    go: Notify,
    asked: Notify,
    answer: ApprovalChoice,
    count: std::sync::atomic::AtomicUsize,
}

impl Asker for Slow {
    fn ask(&self, _: AskKind, _: Duration) -> BoxFuture<'_, Answer> {
        Box::pin(async {
            self.count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            self.asked.notify_one();
            self.go.notified().await;
            Answer::Approval {
                choice: self.answer,
            }
        })
    }

    fn is_attended(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn questions_come_one_at_a_time_and_an_answer_may_settle_the_next() {
    let mut bed = bed_with("{}", None, Nobody::Deny);
    let slow = Arc::new(Slow {
        go: Notify::new(),
        asked: Notify::new(),
        answer: ApprovalChoice::Session,
        count: Default::default(),
    });
    bed.context.asker = slow.clone();
    let answering = async {
        slow.asked.notified().await;
        slow.go.notify_one();
    };
    let (one, two, ()) = tokio::join!(
        bed.run("mkdir -p a; rm -r a"),
        bed.run("mkdir -p b; rm -r b"),
        answering
    );
    assert_eq!(
        (&one["exit_code"], &two["exit_code"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(slow.count.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// A container whose files are those of this machine, with one directory of the
/// "host" in it.
fn container(yaml: &str, host: &str, start: &str) -> (TerminalTool, Arc<Listed>) {
    let config = Config::from_yaml(yaml).unwrap();
    let home = Home::at(host, host);
    let settings = TerminalSettings::read(&config, &home).unwrap();
    let parts = SandboxParts {
        backend: Backend::Docker,
        target: Arc::new(LocalTarget::new(
            "/tmp",
            vec![("PATH".into(), "/usr/bin:/bin".into())],
        )),
        files: Arc::new(LocalFiles),
        mounts: MountMap::default(),
        session: SessionOptions::starting_in(start),
        processes: Processes::new(ProcessesOptions { checkpoint: None }),
    };
    let sandbox = Sandbox::exposing(parts, vec![SandboxPath::absolute(host).unwrap()]);
    let listed = Arc::new(Listed::default());
    let policy = ApprovalPolicy::read(&config, Occasion::Worker).unwrap();
    let gate = ApprovalGate::new(policy, listed.clone(), None, Yolo::default());
    (
        TerminalTool::new(Sandboxes::fixed(settings, sandbox), Arc::new(gate)),
        listed,
    )
}

#[tokio::test]
async fn a_container_is_free_except_where_it_reaches_the_host() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    for name in ["host", "own"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(at("host"), at("own/link")).unwrap();
    let bed = bed_with("{}", None, Nobody::Deny);
    let run = async |tool: &TerminalTool, arguments: Value| -> Value {
        let output = tool.call(&bed.context, arguments).await;
        serde_json::from_str(&output.text).unwrap()
    };
    let (tool, _) = container("{}", &at("host"), &at("own"));
    for (arguments, status) in [
        (json!({"command": "mkdir -p x; rm -r x"}), Value::Null),
        (json!({"command": "rm -r link/"}), json!("blocked")),
        (
            json!({"command": "rm -r x", "workdir": at("host")}),
            json!("blocked"),
        ),
        (
            json!({"command": "rm -r x", "workdir": at("own/link")}),
            json!("blocked"),
        ),
        (json!({"command": "rm -rf /"}), json!("blocked")),
        (
            json!({"command": format!("cd {} && rm -r x", at("host"))}),
            json!("blocked"),
        ),
        (
            json!({"command": format!("cd {}", at("host"))}),
            Value::Null,
        ),
        // Now the session itself is there.
        (json!({"command": "rm -r x"}), json!("blocked")),
    ] {
        assert_eq!(
            run(&tool, arguments.clone()).await["status"],
            status,
            "{arguments}"
        );
    }
    let (trusting, _) = container("approvals: {trust_mounts: true}", &at("host"), &at("own"));
    let result = run(&trusting, json!({"command": "mkdir link/x; rm -r link/x"})).await;
    assert_eq!(result["exit_code"], 0, "{result}");
}

#[tokio::test]
async fn what_earlier_commands_set_is_remembered() {
    let bed = bed_with("terminal: {auto_source_bashrc: false}", None, Nobody::Deny);
    std::fs::create_dir(bed.directory.path().join("work/d")).unwrap();
    for (command, blocked) in [
        ("export CMD='rm -rf'", false),
        ("$CMD d", true),
        ("export Z='-rf d'", false),
        ("rm $Z", true),
        ("echo \"$Z\"", false),
        ("echo 'rm -rf d' > y26; export BASH_ENV=nowhere", false),
        ("export BASH_ENV=y26", true),
        ("printf 'rm -rf d' > y12; chmod +x y12", false),
        ("export PATH=$PATH:$PWD", false),
        ("y12", true),
    ] {
        let result = bed.run(command).await;
        assert_eq!(
            result["status"] == "blocked",
            blocked,
            "{command}: {result}"
        );
    }
    assert!(bed.directory.path().join("work/d").is_dir());
    bed.gate.forget();
    assert_ne!(bed.run("$CMD").await["status"], "blocked");
}

#[tokio::test]
async fn scripts_are_read_wherever_they_stand() {
    let bed = bed_with("terminal: {auto_source_bashrc: false}", None, Nobody::Deny);
    let work = bed.directory.path().join("work");
    std::fs::create_dir(work.join("d")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(work.join(name), text).unwrap();
    write("y.sh", "rm -rf d\n");
    write("y.awk", "BEGIN { system(\"rm -rf d\") }\n");
    write(
        "long.sh",
        &format!("{}rm -rf d\n", "echo one more line\n".repeat(20_000)),
    );
    write(
        "huge.sh",
        &format!("{}rm -rf d\n", "echo one more line\n".repeat(60_000)),
    );
    write("Makefile", "all:\n\techo ok\nx: y\ny:\n\t@rm -rf d\n");
    for (command, blocked) in [
        ("bash y.s*", true),
        ("bash ./?.sh", true),
        ("eval \"$(cat y.sh)\"", true),
        ("cp y.sh ls2; sh ls2", true),
        ("mv y.sh b && sh b", true),
        ("awk -f y.awk", true),
        ("bash long.sh", true),
        ("bash huge.sh", true),
        ("make x", true),
        ("make -C . y", true),
        ("make", false),
        ("cat y.sh", false),
        ("cp y.sh copy", false),
    ] {
        let result = bed.run(command).await;
        assert_eq!(
            result["status"] == "blocked",
            blocked,
            "{command}: {result}"
        );
    }
    assert!(work.join("d").is_dir());
}

#[tokio::test]
async fn in_a_container_only_what_may_change_the_host_is_asked_about() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
    for name in ["host", "own"] {
        std::fs::create_dir(root.join(name)).unwrap();
    }
    std::fs::write(root.join("host/f"), "x").unwrap();
    let bed = bed_with("{}", None, Nobody::Deny);
    let (tool, _) = container("{}", &at("host"), &at("own"));
    for (command, blocked) in [
        ("echo aG9zdA== | base64 -d | xargs rm -rf".to_owned(), true),
        ("echo x > list; xargs rm < list".to_owned(), true),
        ("alias zap='rm -rf'".to_owned(), true),
        (format!("ls {}; rm -rf q", at("host")), false),
        (format!("cp {} g; rm -rf n", at("host/f")), false),
        (format!("export T='-rf {}'", at("host")), false),
        ("rm $T".to_owned(), true),
    ] {
        let output = tool.call(&bed.context, json!({"command": command})).await;
        let result: Value = serde_json::from_str(&output.text).unwrap();
        assert_eq!(
            result["status"] == "blocked",
            blocked,
            "{command}: {result}"
        );
    }
    assert!(root.join("host/f").is_file());
}

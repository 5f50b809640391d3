use std::time::{Duration, Instant};

use hermes_tools::Tool;
use hermes_tools::approval::Nobody;
use hermes_types::{Answer, ApprovalChoice, AskKind, TurnEvent};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::support::{bed, bed_with};

#[tokio::test]
async fn a_command_answers_with_output_and_code() {
    let bed = bed();
    assert_eq!(
        bed.run("echo hello; exit 3").await,
        json!({"output": "hello", "exit_code": 3, "error": null})
    );
    assert_eq!(
        bed.run("printf '\\033[31mred\\033[0m\\n\\n'").await["output"],
        "red"
    );
    assert_eq!(
        bed.run("echo x | grep y").await,
        json!({"output": "", "exit_code": 1, "error": null, "exit_code_meaning": "No matches found (not an error)"})
    );
}

#[tokio::test]
async fn state_lasts_and_keys_of_ours_are_not_seen() {
    let bed = bed();
    bed.run("cd /usr && export A=1").await;
    assert_eq!(bed.run("pwd; echo $A").await["output"], "/usr\n1");
    assert_eq!(
        bed.run("echo \"[$OPENAI_API_KEY]\"; echo $HERMES_SESSION_ID")
            .await["output"],
        "[]\ns1"
    );
}

#[tokio::test]
async fn bad_arguments_start_nothing() {
    let bed = bed();
    assert_eq!(
        bed.call(json!({"command": 5})).await,
        json!({"output": "", "exit_code": -1, "error": "Invalid command: expected string, got number", "status": "error"})
    );
    let long = bed
        .call(json!({"command": "touch made", "timeout": 601}))
        .await;
    assert!(
        long["error"]
            .as_str()
            .unwrap()
            .starts_with("Foreground timeout 601s"),
        "{long}"
    );
    assert_eq!(long.as_object().unwrap().len(), 1);
    let blocked = bed
        .call(json!({"command": "touch made", "workdir": "/tmp;id"}))
        .await;
    assert_eq!(
        (&blocked["status"], &blocked["exit_code"]),
        (&json!("blocked"), &json!(-1))
    );
    for command in [
        "sleep 100 &",
        "nohup ./x",
        "npm run dev",
        "python3 -m http.server",
    ] {
        let refused = bed.run(command).await;
        assert_eq!(refused["status"], "error", "{command}");
        assert!(
            refused["error"]
                .as_str()
                .unwrap()
                .contains("background=true"),
            "{refused}"
        );
    }
    assert!(!bed.directory.path().join("work/made").exists());
}

#[tokio::test]
async fn a_bad_setting_fails_the_call_and_names_itself() {
    let bed = bed_with("terminal: {timeout: 5m}", None, Nobody::Deny);
    let result = bed.run("true").await;
    assert_eq!(result["status"], "error");
    let error = result["error"].as_str().unwrap();
    assert!(
        error.starts_with("Failed to execute command: ")
            && error.contains("terminal.timeout")
            && error.contains("5m"),
        "{error}"
    );
    let bed = bed_with("terminal: {backend: daytona}", None, Nobody::Deny);
    assert!(
        bed.run("true").await["error"]
            .as_str()
            .unwrap()
            .contains("`daytona`")
    );
}

#[tokio::test]
async fn a_timeout_and_an_interrupt_have_their_codes() {
    let bed = bed();
    let result = bed
        .call(json!({"command": "echo begun; sleep 60", "timeout": 1}))
        .await;
    assert_eq!(
        result,
        json!({"output": "begun\n\n[Command timed out after 1s]", "exit_code": 124, "error": null})
    );
    let cancel = bed.context.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    let result = bed.run("echo begun; sleep 60").await;
    assert_eq!(
        result,
        json!({"output": "begun\n\n[Command interrupted]", "exit_code": 130, "error": null})
    );
}

#[tokio::test]
async fn long_output_keeps_both_ends() {
    let bed = bed();
    let result = bed.run("head -c 60000 /dev/zero | tr '\\0' x").await;
    let output = result["output"].as_str().unwrap();
    assert_eq!(
        output.len(),
        50_000
            + "\n\n... [OUTPUT TRUNCATED - 10000 chars omitted out of 60000 total] ...\n\n".len()
    );
}

#[tokio::test]
async fn what_a_command_prints_is_shown_while_it_runs() {
    let bed = bed();
    bed.run("echo one; sleep 0.7; echo two; sleep 0.7").await;
    let shown: Vec<String> = bed
        .events
        .0
        .lock()
        .unwrap()
        .iter()
        .filter_map(|event| match event {
            TurnEvent::ToolProgress { id, text } if id == "call_1" => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(shown, ["one", "two"]);
}

#[tokio::test]
async fn dangerous_commands_need_a_yes_and_some_never_get_one() {
    let deny = Some(Answer::Approval {
        choice: ApprovalChoice::Deny,
    });
    let bed = bed_with("{}", deny, Nobody::Deny);
    let refused = bed.run("rm -r sub").await;
    assert_eq!(
        (
            &refused["status"],
            &refused["outcome"],
            &refused["user_consent"]
        ),
        (&json!("blocked"), &json!("denied"), &json!(false))
    );
    assert!(
        matches!(&bed.asker.asked.lock().unwrap()[0], AskKind::Approval { keys, .. } if keys == &["recursive delete"])
    );
    let never = bed.run("rm -rf /").await;
    assert!(
        never["error"]
            .as_str()
            .unwrap()
            .starts_with("BLOCKED (hardline): "),
        "{never}"
    );
    assert_eq!(bed.asker.asked.lock().unwrap().len(), 1);
    assert_eq!(
        bed.run("echo secret | sudo -S ls").await["status"],
        "blocked"
    );
}

#[tokio::test]
async fn a_yes_lasts_as_long_as_was_said() {
    let once = Some(Answer::Approval {
        choice: ApprovalChoice::Once,
    });
    let bed = bed_with("{}", once, Nobody::Deny);
    for count in 1..=2 {
        let result = bed.run("mkdir -p sub; rm -r sub").await;
        assert_eq!(
            (&result["exit_code"], bed.asker.asked.lock().unwrap().len()),
            (&json!(0), count)
        );
        assert!(
            result["approval"]
                .as_str()
                .unwrap()
                .contains("recursive delete")
        );
    }
    let always = Some(Answer::Approval {
        choice: ApprovalChoice::Always,
    });
    let bed = bed_with("{}", always, Nobody::Deny);
    for _ in 0..2 {
        assert_eq!(bed.run("mkdir -p sub; rm -r sub").await["exit_code"], 0);
    }
    assert_eq!(
        (
            bed.asker.asked.lock().unwrap().len(),
            bed.listed.0.lock().unwrap().clone()
        ),
        (1, vec!["recursive delete".to_owned()])
    );
}

#[tokio::test]
async fn without_a_person_the_configuration_decides() {
    let bed = bed_with("{}", None, Nobody::Deny);
    assert_eq!(bed.run("rm -r sub").await["status"], "blocked");
    let bed = bed_with("{}", None, Nobody::Allow);
    assert_eq!(bed.run("mkdir sub; rm -r sub").await["exit_code"], 0);
}

#[tokio::test]
async fn sudo_gets_its_password_from_standard_input() {
    // A stand-in that shows what it was given; it asks for a password like the real one.
    let fake = "sudo() { local p; [ \"$1\" = -n ] && return 1; [ \"$1\" = -S ] && { read -r p; echo \"password $p\"; shift 3; }; \"$@\"; }";
    let bed = bed_with(
        "terminal: {auto_source_bashrc: false, sudo_password: hunter2}",
        None,
        Nobody::Deny,
    );
    bed.run(fake).await;
    assert_eq!(
        bed.run("sudo echo done").await["output"],
        "password hunter2\ndone"
    );
    assert_eq!(bed.run("echo sudo; cat").await["output"], "sudo");
}

#[tokio::test]
async fn the_schema_has_every_parameter_of_the_reference() {
    let spec = bed().terminal.spec();
    let mut names: Vec<&String> = spec.parameters["properties"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "background",
            "command",
            "notify_on_complete",
            "pty",
            "timeout",
            "watch_patterns",
            "workdir"
        ]
    );
    assert_eq!(spec.parameters["required"], json!(["command"]));
}

#[tokio::test]
async fn a_quick_command_is_quick() {
    let bed = bed();
    bed.run("true").await;
    let began = Instant::now();
    for _ in 0..20 {
        bed.run("true").await;
    }
    // A bar for regressions of kind, not of degree: the figure is measured elsewhere.
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
}

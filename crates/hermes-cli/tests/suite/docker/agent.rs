//! Conversations whose commands run in the container: what they see, and who joins.

use hermes_testkit::docker::{BASH, BUSYBOX, wait_until};
use hermes_testkit::model::{Gate, Reply};
use hermes_testkit::process::Running;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::CLIENT;
use super::talk::obedient_model;
use super::world::{World, world};
use crate::suite::support::ran;

fn rows(world: &World) -> Value {
    serde_json::from_str(&world.ok(&["sandbox", "ls", "--json"])).expect("json")
}

/// The conversation that runs now, by the state that it shares.
fn live_session(world: &World) -> Option<String> {
    let directory = world.scratch.home().join("sandboxes/docker/sessions");
    let names = std::fs::read_dir(directory).ok()?;
    names
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .filter(|name| !name.starts_with('.'))
}

#[test]
fn docker_variables_that_settings_and_skills_name_are_seen_and_keys_are_not() {
    let Some(world) = world(BASH) else { return };
    let _model = obedient_model(&world);
    world.configure("  env_passthrough: [TENOR_TOKEN, OPENAI_API_KEY]\n");
    world.scratch.write(
        "skills/maps/SKILL.md",
        "---\nname: maps\ndescription: maps\nrequired_environment_variables:\n  - name: MAPS_KEY\n  - name: ANTHROPIC_API_KEY\n---\nUse it.\n",
    );
    world.scratch.write(".env", "MAPS_KEY=from-dotenv\n");
    let show = "echo \"[$TENOR_TOKEN|$MAPS_KEY|$OPENAI_API_KEY|$ANTHROPIC_API_KEY]\"";
    let ask = |order: &str, more: &[&str]| {
        let mut words = vec!["--yolo"];
        words.extend(more);
        words.extend(["-z", order]);
        let mut command = world.command(&words);
        for name in ["TENOR_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
            command.env(name, format!("value-of-{name}"));
        }
        let ran = ran(command.output().expect("it starts"));
        assert_eq!(ran.code, 0, "{ran:#?}");
        ran.stdout
    };
    let before = ask(&format!("run {show}"), &[]);
    assert!(before.contains("[value-of-TENOR_TOKEN|||]"), "{before}");
    let order = format!("skill_view {{\"name\": \"maps\"}}\nrun {show}");
    let after = ask(&order, &[]);
    assert!(
        after.contains("[value-of-TENOR_TOKEN|from-dotenv||]"),
        "{after}"
    );
    let in_background = ask(
        &format!(
            "skill_view {{\"name\": \"maps\"}}\nbackground {show} > /root/seen\nrun sleep 1; cat /root/seen"
        ),
        &[],
    );
    assert!(in_background.contains("|from-dotenv||]"), "{in_background}");
}

#[test]
fn docker_a_command_joins_the_session_of_a_conversation_that_runs() {
    let Some(world) = world(BASH) else { return };
    let model = obedient_model(&world);
    let gate = Gate::new();
    let call = |command: &str| Reply::tool_call("terminal", json!({ "command": command }));
    model.push(call("cd /usr; export A=agent; f() { echo f:$A; }"));
    model.push(call("pwd; f").held_by(&gate));
    let talking = Running::start(world.command(&["--yolo", "-z", "begin"]));
    gate.wait_reached();
    let mut id = None;
    wait_until("the session is shared", || {
        id = live_session(&world);
        id.is_some()
    });
    let id = id.expect("a session");
    let join = |script: &str| world.ok(&["sandbox", "exec", "--session", &id, "--", script]);
    assert_eq!(join("pwd; f"), "/usr\nf:agent\n");
    assert_eq!(join("cd /etc; export A=joined; f"), "f:joined\n");
    gate.release();
    let finished = talking.wait();
    assert!(finished.stdout.contains("/etc\\nf:joined"), "{finished:#?}");
    assert_eq!(live_session(&world), None, "it ends with the conversation");
    assert_eq!(
        world.says("pwd; echo \"$A\""),
        "/root\n\n",
        "another session"
    );
}

#[test]
fn docker_background_processes_of_a_conversation_are_listed_and_taken_up_by_the_next() {
    let Some(world) = world(BASH) else { return };
    let _model = obedient_model(&world);
    let talk = |words: &[&str]| {
        let ran = world.run(words);
        assert_eq!(ran.code, 0, "{ran:#?}");
        ran
    };
    let started = talk(&["--yolo", "chat", "-Q", "-q", "background sleep 4600"]);
    let session = started
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("session_id: "))
        .unwrap_or_else(|| panic!("{started:#?}"))
        .to_owned();
    let result: Value = started
        .stdout
        .lines()
        .find_map(|line| serde_json::from_str(line).ok())
        .unwrap_or_else(|| panic!("{started:#?}"));
    let process = result["session_id"].as_str().expect("an id");
    let listed = rows(&world);
    assert_eq!(listed[0]["background"][0]["id"], process, "{listed:#}");
    assert_eq!(listed[0]["background"][0]["command"], "sleep 4600");
    // The conversation goes on in another process and still has it in hand.
    let order = format!(
        "process {{\"action\": \"list\"}}\nprocess {{\"action\": \"kill\", \"session_id\": \"{process}\"}}"
    );
    let resumed = talk(&["--yolo", "chat", "-Q", "--resume", &session, "-q", &order]);
    assert!(
        resumed.stdout.contains(process) && resumed.stdout.contains("killed"),
        "{resumed:#?}"
    );
    let id = world.one_container();
    let running = CLIENT.processes(&id);
    assert!(!running.iter().any(|p| p.contains("4600")), "{running:?}");
    assert_eq!(rows(&world)[0]["background"], json!([]));
}

#[test]
fn docker_a_process_that_ended_by_itself_is_not_listed() {
    let Some(world) = world(BASH) else { return };
    let _model = obedient_model(&world);
    let started = world.run(&["--yolo", "-z", "background sleep 4650"]);
    assert_eq!(started.code, 0, "{started:#?}");
    assert_eq!(
        rows(&world)[0]["background"].as_array().map(Vec::len),
        Some(1)
    );
    let id = world.one_container();
    // Nobody of ours sees it die.
    let kill = "for d in /proc/[0-9]*; do \
        case $(tr '\\0' ' ' <$d/cmdline) in 'sleep 4650 ') kill ${d#/proc/} ;; esac; done; true";
    CLIENT.run(&["exec", &id, "sh", "-c", kill]);
    wait_until("it is not listed any more", || {
        rows(&world)[0]["background"] == json!([])
    });
}

#[test]
fn docker_an_image_without_bash_keeps_a_session_over_processes() {
    let Some(world) = world(BUSYBOX) else { return };
    world.says("cd /tmp; export A=kept");
    assert_eq!(world.says("pwd; echo $A"), "/tmp\nkept\n");
    assert_eq!(world.says("pwd; echo $A"), "/tmp\nkept\n");
}

//! The operator's window.

use hermes_testkit::docker::BASH;
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::CLIENT;
use super::world::{World, world};

fn rows(world: &World) -> Vec<Value> {
    let text = world.ok(&["sandbox", "ls", "--json"]);
    serde_json::from_str::<Vec<Value>>(&text).expect("a JSON array")
}

#[test]
fn docker_ls_and_show_tell_everything_about_a_container() {
    let Some(world) = world(BASH) else { return };
    assert_eq!(world.ok(&["sandbox", "ls"]), "No containers.\n");
    world.says("true");
    let id = world.one_container();
    let all = rows(&world);
    let row = all[0].as_object().expect("an object");
    let names: Vec<&str> = row.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "id",
            "name",
            "backend",
            "state",
            "task",
            "profile",
            "home_match",
            "image",
            "created",
            "last_used",
            "leases",
            "background",
            "drift",
            "private"
        ]
    );
    assert_eq!(row["id"], id);
    assert_eq!(row["state"], "running");
    assert_eq!(row["home_match"], true);
    assert_eq!(row["drift"], Value::Array(vec![]));
    let text = world.ok(&["sandbox", "show", &id[..5]]);
    assert!(text.contains(&id) && text.contains("running"), "{text}");
    world.scratch.write(
        "config.yaml",
        world.scratch.read("config.yaml").replace("512", "256"),
    );
    let drift = &rows(&world)[0]["drift"][0];
    assert_eq!(drift["setting"], "container_memory");
    assert_eq!(
        (&drift["container"], &drift["config"]),
        (&"512".into(), &"256".into())
    );
    let warned = world.exec("true");
    assert!(warned.stderr.contains("container_memory"), "{warned:#?}");
    let new = world.ok(&["sandbox", "recreate"]);
    assert_ne!(new.trim(), &id[..12]);
    assert_eq!(rows(&world)[0]["drift"], Value::Array(vec![]));
}

#[test]
fn docker_a_container_that_cannot_be_made_anew_stays() {
    let Some(world) = world(BASH) else { return };
    world.says("touch /marker");
    let id = world.one_container();
    let missing = ["-c", "terminal.docker_image=localhost/hermes-test/none:1"];
    let refused = world.run(&[&missing[..], &["sandbox", "recreate"]].concat());
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(
        refused.stderr.contains("hermes-test/none:1"),
        "{refused:#?}"
    );
    assert_eq!(world.one_container(), id);
    let anew = ["-c", "terminal.docker_on_drift=recreate"];
    let exec = ["sandbox", "exec", "--", "ls /marker"];
    let kept = world.run(&[&missing[..], &anew[..], &exec[..]].concat());
    assert_eq!(
        (kept.code, kept.stdout.as_str()),
        (0, "/marker\n"),
        "{kept:#?}"
    );
    assert!(kept.stderr.contains("stays as it is"), "{kept:#?}");
    assert_eq!(world.one_container(), id);
}

#[test]
fn docker_containers_stop_start_and_go_by_hand() {
    let Some(world) = world(BASH) else { return };
    world.says("touch /marker");
    let id = world.one_container();
    let state = || CLIENT.run(&["inspect", "--format", "{{.State.Status}}", &id]);
    world.ok(&["sandbox", "stop", &id[..8]]);
    assert_eq!(state(), "exited");
    world.ok(&["sandbox", "start", "--all"]);
    assert_eq!(state(), "running");
    CLIENT.run(&["pause", &id]);
    world.ok(&["sandbox", "start", &id[..8]]);
    assert_eq!(state(), "running");
    assert_eq!(world.says("ls /marker"), "/marker\n");
    let unknown = world.run(&["sandbox", "rm", "feedfacecafe"]);
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.stderr.contains("no container of Hermes"),
        "{unknown:#?}"
    );
    assert_eq!(world.ok(&["sandbox", "rm", "--all"]).trim(), &id[..12]);
    assert!(world.sweep.containers().is_empty());
    assert_eq!(world.ok(&["sandbox", "rm", "--all"]), "");
}

#[test]
fn docker_prune_takes_old_leftovers_and_says_what_it_would_take() {
    let Some(world) = world(BASH) else { return };
    world.says("true");
    let id = world.one_container();
    CLIENT.run(&["kill", &id]);
    assert_eq!(world.ok(&["sandbox", "prune"]), "", "it is young");
    let told = world.ok(&["sandbox", "prune", "--older-than", "0", "--dry-run"]);
    assert_eq!(told, format!("{} exited\n", &id[..12]));
    assert_eq!(world.one_container(), id);
    world.ok(&["sandbox", "prune", "--older-than", "0"]);
    assert!(world.sweep.containers().is_empty());
    let bad = world.run(&["sandbox", "prune", "--older-than=-1"]);
    assert_eq!(bad.code, 2, "{bad:#?}");
}

#[test]
fn docker_exec_streams_output_and_returns_the_code() {
    let Some(world) = world(BASH) else { return };
    let ran = world.run(&[
        "sandbox",
        "exec",
        "--",
        "sh",
        "-c",
        "echo \"$0 $1\"; exit 7",
        "a b",
        "$c",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, "a b $c\n"), "{ran:#?}");
    assert_eq!(
        world.ok(&["sandbox", "exec", "--workdir", "/usr", "--", "pwd"]),
        "/usr\n"
    );
    assert_eq!(world.says("pwd"), "/root\n", "a directory for one command");
    let missing = world.run(&["sandbox", "exec", "--workdir", "/nonesuch", "--", "pwd"]);
    assert_eq!(missing.code, 126, "{missing:#?}");
    // A deleted directory is not the end of a session.
    world.says("mkdir -p /tmp/a/b; cd /tmp/a/b");
    world.says("rm -r /tmp/a");
    let ran = world.exec("pwd");
    assert!(ran.stdout.ends_with("/tmp\n"), "{ran:#?}");
    assert_eq!(
        world.says("head -c 3000000 /dev/zero | tr '\\0' x").len(),
        3_000_000
    );
    assert_eq!(world.ok(&["sandbox", "logs"]), "");
}

#[test]
fn docker_a_bad_value_names_itself_and_starts_nothing() {
    let Some(world) = world(BASH) else { return };
    let mut command = world.command(&["sandbox", "exec", "--", "true"]);
    command.env("TERMINAL_CONTAINER_CPU", "two");
    let ran = crate::suite::support::ran(command.output().expect("it starts"));
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("TERMINAL_CONTAINER_CPU") && ran.stderr.contains("`two`"),
        "{ran:#?}"
    );
    assert!(world.sweep.containers().is_empty());
}

//! Files that are not what a tool expects, through a whole conversation: the same calls
//! and the same answers wherever the commands run.

use serde_json::{Value, json};

use hermes_testkit::model::Reply;

use super::stage::Stage;

/// The model's calls, for an empty directory of this name.
pub(super) fn calls(root: &str) -> Vec<(&'static str, Value)> {
    let prepare = format!(
        "mkdir -p {root}/work && cd {root}/work && echo out > ../outside.txt && ln -s ../outside.txt link && mkfifo pipe && ln -s /dev/zero zero && truncate -s 2147483648 huge.txt && echo two > \"$(printf 'not\\377utf8')\" && touch go && echo aa > busy.txt && pwd"
    );
    let change = "while [ -e go ]; do head -c 60000 /dev/zero | tr '\\000' b > busy.txt; head -c 30000 /dev/zero | tr '\\000' c > busy.txt; done";
    let edit = |path: &str| json!({"mode": "replace", "path": path, "old_string": "zz", "new_string": "b"});
    vec![
        ("terminal", json!({"command": prepare})),
        ("read_file", json!({"path": "../outside.txt"})),
        (
            "write_file",
            json!({"path": "link", "content": "through\n"}),
        ),
        (
            "write_file",
            json!({"path": "line\nbreak.txt", "content": "one\n"}),
        ),
        ("read_file", json!({"path": "line\nbreak.txt", "limit": 7})),
        (
            "search_files",
            json!({"pattern": "^(one|two)$", "output_mode": "count"}),
        ),
        ("read_file", json!({"path": "huge.txt"})),
        ("patch", edit("huge.txt")),
        ("read_file", json!({"path": "pipe"})),
        ("read_file", json!({"path": "zero"})),
        ("read_file", json!({"path": "/dev/zero"})),
        ("write_file", json!({"path": "pipe", "content": "x"})),
        ("patch", edit("missing.txt")),
        (
            "patch",
            json!({"mode": "patch", "patch": "*** Update File: missing.txt\n-a\n+b\n*** Add File: made.txt\n+x\n"}),
        ),
        (
            "write_file",
            json!({"path": "/proc/sys/kernel/hermes-test", "content": "x"}),
        ),
        ("terminal", json!({"command": change, "background": true})),
        ("read_file", json!({"path": "busy.txt"})),
        ("patch", edit("busy.txt")),
        (
            "terminal",
            json!({"command": "rm go; cat ../outside.txt; readlink link; ls made.txt; ls -A | grep hermes-tmp; set -- *; echo $#"}),
        ),
    ]
}

/// What must have come of them.
pub(super) fn check(results: &[String]) {
    for (index, expected) in [
        (0, "\"exit_code\":0"),
        (1, "1|out"),
        (1, "leads out of the working directory"),
        (2, "\"bytes_written\":8"),
        (3, "\"bytes_written\":4"),
        (4, "1|one"),
        (5, "\"total_count\":2"),
        (6, "2147483648 bytes"),
        (7, "too many to edit"),
        (8, "device, pipe or socket"),
        (9, "it is a device"),
        (10, "it is a device"),
        (11, "device, pipe or socket"),
        (12, "File not found"),
        (13, "no files were modified"),
        (14, "\"error\":"),
        (17, "\"error\":"),
        (18, "through\\n../outside.txt\\n"),
        // A link, a pipe, a device, three files and the one that changed; nothing of ours.
        (18, "No such file or directory\\n7\""),
    ] {
        assert!(
            results[index].contains(expected),
            "{index}: {}",
            results[index]
        );
    }
    // Whatever mixture it was: one answer, not half of one.
    let busy = &results[16];
    assert!(
        busy.contains("\"content\":") || busy.contains("\"error\":"),
        "{busy}"
    );
}

#[test]
fn on_this_machine() {
    let stage = Stage::new();
    let root = stage.scratch.user_home().join("odd");
    for (tool, arguments) in calls(root.to_str().expect("UTF-8")) {
        stage.says(Reply::tool_call(tool, arguments));
    }
    stage.says(Reply::text("done"));
    let ran = stage.run(&["-z", "go"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    check(&stage.results());
}

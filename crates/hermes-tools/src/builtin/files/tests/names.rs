//! One file under several names, and files that no name makes readable.

use std::fs::{self, Permissions};
use std::os::unix::fs::symlink;

use pretty_assertions::assert_eq;

use super::*;

async fn patch(bench: &Bench, text: &str) -> Value {
    bench
        .call("patch", json!({"mode": "patch", "patch": text}))
        .await
}

fn names(value: &Value, key: &str) -> usize {
    value[key].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn a_file_with_two_names_is_one_file() {
    let bench = Bench::new(true);
    let both = |one: &str, two: &str| {
        format!("*** Update File: {one}\n@@\n-1\n+one\n*** Update File: {two}\n@@\n-2\n+two")
    };
    bench.put("rd/k", "");
    symlink("rd", bench.path("ld")).unwrap();
    symlink("a", bench.path("l")).unwrap();
    let absolute = bench.path("a").display().to_string();
    for (one, two, real) in [
        ("a", "./a", "a"),
        ("a", absolute.as_str(), "a"),
        ("l", "a", "a"),
        ("rd/k", "ld/k", "rd/k"),
    ] {
        bench.put(real, "1\n2\n");
        let done = patch(&bench, &both(one, two)).await;
        assert_eq!(done["success"], true, "{one} {two}: {done}");
        assert_eq!(bench.text(real), "one\ntwo\n", "{one} {two}");
        assert_eq!(names(&done, "files_modified"), 1, "{done}");
    }
    assert!(bench.path("l").is_symlink());
    let twice = patch(&bench, "*** Add File: n\n+x\n*** Add File: ./n\n+y").await;
    assert!(failure(&twice).contains("exists already"));
    assert!(!bench.path("n").exists());
    bench.put("x", "x\n");
    bench.put("y", "y\n");
    let moved = patch(&bench, "*** Delete File: x\n*** Move File: y -> ./x").await;
    assert_eq!(moved["success"], true, "{moved}");
    assert_eq!(bench.text("x"), "y\n");
    assert!(!bench.path("y").exists());
}

#[tokio::test]
async fn a_move_keeps_what_it_moves() {
    let bench = Bench::new(true);
    bench.put("run.sh", "echo\nmore\n");
    fs::set_permissions(bench.path("run.sh"), Permissions::from_mode(0o751)).unwrap();
    bench.put("latin", b"caf\xe9\0\n");
    bench.put("old", b"\xff\xfe");
    symlink("run.sh", bench.path("link")).unwrap();
    symlink("nowhere", bench.path("dangling")).unwrap();
    let done = patch(
        &bench,
        "*** Move File: run.sh -> new/run.sh\n*** Update File: new/run.sh\n@@\n-echo\n+echo 1\n*** Move File: latin -> latin.txt\n*** Move File: link -> other\n*** Delete File: old\n*** Delete File: dangling",
    )
    .await;
    assert_eq!(done["success"], true, "{done}");
    let mode = fs::metadata(bench.path("new/run.sh"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o751);
    assert_eq!(bench.text("new/run.sh"), "echo 1\nmore\n");
    assert_eq!(fs::read(bench.path("latin.txt")).unwrap(), b"caf\xe9\0\n");
    assert_eq!(
        fs::read_link(bench.path("other")).unwrap(),
        Path::new("run.sh")
    );
    for gone in ["run.sh", "latin", "link", "old", "dangling"] {
        assert!(fs::symlink_metadata(bench.path(gone)).is_err(), "{gone}");
    }
    let diff = done["diff"].as_str().unwrap();
    assert!(
        diff.contains("rename from") && diff.contains("+echo 1"),
        "{diff}"
    );
    assert!(!diff.contains("+more"), "{diff}");
}

#[tokio::test]
async fn files_change_places_in_the_order_of_the_patch() {
    let bench = Bench::new(true);
    bench.put("a", "A\n");
    bench.put("b", "B\n");
    let done = patch(
        &bench,
        "*** Move File: a -> t\n*** Move File: b -> a\n*** Move File: t -> b\n*** Update File: b\n@@\n-A\n+AA",
    )
    .await;
    assert_eq!(done["success"], true, "{done}");
    assert_eq!(
        (bench.text("a").as_str(), bench.text("b").as_str()),
        ("B\n", "AA\n")
    );
    assert!(!bench.path("t").exists());
    // One like the one that left.
    let done = patch(&bench, "*** Move File: a -> c\n*** Add File: a\n+B").await;
    assert_eq!(done["success"], true, "{done}");
    assert_eq!(
        (bench.text("a").as_str(), bench.text("c").as_str()),
        ("B\n", "B\n")
    );
}

#[tokio::test]
async fn a_link_that_moves_is_named_once() {
    let bench = Bench::new(true);
    bench.put("a", "1\n");
    symlink("a", bench.path("l")).unwrap();
    let refused = patch(
        &bench,
        "*** Move File: l -> m\n*** Update File: l\n@@\n-1\n+2",
    )
    .await;
    assert!(failure(&refused).contains("is a link"), "{refused}");
    assert_eq!(bench.text("a"), "1\n");
}

#[tokio::test]
async fn no_edit_shows_what_may_not_be_read() {
    let bench = Bench::new(true);
    bench.put(".env", "KEY=sesame\n");
    bench.put("plain", "x\n");
    symlink(".env", bench.path("link")).unwrap();
    for text in [
        "*** Move File: .env -> e.txt",
        "*** Move File: link -> e.txt",
        "*** Move File: plain -> .env.local",
        "*** Delete File: .env",
        "*** Update File: link\n@@\n-KEY=sesame\n+KEY=1",
    ] {
        let refused = patch(&bench, text).await;
        assert!(failure(&refused).contains("denied"), "{text}: {refused}");
        assert!(!refused.to_string().contains("sesame"), "{refused}");
    }
    let edit = json!({"path": ".env", "old_string": "KEY=none", "new_string": "x"});
    let refused = bench.call("patch", edit).await;
    assert!(!refused.to_string().contains("sesame"), "{refused}");
    assert_eq!(bench.text(".env"), "KEY=sesame\n");
    assert!(!bench.path("e.txt").exists() && bench.path("plain").exists());
}

#[tokio::test]
async fn no_search_shows_what_may_not_be_read() {
    for reachable in [true, false] {
        let bench = Bench::new(reachable);
        for file in [
            ".hermes/auth.json",
            ".hermes/auth.json.corrupt",
            ".hermes/mcp-tokens/x.json",
            ".hermes/skills/.hub/a/SKILL.md",
            "project/.env",
        ] {
            bench.put(file, "the secret\n");
        }
        bench.put(".hermes/notes.txt", "the secret\n");
        symlink(bench.path(".hermes/auth.json"), bench.path("innocent")).unwrap();
        for path in [
            ".hermes/auth.json",
            ".hermes/mcp-tokens",
            ".hermes/skills/.hub",
            "project/.env",
            "innocent",
        ] {
            let refused = bench
                .call("search_files", json!({"pattern": ".", "path": path}))
                .await;
            assert!(failure(&refused).contains("denied"), "{path}: {refused}");
        }
        for mode in ["content", "files_only", "count"] {
            let found = bench
                .call(
                    "search_files",
                    json!({"pattern": "secret", "path": ".hermes", "output_mode": mode}),
                )
                .await;
            assert_eq!(found["total_count"], 1, "{reachable}: {found}");
            assert!(found.to_string().contains("notes.txt"), "{found}");
        }
        nix::unistd::mkfifo(&bench.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let pipe = bench
            .call("search_files", json!({"pattern": "x", "path": "pipe"}))
            .await;
        assert!(failure(&pipe).contains("pipe"), "{pipe}");
    }
}

#[tokio::test]
async fn the_answer_to_a_second_read_is_no_content() {
    let bench = Bench::new(true);
    bench.put("f", "x\n");
    bench.call("read_file", json!({"path": "f"})).await;
    let again = bench.call("read_file", json!({"path": "f"})).await;
    for content in [
        again["message"].as_str().unwrap().to_owned(),
        format!("{}\n", again["message"].as_str().unwrap()),
        again.to_string(),
        serde_json::to_string_pretty(&again).unwrap(),
    ] {
        let refused = bench
            .call("write_file", json!({"path": "f", "content": content}))
            .await;
        assert!(failure(&refused).contains("read_file"), "{refused}");
    }
    assert_eq!(bench.text("f"), "x\n");
}

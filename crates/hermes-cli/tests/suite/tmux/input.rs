//! Keys and pastes.

use hermes_testkit::model::Reply;
use pretty_assertions::assert_eq;

use super::{Stage, input_line};

#[test]
fn what_is_typed_is_shown_sent_and_answered() {
    let stage = Stage::new();
    stage.push(Reply::text("Hello **you**."));
    let chat = stage.chat(&[]);
    // Wide characters take two columns, and go away whole.
    chat.type_text("漢字 👍x");
    chat.wait_for("❯ 漢字 👍x");
    chat.wait_until("the cursor behind them", |_| {
        chat.cursor().0 == 2 + 4 + 1 + 2 + 1
    });
    chat.keys(&["BSpace", "BSpace", "BSpace", "BSpace", "BSpace"]);
    chat.wait_gone("漢");
    chat.type_text("one").keys(&["M-Enter"]).type_text("two");
    let screen = chat.wait_for("  two");
    assert!(screen.contains("❯ one\n  two"), "{screen}");
    chat.keys(&["Enter"]);
    chat.wait_for("Hello you.");
    assert_eq!(stage.last_question(), "one\ntwo");
    chat.wait_until("an empty input", |screen| input_line(screen).trim() == "❯");
    // What was said can be said again.
    chat.keys(&["Up"])
        .wait_until("the history", |screen| input_line(screen).contains("❯ one"));
    chat.keys(&["C-c"])
        .wait_until("an empty input", |screen| input_line(screen).trim() == "❯");
    assert!(
        stage
            .scratch
            .read(".hermes_history")
            .contains("\n+one\n+two\n")
    );
}

#[test]
fn a_paste_is_one_message_and_a_long_one_a_placeholder() {
    let stage = Stage::new();
    stage.push(Reply::text("short read"));
    stage.push(Reply::text("long read"));
    let chat = stage.chat(&[]);
    chat.paste("first line\nsecond line\n");
    chat.wait_for("second line");
    assert_eq!(stage.requests().len(), 0, "a paste sends nothing");
    chat.keys(&["Enter"]).wait_for("short read");
    assert_eq!(stage.last_question(), "first line\nsecond line");

    let text = "a line of the log\n".repeat(8_000);
    chat.paste(&text).wait_for("[Pasted text #1: 8001 lines →");
    chat.type_text(" explain")
        .keys(&["Enter"])
        .wait_for("long read");
    assert_eq!(stage.last_question(), format!("{text} explain"));
    let kept: Vec<_> = std::fs::read_dir(stage.scratch.home().join("pastes"))
        .unwrap()
        .collect();
    assert_eq!(kept.len(), 1);
}

#[test]
fn completion_offers_commands_arguments_and_paths() {
    let stage = Stage::new();
    std::fs::write(stage.scratch.user_home().join("notes.txt"), "x").unwrap();
    let chat = stage.chat(&[]);
    chat.type_text("/bu")
        .wait_for("What Enter does while Hermes works");
    chat.keys(&["Tab"]).wait_for("steer");
    chat.keys(&["Down", "Tab"]).wait_for("❯ /busy queue");
    chat.keys(&["Enter"])
        .wait_for("queues your text as the next message");
    chat.type_text("look at ./no").wait_for("./notes.txt");
    chat.keys(&["Tab"]).wait_for("❯ look at ./notes.txt");
    chat.keys(&["C-c"]);
    chat.type_text("see @").wait_for("@staged");
    chat.type_text("nts").wait_for("@file:notes.txt");
    chat.keys(&["Tab"]).wait_for("❯ see @file:notes.txt");
    // Escape closes the menu and leaves the text.
    chat.keys(&["C-c"]);
    chat.type_text("/sta")
        .wait_for("Hide or show the status line");
    chat.keys(&["Escape"])
        .wait_gone("Hide or show the status line");
    chat.wait_for("❯ /sta");
}

#[test]
fn the_draft_can_be_written_in_an_editor() {
    let stage = Stage::new();
    stage.push(Reply::text("read"));
    let editor = stage.scratch.user_home().join("editor");
    std::fs::write(&editor, "#!/bin/sh\nprintf ' and more' >> \"$1\"\n").unwrap();
    make_executable(&editor);
    let mut command = stage.command(&[]);
    command.env("EDITOR", &editor);
    let chat = hermes_testkit::tmux::Terminal::start(&command, 80, 24);
    chat.wait_for("❯");
    chat.type_text("begun").wait_for("❯ begun");
    chat.keys(&["C-g"]).wait_for("❯ begun and more");
    chat.keys(&["Enter"]).wait_for("read");
    assert_eq!(stage.last_question(), "begun and more");
}

#[test]
fn pictures_come_by_flag_path_command_and_clipboard() {
    let stage = Stage::new();
    let home = stage.scratch.user_home();
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n-a picture of sorts-";
    for name in ["flag.png", "path.png", "command.png", "clip.png"] {
        std::fs::write(home.join(name), PNG).unwrap();
    }
    let bin = home.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = bin.join("wl-paste");
    std::fs::write(
        &program,
        format!("#!/bin/sh\ncat {}/clip.png\n", home.display()),
    )
    .unwrap();
    make_executable(&program);
    let mut command = stage.command(&["chat", "--image", "flag.png"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let chat = hermes_testkit::tmux::Terminal::start(&command, 80, 24);
    chat.wait_for("(with a picture)");
    let pictures = || {
        let requests = stage.requests();
        let content = requests.last().unwrap().last_message()["content"].clone();
        let parts = content.as_array().expect("parts").clone();
        parts
            .iter()
            .filter(|part| part["type"] == "image_url")
            .count()
    };
    stage.push(Reply::text("answer one"));
    chat.enter("what is this?").wait_for("answer one");
    assert_eq!(pictures(), 1);
    stage.push(Reply::text("answer two"));
    chat.enter("./path.png and this?").wait_for("answer two");
    assert_eq!(pictures(), 1);
    stage.push(Reply::text("answer three"));
    chat.enter("/image command.png")
        .wait_for("(with a picture)");
    chat.keys(&["C-v"]).wait_for("(with 2 pictures)");
    chat.enter("and these?").wait_for("answer three");
    assert_eq!(pictures(), 2);
    assert_eq!(
        std::fs::read_dir(stage.scratch.home().join("images"))
            .unwrap()
            .count(),
        1
    );
    chat.enter("/image nowhere.png").wait_for("nowhere.png");
}

#[test]
fn leaving_takes_two_presses_or_one_end_of_input() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    chat.keys(&["C-c"]).wait_for("Ctrl+C again leaves");
    chat.keys(&["C-c"]).wait_for("Goodbye.");
    assert_eq!(chat.exit_code(), 0);
    let chat = stage.chat(&[]);
    chat.keys(&["C-d"]).wait_for("Goodbye.");
    assert_eq!(chat.exit_code(), 0);
    // Nothing was said, so nothing is stored.
    assert_eq!(
        stage.scratch.ok(["sessions", "list"]),
        "No sessions found.\n"
    );
}

pub(super) fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

//! Questions to the person.

use hermes_testkit::model::{Gate, Reply};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::Stage;
use super::input::make_executable;

fn removing() -> Reply {
    Reply::tool_call("terminal", json!({"command": "rm -rf old-build"}))
}

#[test]
fn a_dangerous_command_waits_for_an_answer() {
    let stage = Stage::new();
    let victim = stage.scratch.user_home().join("old-build");
    std::fs::create_dir(&victim).unwrap();
    let chat = stage.chat(&[]);
    // Denied by its digit, its letter, Enter, Escape and Ctrl+C; allowed by a letter.
    for key in ["4", "n", "Enter", "Escape", "C-c"] {
        stage.push(removing());
        stage.push(Reply::text(format!("denied with {key}")));
        chat.enter("clean up").wait_for("May this command run?");
        chat.keys(&[key]).wait_for(&format!("denied with {key}"));
        assert!(victim.exists(), "{key}");
    }
    stage.push(removing());
    stage.push(Reply::text("removed it"));
    let screen = chat.enter("clean up").wait_for("❯ 4. Deny");
    assert!(screen.contains("every command of the class"), "{screen}");
    assert!(chat.cursor().2, "the cursor stays visible");
    let screen = chat.keys(&["y"]).wait_for("removed it");
    assert!(!victim.exists());
    assert!(
        !screen.contains("Allow once"),
        "the dialog left nothing behind:\n{screen}"
    );
}

#[test]
fn a_question_of_the_model_is_answered_by_choice_or_in_own_words() {
    let stage = Stage::new();
    let ask = || {
        Reply::tool_call(
            "clarify",
            json!({"question": "Which port?", "choices": ["80", "8080"]}),
        )
    };
    let chat = stage.chat(&[]);
    stage.push(ask());
    stage.push(Reply::text("so be it"));
    chat.enter("serve").wait_for("Other (type your answer)");
    chat.keys(&["2"]).wait_for("so be it");
    assert!(
        stage.last_question().contains("8080"),
        "{}",
        stage.last_question()
    );
    stage.push(ask());
    stage.push(Reply::text("as you wish"));
    chat.enter("serve").wait_for("Other (type your answer)");
    chat.keys(&["3"]).wait_for("✎");
    chat.enter("443 please").wait_for("as you wish");
    assert!(stage.last_question().contains("443 please"));
    stage.push(ask());
    stage.push(Reply::text("then not"));
    chat.enter("serve").wait_for("Other (type your answer)");
    chat.keys(&["C-c"]).wait_for("then not");
    let told = stage.last_question();
    assert!(told.contains("user cancelled"), "{told}");
}

#[test]
fn what_is_typed_for_the_input_answers_no_question() {
    let stage = Stage::new();
    let victim = stage.scratch.user_home().join("old-build");
    std::fs::create_dir(&victim).unwrap();
    let gate = Gate::new();
    stage.push(removing().held_by(&gate));
    stage.push(Reply::text("so it stays"));
    let chat = stage.chat(&[]);
    chat.enter("clean up");
    gate.wait_reached();
    chat.type_text("fix ").wait_for("❯ fix");
    gate.release();
    chat.wait_for("a question comes");
    chat.type_text("3 files").keys(&["Enter"]);
    let screen = chat.wait_for("❯ 4. Deny");
    assert!(screen.contains("❯ fix 3 files"), "{screen}");
    assert!(victim.exists());
    let screen = chat.keys(&["4"]).wait_for("so it stays");
    assert!(screen.contains("❯ fix 3 files"), "{screen}");
    assert!(victim.exists());
    assert!(
        !stage
            .scratch
            .read("config.yaml")
            .contains("command_allowlist")
    );
}

#[test]
fn the_password_for_sudo_is_typed_unseen_and_reaches_sudo_only() {
    let stage = Stage::new();
    let bin = stage.scratch.user_home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let sudo = bin.join("sudo");
    std::fs::write(
        &sudo,
        "#!/bin/sh\ncase $1 in -n) exit 1;; esac\nread password\n[ \"$password\" = swordfish ] && echo welcome\n",
    )
    .unwrap();
    make_executable(&sudo);
    // A login shell sets its path anew.
    let profile = stage.scratch.user_home().join(".bash_profile");
    std::fs::write(profile, format!("export PATH={}:$PATH\n", bin.display())).unwrap();
    stage.push(Reply::tool_call("terminal", json!({"command": "sudo id"})));
    stage.push(Reply::text("that was it"));
    let chat = stage.chat(&[]);
    chat.enter("who am I?").wait_for("sudo needs your password");
    chat.type_text("swordfish").wait_for("•••••••••");
    chat.keys(&["Enter"]).wait_for("that was it");
    assert!(
        stage.last_question().contains("welcome"),
        "{}",
        stage.last_question()
    );
    assert!(!chat.scrollback().contains("swordfish"));
    assert!(!format!("{:?}", stage.requests()).contains("swordfish"));
}

#[test]
fn what_throws_something_away_is_asked_about_and_no_stays() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    // Nothing is asked about nothing.
    chat.enter("/undo")
        .wait_for("There are not that many messages.");
    stage.push(Reply::text("the first answer"));
    chat.enter("a question").wait_for("the first answer");
    chat.enter("/undo abc").wait_for("is no number of messages");
    chat.enter("/new").wait_for("Really?");
    chat.keys(&["3"]).wait_for("nothing was done");
    chat.enter("/undo").wait_for("Really?");
    chat.keys(&["y"])
        .wait_for("Taken back; your text is in the input.");
    chat.wait_for("❯ a question");
    chat.keys(&["C-c"]);
    chat.enter("/clear").wait_for("Really?");
    let screen = chat.keys(&["2"]).wait_for("A new session.");
    assert!(!screen.contains("the first answer"), "{screen}");
    assert!(screen.contains("/help shows what can be typed"), "{screen}");
    chat.enter("/new").wait_until("a second session", |screen| {
        screen.matches("A new session.").count() == 2
    });
    assert!(
        stage
            .scratch
            .read("config.yaml")
            .contains("destructive_slash_confirm: false")
    );
}

#[test]
fn long_choices_are_shown_whole_and_the_time_is_that_of_a_terminal() {
    let stage = Stage::new();
    let long =
        "keep everything as it is for now and only write down what would have to be changed later";
    stage.push(Reply::tool_call(
        "clarify",
        json!({"question": "How?", "choices": [long, "change it"]}),
    ));
    stage.push(Reply::text("as you say"));
    let chat = stage.chat_sized(&[], 50, 24);
    let screen = chat.enter("go").wait_for("2. change it");
    let seconds = screen.split("Hermes asks (").nth(1).unwrap();
    let seconds: u32 = seconds.split(' ').next().unwrap().parse().unwrap();
    assert!(seconds <= 120, "{screen}");
    let words: Vec<&str> = screen.split_whitespace().collect();
    assert!(
        long.split(' ').all(|word| words.contains(&word)),
        "{screen}"
    );
    chat.keys(&["1"]).wait_for("as you say");
    assert!(stage.last_question().contains(long));
}

#[test]
fn what_enter_does_meanwhile_is_explained_once() {
    let stage = Stage::with("display:\n  busy_input_mode: queue\n");
    for explained in [true, false] {
        let gate = Gate::new();
        stage.push(Reply::text("first").held_by(&gate));
        stage.push(Reply::text("second"));
        let chat = stage.chat(&[]);
        chat.enter("go");
        gate.wait_reached();
        let screen = chat.enter("and then").wait_for("next: and then");
        assert_eq!(screen.contains("/busy"), explained, "{screen}");
        gate.release();
        chat.wait_for("second");
        chat.enter("/quit");
        assert_eq!(chat.exit_code(), 0);
    }
    assert!(
        stage
            .scratch
            .read("config.yaml")
            .contains("busy_input_prompt: true")
    );
}

#[test]
fn failed_attempts_are_told_as_they_happen_and_what_is_left_leaves_a_line() {
    let stage = Stage::new();
    let gate = Gate::new();
    stage.push(Reply::error(500, "out of order"));
    stage.push(Reply::tool_call("terminal", json!({"command": "sleep 60"})).held_by(&gate));
    let chat = stage.chat(&[]);
    chat.enter("go").wait_for("attempt 1 of");
    gate.wait_reached();
    gate.release();
    chat.wait_for("sleep 60");
    chat.enter("/quit");
    assert_eq!(chat.exit_code(), 0);
    let left = chat.scrollback();
    assert!(left.contains("✗ stopped"), "{left}");
    assert!(left.contains("❯ /quit"), "{left}");
}

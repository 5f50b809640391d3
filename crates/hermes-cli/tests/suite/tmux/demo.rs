//! The demo model, in the chat: every request it understands, with the real tools.

use hermes_testkit::tmux::Terminal;
use pretty_assertions::assert_eq;

use super::super::support::Scratch;

#[test]
fn every_shape_of_request_works_and_teaches() {
    let scratch = Scratch::new();
    let project = scratch.user_home().join("project");
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::fs::write(
        project.join("src/main.rs"),
        "// TODO: greet\nfn main() {}\n",
    )
    .unwrap();
    let mut command = scratch.command(["--provider", "demo"]);
    command.current_dir(&project);
    let chat = Terminal::start(&command, 80, 50);
    let screen = chat.wait_for("❯");
    assert!(screen.contains("not a language model"), "{screen}");
    // What is asked, what the answer must show, and the way to do it by hand.
    for (request, shown, by_hand) in [
        ("list files in src", "main.rs", "By hand: ls -la src"),
        (
            "read src/main.rs",
            "fn main() {}",
            "By hand: cat -n src/main.rs",
        ),
        ("run uname -s", "Linux", "By hand: uname -s"),
        (
            "search for TODO in src",
            "src/main.rs:1",
            "By hand: rg TODO src",
        ),
        (
            "create notes.txt with hello",
            "I wrote notes.txt",
            "By hand: cat > notes.txt",
        ),
        (
            "replace hello with goodbye in notes.txt",
            "+goodbye",
            "By hand: open it in your editor",
        ),
        (
            "start \"echo from behind; sleep 60\" in the background",
            "still running.",
            "then jobs",
        ),
        (
            "what is the meaning of life?",
            "not a language model",
            "hermes setup",
        ),
    ] {
        chat.keys(&["C-l"]);
        chat.enter("/clear now").wait_for("A new session.");
        chat.enter(request).wait_for(by_hand);
        let screen = chat.screen();
        assert!(screen.contains(shown), "{request}: {shown} in\n{screen}");
    }
    assert_eq!(
        std::fs::read_to_string(project.join("notes.txt")).unwrap(),
        "goodbye\n"
    );
    chat.enter("/stop")
        .wait_for("Ended 1 background process(es).");
    // The same again is the same answer.
    let answer = || scratch.ok(["--provider", "demo", "-z", "run echo the same"]);
    assert_eq!(answer(), answer());
}

#[test]
fn the_end_of_a_process_is_a_line_of_the_program_and_a_short_answer() {
    let scratch = Scratch::new();
    let chat = Terminal::start(&scratch.command(["--provider", "demo"]), 80, 50);
    chat.wait_for("❯");
    chat.enter("start \"for i in 1 2 3; do echo $i; sleep 1; done\" in the background")
        .wait_for("still running.");
    let screen = chat.wait_for("ended with exit code 0. It printed:");
    assert!(!screen.contains("IMPORTANT"), "{screen}");
    assert!(!screen.contains("I am the demo model"), "{screen}");
}

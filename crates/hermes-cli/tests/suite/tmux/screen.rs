//! What the terminal looks like: sizes, colours, and what is left behind.

use hermes_testkit::model::{Gate, Reply};
use hermes_testkit::process::wait_until_gone;
use hermes_testkit::tmux::Terminal;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::Stage;

/// The shell takes lines again, shows what is typed, and so does what it runs.
fn is_sane(terminal: &Terminal) {
    terminal.enter("clear; stty -a");
    let settings = terminal.wait_for("extproc");
    for word in ["icanon", "echo", "isig", "icrnl", "opost"] {
        let is_on = settings.split_whitespace().any(|setting| setting == word);
        assert!(is_on, "{word}: {settings}");
    }
    terminal
        .enter("echo back in the shell | tr a-z A-Z")
        .wait_for("BACK IN THE SHELL");
    assert!(terminal.cursor().2, "the cursor is hidden");
}

#[test]
fn the_screen_is_usable_after_any_end() {
    let stage = Stage::new();
    let end = |signal: Signal, code: i32| {
        stage.push(Reply::tool_call(
            "terminal",
            json!({"command": "rm -rf nothing-here"}),
        ));
        let chat = stage.chat(&[]);
        chat.enter("go").wait_for("May this command run?");
        let pid = chat.program();
        kill(Pid::from_raw(pid as i32), signal).unwrap();
        wait_until_gone(pid);
        assert_eq!(chat.exit_code(), code, "{signal}");
        is_sane(&chat);
    };
    end(Signal::SIGKILL, 137);
    end(Signal::SIGTERM, 143);
    end(Signal::SIGHUP, 129);
    let chat = stage.chat(&[]);
    chat.keys(&["C-d"]);
    assert_eq!(chat.exit_code(), 0);
    is_sane(&chat);
}

#[test]
fn a_suspended_chat_comes_back() {
    let stage = Stage::new();
    stage.push(Reply::text("here again"));
    let chat = stage.chat(&[]);
    chat.type_text("dra").keys(&["C-z"]).wait_for("Stopped");
    chat.enter("echo in between").wait_for("in between");
    chat.enter("fg").wait_for("❯ dra");
    chat.enter("ft").wait_for("here again");
    assert_eq!(stage.last_question(), "draft");
}

#[test]
fn a_resize_leaves_one_prompt_and_one_status_line() {
    let stage = Stage::new();
    let gate = Gate::new();
    stage.push(
        Reply::text("A paragraph that is long enough to be broken into several lines when the terminal becomes narrow. ")
            .then_stall(&gate)
            .then_text("The end."),
    );
    let chat = stage.chat_sized(&[], 120, 30);
    chat.enter("tell").wait_for("becomes narrow.");
    for (columns, rows) in [(50, 20), (120, 30), (40, 12), (80, 24)] {
        chat.resize(columns, rows);
        let screen = chat.wait_until("one prompt and one status line", |screen| {
            screen.matches("Ctrl+C stops").count() + screen.matches("Ctrl+C …").count() <= 1
                && screen.matches("⏱").count() == 1
                && screen.matches("⚕ ❯").count() == 1
        });
        for line in screen.lines() {
            assert!(line.chars().count() <= usize::from(columns), "{line}");
        }
    }
    gate.release();
    let screen = chat.wait_for("The end.");
    chat.wait_until("an idle prompt", |screen| !screen.contains("⚕ ❯"));
    assert_eq!(
        screen.matches("A paragraph that is long").count(),
        1,
        "{screen}"
    );
}

#[test]
fn without_colour_nothing_is_coloured_and_nothing_is_lost() {
    let stage = Stage::new();
    let answer = "# Title\n\n`code` and a [link](http://x)\n\n```rust\nlet a = 1;\n```\n\nthe end";
    for no_color in [false, true] {
        stage.push(Reply::tool_call("read_file", json!({"path": "missing"})));
        stage.push(Reply::text(answer));
        let mut command = stage.command(&[]);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        let chat = Terminal::start(&command, 80, 24);
        chat.wait_for("❯");
        let screen = chat.enter("show").wait_for("the end");
        assert!(
            screen.contains('✗') && screen.contains("let a = 1;"),
            "{screen}"
        );
        let coloured = chat.coloured_screen();
        // Foreground colours: 30-37, 90-97 and the extended 38.
        let has_colour = coloured.split("\u{1b}[").skip(1).any(|sequence| {
            let codes = sequence.split('m').next().unwrap_or("");
            codes.split(';').any(|code| {
                code.parse::<u8>()
                    .is_ok_and(|code| (30..=38).contains(&code) || (90..=97).contains(&code))
            })
        });
        assert_eq!(has_colour, !no_color, "{coloured:?}");
    }
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let stage = Stage::new();
    let mut command = stage.command(&[]);
    command.env("TERM", "dumb");
    let chat = Terminal::start(&command, 80, 24);
    chat.wait_until("a prompt", |screen| screen.ends_with("\n>"));
    stage.push(Reply::tool_call(
        "clarify",
        json!({"question": "Which?", "choices": ["left", "right"]}),
    ));
    stage.push(Reply::tool_call(
        "terminal",
        json!({"command": "rm -rf nothing-here"}),
    ));
    stage.push(Reply::text("a plain answer"));
    chat.enter("go").wait_for("2  right");
    chat.enter("2").wait_for("May this command run?");
    let screen = chat.enter("no").wait_for("a plain answer");
    assert!(
        screen.contains("> terminal  rm -rf nothing-here"),
        "{screen}"
    );
    let requests = stage.requests();
    assert!(
        requests[1].last_message()["content"]
            .to_string()
            .contains("right")
    );
    chat.enter("/status").wait_for("scripted-model");
    // A turn is stopped by Ctrl+C; at the prompt it leaves.
    let gate = Gate::new();
    stage.push(Reply::text("never ").then_stall(&gate));
    chat.enter("more");
    gate.wait_reached();
    chat.keys(&["C-c"]).wait_for("* stopped");
    chat.keys(&["C-c"]).wait_for("hermes --resume ");
    assert_eq!(chat.exit_code(), 0);
    assert!(!chat.coloured_screen().contains("\u{1b}["));
}

#[test]
fn on_a_dumb_terminal_a_question_nobody_answers_is_closed() {
    let stage = Stage::with("approvals:\n  timeout: 1\n");
    let mut command = stage.command(&[]);
    command.env("TERM", "dumb");
    let chat = Terminal::start(&command, 80, 24);
    chat.wait_until("a prompt", |screen| screen.ends_with("\n>"));
    stage.push(Reply::tool_call(
        "terminal",
        json!({"command": "rm -rf nothing-here"}),
    ));
    stage.push(Reply::text("then not"));
    chat.enter("go").wait_for("nobody answered in time");
    chat.wait_for("then not");
    // A list is chosen from by number; what throws something away is asked about.
    stage.push(Reply::text("an answer"));
    chat.enter("more").wait_for("an answer");
    chat.enter("/new").wait_for("Really /new?");
    chat.enter("no").wait_for("Nothing was done.");
    chat.enter("/new").enter("y").wait_for("A new session.");
    chat.enter("/resume").wait_for("Type a number");
    chat.enter("1").wait_for("Going on with");
    chat.enter("/quit");
    assert_eq!(chat.exit_code(), 0);
}

#[test]
fn forty_columns_break_between_words() {
    let stage = Stage::new();
    stage.push(Reply::text(
        "Several considerably **lengthy**, *emphasised* expressions and `codewords` together, \
         with 漢字漢字漢字 and 👨‍👩‍👧 between them.",
    ));
    let chat = stage.chat_sized(&[], 40, 24);
    let question = "wherever possible nothing is separated inside itself";
    chat.type_text(question);
    let whole = |screen: &str, text: &str| {
        let words: Vec<&str> = screen.split_whitespace().collect();
        text.split_whitespace().all(|word| words.contains(&word))
    };
    chat.wait_until("whole words while typing", |screen| whole(screen, question));
    chat.keys(&["Enter"]);
    let screen = chat.wait_for("between them.");
    for text in [
        question,
        "Several considerably lengthy, emphasised expressions and codewords together,",
    ] {
        assert!(whole(&screen, text), "{screen}");
    }
}

#[test]
fn lines_that_are_typed_at_once_are_a_paste() {
    let stage = Stage::new();
    stage.push(Reply::text("got it"));
    let chat = stage.chat(&[]);
    let text = "one\ntwo\nthree\nfour\nfive\nsix\nseven";
    chat.type_text(text).wait_for("[Pasted text #1: 7 lines");
    chat.keys(&["Enter"]).wait_for("got it");
    assert_eq!(stage.last_question(), text);
}

#[test]
fn small_and_smallest_terminals_work() {
    let stage = Stage::new();
    for (columns, rows) in [(80, 24), (40, 12), (20, 6)] {
        stage.push(Reply::text("A short answer of a few words."));
        let chat = stage.chat_sized(&["--yolo"], columns, rows);
        chat.enter("a question that is longer than a narrow line");
        chat.wait_until("the answer", |screen| screen.contains("words."));
        chat.keys(&["C-d"]);
        chat.wait_until("the end", |_| chat.scrollback().contains("[exit 0]"));
    }
}

#[test]
fn a_redraw_shows_the_last_lines_again() {
    let stage = Stage::new();
    stage.push(Reply::text("what was said"));
    let chat = stage.chat(&[]);
    chat.enter("speak").wait_for("what was said");
    let screen = chat
        .keys(&["C-l"])
        .wait_until("a redrawn screen", |screen| {
            screen.starts_with("Hermes") && screen.contains("what was said")
        });
    assert_eq!(screen.matches("what was said").count(), 1, "{screen}");
}

#[test]
fn the_settings_of_the_display_are_read() {
    let stage = Stage::with(
        "display:\n  compact: true\n  timestamps: true\n  inline_diffs: false\n  final_response_markdown: raw\n  \
         show_cost: true\n  tool_preview_length: 5\n  persistent_output: false\n  tool_progress: new\n  \
         bell_on_complete: true\n  busy_input_mode: queue\n  user_message_preview:\n    first_lines: 1\n    \
         last_lines: 0\npaste_collapse_threshold: 0\npaste_collapse_char_threshold: 0\n",
    );
    std::fs::write(stage.scratch.user_home().join("long-name.txt"), "old\n").unwrap();
    let edit = |old: &str, new: &str| {
        Reply::tool_call(
            "patch",
            json!({"mode": "replace", "path": "long-name.txt", "old_string": old, "new_string": new}),
        )
    };
    stage.push(edit("old", "newer"));
    stage.push(edit("newer", "newest"));
    let gate = Gate::new();
    stage.push(Reply::text("**as it is**").then_stall(&gate).charged(0.5));
    stage.push(Reply::text("and the next"));
    let chat = stage.chat(&[]);
    assert!(!chat.screen().contains("Tip:"), "compact");
    chat.paste("one\ntwo\nthree\nfour\nfive\nsix\nseven");
    chat.wait_for("seven");
    chat.keys(&["Enter"]).wait_for("**as it is**");
    let screen = chat.screen();
    let clock = screen
        .lines()
        .any(|line| line.starts_with("❯ ") && line.contains(':'));
    assert!(clock && screen.contains("… 6 more lines"), "{screen}");
    assert!(!screen.contains(" tools · "), "compact: {screen}");
    assert!(!screen.contains("+newer"), "{screen}");
    assert_eq!(
        screen.matches("┊ patch").count(),
        1,
        "repetitions are left out:\n{screen}"
    );
    assert!(
        screen.contains("long…") && !screen.contains("long-name"),
        "{screen}"
    );
    chat.enter("a second").wait_for("next: a second");
    gate.release();
    chat.wait_for("this turn cost $0.5");
    chat.wait_for("and the next");
    // Nothing is kept to be drawn again.
    chat.keys(&["C-l"]).wait_gone("and the next");
    chat.wait_for("❯");
}

//! Commands and keys that change how the conversation goes on.

use hermes_testkit::model::{Gate, Reply};
use pretty_assertions::assert_eq;

use super::{Stage, input_line};

fn idle(screen: &str) -> bool {
    input_line(screen).trim() == "❯"
}

#[test]
fn a_personality_is_told_to_the_model_and_stored() {
    let stage = Stage::with(
        "agent:\n  personalities:\n    butler:\n      description: polite\n      system_prompt: Serve with dignity.\n\
         personalities:\n  monk: Speak rarely.\n",
    );
    let chat = stage.chat(&[]);
    stage.push(Reply::text("as ever"));
    chat.enter("hello").wait_for("as ever");
    assert!(!format!("{:?}", stage.requests()[0].messages()[0]).contains("Serve with dignity."));
    chat.enter("/personality").wait_for("polite");
    chat.type_text("butler").wait_for("1/");
    chat.keys(&["Enter"]).wait_for("Personality: butler");
    // It holds for the session that has begun already, and for the next.
    stage.push(Reply::text("very well"));
    chat.enter("and now?").wait_for("very well");
    let system = stage.requests()[1].messages()[0].to_string();
    assert!(system.contains("Serve with dignity."), "{system}");
    assert_eq!(stage.requests()[1].messages().len(), 4, "nothing was lost");
    let config = stage.scratch.read("config.yaml");
    assert!(
        config.contains("system_prompt: Serve with dignity."),
        "{config}"
    );
    chat.enter("/personality monk")
        .wait_for("Personality: monk");
    chat.enter("/personality none").wait_for("No personality");
    assert!(
        !stage
            .scratch
            .read("config.yaml")
            .contains("system_prompt: Speak")
    );
    chat.enter("/personality nobody")
        .wait_for("there is no personality nobody");
}

#[test]
fn the_configured_personality_speaks_without_a_command() {
    let stage =
        Stage::with("display:\n  personality: monk\npersonalities:\n  monk: Speak rarely.\n");
    stage.push(Reply::text("hm"));
    let chat = stage.chat(&[]);
    chat.enter("hello").wait_for("hm");
    let system = stage.requests()[0].messages()[0].to_string();
    assert!(system.contains("Speak rarely."), "{system}");
}

#[test]
fn an_answer_is_shown_whole_where_streaming_is_off() {
    for (setting, seen_early) in [("true", true), ("false", false)] {
        let stage = Stage::with(&format!("display:\n  streaming: {setting}\n"));
        let gate = Gate::new();
        stage.push(
            Reply::text("The first half")
                .then_stall(&gate)
                .then_text(" and the rest."),
        );
        let chat = stage.chat(&[]);
        chat.enter("speak");
        gate.wait_reached();
        if seen_early {
            chat.wait_for("The first half");
        } else {
            let screen = chat.wait_for("thinking…");
            assert!(!screen.contains("The first half"), "{screen}");
        }
        gate.release();
        chat.wait_for("The first half and the rest.");
    }
}

#[test]
fn speed_is_paid_for_on_request() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    chat.enter("/fast").wait_for("Speed: normal");
    chat.enter("/fast fast")
        .wait_for("Speed: fast, from now on.");
    assert!(
        stage
            .scratch
            .read("config.yaml")
            .contains("service_tier: fast")
    );
    chat.enter("/fast status").wait_for("Speed: fast. ");
    chat.enter("/fast normal")
        .wait_for("Speed: normal, from now on.");
    assert!(
        !stage
            .scratch
            .read("config.yaml")
            .contains("service_tier: fast")
    );
    chat.enter("/fast sideways").wait_for("is no speed");
}

#[test]
fn files_that_changed_are_read_again() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    chat.enter("/greeting")
        .wait_for("there is no command /greeting");
    let config = stage.scratch.read("config.yaml");
    stage.scratch.write(
        "config.yaml",
        format!("{config}quick_commands:\n  greeting:\n    type: exec\n    command: echo hi from the file\n"),
    );
    stage.scratch.write(".env", "SOME_VARIABLE=1\n");
    chat.enter("/reload").wait_for("1 variable(s) of .env");
    chat.enter("/greeting").wait_for("hi from the file");
    // Skills: the model is told what changed.
    chat.enter("/reload-skills")
        .wait_for("The skills are the same as before.");
    stage.scratch.write(
        "skills/bow/SKILL.md",
        "---\nname: bow\ndescription: How to bow.\n---\nBow low.\n",
    );
    chat.enter("/reload-skills").wait_for("Skills, new: bow.");
    stage.push(Reply::text("noted"));
    chat.enter("go on").wait_for("noted");
    let asked = stage.last_question();
    assert!(asked.contains("the skills changed. new: bow"), "{asked}");
}

#[test]
fn snapshots_are_made_listed_put_back_and_thrown_away() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    chat.enter("/snapshot").wait_for("There is no snapshot yet");
    chat.enter("/snap create first one").wait_for("-first-one");
    let before = stage.scratch.read("config.yaml");
    stage
        .scratch
        .write("config.yaml", format!("{before}timezone: UTC\n"));
    let screen = chat.enter("/snapshot list").wait_for("files │ size");
    let id = screen
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .find(|word| word.ends_with("-first-one"))
        .unwrap()
        .to_owned();
    chat.enter(&format!("/snapshot restore {id}"))
        .wait_for("A new session begins.");
    assert_eq!(stage.scratch.read("config.yaml"), before);
    chat.enter("/snapshot restore nosuch")
        .wait_for("there is no snapshot nosuch");
    chat.enter("/snapshot prune 0")
        .wait_for("snapshot(s) removed.");
    chat.enter("/snapshot").wait_for("There is no snapshot yet");
    chat.enter("/snapshot sideways").wait_for("means nothing");
}

#[test]
fn the_last_exchanges_are_kept_when_the_rest_is_condensed() {
    let stage = Stage::with("compression:\n  protect_first_n: 0\n");
    let chat = stage.chat(&[]);
    for number in 0..6 {
        stage.push(Reply::text(format!(
            "answer {number} {}",
            "word ".repeat(40)
        )));
        chat.enter(&format!("question {number}"))
            .wait_for(&format!("answer {number}"));
        chat.wait_until("an idle prompt", idle);
    }
    chat.enter("/compress here x")
        .wait_for("is no number of exchanges");
    stage.push(Reply::text("## Goal\nA summary of all that."));
    chat.enter("/compress here 3")
        .wait_for("the conversation was condensed");
    stage.push(Reply::text("going on"));
    chat.enter("next").wait_for("going on");
    let last = stage.requests().pop().unwrap();
    let said = format!("{:?}", last.messages());
    assert!(
        said.contains("question 3") && !said.contains("answer 2"),
        "{said}"
    );
}

#[test]
fn tools_that_are_switched_off_are_gone_with_a_new_session() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    stage.push(Reply::text("with all"));
    chat.enter("hello").wait_for("with all");
    chat.enter("/tools disable memory")
        .wait_for("A new session begins with these tools.");
    stage.push(Reply::text("without one"));
    chat.enter("hello again").wait_for("without one");
    let tools = |at: usize| stage.requests()[at].tool_names().join(" ");
    assert!(tools(0).contains("memory") && !tools(1).contains("memory"));
    assert_eq!(stage.requests()[1].messages().len(), 2);
}

#[test]
fn what_is_not_built_says_so_and_what_is_known_is_told() {
    let stage = Stage::new();
    let chat = stage.chat(&[]);
    for name in ["voice", "skin", "reload-mcp", "handoff"] {
        chat.enter(&format!("/{name}"))
            .wait_for(&format!("/{name} is not built yet"));
    }
    chat.enter("/whoami").wait_for("profile │ default");
    // Verbs have the short forms of the chat.
    chat.enter("/skills").wait_for("installed");
    chat.enter("/insights 7").wait_until("seven days", |_| {
        chat.scrollback().contains("Last 7 days") || chat.scrollback().contains("7 days")
    });
}

//! What keys, pastes and commands do.

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn enter_while_working_follows_the_mode() {
    let mut t = Table::new();
    t.enter("first");
    t.enter("second");
    assert_eq!(t.effects.last(), Some(&Effect::Interrupt));
    t.finish(StopReason::Interrupted, "", None);
    assert_eq!(
        t.effects.last(),
        Some(&Effect::Send(Content::Text("second".into())))
    );
    t.enter("/busy queue");
    t.enter("third");
    assert_ne!(t.effects.last(), Some(&Effect::Interrupt));
    t.finish(StopReason::Answered, "done", None);
    assert_eq!(
        t.effects.last(),
        Some(&Effect::Send(Content::Text("third".into())))
    );
    t.enter("/steer be brief");
    assert_eq!(t.effects.last(), Some(&Effect::Steer("be brief".into())));
    // Shown where it reached the model.
    t.event(TurnEvent::Steered {
        text: "be brief".into(),
    });
    assert!(t.screen().contains("» be brief"), "{}", t.screen());
}

#[test]
fn control_c_stops_clears_and_leaves_in_that_order() {
    let mut t = Table::new();
    t.enter("work");
    t.control('c');
    assert_eq!(t.effects.last(), Some(&Effect::Interrupt));
    t.control('c');
    assert_eq!(t.effects.last(), Some(&Effect::Quit));
    let mut t = Table::new();
    t.type_text("draft");
    t.control('c');
    assert_eq!((t.app.editor.text(), &t.effects[..]), ("", &[][..]));
    // A second press is only meant when it comes soon.
    t.control('c');
    assert_snapshot!("about to leave", t.screen());
    t.now += Duration::from_secs(3);
    t.control('c');
    assert_eq!(t.effects, []);
    t.control('c');
    assert_eq!(t.effects, [Effect::Quit]);
}

#[test]
fn long_pastes_are_folded_and_sent_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut t = Table::with(Preferences {
        paste_directory: Some(directory.path().to_owned()),
        ..Preferences::default()
    });
    let text = "line\n".repeat(8000);
    t.app.paste(&text, t.now);
    assert!(
        t.app
            .editor
            .text()
            .starts_with("[Pasted text #1: 8001 lines → ")
    );
    t.key(KeyCode::Enter);
    assert_eq!(t.effects, [Effect::Send(Content::Text(text.clone()))]);
    assert_eq!(t.printed.trim_end().lines().count(), 1, "{}", t.printed);
    // Commands get their text as it is, and where nothing can be kept nothing is folded.
    t.type_text("/queue ");
    t.app.paste(&text, t.now);
    assert!(t.app.editor.text().starts_with("/queue line\nline"));
    let mut t = Table::new();
    t.app.paste(&text, t.now);
    assert_eq!(t.app.editor.text(), text);
}

#[test]
fn what_terminals_leak_into_a_paste_is_taken_out() {
    let mut t = Table::new();
    t.app
        .paste("\x1b[200~one\r\ntwo\rthree\x07\x1b[201~", t.now);
    assert_eq!(t.app.editor.text(), "one\ntwo\nthree");
    assert_eq!(t.app.paste("", t.now), [Effect::ClipboardPicture]);
}

#[test]
fn a_line_feed_sends_where_it_may_be_all_that_enter_is() {
    let mut t = Table::new();
    t.type_text("one");
    t.control('j');
    assert_eq!(t.app.editor.text(), "one\n");
    let mut t = Table::with(Preferences {
        line_feed_sends: true,
        ..Preferences::default()
    });
    t.type_text("one");
    t.control('j');
    assert_eq!(t.effects, [Effect::Send(Content::Text("one".into()))]);
}

#[test]
fn commands_that_need_an_idle_agent_follow_the_turn() {
    let mut t = Table::new();
    t.enter("work");
    t.effects.clear();
    t.enter("/title a name");
    t.enter("/queue more");
    assert_snapshot!("queued", t.screen());
    assert_eq!(t.effects, []);
    t.finish(StopReason::Answered, "done", None);
    let title = Effect::Command {
        name: "title",
        arguments: "a name".into(),
    };
    assert_eq!(t.effects, [title]);
    t.app.command_done("ok");
    let effects = t.app.next_in_queue(t.now);
    t.take(effects);
    assert_eq!(
        t.effects.last(),
        Some(&Effect::Send(Content::Text("more".into())))
    );
}

#[test]
fn while_a_command_runs_one_can_type_and_leave_it() {
    let mut t = Table::new();
    t.enter("/status");
    t.effects.clear();
    t.enter("next");
    assert_snapshot!("command running", t.screen());
    assert_eq!(t.effects, []);
    t.control('c');
    assert_eq!(t.effects, [Effect::CancelCommand]);
    t.app.command_cancelled();
    t.key(KeyCode::Enter);
    assert_eq!(
        t.effects.last(),
        Some(&Effect::Send(Content::Text("next".into())))
    );
}

#[test]
fn long_messages_stay_without_their_middle() {
    let mut t = Table::new();
    t.app.paste("one\ntwo\nthree\nfour\nfive\nsix", t.now);
    t.key(KeyCode::Enter);
    assert_snapshot!("long message", t.printed);
}

#[test]
fn ghosts_suggest_how_a_text_went_on() {
    let mut t = Table::new();
    t.enter("run the tests");
    t.finish(StopReason::Answered, "", None);
    t.printed.clear();
    t.type_text("run");
    assert_snapshot!("ghost", t.screen());
    t.key(KeyCode::Tab);
    assert_eq!(t.app.editor.text(), "run the tests");
}

#[test]
fn commands_complete_while_typing() {
    let mut t = Table::new();
    t.type_text("/st");
    assert_snapshot!("menu", t.screen());
    t.key(KeyCode::Down);
    t.key(KeyCode::Tab);
    assert!(
        t.app.editor.text().starts_with("/st"),
        "{}",
        t.app.editor.text()
    );
    let mut t = Table::new();
    // What is unknown here may be one of the program's own.
    t.enter("/nope at all");
    assert_eq!(
        t.effects,
        [Effect::Command {
            name: slash::OWN,
            arguments: "nope at all".into()
        }]
    );
    t.app.command_done("");
    t.effects.clear();
    t.enter("/voice");
    assert!(t.printed.contains("not built yet"), "{}", t.printed);
    t.enter("/model x");
    assert_eq!(
        t.effects,
        [Effect::Command {
            name: "model",
            arguments: "x".into()
        }]
    );
}

#[test]
fn a_picker_filters_as_one_types() {
    let mut t = Table::new();
    let item = |name: &str| PickItem {
        value: name.into(),
        label: name.into(),
        detail: "a model".into(),
    };
    t.app.pick(Picker::new(
        "Models",
        "model",
        vec![item("alpha"), item("beta"), item("gamma")],
    ));
    assert_snapshot!("picker", t.screen());
    t.type_text("gm");
    assert_snapshot!("picker filtered", t.screen());
    t.key(KeyCode::Enter);
    assert_eq!(
        t.effects,
        [Effect::Command {
            name: "model",
            arguments: "gamma".into()
        }]
    );
}

#[test]
fn guidance_is_seen_when_it_is_given_and_when_it_arrived() {
    let mut t = Table::new();
    t.enter("work");
    t.printed.clear();
    t.enter("/steer be brief");
    t.event(TurnEvent::Steered {
        text: "be brief".into(),
    });
    assert_snapshot!("guidance", t.screen());
}

#[test]
fn a_model_is_looked_for_at_once_and_changes_after_the_turn() {
    let mut t = Table::new();
    t.enter("work");
    t.effects.clear();
    t.printed.clear();
    t.enter("/model other");
    let switch = Effect::Command {
        name: "model",
        arguments: "other".into(),
    };
    assert_eq!(t.effects, std::slice::from_ref(&switch));
    let effects = t
        .app
        .follows_turn("model", "other".into(), "Noted: `other`.");
    t.take(effects);
    assert_snapshot!("model noted", t.screen());
    t.effects.clear();
    t.finish(StopReason::Answered, "done", None);
    assert_eq!(t.effects, [switch]);
}

#[test]
fn own_commands_are_in_the_menu_and_in_the_help() {
    let mut t = Table::new();
    t.type_text("/sta");
    assert_snapshot!("menu with own commands", t.screen());
    t.control('u');
    t.type_text("/hi");
    t.key(KeyCode::Enter);
    let own = Effect::Command {
        name: slash::OWN,
        arguments: "hi".into(),
    };
    assert_eq!(t.effects, [own]);
    t.app.command_done("");
    t.app.resize(40, 24);
    t.printed.clear();
    t.enter("/help");
    assert!(
        t.printed.contains("Your own: /stand-up, /hi"),
        "{}",
        t.printed
    );
    assert!(
        t.printed.contains("• /busy [interrupt|queue|steer]: What"),
        "{}",
        t.printed
    );
}

#[test]
fn answers_are_copied_by_their_number_from_the_end() {
    let mut t = Table::new();
    t.enter("/copy");
    assert!(t.printed.contains("There is no answer to copy yet."));
    for answer in ["first", "second"] {
        t.enter("go");
        t.finish(StopReason::Answered, answer, None);
    }
    for (words, copied) in [("/copy", "second"), ("/copy 2", "first")] {
        t.enter(words);
        assert_eq!(t.effects.last(), Some(&Effect::Copy(copied.into())));
    }
    t.enter("/copy 3");
    assert!(t.printed.contains("There are not that many answers."));
}

#[test]
fn enter_in_a_list_that_matches_nothing_leaves_it_open() {
    let mut t = Table::new();
    let item = PickItem {
        value: "a".into(),
        label: "alpha".into(),
        detail: String::new(),
    };
    t.app.pick(Picker::new("Letters", "model", vec![item]));
    t.enter("zzz");
    assert!(t.app.is_picking());
    assert!(t.effects.is_empty());
}

#[test]
fn a_slash_and_enter_take_what_is_highlighted() {
    let mut t = Table::new();
    t.enter("/");
    assert!(t.effects.is_empty(), "nothing is sent");
    assert!(t.app.editor.text().len() > 1, "{}", t.screen());
    let mut t = Table::new();
    t.type_text("/");
    t.key(KeyCode::Esc);
    t.key(KeyCode::Enter);
    assert!(t.effects.is_empty(), "nothing is sent");
    assert!(t.printed.contains("/help"), "{}", t.printed);
}

#[test]
fn names_come_before_other_names() {
    let mut t = Table::new();
    t.type_text("/re");
    let menu = t.app.menu.as_ref().unwrap();
    let words: Vec<&str> = menu.entries.iter().map(|(word, _)| word.trim()).collect();
    let reset = words.iter().position(|word| *word == "/reset").unwrap();
    let retry = words.iter().position(|word| *word == "/retry").unwrap();
    assert!(retry < reset, "{words:?}");
    assert!(!words.contains(&"/new"), "{words:?}");
}

#[test]
fn control_c_clears_the_input_with_its_menu() {
    let mut t = Table::new();
    t.type_text("/he");
    assert!(t.app.menu.is_some());
    t.control('c');
    assert!(t.app.menu.is_none());
    assert!(t.app.editor.is_empty());
}

//! Questions to the person.

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn an_approval_is_answered_by_digit_arrow_or_escape() {
    for (keys, choice) in [
        (vec![KeyCode::Char('2')], ApprovalChoice::Session),
        (vec![KeyCode::Up, KeyCode::Enter], ApprovalChoice::Always),
        (vec![KeyCode::Enter], ApprovalChoice::Deny),
        (vec![KeyCode::Char('y')], ApprovalChoice::Once),
        (vec![KeyCode::Char('n')], ApprovalChoice::Deny),
        (vec![KeyCode::Char('4')], ApprovalChoice::Deny),
        (vec![KeyCode::Esc], ApprovalChoice::Deny),
    ] {
        let mut t = Table::new();
        t.enter("go");
        t.effects.clear();
        t.event(approval("rm -rf build"));
        t.pause();
        for key in keys {
            t.key(key);
        }
        let asked = Asked {
            id: AskId(7),
            answer: Answer::Approval { choice },
        };
        assert_eq!(t.effects, [Effect::Answer(asked)]);
    }
}

#[test]
fn dialogs_look_like_this() {
    let mut t = Table::new();
    t.enter("go");
    t.event(approval(&format!("rm -rf {}", "very/long/path/".repeat(8))));
    t.pause();
    assert_snapshot!("approval", t.screen());
    t.key(KeyCode::Char('5'));
    assert_snapshot!("approval in full", t.screen());
    t.control('c');
    let kind = AskKind::Clarify {
        question: "Which port?".into(),
        choices: vec!["80".into(), "8080".into()],
    };
    t.event(TurnEvent::Ask {
        ask: Ask {
            id: AskId(8),
            kind,
            timeout_seconds: 120,
        },
    });
    t.pause();
    assert_snapshot!("clarify", t.screen());
    t.key(KeyCode::Char('3'));
    t.type_text("443");
    assert_snapshot!("clarify with own words", t.screen());
    t.key(KeyCode::Enter);
    let answered = Effect::Answer(Asked {
        id: AskId(8),
        answer: Answer::Text { text: "443".into() },
    });
    assert_eq!(t.effects.last(), Some(&answered));
    let kind = AskKind::Sudo {
        command: "sudo apt-get update".into(),
    };
    t.event(TurnEvent::Ask {
        ask: Ask {
            id: AskId(9),
            kind,
            timeout_seconds: 45,
        },
    });
    t.pause();
    t.type_text("secret");
    assert_snapshot!("sudo", t.screen());
    assert!(!t.screen().contains("secret"));
}

#[test]
fn what_throws_something_away_is_asked_about() {
    let new = |arguments: &str| Effect::Command {
        name: "new",
        arguments: arguments.into(),
    };
    let mut t = Table::new();
    t.enter("/new a plan");
    t.pause();
    assert_snapshot!("confirm", t.screen());
    t.key(KeyCode::Char('3'));
    assert_eq!(t.effects, []);
    t.enter("/new a plan");
    t.pause();
    t.key(KeyCode::Esc);
    assert_eq!(t.effects, []);
    t.enter("/new a plan");
    t.pause();
    t.app.tick(t.now + Duration::from_secs(121));
    assert!(t.app.dialogs.is_empty(), "no answer is no");
    t.enter("/new a plan");
    t.pause();
    t.key(KeyCode::Enter);
    assert_eq!(t.effects, [], "Enter alone is no");
    t.enter("/new a plan");
    t.pause();
    t.key(KeyCode::Char('y'));
    assert_eq!(t.effects, [new("a plan")]);
    // In advance, and for good.
    for (words, arguments) in [("/new now", ""), ("/new -y a plan", "a plan")] {
        let mut t = Table::new();
        t.enter(words);
        assert_eq!(t.effects, [new(arguments)], "{words}");
    }
    let mut t = Table::new();
    t.enter("/new");
    t.pause();
    t.key(KeyCode::Char('2'));
    assert_eq!(t.effects, [Effect::StopConfirming, new("")]);
    t.app.command_done("");
    t.effects.clear();
    t.enter("/new");
    assert_eq!(t.effects, [new("")]);
}

#[test]
fn a_command_longer_than_the_screen_keeps_the_question_and_goes_to_the_scrollback() {
    let mut t = Table::new();
    t.enter("go");
    let long: String = (0..200)
        .map(|n| format!(" /srv/data/part-{n:03}"))
        .collect();
    t.event(approval(&format!("rm -rf{long}")));
    t.pause();
    t.key(KeyCode::Char('5'));
    let screen = t.screen();
    assert!(screen.contains("May this command run?"), "{screen}");
    assert!(screen.contains("all of it stands above"), "{screen}");
    for part in ["part-000", "part-100", "part-199"] {
        assert!(t.printed.contains(part), "{part}");
    }
}

fn ask(t: &mut Table, kind: AskKind, timeout_seconds: u64) {
    let id = AskId(20);
    t.event(TurnEvent::Ask {
        ask: Ask {
            id,
            kind,
            timeout_seconds,
        },
    });
    t.pause();
}

#[test]
fn questions_without_choices_and_with_long_ones_look_like_this() {
    let mut t = Table::new();
    t.enter("go");
    t.printed.clear();
    let open = AskKind::Clarify {
        question: "What shall it be called?".into(),
        choices: Vec::new(),
    };
    ask(&mut t, open, 120);
    t.type_text("heron");
    assert_snapshot!("clarify without choices", t.screen());
    t.key(KeyCode::Enter);
    t.app.resize(40, 24);
    let long = AskKind::Clarify {
        question: "How shall this go on from here?".into(),
        choices: vec![
            "leave everything as it is and write down what would have to change".into(),
            "change it".into(),
        ],
    };
    ask(&mut t, long, 120);
    t.key(KeyCode::Down);
    assert_snapshot!("clarify with long choices", t.screen());
}

#[test]
fn what_must_not_be_allowed_for_good_is_not_offered() {
    let mut t = Table::new();
    t.enter("go");
    t.printed.clear();
    let kind = AskKind::Approval {
        command: "curl http://x | sh".into(),
        reason: "runs what it downloads".into(),
        keys: Vec::new(),
        permanent: false,
    };
    ask(&mut t, kind, 60);
    assert_snapshot!("approval without for good", t.screen());
    // Nobody answered: the turn went on without.
    t.event(TurnEvent::AskClosed { id: AskId(20) });
    assert!(!t.screen().contains("May this command run?"));
}

#[test]
fn what_is_typed_when_a_question_comes_up_answers_nothing() {
    let mut t = Table::new();
    t.enter("go");
    t.effects.clear();
    t.type_text("fix ");
    t.event(approval("rm -rf build"));
    t.type_text("3 files, yes");
    t.key(KeyCode::Enter);
    assert_eq!(t.effects, []);
    assert_snapshot!("type-ahead", t.screen());
    // Slowly, but without a pause that would be one.
    for c in " 1".chars() {
        t.now += Duration::from_millis(400);
        t.type_text(&c.to_string());
    }
    assert_eq!(t.effects, []);
    t.pause();
    assert_snapshot!("type-ahead and then the question", t.screen());
    // Whoever goes on writing is not answering.
    t.type_text("a2");
    assert_eq!(t.effects, []);
    t.pause();
    t.key(KeyCode::Char('4'));
    let asked = Asked {
        id: AskId(7),
        answer: Answer::Approval {
            choice: ApprovalChoice::Deny,
        },
    };
    assert_eq!(t.effects, [Effect::Answer(asked)]);
    assert!(
        t.screen().contains("fix 3 files, yes 1a2"),
        "{}",
        t.screen()
    );
}

#[test]
fn what_is_typed_behind_a_command_does_not_confirm_it() {
    let mut t = Table::new();
    t.enter("/new");
    t.enter("/title foo");
    assert_eq!(t.effects, []);
    assert!(t.screen().contains("❯ /title foo"), "{}", t.screen());
}

#[test]
fn the_second_question_is_not_answered_with_the_first() {
    let mut t = Table::new();
    t.enter("go");
    t.effects.clear();
    t.event(approval("rm -rf build"));
    t.event(approval("rm -rf other"));
    t.pause();
    t.type_text("11");
    assert_eq!(t.effects.len(), 1);
    t.pause();
    assert!(t.screen().contains("rm -rf other"), "{}", t.screen());
}

#[test]
fn a_question_that_is_left_is_cancelled_and_the_answer_stays_on_the_screen() {
    for (key, answer, shown) in [
        (KeyCode::Esc, Answer::Cancelled, "(no answer)"),
        (
            KeyCode::Char('1'),
            Answer::Text { text: "80".into() },
            "? Which port?  80",
        ),
    ] {
        let mut t = Table::new();
        t.enter("go");
        t.effects.clear();
        let kind = AskKind::Clarify {
            question: "Which port?".into(),
            choices: vec!["80".into()],
        };
        ask(&mut t, kind, 120);
        t.key(key);
        let asked = Asked {
            id: AskId(20),
            answer,
        };
        assert_eq!(t.effects, [Effect::Answer(asked)]);
        assert!(t.printed.contains(shown), "{}", t.printed);
    }
}

use std::path::Path;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hermes_agent::slash;
use hermes_types::{
    Answer, ApprovalChoice, Ask, AskId, AskKind, Cost, SessionId, StopReason, TurnOutcome, Usage,
};
use insta::assert_snapshot;
use pretty_assertions::assert_eq;

use super::*;

struct Words;

impl Completer for Words {
    fn arguments(&self, command: &str) -> Vec<(String, String)> {
        match command {
            "busy" => ["interrupt", "queue", "steer"]
                .map(|w| (w.to_owned(), String::new()))
                .to_vec(),
            _ => Vec::new(),
        }
    }

    fn directory(&self) -> &Path {
        Path::new("/")
    }

    fn user_home(&self) -> &Path {
        Path::new("/root")
    }
}

struct Table {
    app: App,
    now: Instant,
    printed: String,
    effects: Vec<Effect>,
}

impl Table {
    fn new() -> Self {
        Self::with(Preferences::default())
    }

    fn with(preferences: Preferences) -> Self {
        let preferences = Preferences {
            theme: Theme::plain(),
            ..preferences
        };
        let status = Status::new("demo", "~/project", "local");
        let app = App::new(preferences, History::default(), Box::new(Words), status);
        Self {
            app,
            now: Instant::now(),
            printed: String::new(),
            effects: Vec::new(),
        }
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Print(lines) => {
                    for line in lines {
                        let text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
                        self.printed.push_str(text.trim_end());
                        self.printed.push('\n');
                    }
                }
                other => self.effects.push(other),
            }
        }
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        let effects = self.app.key(KeyEvent::new(code, modifiers), self.now);
        self.take(effects);
    }

    fn key(&mut self, code: KeyCode) {
        self.press(code, KeyModifiers::NONE);
    }

    fn control(&mut self, c: char) {
        self.press(KeyCode::Char(c), KeyModifiers::CONTROL);
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.key(KeyCode::Char(c));
        }
    }

    fn enter(&mut self, text: &str) {
        self.type_text(text);
        self.key(KeyCode::Enter);
    }

    fn event(&mut self, event: TurnEvent) {
        let effects = self.app.turn_event(event, self.now);
        self.take(effects);
    }

    fn finish(&mut self, reason: StopReason, answer: &str, error: Option<&str>) {
        self.event(TurnEvent::Finished {
            outcome: TurnOutcome {
                session: SessionId::new("s"),
                reason,
                answer: answer.to_owned(),
                error: error.map(str::to_owned),
                usage: Usage::default(),
                cost: Cost::default(),
                api_calls: 1,
                pending_steer: None,
            },
        });
    }

    /// The printed lines, a rule, and the live area with the cursor as `▏`.
    fn screen(&self) -> String {
        let live = self.app.live(self.now);
        let mut out = self.printed.clone();
        out.push_str("────\n");
        for (row, line) in live.lines.iter().enumerate() {
            let mut text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
            if let Some((at, column)) = live.cursor
                && at == row
            {
                let mut used = 0;
                let place = text
                    .char_indices()
                    .find(|(_, c)| {
                        let here = used >= column;
                        used += crate::markdown::display_width(&c.to_string());
                        here
                    })
                    .map_or(text.len(), |(at, _)| at);
                text.insert(place, '▏');
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out
    }
}

#[test]
fn an_answer_streams_and_stays() {
    let mut t = Table::new();
    assert_snapshot!("idle", t.screen());
    t.enter("hello");
    assert_eq!(t.effects, [Effect::Send(Content::Text("hello".into()))]);
    t.event(TurnEvent::Text {
        delta: "One **bold** word.\n\nSecond para".into(),
    });
    assert_snapshot!("streaming", t.screen());
    t.event(TurnEvent::Text {
        delta: "graph.".into(),
    });
    t.finish(
        StopReason::Answered,
        "One **bold** word.\n\nSecond paragraph.",
        None,
    );
    assert_snapshot!("answered", t.screen());
    assert!(!t.app.is_animated());
}

#[test]
fn tools_show_what_they_do() {
    let mut t = Table::new();
    t.enter("run it");
    t.event(TurnEvent::ToolPending {
        index: 0,
        name: "terminal".into(),
    });
    assert_snapshot!("tool pending", t.screen());
    t.event(TurnEvent::ToolStarted {
        id: "1".into(),
        name: "terminal".into(),
        arguments: serde_json::Value::Null,
        preview: "cargo test".into(),
    });
    t.now += Duration::from_millis(1500);
    assert_snapshot!("tool running", t.screen());
    t.event(TurnEvent::ToolFinished {
        id: "1".into(),
        name: "terminal".into(),
        failed: true,
        duration_ms: 1500,
        summary: "exit 101".into(),
        diff: None,
    });
    t.event(TurnEvent::ToolFinished {
        id: "2".into(),
        name: "patch".into(),
        failed: false,
        duration_ms: 12,
        summary: String::new(),
        diff: Some("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n".into()),
    });
    assert_snapshot!("tools finished", t.screen());
    t.finish(StopReason::Failed, "", Some("no route to host"));
    assert_snapshot!("failed", t.screen());
}

fn approval(command: &str) -> TurnEvent {
    let kind = AskKind::Approval {
        command: command.into(),
        reason: "recursive delete".into(),
        keys: vec!["recursive delete".into()],
        permanent: true,
    };
    TurnEvent::Ask {
        ask: Ask {
            id: AskId(7),
            kind,
            timeout_seconds: 60,
        },
    }
}

#[test]
fn an_approval_is_answered_by_digit_arrow_or_escape() {
    for (keys, choice) in [
        (vec![KeyCode::Char('2')], ApprovalChoice::Session),
        (
            vec![KeyCode::Down, KeyCode::Down, KeyCode::Enter],
            ApprovalChoice::Always,
        ),
        (vec![KeyCode::Char('4')], ApprovalChoice::Deny),
        (vec![KeyCode::Esc], ApprovalChoice::Deny),
    ] {
        let mut t = Table::new();
        t.enter("go");
        t.effects.clear();
        t.event(approval("rm -rf build"));
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
    t.type_text("secret");
    assert_snapshot!("sudo", t.screen());
    assert!(!t.screen().contains("secret"));
}

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
    t.app.paste(&text);
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
    t.app.paste(&text);
    assert!(t.app.editor.text().starts_with("/queue line\nline"));
    let mut t = Table::new();
    t.app.paste(&text);
    assert_eq!(t.app.editor.text(), text);
}

#[test]
fn what_terminals_leak_into_a_paste_is_taken_out() {
    let mut t = Table::new();
    t.app.paste("\x1b[200~one\r\ntwo\rthree\x07\x1b[201~");
    assert_eq!(t.app.editor.text(), "one\ntwo\nthree");
    assert_eq!(t.app.paste(""), [Effect::ClipboardPicture]);
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
fn what_throws_something_away_is_asked_about() {
    let new = |arguments: &str| Effect::Command {
        name: "new",
        arguments: arguments.into(),
    };
    let mut t = Table::new();
    t.enter("/new a plan");
    assert_snapshot!("confirm", t.screen());
    t.key(KeyCode::Char('3'));
    assert_eq!(t.effects, []);
    t.enter("/new a plan");
    t.key(KeyCode::Esc);
    assert_eq!(t.effects, []);
    t.enter("/new a plan");
    t.app.tick(t.now + Duration::from_secs(121));
    assert!(t.app.dialogs.is_empty(), "no answer is no");
    t.enter("/new a plan");
    t.key(KeyCode::Enter);
    assert_eq!(t.effects, [new("a plan")]);
    // In advance, and for good.
    for (words, arguments) in [("/new now", ""), ("/new -y a plan", "a plan")] {
        let mut t = Table::new();
        t.enter(words);
        assert_eq!(t.effects, [new(arguments)], "{words}");
    }
    let mut t = Table::new();
    t.enter("/new");
    t.key(KeyCode::Char('2'));
    assert_eq!(t.effects, [Effect::StopConfirming, new("")]);
    t.app.command_done("");
    t.effects.clear();
    t.enter("/new");
    assert_eq!(t.effects, [new("")]);
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
    t.app.paste("one\ntwo\nthree\nfour\nfive\nsix");
    t.key(KeyCode::Enter);
    assert_snapshot!("long message", t.printed);
}

#[test]
fn answers_can_be_left_as_they_were_written() {
    let mut t = Table::with(Preferences {
        raw_answers: true,
        show_cost: true,
        ..Preferences::default()
    });
    t.enter("hello");
    t.event(TurnEvent::Text {
        delta: "# Title\n**bo".into(),
    });
    t.event(TurnEvent::Text {
        delta: "ld**".into(),
    });
    t.finish(StopReason::Answered, "# Title\n**bold**", None);
    assert!(t.printed.contains("# Title\n**bold**\n"), "{}", t.printed);
}

#[test]
fn tool_lines_follow_the_mode() {
    let play = |tools: ToolLines| {
        let mut t = Table::with(Preferences {
            tools,
            show_diffs: false,
            tool_preview: 6,
            ..Preferences::default()
        });
        t.enter("go");
        t.printed.clear();
        for id in ["1", "2"] {
            t.event(TurnEvent::ToolStarted {
                id: id.into(),
                name: "patch".into(),
                arguments: serde_json::Value::Null,
                preview: "a rather long path".into(),
            });
            t.event(TurnEvent::ToolFinished {
                id: id.into(),
                name: "patch".into(),
                failed: false,
                duration_ms: 12,
                summary: "the result".into(),
                diff: Some("+new".into()),
            });
        }
        assert!(!t.printed.contains("+new"));
        t.printed
    };
    assert_eq!(play(ToolLines::Off), "");
    assert_eq!(play(ToolLines::New).lines().count(), 1);
    assert_eq!(play(ToolLines::All).lines().count(), 2);
    assert!(play(ToolLines::All).contains("a rat…"));
    assert!(play(ToolLines::Verbose).contains("the result"));
}

#[test]
fn the_other_states_look_like_this() {
    let mut t = Table::new();
    t.enter("think");
    t.app.show_reasoning(true);
    t.event(TurnEvent::Reasoning {
        delta: "First this. Then that.".into(),
    });
    assert_snapshot!("reasoning", t.screen());
    t.control('c');
    assert_snapshot!("stopping", t.screen());
    t.event(TurnEvent::Notice {
        text: "the provider is busy; trying again in 2 s".into(),
    });
    t.event(TurnEvent::Compressed {
        previous: SessionId::new("a"),
        session: SessionId::new("b"),
        messages_before: 80,
        messages_after: 12,
    });
    t.event(TurnEvent::Child {
        call_id: "c".into(),
        index: 0,
        event: Box::new(TurnEvent::ToolFinished {
            id: "1".into(),
            name: "terminal".into(),
            failed: false,
            duration_ms: 300,
            summary: "ok".into(),
            diff: None,
        }),
    });
    assert_snapshot!("notices", t.screen());
    t.finish(StopReason::Interrupted, "", None);
    assert_snapshot!("stopped", t.screen());
    for reason in [
        StopReason::IterationLimit,
        StopReason::Budget,
        StopReason::Guardrail,
        StopReason::Partial,
        StopReason::RateLimited,
    ] {
        t.enter("again");
        t.finish(reason, "", Some("the cause"));
    }
    assert_snapshot!("ends", t.printed);
    let secret = AskKind::Secret {
        name: "WEATHER_KEY".into(),
        prompt: "the key of the weather service".into(),
    };
    t.event(TurnEvent::Ask {
        ask: Ask {
            id: AskId(1),
            kind: secret,
            timeout_seconds: 120,
        },
    });
    t.printed.clear();
    t.type_text("abc");
    assert_snapshot!("secret", t.screen());
    assert!(!t.screen().contains("abc"));
}

#[test]
fn a_profile_pictures_and_a_narrow_screen_are_seen() {
    let mut t = Table::with(Preferences {
        profile: "coder".into(),
        ..Preferences::default()
    });
    t.app.attach_picture(Part::Image {
        url: "data:image/png;base64,AA==".into(),
    });
    assert_snapshot!("profile and picture", t.screen());
    t.enter("look");
    assert!(
        matches!(&t.effects[..], [Effect::Send(Content::Parts(parts))] if parts.len() == 2),
        "{:?}",
        t.effects
    );
    t.app.resize(40, 12);
    t.printed.clear();
    t.event(approval(&format!("rm -rf {}", "very/long/path/".repeat(8))));
    assert_snapshot!("approval on a narrow screen", t.screen());
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
fn help_fits_eighty_columns() {
    let mut t = Table::new();
    t.app.resize(80, 24);
    t.enter("/help");
    for line in t.printed.lines() {
        assert!(crate::markdown::display_width(line) <= 80, "{line}");
    }
    assert_snapshot!("help", t.printed);
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
fn any_width_is_survived() {
    for width in [1, 5, 20, 40, 51, 64, 80, 200] {
        let mut t = Table::new();
        t.app.resize(width, 10);
        t.enter("漢字 and 👨‍👩‍👧 in a message that is longer than narrow screens");
        t.event(TurnEvent::Text {
            delta: "| a | b |\n|---|---|\n| 漢 | x |\n".into(),
        });
        t.event(approval("rm -rf build"));
        for line in t.app.live(t.now).lines {
            let text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
            let limit = width.max(40);
            assert!(
                crate::markdown::display_width(&text) <= limit,
                "{width}: {text:?}"
            );
        }
    }
}

#[test]
fn the_status_line_never_wraps() {
    let mut status = Status::new(
        "a-model-with-a-long-name",
        "~/a/rather/long/directory",
        "docker hermes-1a2b3c4d",
    );
    status.context_used = 96_000;
    status.context_window = 100_000;
    status.yolo = true;
    for width in 0..120 {
        let line = status.line(width, Theme::plain(), Some(Duration::from_secs(75)));
        let text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
        assert!(
            crate::markdown::display_width(&text) <= width,
            "{width}: {text}"
        );
    }
    let line = status.line(120, Theme::plain(), Some(Duration::from_secs(75)));
    let text: String = line.spans.iter().map(|s| s.content.as_ref()).collect();
    assert_snapshot!("status", text);
}

#[test]
fn a_command_longer_than_the_screen_keeps_the_question_and_goes_to_the_scrollback() {
    let mut t = Table::new();
    t.enter("go");
    let long: String = (0..200)
        .map(|n| format!(" /srv/data/part-{n:03}"))
        .collect();
    t.event(approval(&format!("rm -rf{long}")));
    t.key(KeyCode::Char('5'));
    let screen = t.screen();
    assert!(screen.contains("May this command run?"), "{screen}");
    assert!(screen.contains("all of it stands above"), "{screen}");
    for part in ["part-000", "part-100", "part-199"] {
        assert!(t.printed.contains(part), "{part}");
    }
}

#[test]
fn no_live_line_is_wider_than_the_terminal() {
    let mut t = Table::new();
    t.app.resize(24, 10);
    let items = vec![PickItem {
        value: "one".into(),
        label: "one".into(),
        detail: "a detail that is long".into(),
    }];
    t.app
        .pick(Picker::new("A title that is long for this", "", items));
    for line in t.app.live(Instant::now()).lines {
        assert!(
            crate::markdown::display_width(&line.to_string()) <= 24,
            "{line}"
        );
    }
}

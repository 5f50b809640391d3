//! What a turn looks like, from its begin to each of its ends.

use pretty_assertions::assert_eq;

use super::*;

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
    t.pause();
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
    t.pause();
    assert_snapshot!("approval on a narrow screen", t.screen());
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
fn any_width_is_survived() {
    for width in [1, 5, 20, 40, 51, 64, 80, 200] {
        let mut t = Table::new();
        t.app.resize(width, 10);
        t.enter("漢字 and 👨‍👩‍👧 in a message that is longer than narrow screens");
        t.event(TurnEvent::Text {
            delta: "| a | b |\n|---|---|\n| 漢 | x |\n".into(),
        });
        t.event(approval("rm -rf build"));
        t.pause();
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

#[test]
fn an_answer_may_wait_until_it_is_whole() {
    let mut t = Table::with(Preferences {
        streaming: false,
        ..Preferences::default()
    });
    t.enter("hello");
    t.event(TurnEvent::Text {
        delta: "One **bold** word.\n\nSecond".into(),
    });
    assert!(!t.screen().contains("bold"), "{}", t.screen());
    t.finish(StopReason::Answered, "One **bold** word.\n\nSecond", None);
    assert!(
        t.printed.contains("One bold word.\n\nSecond"),
        "{}",
        t.printed
    );
    assert_eq!(t.printed.matches("bold").count(), 1);
}

#[test]
fn what_runs_beside_is_in_the_status_line() {
    let mut t = Table::new();
    t.app.status_mut().beside = 2;
    t.app.status_mut().processes = 1;
    t.app.status_mut().condensed = 3;
    assert_snapshot!("beside", t.screen());
}

#[test]
fn a_narrow_screen_breaks_between_words() {
    let mut t = Table::new();
    t.app.resize(30, 16);
    t.enter("tell me about considerably lengthy things");
    t.event(TurnEvent::Text {
        delta: "Considerably **lengthy**, *emphasised* expressions with 漢字漢字 between `codewords`.\n\n\
                | name | meaning |\n|---|---|\n| alphabetical | in the order of letters |\n"
            .into(),
    });
    t.finish(StopReason::Answered, "", None);
    t.type_text("and now something else altogether");
    assert_snapshot!("narrow", t.screen());
}

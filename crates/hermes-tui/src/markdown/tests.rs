use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::theme::Theme;

fn page(width: usize) -> Page {
    Page {
        width,
        theme: Theme::plain(),
        highlighter: Highlighter::default(),
    }
}

fn text_of(lines: &[Line<'_>]) -> Vec<String> {
    lines
        .iter()
        .map(|line| {
            line.spans
                .iter()
                .map(|span| span.content.as_ref())
                .collect::<String>()
        })
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn shown(text: &str, width: usize) -> String {
    text_of(&render(text, &page(width))).join("\n")
}

#[test]
fn blocks_stand_apart() {
    let text = "# Title\n\nOne *two* `three`.\n\n---\n\n> quoted\n> more\n";
    assert_eq!(
        shown(text, 40),
        format!(
            "Title\n\nOne two three.\n\n{}\n\n│ quoted more",
            "─".repeat(40)
        )
    );
}

#[test]
fn lists_nest_and_keep_their_numbers() {
    let text = "3. three\n4. four\n   - a\n   - [x] b\n5. five is a long item that wraps\n";
    assert_eq!(
        shown(text, 24),
        "3. three\n4. four\n   • a\n   • [x] b\n5. five is a long item\n   that wraps"
    );
}

#[test]
fn tables_fit_the_width() {
    let text = "| a | number |\n|---|---:|\n| one two three four | 7 |\n";
    assert_eq!(
        shown(text, 80),
        "a                  │ number\n───────────────────┼───────\none two three four │      7"
    );
    for line in render(text, &page(20)) {
        assert!(display_width(&text_of(&[line])[0]) <= 20);
    }
}

#[test]
fn code_keeps_its_blanks() {
    assert_eq!(
        shown("```rust\nfn a() {\n    b\n}\n```\n", 40),
        "  fn a() {\n      b\n  }"
    );
}

#[test]
fn wide_characters_count_two_columns() {
    assert_eq!(shown("漢字漢字漢字漢字", 12), "漢字漢字漢字\n漢字");
}

#[test]
fn links_show_where_they_lead() {
    assert_eq!(
        shown("[docs](https://x.test) <https://y.test>", 60),
        "docs (https://x.test) https://y.test"
    );
}

#[test]
fn known_languages_are_coloured_once_loaded() {
    let page = Page {
        theme: Theme::coloured(),
        ..page(40)
    };
    page.highlighter.load_now();
    let lines = render("```rust\nlet a = 1;\n```\n", &page);
    let colours: std::collections::HashSet<_> =
        lines[0].spans.iter().map(|span| span.style.fg).collect();
    assert!(colours.len() > 2, "{lines:?}");
}

/// Feeds the text in pieces; what was handed out plus what is left is the whole.
fn streamed(text: &str, cuts: &[usize]) -> (Vec<String>, usize) {
    let mut stream = MarkdownStream::new(page(40));
    let mut lines = Vec::new();
    let mut handed_out = 0;
    let mut rest = text;
    for cut in cuts {
        let at = rest
            .char_indices()
            .map(|(at, _)| at)
            .nth(*cut)
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(at);
        lines.extend(stream.push(piece));
        handed_out = lines.len();
        stream.open();
        rest = after;
    }
    lines.extend(stream.push(rest));
    lines.extend(stream.finish());
    (text_of(&lines), handed_out)
}

#[test]
fn finished_blocks_are_handed_out_while_the_next_is_open() {
    let mut stream = MarkdownStream::new(page(40));
    assert_eq!(text_of(&stream.push("First.\n")), Vec::<String>::new());
    assert_eq!(text_of(&stream.push("\nSecond\n\n")), ["First."]);
    assert_eq!(text_of(&stream.open()), ["", "Second"]);
    assert_eq!(text_of(&stream.push("third\n")), ["", "Second"]);
    assert_eq!(text_of(&stream.finish()), ["", "third"]);
}

#[test]
fn long_code_does_not_wait_for_its_end() {
    let mut stream = MarkdownStream::new(page(40));
    let mut lines = stream.push("Look:\n\n```\n");
    for number in 0..500 {
        lines.extend(stream.push(&format!("line {number}\n")));
        assert!(stream.open().len() <= 64);
    }
    lines.extend(stream.push("```\n\nDone.\n"));
    lines.extend(stream.finish());
    let text = text_of(&lines);
    assert_eq!(text.len(), 1 + 1 + 500 + 1 + 1);
    assert_eq!(
        (text[2].as_str(), text[501].as_str(), text[503].as_str()),
        ("  line 0", "  line 499", "Done.")
    );
}

fn document() -> impl Strategy<Value = String> {
    let block = prop_oneof![
        "[a-z ]{1,60}",
        "# [a-z]{1,10}",
        "- [a-z]{1,9}\n- [a-z ]{1,60}",
        "1. [a-z]{1,9}\n   - [a-z]{1,5}",
        "> [a-z ]{1,50}",
        "```rust\n[a-z();\n]{0,40}\n```",
        "\\| a \\| b \\|\n\\|---\\|---\\|\n\\| [a-z]{1,9} \\| [0-9]{1,4} \\|",
        Just("---".to_owned()),
    ];
    prop::collection::vec(block, 1..6).prop_map(|blocks| blocks.join("\n\n") + "\n")
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_lines(text in document(), cuts in prop::collection::vec(0_usize..30, 0..20)) {
        let (lines, _) = streamed(&text, &cuts);
        // Blocks without text may leave one empty line more or less.
        let visible = |lines: Vec<String>| lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>();
        prop_assert_eq!(visible(lines), visible(text_of(&render(&text, &page(40)))));
    }

    #[test]
    fn prose_never_exceeds_the_width(text in "[a-z漢é ]{0,200}", width in 12_usize..60) {
        for line in text_of(&render(&text, &page(width))) {
            prop_assert!(display_width(&line) <= width, "{line:?}");
        }
    }

    #[test]
    fn any_text_is_rendered(text in "\\PC{0,200}", width in 0_usize..50) {
        render(&text, &page(width));
    }
}

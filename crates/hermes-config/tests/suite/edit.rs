//! One key changes; everything else stays as it was written.

use hermes_config::edit::{Refusal, set, unset};
use hermes_config::yaml::parse;
use pretty_assertions::assert_eq;
use serde_json::json;

const BEFORE: &str = include_str!("../fixtures/set-before.yaml");

#[test]
fn the_recorded_file_keeps_comments_quotes_and_anchors() {
    let after = set(BEFORE, "display.compact", &json!(true)).unwrap();
    assert_eq!(after, BEFORE.replace("compact: false", "compact: true"));
    let theirs = parse(include_str!("../fixtures/set-after.yaml"));
    assert_eq!(
        parse(&after).unwrap().value().unwrap(),
        theirs.unwrap().value().unwrap()
    );
}

#[test]
fn every_kind_of_place_can_be_set() {
    for (path, value, from, to) in [
        (
            "model.default",
            json!("other"),
            "default: fake-model   # trailing",
            "default: other   # trailing",
        ),
        ("empty", json!(5), "empty:\n", "empty: 5\n"),
        (
            "unicode",
            json!("tschüß"),
            "unicode: grüße",
            "unicode: tschüß",
        ),
        ("list.0", json!("z"), "- a\n", "- z\n"),
        ("list.1.c", json!("three"), "c: 'two'", "c: three"),
        ("list.1.d", json!(4), "  c: 'two'\n", "  c: 'two'\n  d: 4\n"),
        ("flow.x", json!(9), "{x: 1, y: [1, 2]}", "{x: 9, y: [1, 2]}"),
        (
            "flow.z",
            json!("a,b"),
            "{x: 1, y: [1, 2]}",
            "{x: 1, y: [1, 2], z: 'a,b'}",
        ),
        ("flow.y.1", json!(7), "y: [1, 2]", "y: [1, 7]"),
        (
            "multi",
            json!("one line"),
            "multi: |\n  line one\n  line two\n",
            "multi: one line\n",
        ),
        ("anchored.k", json!("w"), "  k: v\n", "  k: w\n"),
        ("uses.k", json!("own"), "uses: *base\n", "uses:\n  k: own\n"),
        ("uses", json!(1), "uses: *base\n", "uses: 1\n"),
        (
            "display",
            json!(null),
            "display:\n  compact: false\n",
            "display: null\n",
        ),
        (
            "display.skin",
            json!("mono"),
            "  compact: false\n",
            "  compact: false\n  skin: mono\n",
        ),
        (
            "display.compact.deep",
            json!(1),
            "  compact: false\n",
            "  compact:\n    deep: 1\n",
        ),
        (
            "list",
            json!([]),
            "list:\n- a\n- b: 1\n  c: 'two'\n",
            "list: []\n",
        ),
        (
            "list",
            json!(["x", "y"]),
            "list:\n- a\n- b: 1\n  c: 'two'\n",
            "list: [x, 'y']\n",
        ),
        (
            "new.a.b",
            json!(true),
            "unicode: grüße\n",
            "unicode: grüße\nnew:\n  a:\n    b: true\n",
        ),
    ] {
        assert!(BEFORE.contains(from), "{from}");
        let after = set(BEFORE, path, &value).unwrap_or_else(|e| panic!("{path}: {e:?}"));
        assert_eq!(after, BEFORE.replace(from, to), "{path}");
    }
}

#[test]
fn a_fresh_file_is_exactly_the_key() {
    assert_eq!(set("", "a.b", &json!(1)).unwrap(), "a:\n  b: 1\n");
    assert_eq!(set("# note", "a", &json!("x")).unwrap(), "# note\na: x\n");
    assert_eq!(set("a: 1", "b", &json!(2)).unwrap(), "a: 1\nb: 2\n");
    assert_eq!(
        set("a:\r\n  b: 1\r\n", "a.c", &json!(2)).unwrap(),
        "a:\r\n  b: 1\r\n  c: 2\r\n"
    );
    assert_eq!(
        set("\u{feff}a: 1\n", "a", &json!(2)).unwrap(),
        "\u{feff}a: 2\n"
    );
    assert_eq!(set("{}\n", "a", &json!(2)).unwrap(), "a: 2\n");
    assert_eq!(
        set("---\na: 1\n", "b", &json!(2)).unwrap(),
        "---\na: 1\nb: 2\n"
    );
}

#[test]
fn a_comment_stays_with_what_it_is_about() {
    let text = "agent:\n  max_turns: 60\n  # probe: off\n# looks\ndisplay:\n  compact: true # c\n\n# end\n";
    assert_eq!(
        set(text, "new", &json!(1)).unwrap(),
        text.replace("true # c\n", "true # c\nnew: 1\n")
    );
    assert_eq!(
        set(text, "agent.x", &json!(1)).unwrap(),
        text.replace("60\n", "60\n  x: 1\n")
    );
    assert_eq!(
        set("a:\n  b: 1\n  # about b\n", "c", &json!(1)).unwrap(),
        "a:\n  b: 1\n  # about b\nc: 1\n"
    );
    assert_eq!(
        set("a: # why\n  b: 1\nc: 2\n", "a", &json!(1)).unwrap(),
        "a: 1 # why\nc: 2\n"
    );
    assert_eq!(
        set("a: 1 # why\nc: 2\n", "a.b", &json!(1)).unwrap(),
        "a: # why\n  b: 1\nc: 2\n"
    );
}

#[test]
fn merged_values_are_kept_when_one_of_them_changes() {
    let text = "base: &b\n  x: {p: 1, q: 2}\nuse:\n  <<: *b\n  own: 1\n";
    let after = set(text, "use.x.p", &json!(9)).unwrap();
    assert_eq!(
        parse(&after).unwrap().value().unwrap()["use"],
        json!({"x": {"p": 9, "q": 2}, "own": 1})
    );
    assert!(after.starts_with(text));
}

#[test]
fn the_last_of_two_equal_keys_is_the_one_that_counts() {
    assert_eq!(set("a: 1\na: 2\n", "a", &json!(3)).unwrap(), "a: 1\na: 3\n");
    assert_eq!(unset("a: 1\nb: 0\na: 2\n", "a").unwrap().unwrap(), "b: 0\n");
}

#[test]
fn keys_are_removed_with_their_lines_only() {
    for (text, path, want) in [
        ("a: 1\n# c\nb: 2\n", "a", Some("# c\nb: 2\n")),
        (
            "a:\n  b: 1\n  c: 2 # x\nd: 3\n",
            "a.c",
            Some("a:\n  b: 1\nd: 3\n"),
        ),
        ("a:\n  b: 1\nd: 3\n", "a.b", Some("d: 3\n")),
        ("# top\na:\n  b:\n    c: 1\n", "a.b.c", Some("# top\n")),
        ("a: {x: 1, y: 2}\n", "a.x", Some("a: {y: 2}\n")),
        ("a: {x: 1, y: 2}\n", "a.y", Some("a: {x: 1}\n")),
        ("l:\n- b: 1\n  c: 2\n", "l.0.b", Some("l:\n- c: 2\n")),
        ("l:\n- b: 1\n", "l.0.b", Some("l:\n- {}\n")),
        ("l: [1, 2, 3]\n", "l.1", Some("l: [1, 3]\n")),
        ("m: |\n  x\n  y\nn: 1\n", "m", Some("n: 1\n")),
        ("a: 1\n", "b", None),
        ("a: 1\n", "a.b", None),
        ("", "a", None),
    ] {
        assert_eq!(
            unset(text, path).unwrap().as_deref(),
            want,
            "{text} - {path}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_refused() {
    assert!(matches!(
        set("a: [1]\n", "a.3", &json!(1)),
        Err(Refusal::Path(_))
    ));
    assert!(matches!(
        set("a: [1]\n", "a.x", &json!(1)),
        Err(Refusal::Path(_))
    ));
    assert!(matches!(
        set("a: 1\n", "a..b", &json!(1)),
        Err(Refusal::Path(_))
    ));
    assert!(matches!(
        set("a: [\n", "a", &json!(1)),
        Err(Refusal::Broken(_))
    ));
    assert!(matches!(
        unset("b: &b {x: 1}\na:\n  <<: *b\n", "a.x"),
        Err(Refusal::NotEditable)
    ));
    // The anchor that others use cannot go.
    assert_eq!(
        set("a: &x 1\nb: *x\n", "a", &json!(2)),
        Err(Refusal::NotEditable)
    );
}

#[test]
fn a_list_that_grows_keeps_what_stands_there() {
    for (text, want) in [
        (
            "a:\n  - one # why\n  # about two\n  - \"two\"\nb: 1\n",
            "a:\n  - one # why\n  # about two\n  - \"two\"\n  - three: x\nb: 1\n",
        ),
        (
            "a:\n- one # why\n- two",
            "a:\n- one # why\n- two\n- three: x\n",
        ),
        (
            "a: [one, two] # both\n",
            "a: [one, two, 'three: x'] # both\n",
        ),
    ] {
        let changed = set(text, "a", &json!(["one", "two", "three: x"])).unwrap();
        assert_eq!(
            changed.replace('"', "'"),
            want.replace('"', "'").replace("- three: x", "- 'three: x'")
        );
    }
}

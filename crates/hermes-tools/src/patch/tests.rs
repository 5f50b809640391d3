use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::find::Strategy;
use super::*;

fn one(text: &str, old: &str, new: &str) -> Result<Edit, EditError> {
    replace(text, old, new, Scope::One)
}

#[test]
fn a_number_that_differs_is_never_close_enough() {
    let text = "[server]\nhost = a\ntimeout = 10\nretries = 3\n";
    for old in [
        "timeout = 30",
        "host = a\ntimeout = 30\nretries = 3",
        "[server]\nhost = b\ntimeout = 10",
    ] {
        let error = one(text, old, "x").unwrap_err();
        assert!(
            matches!(error, EditError::NotFound { ref candidates } if !candidates.is_empty()),
            "{error}"
        );
    }
}

#[test]
fn indentation_of_the_file_wins() {
    let text = "fn a() {\n        if x {\n            y();\n        }\n}\n";
    let edit = one(text, "if x {\n    y();\n}", "if x {\n    y();\n    z();\n}").unwrap();
    assert_eq!(edit.strategy, Strategy::LineTrimmed);
    assert_eq!(
        edit.text,
        "fn a() {\n        if x {\n            y();\n            z();\n        }\n}\n"
    );
}

#[test]
fn curly_quotes_are_forgiven() {
    let edit = one("say(“hi”)\n", "say(\"hi\")", "say(\"ho\")").unwrap();
    assert_eq!(
        (edit.strategy, edit.text.as_str()),
        (Strategy::UnicodeNormalized, "say(\"ho\")\n")
    );
}

#[test]
fn several_places_are_refused_with_their_lines() {
    let error = one("a\nb\nc\nd\na\n", "a", "x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "Found 2 matches for old_string. Quote more lines around the one you mean, or set replace_all. Matches start at lines 1, 5:\n     1| a\n     2| b\n     ---\n     4| d\n     5| a"
    );
    let long = format!("{}\n", "a".repeat(5000)).repeat(100);
    let error = one(&long, &"a".repeat(5000), "x").unwrap_err();
    assert!(error.to_string().len() < 10_000);
    assert_eq!(
        replace("a\nb\na\n", "a", "c", Scope::All).unwrap().text,
        "c\nb\nc\n"
    );
}

#[test]
fn windows_endings_and_the_mark_stay() {
    let edit = one("\u{feff}a\r\nb\r\nc\r\n", "a\nb", "x\ny").unwrap();
    assert_eq!(edit.text, "\u{feff}x\r\ny\r\nc\r\n");
}

#[test]
fn line_endings_of_the_call_do_not_enter_the_file() {
    let edit = one("a\nb\nc\n", "a\r\nb", "A\r\nB").unwrap();
    assert_eq!(edit.text, "A\nB\nc\n");
    // Some of its lines end as on Windows: those go on to.
    let edit = one("x\na\r\nb\r\nc\n", "a\nb", "A\nB").unwrap();
    assert_eq!(edit.text, "x\nA\r\nB\r\nc\n");
}

#[test]
fn a_sign_that_differs_is_never_close_enough() {
    for (there, quoted) in [
        ("if x && y {", "if x || y {"),
        ("if x == y {", "if x != y {"),
        ("if !ok {", "if ok {"),
        ("if a < b {", "if a > b {"),
        ("total += one", "total -= one"),
        ("limit = -1", "limit = 1"),
        ("#rm x", "rm x"),
        ("p = *q", "p = q"),
        ("all = []", "all = {}"),
        ("}", ""),
        ("a - -b", "a --b"),
    ] {
        for (there, quoted) in [(there, quoted), (quoted, there)] {
            let text = format!("first\n{there}\nlast\n");
            let edit = one(&text, &format!("first\n{quoted}\nlast"), "Q");
            assert!(
                matches!(edit, Err(EditError::NotFound { .. })),
                "{there} for {quoted}: {edit:?}"
            );
            // Nor among many lines that are right.
            let many = format!("1\n2\n3\n{there}\n4\n5\n");
            let edit = one(&many, &format!("1 \n2\n3\n{quoted}\n4\n5"), "Q");
            assert!(edit.is_err(), "{there} for {quoted}: {edit:?}");
        }
    }
}

#[test]
fn blanks_and_kinds_of_quotation_marks_are_forgiven_in_a_block() {
    let text = "fn f() {\n    call(a, 'b')\n}\n";
    let edit = one(text, "fn f() {\n    call( a,\"b\" )\n}", "fn g() {\n}").unwrap();
    assert_eq!(edit.text, "fn g() {\n}\n");
    assert_eq!(edit.strategy, Strategy::BlockAnchor);
}

#[test]
fn indentation_that_the_quote_lost_is_found_line_by_line_or_refused() {
    let text = "if a:\n    foo()\nelse:\n    bar()\n";
    let old = "if a:\nfoo()\nelse:\nbar()";
    let edit = one(text, old, "if a:\nfoo(1)\nelse:\nbar(2)").unwrap();
    assert_eq!(edit.text, "if a:\n    foo(1)\nelse:\n    bar(2)\n");
    let error = one(text, old, "if b:\nfoo()\nmore()\nelse:\nbar()").unwrap_err();
    assert_eq!(error, EditError::Indentation);
    let tabs = "if a:\n\tfoo()\n\tbar()\n";
    let edit = one(
        tabs,
        "if a:\n    foo()\n    bar()",
        "if a:\n    if b:\n        foo()",
    )
    .unwrap();
    assert_eq!(edit.text, "if a:\n\tif b:\n\t\tfoo()\n");
    let patch =
        "*** Update File: f\n@@\n if a:\n-    foo()\n+    if b:\n+        foo()\n     bar()\n";
    assert_eq!(
        patch_one(tabs, patch).unwrap(),
        "if a:\n\tif b:\n\t\tfoo()\n\tbar()\n"
    );
}

#[test]
fn a_patch_looks_behind_the_mark() {
    let patched = patch_one("\u{feff}a\nb\n", "*** Update File: f\n@@\n-a\n+A\n b\n");
    assert_eq!(patched.unwrap(), "\u{feff}A\nb\n");
}

#[test]
fn escaped_quotes_that_the_file_lacks_are_refused() {
    let error = one("  say('a')\n", "say(\\'a\\')", "say(\\'b\\')").unwrap_err();
    assert!(matches!(
        error,
        EditError::NotFound { .. } | EditError::EscapeDrift
    ));
}

#[test]
fn empty_and_equal_strings_are_refused() {
    assert_eq!(one("a", "", "b"), Err(EditError::EmptyOld));
    assert_eq!(one("a", "a", "a"), Err(EditError::Identical));
}

fn patch_one(text: &str, patch: &str) -> Result<String, String> {
    let operations = parse(patch).map_err(|error| error.to_string())?;
    let changes = apply(&operations, |path| {
        Ok((path == "f").then(|| Content::Text(text.to_owned())))
    })
    .map_err(|error| error.to_string())?;
    Ok(changes
        .into_iter()
        .find(|c| c.path == "f")
        .and_then(|c| c.after)
        .map(|content| content.text().to_owned())
        .unwrap_or_default())
}

#[test]
fn empty_lines_inside_a_hunk_are_lines_of_the_file() {
    let text = "a\n\nb\nc\n\nd\n";
    let patch = "*** Begin Patch\n*** Update File: f\n@@\n a\n\n-b\n+B\n c\n\n d\n*** End Patch\n";
    assert_eq!(patch_one(text, patch).unwrap(), "a\n\nB\nc\n\nd\n");
}

#[test]
fn a_hint_tells_equal_places_apart() {
    let text = "def a():\n    return 1\ndef b():\n    return 1\n";
    let hunk = "-    return 1\n+    return 2\n";
    let error = patch_one(text, &format!("*** Update File: f\n@@\n{hunk}")).unwrap_err();
    assert!(
        error.contains("2 times") && error.contains("no files were modified"),
        "{error}"
    );
    let patched = patch_one(text, &format!("*** Update File: f\n@@ def b(): @@\n{hunk}")).unwrap();
    assert_eq!(patched, "def a():\n    return 1\ndef b():\n    return 2\n");
}

#[test]
fn files_are_added_deleted_and_moved_or_nothing_is() {
    let files = |path: &str| {
        let known = ["old", "gone"].contains(&path);
        Ok(known.then(|| Content::Text(format!("{path}\n"))))
    };
    let patch =
        "*** Add File: new\n+one\n+two\n*** Delete File: gone\n*** Move File: old -> moved\n";
    let changes = apply(&parse(patch).unwrap(), files).unwrap();
    let after: Vec<(&str, Option<&str>)> = changes
        .iter()
        .map(|c| (c.path.as_str(), c.after.as_ref().map(Content::text)))
        .collect();
    assert_eq!(
        after,
        [
            ("gone", None),
            ("moved", Some("old\n")),
            ("new", Some("one\ntwo\n")),
            ("old", None)
        ]
    );
    let bad = "*** Add File: new\n+x\n*** Delete File: missing\n*** Move File: old -> gone\n";
    let error = apply(&parse(bad).unwrap(), files).unwrap_err();
    assert_eq!(error.problems.len(), 2);
}

#[test]
fn patches_without_sense_are_refused() {
    for (patch, part) in [
        ("", "no operation"),
        ("*** Begin Patch\n*** End Patch", "no operation"),
        ("*** Update File: f\n", "no hunk"),
        ("*** Update File: ../f\n@@\n-a\n", "`..`"),
        ("*** Move File: a\n", "from -> to"),
        ("*** Add File: f\nno plus\n", "begins with `+`"),
        ("hello\n", "outside"),
    ] {
        let error = patch_one("a\n", patch).unwrap_err();
        assert!(error.contains(part), "{patch:?}: {error}");
    }
}

/// How a model misquotes lines that it read.
#[derive(Clone, Copy, Debug)]
enum Slip {
    None,
    Outdented,
    TrailingBlanks,
    DoubledBlanks,
    CurlyQuotes,
}

/// Eight times the usual number, which `PROPTEST_CASES` sets.
fn many_cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig {
        cases: usual.cases * 8,
        max_global_rejects: usual.cases * 80,
        ..usual
    }
}

fn occurrences(text: &str, quoted: &str) -> usize {
    (0..text.len())
        .filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(quoted)))
        .count()
}

fn misquote(lines: &[String], slip: Slip) -> String {
    // What all of them share: a block is outdented as a whole.
    let indents = || {
        let text = lines.iter().filter(|line| !line.trim().is_empty());
        text.map(|line| &line[..line.len() - line.trim_start().len()])
    };
    let mut shared = indents().next().unwrap_or("");
    while !indents().all(|indent| indent.starts_with(shared)) {
        shared = &shared[..shared.len() - 1];
    }
    let quoted: Vec<String> = lines
        .iter()
        .map(|line| match slip {
            Slip::None => line.clone(),
            Slip::Outdented => line.strip_prefix(shared).unwrap_or("").to_owned(),
            Slip::TrailingBlanks => format!("{line}  "),
            Slip::DoubledBlanks => {
                let text = line.trim_start();
                format!(
                    "{}{}",
                    &line[..line.len() - text.len()],
                    text.replace(' ', "  ")
                )
            }
            Slip::CurlyQuotes => line.replace('"', "”"),
        })
        .collect();
    quoted.join("\n")
}

fn file() -> impl proptest::strategy::Strategy<Value = Vec<String>> {
    let line = prop_oneof![
        Just(String::new()),
        "( {0,2}|\t)(let|set|call) [a-c] = \"[0-9]\";",
        " {0,6}[a-d]\\([0-9]\\)",
        Just("}".to_owned()),
        Just("    return".to_owned()),
    ];
    prop::collection::vec(line, 1..25)
}

proptest! {
    #![proptest_config(many_cases())]

    /// Against a plain model: the quoted lines are replaced where they stand, or
    /// the edit is refused. Unambiguous quotes are never refused.
    #[test]
    fn an_edit_is_right_or_refused(
        lines in file(),
        from in any::<prop::sample::Index>(),
        count in 1_usize..5,
        new in prop::collection::vec("[x-z]{1,4}\\(\\)", 1..4),
        slip in prop::sample::select(vec![Slip::None, Slip::Outdented, Slip::TrailingBlanks, Slip::DoubledBlanks, Slip::CurlyQuotes]),
    ) {
        let start = from.index(lines.len());
        let end = (start + count).min(lines.len());
        let place = &lines[start..end];
        // A quote that ends in an empty line can be read in two ways.
        prop_assume!(place.last().is_some_and(|line| !line.trim().is_empty()));
        let text = format!("{}\n", lines.join("\n"));
        let old = misquote(place, slip);
        let squeeze = |line: &String| line.split_whitespace().collect::<Vec<_>>().join(" ").replace('”', "\"");
        let wanted: Vec<String> = place.iter().map(squeeze).collect();
        let unambiguous = lines
            .windows(place.len())
            .filter(|window| window.iter().map(squeeze).collect::<Vec<_>>() == wanted)
            .count() == 1
            // Standing literally elsewhere, a quote with a slip means that place.
            && occurrences(&text, &old) <= usize::from(old == place.join("\n"));
        match replace(&text, &old, &new.join("\n"), Scope::One) {
            Ok(edit) => {
                prop_assume!(occurrences(&text, &old) <= 1);
                let mut expected: Vec<String> = lines[..start].to_vec();
                expected.extend(new.iter().cloned());
                expected.extend(lines[end..].iter().cloned());
                let plain = |text: &str| text.lines().map(|l| l.trim().to_owned()).collect::<Vec<_>>();
                let result = plain(&edit.text);
                if unambiguous {
                    // Only the indentation of the new lines is the file's to decide.
                    prop_assert_eq!(result, plain(&(expected.join("\n") + "\n")));
                    prop_assert!(edit.text.starts_with(&lines[..start].join("\n")));
                    let rest = lines[end..].join("\n") + "\n";
                    prop_assert!(edit.text.ends_with(&rest));
                }
            }
            Err(error) => prop_assert!(!unambiguous, "refused {old:?} in {text:?}: {error}"),
        }
    }

    /// A patch made from a known change gives exactly that change.
    #[test]
    fn a_patch_of_a_known_change_gives_that_change(
        lines in file(),
        from in any::<prop::sample::Index>(),
        removed in 0_usize..4,
        added in prop::collection::vec("[x-z]{0,4}", 0..4),
        context in 0_usize..4,
    ) {
        let start = from.index(lines.len());
        let end = (start + removed).min(lines.len());
        prop_assume!(lines[start..end] != added[..]);
        let before = start.saturating_sub(context);
        let after = (end + context).min(lines.len());
        let mut patch = "*** Begin Patch\n*** Update File: f\n@@\n".to_owned();
        for line in &lines[before..start] { patch.push_str(&format!(" {line}\n")); }
        for line in &lines[start..end] { patch.push_str(&format!("-{line}\n")); }
        for line in &added { patch.push_str(&format!("+{line}\n")); }
        for line in &lines[end..after] { patch.push_str(&format!(" {line}\n")); }
        patch.push_str("*** End Patch\n");
        let text = format!("{}\n", lines.join("\n"));
        let mut expected: Vec<String> = lines[..start].to_vec();
        expected.extend(added.iter().cloned());
        expected.extend(lines[end..].iter().cloned());
        let expected = if expected.is_empty() { String::new() } else { format!("{}\n", expected.join("\n")) };
        let block = &lines[before..after];
        let places = lines.windows(block.len().max(1)).filter(|w| *w == block).count();
        if let Ok(patched) = patch_one(&text, &patch) {
            // An addition without any context goes to the end by definition.
            if !block.is_empty() && places == 1 {
                prop_assert_eq!(patched, expected);
            }
        } else {
            prop_assert!(places != 1 || block.is_empty(), "refused {patch:?} for {text:?}");
        }
    }

    #[test]
    fn any_patch_text_is_read(text in "(\\*\\*\\* (Update|Add|Delete|Move) File: |@@|[-+ ]|\n|[a-z]|->){0,60}") {
        let _ = parse(&text);
    }
}

//! Writing `.env` one line at a time.

use hermes_config::ConfigError;
use hermes_config::dotenv::{parse, read_text, remove, repair, set};
use hermes_home::Environment;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn value<'a>(variables: &'a Environment, name: &str) -> Option<&'a str> {
    variables.get(name)
}

#[test]
fn only_the_line_in_question_changes() {
    for (text, want) in [
        ("", "A=1\n"),
        ("B=2", "B=2\nA=1\n"),
        ("# c\nA=0 # old\nB=2\n", "# c\nA=1\nB=2\n"),
        ("export A='0'\nB=2\n", "A=1\nB=2\n"),
        ("A=0\r\nB=2\r\n", "A=1\r\nB=2\r\n"),
        ("\u{feff}A=0\n", "\u{feff}A=1\n"),
        ("A=0\nB=2\nA=9\n", "A=1\nB=2\n"),
        ("A=\"x\ny\"\nB=2\n", "A=1\nB=2\n"),
        ("AA=0\n#A=0\n", "AA=0\n#A=0\nA=1\n"),
        ("A\nB=2\n", "A\nB=2\nA=1\n"),
    ] {
        assert_eq!(set(text, "A", "1").unwrap(), want, "{text:?}");
    }
    assert_eq!(
        remove("A=1\nB=2\nexport A=3\n", "A").as_deref(),
        Some("B=2\n")
    );
    assert_eq!(remove("B=2\n", "A"), None);
}

#[test]
fn values_are_quoted_where_the_reader_needs_it() {
    for (value, line) in [
        ("plain", "A=plain\n"),
        ("with space", "A=with space\n"),
        ("pa$$word", "A=pa$$word\n"),
        ("a#b", "A=a#b\n"),
        ("a #b", "A='a #b'\n"),
        (" padded ", "A=' padded '\n"),
        ("'quoted'", "A='\\'quoted\\''\n"),
        ("[\"/a:/b\"]", "A=[\"/a:/b\"]\n"),
        ("", "A=\n"),
    ] {
        assert_eq!(set("", "A", value).unwrap(), line);
    }
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let refused = |name: &str, value: &str| {
        matches!(
            set("", name, value),
            Err(ConfigError::RefusedVariable { .. })
        )
    };
    for name in [
        "LD_PRELOAD",
        "ld_preload",
        "PATH",
        "DYLD_INSERT_LIBRARIES",
        "HERMES_HOME",
        "1A",
        "A-B",
        "",
        "A B",
        "A=B",
    ] {
        assert!(refused(name, "x"), "{name}");
    }
    assert!(refused("A", "x${B}y"));
    assert!(!refused("A", "x$By"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_variable_that_is_set_reads_back_and_the_others_stay(
        text in "([A-D]=[a-z'\" #$\\\\]{0,6}\n|# x\n|\n|export [A-D]=1\n){0,6}",
        name in "[A-D]",
        new in "[ -~é]{0,12}",
    ) {
        let before = read_text(&text, &Environment::default()).variables;
        match set(&text, &name, &new) {
            Err(ConfigError::RefusedVariable { .. }) => {
                let open_quote = text.contains(['\'', '"']);
                prop_assert!(new.contains("${") || open_quote, "{text:?} {name} {new:?}");
            }
            Err(other) => prop_assert!(false, "{other}"),
            Ok(after) => {
                let read = read_text(&after, &Environment::default()).variables;
                prop_assert_eq!(value(&read, &name), Some(new.as_str()), "{:?}", after);
                if !text.contains(['\'', '"']) {
                    for (other, old) in before.iter().filter(|(other, _)| *other != name) {
                        prop_assert_eq!(value(&read, other), Some(old), "{:?}", after);
                    }
                }
                let gone = remove(&after, &name).unwrap();
                let left = read_text(&gone, &Environment::default()).variables;
                prop_assert_eq!(value(&left, &name), None);
            }
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,80}", odd in "[A='\"\\\\#$\\{\\}: \n\r\t-]{0,40}") {
        for text in [text, odd] {
            let (bindings, _) = parse(&text);
            for binding in &bindings {
                prop_assert!(text.get(binding.span.clone()).is_some());
            }
            let _ = read_text(&text, &Environment::default());
            // A repaired text needs no second repair.
            if let Some(repaired) = repair(&text) {
                prop_assert_eq!(repair(&repaired), None);
            }
            let _ = set(&text, "A", "x");
        }
    }
}

//! The bodies on generated input: noise, and fragments of the formats put together
//! at random, which get further than noise does.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use hermes_fuzz::{BODIES, Body};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// What the formats are made of.
const FRAGMENTS: &[&str] = &[
    "\n",
    "\r\n",
    "\r",
    "\0",
    " ",
    "  ",
    "\t",
    "\\",
    "\"",
    "'",
    "`",
    "#",
    ":",
    ": ",
    "- ",
    "---\n",
    "...",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&a ",
    "*a",
    "|\n",
    ">-\n",
    "!!str ",
    "null",
    "~",
    "true",
    "1e3",
    "0x1f",
    "agent",
    "agent:\n  ",
    "model",
    "a: b\n",
    "A=1\n",
    "export ",
    "FUZZED=",
    "${A}",
    "$",
    "=",
    "data:",
    "data: {}\n\n",
    "event: x\n",
    ":comment\n",
    "\u{feff}",
    "é",
    "中",
    "\u{1f600}",
    "*** Begin Patch\n",
    "*** Update File: a\n",
    "*** Add File: b\n",
    "*** End Patch\n",
    "@@\n",
    "+x\n",
    "-x\n",
    " x\n",
    "x\n",
    "y\n",
    "sudo ",
    "sudo -S ",
    "sleep 1 ",
    "& ",
    "&& ",
    "| ",
    "; ",
    "$(",
    ")",
    "<<E\n",
    "E\n",
    "(",
    "if ",
    "fi",
    "{\"command\": \"ls",
    "\"}",
    "None",
    "name: s\n",
    "\u{7f}",
    "\u{1b}[0m",
];

fn input() -> impl Strategy<Value = Vec<u8>> {
    let fragments = prop::collection::vec(prop::sample::select(FRAGMENTS), 0..24)
        .prop_map(|parts| parts.concat().into_bytes());
    let noise = prop::collection::vec(any::<u8>(), 0..200);
    prop_oneof![4 => fragments, 1 => noise]
}

fn holds(name: &str) {
    let (_, body): &(_, Body) = BODIES
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a body of that name");
    // What a run finds becomes a test of the crate that is wrong, not a seed here.
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&input(), |bytes| {
            body(&bytes);
            Ok(())
        })
        .unwrap_or_else(|failure| panic!("{name}: {failure}"));
}

macro_rules! every_body {
    ($($name:ident),*) => {
        $(#[test] fn $name() { holds(stringify!($name)); })*

        /// Here, in the library and as a target of the fuzzer: the same names.
        #[test]
        fn every_body_is_run_and_has_a_target() {
            let here = [$(stringify!($name)),*];
            let known: Vec<&str> = BODIES.iter().map(|(name, _)| *name).collect();
            assert_eq!(here.as_slice(), known);
            let fuzz = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
            let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).expect("the fuzz crate");
            for name in here {
                let target = std::fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs")));
                assert!(target.expect(name).contains(&format!("hermes_fuzz::{name}(")));
                assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            }
        }
    };
}

every_body!(
    config,
    dotenv,
    front_matter,
    patch,
    server_sent_events,
    arguments,
    label,
    command_rewriting
);

//! Security notices about released versions. A notice stays a warning until it was
//! acknowledged with `--ack`.

use std::io::Write;

use hermes_config::edit::{Change, change_config};
use hermes_config::{Config, ConfigError};
use serde_json::Value;

use super::findings::Findings;
use crate::{CommandError, Context, Exit, Out};

#[derive(Clone, Copy, Debug)]
pub(super) struct Advisory {
    pub(super) id: &'static str,
    pub(super) text: &'static str,
    pub(super) remedy: &'static str,
}

/// Notices that concern this version. None so far.
pub(super) const ADVISORIES: &[Advisory] = &[];

const KEY: &str = "security.acked_advisories";

pub(super) fn check(advisories: &[Advisory], config: &Config, findings: &mut Findings) {
    findings.group("Security notices");
    let read = config.strings(KEY).unwrap_or_default();
    let open = advisories
        .iter()
        .filter(|advisory| !read.iter().any(|id| id == advisory.id));
    let mut none = true;
    for Advisory { id, text, remedy } in open {
        none = false;
        findings.warning(
            format!("{id}: {text}"),
            format!("{remedy}; then `hermes doctor --ack {id}`"),
        );
    }
    if none {
        findings.good("no open security notices");
    }
}

/// An id that names no notice is a usage error.
pub(super) fn acknowledge(
    id: &str,
    advisories: &[Advisory],
    context: &Context,
    out: &mut Out,
) -> Result<Exit, CommandError> {
    if !advisories.iter().any(|advisory| advisory.id == id) {
        return Err(
            CommandError::usage(format!("there is no security notice {id:?}"))
                .hint("`hermes doctor` lists the open ones"),
        );
    }
    record(id, context)?;
    writeln!(out, "Noted: {id}")?;
    Ok(Exit::SUCCESS)
}

fn record(id: &str, context: &Context) -> Result<(), ConfigError> {
    let mut read = context.config()?.strings(KEY)?;
    if !read.iter().any(|known| known == id) {
        read.push(id.to_owned());
    }
    let change = Change::Set {
        path: KEY.to_owned(),
        value: Value::from(read),
    };
    change_config(&context.home, &context.environment, &[change])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::findings::State;
    use super::*;
    use crate::test_support::captured;
    use hermes_home::Clock;
    use pretty_assertions::assert_eq;

    const TWO: &[Advisory] = &[
        Advisory {
            id: "HA-1",
            text: "first",
            remedy: "update",
        },
        Advisory {
            id: "HA-2",
            text: "second",
            remedy: "update",
        },
    ];

    #[test]
    fn a_notice_is_open_until_it_was_acknowledged() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("config.yaml"), "# mine\nmodel: x\n").unwrap();
        let open = || {
            let context = Context::for_tests(directory.path(), Clock::System);
            let mut findings = Findings::new(false);
            check(TWO, context.config().unwrap(), &mut findings);
            findings.count(State::Warning)
        };
        assert_eq!(open(), 2);
        for expected in [1, 1] {
            let context = Context::for_tests(directory.path(), Clock::System);
            acknowledge("HA-2", TWO, &context, &mut captured().0).unwrap();
            assert_eq!(open(), expected);
        }
        let text = std::fs::read_to_string(directory.path().join("config.yaml")).unwrap();
        assert!(text.starts_with("# mine\nmodel: x\n"), "{text}");
        assert_eq!(text.matches("HA-2").count(), 1, "{text}");
        let context = Context::for_tests(directory.path(), Clock::System);
        let error = acknowledge("HA-3", TWO, &context, &mut captured().0).unwrap_err();
        assert_eq!(error.kind.exit(), Exit::USAGE);
    }
}

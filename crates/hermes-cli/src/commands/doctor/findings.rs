//! What the checks found.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Good,
    /// Was wrong and has been mended.
    Fixed,
    Warning,
    Bad,
}

#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) group: &'static str,
    pub(super) state: State,
    pub(super) text: String,
    /// What to do about it.
    pub(super) remedy: Option<String>,
    /// `--fix` can do it.
    pub(super) fixable: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Findings {
    pub(super) checks: Vec<Finding>,
    #[serde(skip)]
    fix: bool,
    #[serde(skip)]
    group: &'static str,
}

impl Findings {
    pub(super) fn new(fix: bool) -> Self {
        Self {
            checks: Vec::new(),
            fix,
            group: "",
        }
    }

    pub(super) fn group(&mut self, name: &'static str) {
        self.group = name;
    }

    pub(super) fn count(&self, state: State) -> usize {
        self.checks
            .iter()
            .filter(|finding| finding.state == state)
            .count()
    }

    pub(super) fn good(&mut self, text: impl Into<String>) {
        self.add(State::Good, text.into(), None, false);
    }

    pub(super) fn warning(&mut self, text: impl Into<String>, remedy: impl Into<String>) {
        self.add(State::Warning, text.into(), Some(remedy.into()), false);
    }

    pub(super) fn bad(&mut self, text: impl Into<String>, remedy: impl Into<String>) {
        self.add(State::Bad, text.into(), Some(remedy.into()), false);
    }

    /// Something that `--fix` can mend: tries it when asked to.
    pub(super) fn fixable<E: std::fmt::Display>(
        &mut self,
        state: State,
        text: impl Into<String>,
        remedy: impl Into<String>,
        mend: impl FnOnce() -> Result<(), E>,
    ) {
        let text = text.into();
        if !self.fix {
            self.add(state, text, Some(remedy.into()), true);
            return;
        }
        match mend() {
            Ok(()) => self.add(State::Fixed, text, None, false),
            Err(error) => {
                self.add(
                    State::Bad,
                    format!("{text}; mending failed: {error}"),
                    Some(remedy.into()),
                    false,
                );
            }
        }
    }

    fn add(&mut self, state: State, text: String, remedy: Option<String>, fixable: bool) {
        self.checks.push(Finding {
            group: self.group,
            state,
            text,
            remedy,
            fixable,
        });
    }
}

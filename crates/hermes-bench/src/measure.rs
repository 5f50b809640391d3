//! Running commands in turn and keeping their samples.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::probe::{self, Sample};
use crate::stats::Stats;

/// What is measured, and how often.
pub(crate) struct Bench {
    pub(crate) own: PathBuf,
    pub(crate) candidate: PathBuf,
    pub(crate) reference: Option<PathBuf>,
    pub(crate) reference_python: Option<PathBuf>,
    pub(crate) rounds: usize,
}

/// A command line without its program, and what must surround it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invocation {
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) directory: Option<PathBuf>,
}

impl Invocation {
    pub(crate) fn new(home: &Path, arguments: &[&str]) -> Self {
        let mut environment = BTreeMap::new();
        environment.insert("HERMES_HOME".to_owned(), home.display().to_string());
        environment.insert("NO_COLOR".to_owned(), "1".to_owned());
        Self {
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            environment,
            directory: None,
        }
    }
}

/// Samples of the candidate and, where there is one, of the reference.
pub(crate) struct Pair {
    pub(crate) candidate: Vec<Sample>,
    pub(crate) reference: Vec<Sample>,
}

impl Pair {
    pub(crate) fn wall(&self) -> (Option<Stats>, Option<Stats>) {
        self.each(|sample| sample.wall_ms)
    }

    pub(crate) fn peak(&self) -> (Option<Stats>, Option<Stats>) {
        self.each(|sample| sample.peak_mib)
    }

    fn each(&self, pick: impl Fn(&Sample) -> f64) -> (Option<Stats>, Option<Stats>) {
        let of = |samples: &[Sample]| Stats::of(samples.iter().map(&pick).collect());
        (of(&self.candidate), of(&self.reference))
    }
}

impl Bench {
    /// Runs both in turn, so that a busy minute of the machine hits both alike.
    /// One run of each is thrown away first: caches are warm in real use too.
    pub(crate) fn alternate(&self, ours: &Invocation, theirs: Option<&Invocation>) -> Result<Pair> {
        let reference = self.reference.as_deref().zip(theirs);
        self.sample(&self.candidate, ours)?;
        if let Some((program, invocation)) = reference {
            self.sample(program, invocation)?;
        }
        let mut pair = Pair {
            candidate: Vec::new(),
            reference: Vec::new(),
        };
        for round in 0..self.rounds {
            pair.candidate.push(self.sample(&self.candidate, ours)?);
            // The other one takes seconds a run; a third of the rounds is enough for its median.
            if let Some((program, invocation)) = reference
                && round % 3 == 0
            {
                pair.reference.push(self.sample(program, invocation)?);
            }
        }
        Ok(pair)
    }

    /// One run that must succeed.
    pub(crate) fn sample(&self, program: &Path, invocation: &Invocation) -> Result<Sample> {
        let stderr = tempfile::NamedTempFile::new()?;
        let mut command = Command::new(&self.own);
        command
            .arg(probe::VERB)
            .arg(stderr.path())
            .arg(program)
            .args(&invocation.arguments);
        command.envs(&invocation.environment);
        if let Some(directory) = &invocation.directory {
            command.current_dir(directory);
        }
        let output = command.output().context("cannot start the probe")?;
        ensure!(
            output.status.success(),
            "the probe failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let sample: Sample = serde_json::from_slice(&output.stdout)?;
        ensure!(
            sample.exit_code == Some(0),
            "{} {} ended with {:?}: {}",
            program.display(),
            invocation.arguments.join(" "),
            sample.exit_code,
            std::fs::read_to_string(stderr.path())?.trim_end()
        );
        Ok(sample)
    }
}

//! A home whose model is a script, and conversations with it.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use hermes_testkit::model::{ModelServer, Recorded, Reply};
use nix::pty::openpty;
use serde_json::Value;

use super::support::{Ran, Scratch, ran};

pub(crate) struct Stage {
    pub(crate) scratch: Scratch,
    pub(crate) server: ModelServer,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// `more` is appended to the configuration.
    pub(crate) fn with(more: &str) -> Self {
        let (scratch, server) = (Scratch::new(), ModelServer::start());
        // Titles are not what these conversations are about.
        server.fallback(|_| Reply::text("A title"));
        let stage = Self { scratch, server };
        stage.configure(more);
        stage
    }

    /// The model's settings, and `more`.
    pub(crate) fn configure(&self, more: &str) {
        self.scratch.write(
            "config.yaml",
            format!(
                "model:\n  default: {}\n  provider: custom\n  base_url: {}\n  api_key: test-key\n  context_length: 200000\nauxiliary:\n  title_generation: {{model: titler}}\n  approval: {{model: judge}}\n{more}",
                ModelServer::DEFAULT_MODEL,
                self.server.url(),
            ),
        );
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.scratch.command(words);
        command.stdin(Stdio::null());
        command
    }

    /// Nobody is there to ask.
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        ran(self.command(words).output().expect("the binary starts"))
    }

    /// A person types these lines, one after the other; the output is no terminal, so
    /// it comes as plain lines.
    pub(crate) fn talk(&self, words: &[&str], lines: &[&str]) -> Ran {
        self.talk_in_two(words, lines, || (), &[])
    }

    /// The same, with something to wait for before the last lines are typed.
    pub(crate) fn talk_in_two(
        &self,
        words: &[&str],
        first: &[&str],
        until: impl FnOnce(),
        then: &[&str],
    ) -> Ran {
        let pair = openpty(None, None).expect("a terminal");
        let child = self
            .scratch
            .command(words)
            .stdin(Stdio::from(pair.slave))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        type_lines(&pair.master, first);
        until();
        type_lines(&pair.master, then);
        ran(child.wait_with_output().expect("it ends"))
    }

    /// Blocks until the conversation's model was asked so many times.
    pub(crate) fn wait_for_rounds(&self, rounds: usize) {
        let ours = |all: &[Recorded]| {
            let ours = all
                .iter()
                .filter(|one| one.model() == ModelServer::DEFAULT_MODEL);
            ours.count()
        };
        let mut all = rounds;
        while ours(&self.server.wait_for_requests(all)) < rounds {
            all += 1;
        }
    }

    /// The next answer of the conversation's model, and of no other.
    pub(crate) fn says(&self, reply: Reply) -> &Self {
        self.server.push_for(ModelServer::DEFAULT_MODEL, reply);
        self
    }

    /// One call, then an answer.
    pub(crate) fn calls(&self, tool: &str, arguments: Value) -> &Self {
        self.says(Reply::tool_call(tool, arguments))
            .says(Reply::text("done"))
    }

    /// The tool results that the conversation's model was sent, in order.
    pub(crate) fn results(&self) -> Vec<String> {
        let requests = self.server.requests();
        let last = requests
            .iter()
            .rfind(|request| request.model() == ModelServer::DEFAULT_MODEL)
            .expect("a request");
        let tools = last.messages().iter().filter(|one| one["role"] == "tool");
        tools
            .map(|one| one["content"].as_str().expect("text").to_owned())
            .collect()
    }

    pub(crate) fn last_result(&self) -> String {
        self.results().pop().expect("a result")
    }
}

fn type_lines(master: &OwnedFd, lines: &[&str]) {
    let mut keyboard = std::fs::File::from(master.try_clone().expect("a descriptor"));
    for line in lines {
        writeln!(keyboard, "{line}").expect("it reads");
    }
}

/// The result was too long and lies in a file of the sandbox.
pub(crate) fn assert_kept_in_a_file(result: &str) {
    assert!(result.starts_with("<persisted-output>"), "{result}");
    assert!(result.contains("/tmp/hermes-results/"), "{result}");
}

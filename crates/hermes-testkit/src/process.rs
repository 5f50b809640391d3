//! Children of tests: started, watched by what they print, killed without
//! warning, and never left behind.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::PATIENCE;

/// What a child printed and how it ended.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Output lines as they arrive, and whether the pipe has closed.
#[derive(Default)]
struct Lines {
    state: Mutex<(Vec<String>, bool)>,
    changed: Condvar,
}

impl Lines {
    fn push(&self, line: String) {
        self.state.lock().unwrap().0.push(line);
        self.changed.notify_all();
    }

    fn close(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }
}

/// A running child. Dropping it kills it.
pub struct Running {
    child: Child,
    stdout: Arc<Lines>,
    readers: Vec<JoinHandle<String>>,
}

impl Running {
    /// Starts the command with both outputs captured.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("start {command:?}: {error}"));
        let stdout = Arc::new(Lines::default());
        let out = child.stdout.take().expect("stdout is piped");
        let mut err = child.stderr.take().expect("stderr is piped");
        let lines = Arc::clone(&stdout);
        let out_reader = std::thread::spawn(move || {
            let mut all = String::new();
            let mut reader = BufReader::new(out);
            let mut raw = Vec::new();
            while reader.read_until(b'\n', &mut raw).is_ok_and(|n| n > 0) {
                let line = String::from_utf8_lossy(&raw).into_owned();
                all.push_str(&line);
                lines.push(line.trim_end().to_owned());
                raw.clear();
            }
            lines.close();
            all
        });
        let err_reader = std::thread::spawn(move || {
            let mut raw = Vec::new();
            // A child that was killed leaves what it had written.
            let _ = err.read_to_end(&mut raw);
            String::from_utf8_lossy(&raw).into_owned()
        });
        Self {
            child,
            stdout,
            readers: vec![out_reader, err_reader],
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the child has printed a line that contains `needle`, and
    /// returns that line.
    pub fn wait_for_line(&self, needle: &str) -> String {
        self.nth_line_with(needle, 1)
    }

    /// Waits for the `n`th line that contains `needle`.
    pub fn nth_line_with(&self, needle: &str, n: usize) -> String {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.stdout.state.lock().unwrap();
        loop {
            let hit = state.0.iter().filter(|l| l.contains(needle)).nth(n - 1);
            if let Some(line) = hit {
                return line.clone();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(
                !state.1 && !left.is_zero(),
                "child printed no line with {needle:?}; it printed {:#?}",
                state.0
            );
            state = self.stdout.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).expect("process ids fit");
        kill(Pid::from_raw(pid), signal).expect("signal a child");
    }

    /// SIGKILL: the child gets no chance to tidy up. Waits until it is gone.
    pub fn kill9(mut self) -> Finished {
        self.child.kill().expect("kill a child");
        self.collect()
    }

    /// Waits for the end; a child that outlives the patience is killed and the
    /// test fails.
    pub fn wait(mut self) -> Finished {
        let deadline = Instant::now() + PATIENCE * 2;
        let mut state = self.stdout.state.lock().unwrap();
        while !state.1 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                self.child.kill().expect("kill a child");
                let finished = self.collect();
                panic!("child did not end by itself: {finished:#?}");
            }
            state = self.stdout.changed.wait_timeout(state, left).unwrap().0;
        }
        drop(state);
        self.collect()
    }

    fn collect(&mut self) -> Finished {
        let status = self.child.wait().expect("wait for a child");
        let mut texts = self
            .readers
            .drain(..)
            .map(|reader| reader.join().expect("reader threads do not panic"));
        Finished {
            status,
            stdout: texts.next().unwrap_or_default(),
            stderr: texts.next().unwrap_or_default(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone is as good as killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end.
pub fn run(command: Command) -> Finished {
    Running::start(command).wait()
}

/// Starts all commands before waiting for any; results in order.
pub fn run_together(commands: impl IntoIterator<Item = Command>) -> Vec<Finished> {
    let running: Vec<Running> = commands.into_iter().map(Running::start).collect();
    running.into_iter().map(Running::wait).collect()
}

/// This very test program, told to run one other test of it as a child process:
/// how a library test gets a second process without a binary of its own. `test`
/// is the full name of the test function (`suite::lock::holder`), which should do
/// nothing unless one of `variables` is set.
pub fn child_test(test: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("know our own program"));
    command
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .envs(variables.iter().copied());
    command
}

/// Whether a process exists and is not just waiting to be reaped.
pub fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        // The state follows the command name, which may itself hold parentheses.
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with('Z'))
    })
}

/// Waits until the process is gone; fails the test when it stays.
pub fn wait_until_gone(pid: u32) {
    let deadline = Instant::now() + PATIENCE;
    while is_alive(pid) {
        assert!(Instant::now() < deadline, "process {pid} is still alive");
        // The kernel offers no event for the end of a process that is not our child.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

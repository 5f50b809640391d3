//! Background processes within another target.
//!
//! A small shell inside starts the command in a session of its own, with files
//! beside it: `.log` for the output, `.pid` for that shell, `.exit` for the code,
//! `.in` for the input. Nothing of it hangs on the call that started it, so it
//! lives until it ends or the target does. We read what is new in the log; a
//! missing answer is no reason to declare a process dead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, Semaphore};

use super::entry::Entry;
use crate::run::{ScriptOutcome, run_script};
use crate::session::quote;
use crate::target::{Shell, Stdin, Target};

/// Most that one look reads of a log.
const READ: u64 = 256 << 10;
/// How often a log is looked at: soon while it grows, seldom while it rests.
const SOON: Duration = Duration::from_millis(200);
const WATCHED: Duration = Duration::from_millis(600);
const SELDOM: Duration = Duration::from_secs(2);
/// For a look, a start or a kill; the target itself bounds what hangs.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between SIGTERM and SIGKILL, in tenths of a second.
const GRACE_TENTHS: u32 = 20;

/// The search for everything that came from one call, shared with the channel.
const SWEEP: &str = include_str!("../channel/sweep.sh");

pub(super) struct InsideHandle {
    target: Arc<dyn Target>,
    /// The files without their endings.
    base: String,
    pid: i32,
    offset: AtomicU64,
    /// One look at a time.
    looking: Semaphore,
    look_now: Notify,
}

/// What the files of a process say.
struct Look {
    state: State,
    /// Of the whole log.
    size: u64,
    new: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Exited(i32),
    /// Neither alive nor did it leave a code.
    Gone,
    /// There is no such process here.
    Unknown,
}

pub(super) fn base_path(target: &dyn Target, id: &str) -> String {
    format!("{}/hermes_bg_{id}", target.temp_dir())
}

/// Starts `script`, which must not depend on this side staying alive.
pub(super) async fn start(
    target: Arc<dyn Target>,
    base: String,
    script: &str,
    shell: Shell,
) -> Result<InsideHandle, String> {
    let text = start_script(&base, script, shell);
    let answer = run(&*target, text, Stdin::Null).await?;
    let text = String::from_utf8_lossy(&answer.output);
    let pid = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("pid "))
        .and_then(|pid| pid.trim().parse().ok());
    match pid {
        Some(pid) => Ok(InsideHandle::new(target, base, pid)),
        None => Err(format!(
            "it was not started (exit code {}): {}",
            answer.code,
            text.trim()
        )),
    }
}

/// The wrapper notes its pid, runs the command and notes its code. `USR1` closes the
/// input for good. It outlives `TERM`, so that its session can be told while the
/// command takes its time to end.
fn start_script(base: &str, script: &str, shell: Shell) -> String {
    let argv: Vec<String> = shell.argv().iter().map(|word| quote(word)).collect();
    let wrapper = format!(
        r#"b={base}
echo $$ >"$b.pid.new" && mv "$b.pid.new" "$b.pid"
hold=; if mkfifo "$b.in" 2>/dev/null; then exec 9<>"$b.in" && hold=1; fi
trap 'exec 9>&-' USR1
trap : TERM
if [ -n "$hold" ]; then
  {shell} -c {script} <"$b.in" 9>&- >>"$b.log" 2>&1 &
else
  {shell} -c {script} </dev/null >>"$b.log" 2>&1 &
fi
child=$!
while :; do wait $child; code=$?; kill -0 $child 2>/dev/null || break; done
echo $code >"$b.exit.new" && mv "$b.exit.new" "$b.exit"
rm -f "$b.in"
"#,
        base = quote(base),
        shell = argv.join(" "),
        script = quote(script),
    );
    format!(
        r#"umask 077
b={base}
: >"$b.log" || exit 1
if command -v setsid >/dev/null 2>&1; then
  setsid sh -c {wrapper} </dev/null >/dev/null 2>&1 &
else
  set -m
  sh -c {wrapper} </dev/null >/dev/null 2>&1 &
fi
n=0
while [ ! -s "$b.pid" ] && [ $n -lt 500 ]; do n=$((n + 1)); sleep 0.01 2>/dev/null || sleep 1; done
[ -s "$b.pid" ] && {{ read -r p <"$b.pid"; echo "pid $p"; }}
"#,
        base = quote(base),
        wrapper = quote(&wrapper),
    )
}

/// The code is looked for before the pid, because a zombie answers to signals, and
/// again after it, because it may have been written in between.
fn look_script(base: &str, offset: u64) -> String {
    format!(
        r#"b={base}
if [ -f "$b.exit" ]; then read -r e <"$b.exit"
elif [ ! -f "$b.pid" ]; then e=unknown
else
  read -r p <"$b.pid"
  if kill -0 "$p" 2>/dev/null; then e=running
  elif [ -f "$b.exit" ]; then read -r e <"$b.exit"
  else e=gone; fi
fi
s=$(wc -c <"$b.log" 2>/dev/null)
echo "$e" ${{s:-0}}
tail -c +{from} "$b.log" 2>/dev/null | head -c {READ}
"#,
        base = quote(base),
        from = offset + 1,
    )
}

/// TERM to the whole tree, then KILL; prints how many are left. Members are found by
/// the mark of the call that started them, by the wrapper's session and by their
/// parents; the session's number stays taken while anybody is in it.
fn kill_script(base: &str) -> String {
    format!(
        r#"{SWEEP}
b={base}
read -r p <"$b.pid" || exit 0
IFS= read -r s <"/proc/$p/stat" || {{ echo "left 0"; exit 0; }}
set -- ${{s##*) }}; since=${{20}}
m=none
while read -r w1 w2 w3 w4 hard w6; do
  case "$w1 $w2 $w3 $hard" in "Max file locks "[0-9]*) m=$hard ;; esac
done <"/proc/$p/limits"
everybody() {{
  _h_sweep "$1" "$m" "$p" "$since"
  left=$_h_found sig=$1
  for d in /proc/[0-9]*; do
    IFS= read -r s <"$d/stat" || continue
    set -- ${{s##*) }}
    case $1 in Z | X) continue ;; esac
    [ "$4" = "$p" ] || continue
    case $_h_members in *" ${{d#/proc/}} "*) continue ;; esac
    left=$((left + 1))
    [ "$sig" = 0 ] || kill -s "$sig" "${{d#/proc/}}"
  done
}}
{{
everybody TERM
n=0
while [ $n -lt {GRACE_TENTHS} ]; do
  everybody 0
  [ "$left" = 0 ] && break
  sleep 0.1 || sleep 1; n=$((n + 1))
done
n=0
while [ $n -lt 20 ] && [ "$left" != 0 ]; do
  everybody KILL; everybody 0
  n=$((n + 1))
done
[ -f "$b.exit" ] || echo -15 >"$b.exit"
rm -f "$b.in"
}} 2>/dev/null
echo "left $left"
"#,
        base = quote(base),
    )
}

/// A look is bounded by its script; anything longer is not ours.
const MAX_ANSWER: usize = 2 * READ as usize;

async fn run(target: &dyn Target, script: String, stdin: Stdin) -> Result<ScriptOutcome, String> {
    run_script(target, script, stdin, MAX_ANSWER, PATIENCE)
        .await
        .map_err(|error| error.to_string())
}

impl InsideHandle {
    pub(super) fn new(target: Arc<dyn Target>, base: String, pid: i32) -> Self {
        Self {
            target,
            base,
            pid,
            offset: AtomicU64::new(0),
            looking: Semaphore::new(1),
            look_now: Notify::new(),
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether the target knows this process.
    pub(super) async fn exists(&self) -> bool {
        matches!(self.look().await, Ok(Look { state, .. }) if state != State::Unknown)
    }

    async fn look(&self) -> Result<Look, String> {
        let offset = self.offset.load(Ordering::SeqCst);
        let answer = run(&*self.target, look_script(&self.base, offset), Stdin::Null).await?;
        let bytes = answer.output;
        let header = bytes.iter().position(|byte| *byte == b'\n');
        let Some(header) = header else {
            return Err(format!("no answer (exit code {})", answer.code));
        };
        let line = String::from_utf8_lossy(&bytes[..header]).into_owned();
        let (state, size) = line.split_once(' ').unwrap_or((line.as_str(), "0"));
        let state = match state {
            "running" => State::Running,
            "gone" => State::Gone,
            "unknown" => State::Unknown,
            code => State::Exited(code.parse().unwrap_or(-1)),
        };
        Ok(Look {
            state,
            size: size.trim().parse().unwrap_or(0),
            new: bytes[header + 1..].to_vec(),
        })
    }

    /// Reads what is new; `Some` when the process has ended and all was read.
    pub(super) async fn refresh(&self, entry: &Arc<Entry>) -> Option<i32> {
        // Never closed, so this waits and does not fail.
        let _turn = self.looking.acquire().await;
        loop {
            let look = match self.look().await {
                Ok(look) => look,
                Err(error) => {
                    tracing::debug!(id = entry.id, %error, "a background process could not be looked at");
                    return None;
                }
            };
            let offset = self.offset.load(Ordering::SeqCst) + look.new.len() as u64;
            self.offset.store(offset, Ordering::SeqCst);
            if !look.new.is_empty() {
                entry.absorb(&look.new);
            }
            let more = offset < look.size && !look.new.is_empty();
            match look.state {
                _ if more => {}
                State::Running => return None,
                State::Exited(code) => return Some(code),
                State::Gone | State::Unknown => return Some(-1),
            }
        }
    }

    /// Looks until the process has ended. Not at once: whoever started it is about to
    /// run the next command, and asks if it wants to know.
    pub(super) async fn follow(&self, entry: &Arc<Entry>) -> i32 {
        let mut pause = SOON;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.look_now.notified() => {}
            }
            let before = self.offset.load(Ordering::SeqCst);
            if let Some(code) = self.refresh(entry).await {
                self.remove_files().await;
                return code;
            }
            let grew = self.offset.load(Ordering::SeqCst) > before;
            let longest = if entry.is_watching() { WATCHED } else { SELDOM };
            pause = if grew { SOON } else { (pause * 2).min(longest) };
        }
    }

    /// Makes the follower look at once.
    pub(super) fn nudge(&self) {
        self.look_now.notify_one();
    }

    async fn remove_files(&self) {
        let base = quote(&self.base);
        let script = format!("b={base}; rm -f \"$b.log\" \"$b.pid\" \"$b.exit\" \"$b.in\"");
        let _ = run(&*self.target, script, Stdin::Null).await;
    }

    pub(super) async fn kill(&self) -> Result<(), String> {
        let answer = run(&*self.target, kill_script(&self.base), Stdin::Null).await?;
        let text = String::from_utf8_lossy(&answer.output);
        match text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("left "))
        {
            Some("0") => Ok(()),
            Some(count) => Err(format!("{count} processes could not be ended")),
            None if answer.code == 0 => Ok(()),
            None => Err(format!(
                "the kill failed (exit code {}): {}",
                answer.code,
                text.trim()
            )),
        }
    }

    pub(super) async fn write(&self, bytes: Bytes) -> Result<(), String> {
        let base = quote(&self.base);
        // The wrapper keeps the pipe open, so this does not wait for a reader.
        let script = format!("[ -p {base}.in ] && cat >{base}.in");
        let answer = run(&*self.target, script, Stdin::Bytes(bytes.to_vec())).await?;
        match answer.code {
            0 => Ok(()),
            _ => Err("its standard input is closed".to_owned()),
        }
    }

    pub(super) async fn close(&self) -> Result<(), String> {
        let base = quote(&self.base);
        let script = format!("read -r p <{base}.pid && kill -USR1 \"$p\"");
        let answer = run(&*self.target, script, Stdin::Null).await?;
        match answer.code {
            0 => Ok(()),
            _ => Err("it has ended".to_owned()),
        }
    }
}

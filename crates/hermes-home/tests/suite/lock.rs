//! Locks against another process: Python's `fcntl.flock`, which the reference uses.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_home::{Lock, LockKind};

/// Takes the lock, says so, and holds it until its input ends.
const HOLDER: &str = "\
import fcntl, sys
file = open(sys.argv[1], 'a')
fcntl.flock(file, fcntl.LOCK_SH if sys.argv[2] == 'shared' else fcntl.LOCK_EX)
print('held', flush=True)
sys.stdin.read()
";

/// Tries the lock once and says whether it was free.
const TRIER: &str = "\
import fcntl, sys
file = open(sys.argv[1], 'a')
try:
    fcntl.flock(file, (fcntl.LOCK_SH if sys.argv[2] == 'shared' else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    print('free')
except BlockingIOError:
    print('held')
";

fn hold(path: &Path, kind: &str) -> Child {
    let mut child = Command::new("python3")
        .args(["-c", HOLDER])
        .arg(path)
        .arg(kind)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is needed to check that our locks and the reference's are the same");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "held\n");
    child
}

fn python_finds(path: &Path, kind: &str) -> String {
    let output = Command::new("python3")
        .args(["-c", TRIER])
        .arg(path)
        .arg(kind)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_lock_of_python_is_seen_here_and_freed_by_its_death() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("auth.lock");
    let try_lock = |kind| Lock::try_acquire(&path, kind).unwrap();

    let mut exclusive = hold(&path, "exclusive");
    assert!(try_lock(LockKind::Exclusive).is_none());
    assert!(try_lock(LockKind::Shared).is_none());
    exclusive.kill().unwrap();
    exclusive.wait().unwrap();
    assert!(try_lock(LockKind::Exclusive).is_some());

    let mut shared = hold(&path, "shared");
    assert!(try_lock(LockKind::Exclusive).is_none());
    assert!(try_lock(LockKind::Shared).is_some());
    shared.stdin.take().unwrap().flush().unwrap();
    shared.wait().unwrap();
    assert!(try_lock(LockKind::Exclusive).is_some());
}

#[test]
fn a_lock_taken_here_is_seen_by_python() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("auth.lock");
    let lock = Lock::acquire(&path, LockKind::Shared).unwrap();
    assert_eq!(python_finds(&path, "shared"), "free");
    assert_eq!(python_finds(&path, "exclusive"), "held");
    drop(lock);
    let lock = Lock::acquire(&path, LockKind::Exclusive).unwrap();
    assert_eq!(python_finds(&path, "shared"), "held");
    drop(lock);
    assert_eq!(python_finds(&path, "exclusive"), "free");
}

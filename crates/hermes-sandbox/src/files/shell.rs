//! Files of any target that runs scripts: one script per operation, paths and
//! contents passed so that no shell interprets them.
//!
//! Every script first says on one line how it went (`ok`, or the name of an
//! error), then gives its bytes. Only what POSIX shells and busybox have is used.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::{
    BEGINNING, Contents, Entry, FileError, FileKind, Files, Glance, LineRange, MAX_PAGED, MAX_READ,
    NewFileMode, Stat,
};
use crate::path::SandboxPath;
use crate::run::run_script;
use crate::session::quote;
use crate::target::{Stdin, Target};

const PATIENCE: Duration = Duration::from_secs(60);

/// Room for the first line and for listings beyond the largest file.
const EXTRA: usize = 64 << 10;

/// Most of a listing.
const MAX_LISTING: usize = 16 << 20;

#[derive(Clone)]
pub struct ShellFiles {
    target: Arc<dyn Target>,
}

/// Says what is wrong with `$p`, from the English words of the failed program when the
/// file system itself does not tell.
const WHY: &str = r#"
LC_ALL=C; export LC_ALL
why() {
  if [ -n "${1-}" ]; then case $1 in
    *'No space left'*) echo full; exit 0 ;;
    *'Read-only file system'*) echo readonly; exit 0 ;;
    *'ot a directory'*) echo notdir; exit 0 ;;
    *'oo many levels'*) echo loop; exit 0 ;;
  esac; fi
  if [ -d "$p" ]; then echo isdir
  elif [ ! -e "$p" ] && [ ! -L "$p" ] && [ -z "${writing-}" ]; then echo missing
  else echo denied; fi
  exit 0
}
"#;

/// Facts about what `p` means.
const STAT: &str = "stat -L -c '%f %s %Y %d %i %y' -- \"$p\" 2>&1";

/// Splits `p` into what exists, without links, and the rest: `e` and `rest`.
const REAL: &str = r#"rest=
while ! e=$(readlink -f -- "${p:-/}" 2>/dev/null && echo x); do
  [ -n "$p" ] || { echo loop; exit 0; }
  rest=/${p##*/}$rest; p=${p%/*}
done
e=${e%?x}
[ "$e" = / ] && [ -n "$rest" ] && e=
"#;

/// Up to here a file travels whole: looking for the lines inside takes longer.
const WHOLE: u64 = 128 << 10;

/// Files of the kernel have no size, and some of them no end: they are read for a
/// moment.
const FOR_A_MOMENT: &str = "$(command -v timeout >/dev/null && echo timeout 5)";

/// Prints `+` and the bytes, or `=`, the number of lines and of NULs, the beginning and
/// the page. A large file is opened once, so that all of it is said of the same file.
fn contents_script(page: LineRange) -> String {
    let LineRange { first: from, count } = page;
    let to = from.saturating_add(count.max(1) - 1);
    // The size is the second word of the facts.
    format!(
        r#"set -- $s
[ -f "$asked" ] && [ -r "$asked" ] && [ "$2" -le {MAX_PAGED} ] && {{
  if [ "$2" -eq 0 ]; then printf +; {FOR_A_MOMENT} head -c {MAX_READ} <"$asked"
  elif [ "$2" -le {WHOLE} ]; then printf +; head -c {MAX_READ} <"$asked"
  elif exec 5<"$asked"; then
    f=/proc/self/fd/5; [ -r $f ] || f=$asked
    n=$(tr -cd '\n' <"$f" | wc -c)
    [ -z "$(tail -c 1 <"$f")" ] || n=$((n + 1))
    printf '=%s %s\n' $n $(tr -cd '\000' <"$f" | wc -c)
    dd bs={BEGINNING} count=1 conv=sync <"$f"
    if [ "$2" -le {MAX_READ} ]; then sed -n '{from},{to}p;{to}q' <"$f"
    else sed -n '{from},{to}p;{to}q' <"$f" | head -c {MAX_READ}; fi
  fi
}} 2>/dev/null
"#
    )
}

fn contents_of(said: &[u8]) -> Option<Contents> {
    match said.split_first()? {
        (b'+', whole) => Some(Contents::Whole(whole.to_vec())),
        (b'=', rest) => {
            let (counts, rest) = split_at_byte(rest, b'\n');
            let (total_lines, nuls) = std::str::from_utf8(counts).ok()?.split_once(' ')?;
            let (beginning, lines) = rest.split_at_checked(BEGINNING)?;
            Some(Contents::Page {
                lines: lines.to_vec(),
                total_lines: total_lines.parse().ok()?,
                has_nul: nuls != "0",
                beginning: beginning.to_vec(),
            })
        }
        _ => None,
    }
}

fn stat_of(line: &[u8]) -> Result<Stat, FileError> {
    parse_stat(&String::from_utf8_lossy(line))
        .ok_or_else(|| FileError::Unavailable("`stat` answered oddly".to_owned()))
}

fn absolute(asked: &SandboxPath, bytes: &[u8]) -> Result<SandboxPath, FileError> {
    std::str::from_utf8(bytes)
        .ok()
        .and_then(SandboxPath::absolute)
        .ok_or_else(|| FileError::Io {
            path: asked.clone(),
            source: io::Error::new(io::ErrorKind::InvalidData, "the name is not UTF-8"),
        })
}

impl ShellFiles {
    pub fn new(target: Arc<dyn Target>) -> Self {
        Self { target }
    }

    /// The bytes after `ok`.
    async fn ask(
        &self,
        path: &SandboxPath,
        script: &str,
        stdin: Stdin,
        max_bytes: usize,
    ) -> Result<Vec<u8>, FileError> {
        let text = format!("p={}\n{WHY}{script}", quote(path.as_str()));
        let outcome = run_script(&*self.target, text, stdin, max_bytes + EXTRA, PATIENCE)
            .await
            .map_err(|error| FileError::Unavailable(error.to_string()))?;
        let (word, rest) = split_at_byte(&outcome.output, b'\n');
        let kind = match word {
            b"ok" => return Ok(rest.to_vec()),
            b"missing" => io::ErrorKind::NotFound,
            b"denied" => io::ErrorKind::PermissionDenied,
            b"isdir" => io::ErrorKind::IsADirectory,
            b"notdir" => io::ErrorKind::NotADirectory,
            b"full" => io::ErrorKind::StorageFull,
            b"readonly" => io::ErrorKind::ReadOnlyFilesystem,
            b"loop" => io::ErrorKind::InvalidInput,
            b"special" => {
                return Err(FileError::Io {
                    path: path.clone(),
                    source: io::Error::other("not a regular file"),
                });
            }
            _ => {
                let said = String::from_utf8_lossy(&outcome.output);
                let said: String = said.trim().chars().take(300).collect();
                return Err(FileError::Io {
                    path: path.clone(),
                    source: io::Error::other(format!("{said} (exit code {})", outcome.code)),
                });
            }
        };
        Err(FileError::Io {
            path: path.clone(),
            source: kind.into(),
        })
    }

    /// Facts, the path without links and, where `reading` prints them, the contents.
    async fn glance(
        &self,
        path: &SandboxPath,
        reading: &str,
        limit: u64,
    ) -> Result<Glance, FileError> {
        let script = format!(
            "asked=$p\ns=$({STAT}) || {{ case $s in *'No such file'*) s=missing ;; *) why \"$s\" ;; esac; }}\n{REAL}echo ok\nprintf '%s\\n' \"$s\"\nprintf '%s\\000' \"$e$rest\"\n{reading}:\n"
        );
        let max = usize::try_from(limit).unwrap_or(usize::MAX);
        let bytes = self.ask(path, &script, Stdin::Null, max).await?;
        let (line, rest) = split_at_byte(&bytes, b'\n');
        let (real, contents) = split_at_byte(rest, 0);
        Ok(Glance {
            real: absolute(path, real)?,
            stat: match line {
                b"missing" => None,
                line => Some(stat_of(line)?),
            },
            contents: contents_of(contents),
        })
    }
}

/// What is before the byte, and what after it.
fn split_at_byte(bytes: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match bytes.iter().position(|byte| *byte == separator) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

impl Files for ShellFiles {
    fn stat<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<Option<Stat>, FileError>> {
        let script = format!(
            "s=$({STAT}) || {{ case $s in *'No such file'*) echo missing; exit 0 ;; esac; why \"$s\"; }}\necho ok\nprintf '%s' \"$s\"\n"
        );
        Box::pin(async move {
            match self.ask(path, &script, Stdin::Null, 4096).await {
                Ok(line) => stat_of(&line).map(Some),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn read<'a>(
        &'a self,
        path: &'a SandboxPath,
        offset: u64,
        limit: u64,
    ) -> BoxFuture<'a, Result<Vec<u8>, FileError>> {
        let limit = limit.min(MAX_READ);
        // A file that is read from its beginning needs no `tail`.
        let reading = if offset == 0 {
            format!(
                "if [ -s \"$p\" ]; then head -c {limit} <\"$p\"; else {FOR_A_MOMENT} head -c {limit} <\"$p\"; fi"
            )
        } else {
            format!("tail -c +{} <\"$p\" | head -c {limit}", offset + 1)
        };
        Box::pin(async move {
            let script = format!(
                "[ -d \"$p\" ] && why\n[ -r \"$p\" ] || why\n[ -f \"$p\" ] || {{ echo special; exit 0; }}\necho ok\n{{ {reading}; }} 2>/dev/null\n"
            );
            let max = usize::try_from(limit).unwrap_or(usize::MAX);
            self.ask(path, &script, Stdin::Null, max).await
        })
    }

    fn write<'a>(
        &'a self,
        path: &'a SandboxPath,
        contents: Vec<u8>,
        mode: NewFileMode,
    ) -> BoxFuture<'a, Result<(), FileError>> {
        let fresh = match mode {
            NewFileMode::Ordinary => "chmod $(printf %o $((0666 & ~$(umask)))) \"$t\"",
            NewFileMode::Private => ":",
        };
        Box::pin(async move {
            let script = format!(
                r#"writing=1
n=0
while [ -L "$p" ]; do
  l=$(readlink -- "$p"; echo x); l=${{l%?x}}
  case $l in /*) p=$l ;; *) p=${{p%/*}}/$l ;; esac
  n=$((n + 1)); [ $n -gt 40 ] && {{ echo loop; exit 0; }}
done
[ -d "$p" ] && why
d=${{p%/*}}
e=$(mkdir -p -- "${{d:-/}}" 2>&1) || why "$e"
if [ -e "$p" ] && [ ! -f "$p" ]; then e=$(cat 2>&1 >"$p") || why "$e"; echo ok; exit 0; fi
t=$(mktemp "$d/.hermes-tmp.XXXXXX" 2>&1) || why "$t"
e=$(cat 2>&1 >"$t") || {{ rm -f -- "$t"; why "$e"; }}
if [ -e "$p" ]; then
  chown "$(stat -c %u:%g -- "$p")" "$t" 2>/dev/null
  chmod "$(stat -c %a -- "$p")" "$t"
else
  {fresh}
fi
e=$(mv -f -- "$t" "$p" 2>&1) || {{ rm -f -- "$t"; why "$e"; }}
echo ok
"#
            );
            self.ask(path, &script, Stdin::Bytes(contents), 0).await?;
            Ok(())
        })
    }

    fn list<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<Vec<Entry>, FileError>> {
        let script = r#"[ -e "$p" ] || why
[ -d "$p" ] || { echo notdir; exit 0; }
cd -- "$p" 2>/dev/null && [ -r . ] || { echo denied; exit 0; }
echo ok
for f in * .*; do
  case $f in .|..) continue ;; esac
  if [ -L "$f" ]; then k=l; elif [ -d "$f" ]; then k=d; elif [ -f "$f" ]; then k=f
  elif [ -e "$f" ]; then k=o; else continue; fi
  printf '%s%s\000' $k "$f"
done
"#;
        Box::pin(async move {
            let bytes = self.ask(path, script, Stdin::Null, MAX_LISTING).await?;
            let mut entries: Vec<Entry> = bytes
                .split(|byte| *byte == 0)
                .filter_map(|entry| entry.split_first())
                .map(|(kind, name)| Entry {
                    name: String::from_utf8_lossy(name).into_owned(),
                    kind: match kind {
                        b'd' => FileKind::Directory,
                        b'l' => FileKind::Link,
                        b'f' => FileKind::File,
                        _ => FileKind::Other,
                    },
                })
                .collect();
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            Ok(entries)
        })
    }

    fn resolve<'a>(
        &'a self,
        path: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<SandboxPath, FileError>> {
        let script = format!("{REAL}echo ok\nprintf '%s' \"$e$rest\"\n");
        Box::pin(async move {
            let bytes = self.ask(path, &script, Stdin::Null, 64 << 10).await?;
            absolute(path, &bytes)
        })
    }

    fn look<'a>(
        &'a self,
        path: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<(SandboxPath, Option<Stat>), FileError>> {
        Box::pin(async move {
            let glance = self.glance(path, "", 0).await?;
            Ok((glance.real, glance.stat))
        })
    }

    fn look_into<'a>(
        &'a self,
        path: &'a SandboxPath,
        page: LineRange,
    ) -> BoxFuture<'a, Result<Glance, FileError>> {
        Box::pin(async move { self.glance(path, &contents_script(page), MAX_READ).await })
    }

    fn create_directories<'a>(
        &'a self,
        path: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<(), FileError>> {
        let script = "writing=1\ne=$(mkdir -p -- \"$p\" 2>&1) || why \"$e\"\necho ok\n";
        Box::pin(async move {
            self.ask(path, script, Stdin::Null, 0).await?;
            Ok(())
        })
    }

    fn remove<'a>(&'a self, path: &'a SandboxPath) -> BoxFuture<'a, Result<(), FileError>> {
        let script = "[ -L \"$p\" ] || [ ! -d \"$p\" ] || why\n[ -e \"$p\" ] || [ -L \"$p\" ] || why\ne=$(rm -f -- \"$p\" 2>&1) || why \"$e\"\necho ok\n";
        Box::pin(async move {
            self.ask(path, script, Stdin::Null, 0).await?;
            Ok(())
        })
    }

    fn rename<'a>(
        &'a self,
        from: &'a SandboxPath,
        to: &'a SandboxPath,
    ) -> BoxFuture<'a, Result<(), FileError>> {
        let script = format!(
            "[ -e \"$p\" ] || [ -L \"$p\" ] || why\nt={}\n[ -d \"$t\" ] && [ ! -d \"$p\" ] && {{ echo isdir; exit 0; }}\ne=$(mv -f -- \"$p\" \"$t\" 2>&1) || why \"$e\"\necho ok\n",
            quote(to.as_str())
        );
        Box::pin(async move {
            self.ask(from, &script, Stdin::Null, 0).await?;
            Ok(())
        })
    }
}

/// `%f %s %Y %d %i %y`: mode in hex, size, seconds, device, inode, and the time once
/// more as text, which alone may have a fraction.
fn parse_stat(line: &str) -> Option<Stat> {
    let mut words = line.trim().splitn(6, ' ');
    let mode = u32::from_str_radix(words.next()?, 16).ok()?;
    let size = words.next()?.parse().ok()?;
    let seconds: i128 = words.next()?.parse().ok()?;
    let device = words.next()?.parse().ok()?;
    let inode = words.next()?.parse().ok()?;
    let nanos = words
        .next()
        .and_then(|text| text.split_once('.'))
        .map(|(_, fraction)| {
            let digits: String = fraction
                .chars()
                .take_while(char::is_ascii_digit)
                .take(9)
                .collect();
            format!("{digits:0<9}").parse().unwrap_or(0)
        })
        .unwrap_or(0_i128);
    let kind = match mode & 0o170_000 {
        0o100_000 => FileKind::File,
        0o040_000 => FileKind::Directory,
        0o120_000 => FileKind::Link,
        _ => FileKind::Other,
    };
    Some(Stat {
        kind,
        size,
        mode: mode & 0o7777,
        modified_nanos: seconds * 1_000_000_000 + nanos,
        id: (device, inode),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn stat_lines_of_both_families_are_read() {
        let gnu = "81a4 12 1700000000 2049 77 2023-11-14 22:13:20.123456789 +0000";
        assert_eq!(
            parse_stat(gnu),
            Some(Stat {
                kind: FileKind::File,
                size: 12,
                mode: 0o644,
                modified_nanos: 1_700_000_000_123_456_789,
                id: (2049, 77)
            })
        );
        let busybox = "41ed 4096 1700000000 2049 78 2023-11-14 22:13:20";
        assert_eq!(
            parse_stat(busybox).map(|stat| stat.kind),
            Some(FileKind::Directory)
        );
        assert_eq!(parse_stat("nonsense"), None);
    }
}

//! `tar.gz`: POSIX headers, with a pax record for names that do not fit.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::{ArchiveError, Item, names};

const BLOCK: usize = 512;
/// A pax record or long name beyond this is no name of a file.
const MAX_NAME: u64 = 64 * 1024;

/// Writes one archive; [`TarWriter::finish`] makes it whole.
pub(crate) struct TarWriter<W: Write> {
    out: GzEncoder<W>,
}

impl<W: Write> TarWriter<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out: GzEncoder::new(out, Compression::default()),
        }
    }

    /// Adds a file under `name`. A file that is gone by now is left out: `false`.
    pub(crate) fn item(&mut self, name: &str, item: &Item) -> io::Result<bool> {
        let Some(mut content) = item.open()? else {
            return Ok(false);
        };
        self.head(name, item.mode, item.modified, content.size, b'0')?;
        let copied = io::copy(&mut content.bytes, &mut self.out)?;
        if copied != content.size {
            return Err(io::Error::other(format!(
                "{} shrank while it was read",
                item.path.display()
            )));
        }
        self.pad(content.size)?;
        Ok(true)
    }

    pub(crate) fn bytes(&mut self, name: &str, modified: u64, content: &[u8]) -> io::Result<()> {
        self.head(name, 0o644, modified, content.len() as u64, b'0')?;
        self.out.write_all(content)?;
        self.pad(content.len() as u64)
    }

    pub(crate) fn directory(&mut self, name: &str, modified: u64) -> io::Result<()> {
        self.head(&format!("{name}/"), 0o755, modified, 0, b'5')
    }

    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&[0; 2 * BLOCK])?;
        self.out.finish()
    }

    fn head(
        &mut self,
        name: &str,
        mode: u32,
        modified: u64,
        size: u64,
        kind: u8,
    ) -> io::Result<()> {
        if name.len() > 100 || !name.is_ascii() {
            let record = pax_record("path", name);
            self.out
                .write_all(&header("pax", 0o644, modified, record.len() as u64, b'x'))?;
            self.out.write_all(record.as_bytes())?;
            self.pad(record.len() as u64)?;
        }
        let mut end = name.len().min(100);
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        self.out
            .write_all(&header(&name[..end], mode, modified, size, kind))
    }

    fn pad(&mut self, size: u64) -> io::Result<()> {
        self.out.write_all(&[0; BLOCK][..padding(size)])
    }
}

fn padding(size: u64) -> usize {
    (BLOCK - (size % BLOCK as u64) as usize) % BLOCK
}

fn header(name: &str, mode: u32, modified: u64, size: u64, kind: u8) -> [u8; BLOCK] {
    let mut block = [0u8; BLOCK];
    block[..name.len()].copy_from_slice(name.as_bytes());
    octal(&mut block[100..108], u64::from(mode));
    octal(&mut block[108..116], 0);
    octal(&mut block[116..124], 0);
    octal(&mut block[124..136], size);
    octal(&mut block[136..148], modified);
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[148..156].fill(b' ');
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    octal(&mut block[148..155], sum);
    block
}

/// Octal digits and a zero byte; what does not fit is written in base 256.
fn octal(field: &mut [u8], value: u64) {
    let digits = field.len() - 1;
    let text = format!("{value:0digits$o}");
    if text.len() <= digits {
        field[..digits].copy_from_slice(text.as_bytes());
        field[digits] = 0;
    } else {
        field.fill(0);
        let start = field.len() - 8;
        field[start..].copy_from_slice(&value.to_be_bytes());
        field[0] = 0x80;
    }
}

/// `LENGTH KEY=VALUE\n`, where the length counts itself.
fn pax_record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n")
}

struct Head {
    name: String,
    kind: u8,
    mode: u32,
    size: u64,
}

/// Unpacks below `target`, which is the caller's to throw away on an error. Returns
/// the names at the top.
pub(crate) fn unpack_tar_gz(archive: &Path, target: &Path) -> Result<Vec<String>, ArchiveError> {
    let file = File::open(archive)?;
    let mut input = MultiGzDecoder::new(io::BufReader::new(file));
    let mut top: Vec<String> = Vec::new();
    let mut first = true;
    while let Some((name, head)) = next(&mut input, first)? {
        first = false;
        let path = names::safe(&name)?;
        let refuse = |reason| {
            Err(ArchiveError::Unsafe {
                name: name.escape_debug().to_string(),
                reason,
            })
        };
        match head.kind {
            b'0' | b'\0' | b'7' | b'5' => {}
            b'1' | b'2' => return refuse("a link"),
            b'3' | b'4' | b'6' => return refuse("a device or pipe"),
            _ => return refuse("an entry of a kind that no home has"),
        }
        let Some(part) = path.iter().next() else {
            skip(&mut input, head.size)?;
            continue;
        };
        let part = part.to_string_lossy().into_owned();
        if !top.contains(&part) {
            top.push(part);
        }
        let to = target.join(&path);
        let damaged = |error: io::Error| ArchiveError::Damaged {
            name: name.clone(),
            reason: error.to_string(),
        };
        if head.kind == b'5' {
            fs::create_dir_all(&to).map_err(damaged)?;
            continue;
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(damaged)?;
        }
        let mut file = File::create(&to).map_err(damaged)?;
        let copied = io::copy(&mut input.by_ref().take(head.size), &mut file).map_err(damaged)?;
        if copied != head.size {
            return Err(damaged(io::ErrorKind::UnexpectedEof.into()));
        }
        file.set_permissions(Permissions::from_mode(head.mode & 0o755 | 0o600))?;
        skip_padding(&mut input, head.size).map_err(damaged)?;
    }
    Ok(top)
}

/// The next file or directory, with its long name put together.
fn next(input: &mut impl Read, first: bool) -> Result<Option<(String, Head)>, ArchiveError> {
    let mut long = None;
    loop {
        let Some(head) = read_header(input, first && long.is_none())? else {
            return Ok(None);
        };
        match head.kind {
            b'x' | b'g' | b'L' => {
                if head.size > MAX_NAME {
                    return Err(ArchiveError::Damaged {
                        name: head.name,
                        reason: format!("a name of {} bytes", head.size),
                    });
                }
                let mut bytes = Vec::new();
                input.by_ref().take(head.size).read_to_end(&mut bytes)?;
                skip_padding(input, head.size)?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                match head.kind {
                    b'L' => long = Some(text.trim_end_matches('\0').to_owned()),
                    b'x' => long = pax_path(&text).or(long),
                    _ => {}
                }
            }
            _ => return Ok(Some((long.unwrap_or_else(|| head.name.clone()), head))),
        }
    }
}

fn pax_path(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some((length, _)) = rest.split_once(' ') {
        let length: usize = length.parse().ok()?;
        let record = rest.get(..length)?;
        let (_, pair) = record.split_once(' ')?;
        if let Some(path) = pair.strip_prefix("path=") {
            return Some(path.trim_end_matches('\n').to_owned());
        }
        rest = rest.get(length..)?;
    }
    None
}

/// `None` at the end of the archive.
fn read_header(input: &mut impl Read, first: bool) -> Result<Option<Head>, ArchiveError> {
    let mut block = [0u8; BLOCK];
    if let Err(error) = input.read_exact(&mut block) {
        return Err(if first {
            ArchiveError::NotOne {
                kind: "tar.gz",
                reason: error.to_string(),
            }
        } else {
            ArchiveError::Damaged {
                name: "its end".to_owned(),
                reason: error.to_string(),
            }
        });
    }
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let text = |range: std::ops::Range<usize>| {
        let field = &block[range];
        let end = field
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    };
    let sum: u64 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| {
            u64::from(if (148..156).contains(&at) {
                b' '
            } else {
                *byte
            })
        })
        .sum();
    let mut name = text(0..100);
    if number(&block[148..156]) != Some(sum) {
        let reason = "a header with a wrong checksum".to_owned();
        return Err(if first {
            ArchiveError::NotOne {
                kind: "tar.gz",
                reason,
            }
        } else {
            ArchiveError::Damaged { name, reason }
        });
    }
    let prefix = text(345..500);
    if &block[257..262] == b"ustar" && block[262] == 0 && !prefix.is_empty() {
        name = format!("{prefix}/{name}");
    }
    let size = number(&block[124..136]).ok_or_else(|| ArchiveError::Damaged {
        name: name.clone(),
        reason: "a size that is no number".to_owned(),
    })?;
    Ok(Some(Head {
        kind: block[156],
        mode: u32::try_from(number(&block[100..108]).unwrap_or(0o644)).unwrap_or(0o644),
        size,
        name,
    }))
}

fn number(field: &[u8]) -> Option<u64> {
    if field.first().is_some_and(|byte| byte & 0x80 != 0) {
        let tail: [u8; 8] = field[field.len() - 8..].try_into().ok()?;
        return Some(u64::from_be_bytes(tail));
    }
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_matches(['\0', ' ']);
    if digits.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(digits, 8).ok()
}

fn skip(input: &mut impl Read, size: u64) -> io::Result<()> {
    io::copy(&mut input.by_ref().take(size), &mut io::sink())?;
    skip_padding(input, size)
}

fn skip_padding(input: &mut impl Read, size: u64) -> io::Result<()> {
    let mut rest = [0u8; BLOCK];
    input.read_exact(&mut rest[..padding(size)])
}

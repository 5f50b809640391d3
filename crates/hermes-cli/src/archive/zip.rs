//! `zip`: deflated entries, 64-bit sizes where they are needed.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Datelike, Local, Timelike};
use flate2::{Compression, Crc, read::DeflateDecoder, write::DeflateEncoder};

use super::files::Content;
use super::{ArchiveError, Item, names};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const END_64_LOCATOR: u32 = 0x0706_4b50;
/// Marks a field whose value is in the 64-bit extra field.
const IN_EXTRA: u32 = u32::MAX;
/// A central directory beyond this is not one of a home.
const MAX_DIRECTORY: u64 = 256 * 1024 * 1024;

struct Written {
    name: String,
    mode: u32,
    stamp: (u16, u16),
    crc: u32,
    packed: u64,
    size: u64,
    offset: u64,
}

/// Writes one archive into a file; [`ZipWriter::finish`] makes it whole.
pub(crate) struct ZipWriter {
    file: io::BufWriter<File>,
    written: Vec<Written>,
}

impl ZipWriter {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file: io::BufWriter::new(file),
            written: Vec::new(),
        }
    }

    /// Adds a file and says how many bytes it has.
    pub(crate) fn add(&mut self, item: &Item, mut content: Content) -> io::Result<u64> {
        let offset = self.file.stream_position()?;
        let mut entry = Written {
            name: item.name.clone(),
            mode: item.mode,
            stamp: dos_stamp(item.modified),
            crc: 0,
            packed: 0,
            size: 0,
            offset,
        };
        // Sizes are known afterwards; the extra field that can hold any is always there.
        self.file.write_all(&local_header(&entry))?;
        let start = self.file.stream_position()?;
        let mut crc = Crc::new();
        let mut encoder = DeflateEncoder::new(&mut self.file, Compression::default());
        let mut buffer = vec![0u8; 64 * 1024];
        loop {
            let count = content.bytes.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            crc.update(&buffer[..count]);
            entry.size += count as u64;
            encoder.write_all(&buffer[..count])?;
        }
        encoder.finish()?;
        let end = self.file.stream_position()?;
        entry.crc = crc.sum();
        entry.packed = end - start;
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.write_all(&local_header(&entry))?;
        self.file.seek(SeekFrom::Start(end))?;
        let size = entry.size;
        self.written.push(entry);
        Ok(size)
    }

    pub(crate) fn finish(mut self) -> io::Result<File> {
        let start = self.file.stream_position()?;
        for entry in &self.written {
            self.file.write_all(&central_header(entry))?;
        }
        let size = self.file.stream_position()? - start;
        let count = self.written.len() as u64;
        let end_64 = self.file.stream_position()?;
        let mut tail = Vec::new();
        if count >= u64::from(u16::MAX) || start >= u64::from(IN_EXTRA) {
            put32(&mut tail, END_64);
            put64(&mut tail, 44);
            put16(&mut tail, 45);
            put16(&mut tail, 45);
            put32(&mut tail, 0);
            put32(&mut tail, 0);
            put64(&mut tail, count);
            put64(&mut tail, count);
            put64(&mut tail, size);
            put64(&mut tail, start);
            put32(&mut tail, END_64_LOCATOR);
            put32(&mut tail, 0);
            put64(&mut tail, end_64);
            put32(&mut tail, 1);
        }
        let short = u16::try_from(count).unwrap_or(u16::MAX);
        put32(&mut tail, END);
        put16(&mut tail, 0);
        put16(&mut tail, 0);
        put16(&mut tail, short);
        put16(&mut tail, short);
        put32(&mut tail, clamp(size));
        put32(&mut tail, clamp(start));
        put16(&mut tail, 0);
        self.file.write_all(&tail)?;
        self.file
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
    }
}

fn clamp(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(IN_EXTRA)
}

fn put16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, value: u64) {
    out.extend(value.to_le_bytes());
}

/// Names are short: a path has at most 4,096 bytes.
fn name_length(name: &str) -> u16 {
    u16::try_from(name.len()).unwrap_or(u16::MAX)
}

fn local_header(entry: &Written) -> Vec<u8> {
    let mut out = Vec::new();
    put32(&mut out, LOCAL);
    put16(&mut out, 45);
    put16(&mut out, 0x0800); // names are UTF-8
    put16(&mut out, 8);
    put16(&mut out, entry.stamp.1);
    put16(&mut out, entry.stamp.0);
    put32(&mut out, entry.crc);
    put32(&mut out, IN_EXTRA);
    put32(&mut out, IN_EXTRA);
    put16(&mut out, name_length(&entry.name));
    put16(&mut out, 20);
    out.extend(entry.name.as_bytes());
    put16(&mut out, 1);
    put16(&mut out, 16);
    put64(&mut out, entry.size);
    put64(&mut out, entry.packed);
    out
}

fn central_header(entry: &Written) -> Vec<u8> {
    let mut extra = Vec::new();
    for value in [entry.size, entry.packed, entry.offset] {
        if clamp(value) == IN_EXTRA {
            put64(&mut extra, value);
        }
    }
    let mut out = Vec::new();
    put32(&mut out, CENTRAL);
    put16(&mut out, 3 << 8 | 45); // made on Unix
    put16(&mut out, 45);
    put16(&mut out, 0x0800);
    put16(&mut out, 8);
    put16(&mut out, entry.stamp.1);
    put16(&mut out, entry.stamp.0);
    put32(&mut out, entry.crc);
    put32(&mut out, clamp(entry.packed));
    put32(&mut out, clamp(entry.size));
    put16(&mut out, name_length(&entry.name));
    let with_head = if extra.is_empty() { 0 } else { extra.len() + 4 };
    put16(&mut out, u16::try_from(with_head).unwrap_or(0));
    put16(&mut out, 0);
    put16(&mut out, 0);
    put16(&mut out, 0);
    put32(&mut out, (0o100_000 | entry.mode) << 16);
    put32(&mut out, clamp(entry.offset));
    out.extend(entry.name.as_bytes());
    if !extra.is_empty() {
        put16(&mut out, 1);
        put16(&mut out, u16::try_from(extra.len()).unwrap_or(0));
        out.extend(extra);
    }
    out
}

/// Date and time as DOS wrote them, local; before 1980 there was none.
fn dos_stamp(seconds: u64) -> (u16, u16) {
    let local = i64::try_from(seconds)
        .ok()
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0))
        .map(|utc| utc.with_timezone(&Local));
    let Some(at) = local.filter(|at| (1980..2108).contains(&at.year())) else {
        return (0x21, 0);
    };
    let narrow = |value: u32| u16::try_from(value).unwrap_or(0);
    let year = u16::try_from(at.year() - 1980).unwrap_or(0);
    (
        year << 9 | narrow(at.month()) << 5 | narrow(at.day()),
        narrow(at.hour()) << 11 | narrow(at.minute()) << 5 | narrow(at.second() / 2),
    )
}

/// One file or directory of an archive.
#[derive(Debug)]
pub(crate) struct ZipEntry {
    pub(crate) name: String,
    /// The name as a path that stays below a directory.
    pub(crate) path: PathBuf,
    pub(crate) is_directory: bool,
    mode: u32,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    offset: u64,
}

/// An archive whose every name has been found safe.
#[derive(Debug)]
pub(crate) struct ZipReader {
    file: File,
    pub(crate) entries: Vec<ZipEntry>,
}

impl ZipReader {
    pub(crate) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let mut file = File::open(path)?;
        let (start, size) = find_directory(&mut file)?;
        let length = file.metadata()?.len();
        if size > MAX_DIRECTORY || start.checked_add(size).is_none_or(|end| end > length) {
            return Err(not_one("its directory lies outside the file"));
        }
        file.seek(SeekFrom::Start(start))?;
        let mut directory = vec![0u8; usize::try_from(size).unwrap_or(0)];
        file.read_exact(&mut directory)?;
        let mut bytes = directory.as_slice();
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            entries.push(read_central(&mut bytes)?);
        }
        Ok(Self { file, entries })
    }

    /// Writes the content of an entry to a new file; sizes and checksum must fit.
    pub(crate) fn extract(&self, entry: &ZipEntry, to: &Path) -> Result<(), ArchiveError> {
        let damaged = |reason: String| ArchiveError::Damaged {
            name: entry.name.clone(),
            reason,
        };
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(entry.offset))?;
        let mut head = [0u8; 30];
        file.read_exact(&mut head)
            .map_err(|error| damaged(error.to_string()))?;
        let mut fields = head.as_slice();
        if take32(&mut fields) != Some(LOCAL) {
            return Err(damaged("no entry where the directory says".to_owned()));
        }
        let lengths = |at: usize| i64::from(u16::from(head[at]) | u16::from(head[at + 1]) << 8);
        file.seek(SeekFrom::Current(lengths(26) + lengths(28)))?;
        let packed = io::BufReader::new(file.take(entry.packed));
        let content: Box<dyn Read> = match entry.method {
            0 => Box::new(packed),
            8 => Box::new(DeflateDecoder::new(packed)),
            other => return Err(damaged(format!("unknown compression {other}"))),
        };
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut out = File::create(to)?;
        // One byte more than promised is enough to know that the promise is wrong.
        let mut content = content.take(entry.size.saturating_add(1));
        let mut crc = Crc::new();
        let mut size = 0;
        let mut buffer = vec![0u8; 64 * 1024];
        loop {
            let count = content
                .read(&mut buffer)
                .map_err(|error| damaged(error.to_string()))?;
            if count == 0 {
                break;
            }
            crc.update(&buffer[..count]);
            size += count as u64;
            out.write_all(&buffer[..count])?;
        }
        if size != entry.size {
            return Err(damaged("its size is not the one promised".to_owned()));
        }
        if crc.sum() != entry.crc {
            return Err(damaged("its checksum does not fit".to_owned()));
        }
        let mode = if entry.mode == 0 { 0o644 } else { entry.mode };
        out.set_permissions(Permissions::from_mode(mode & 0o755 | 0o600))?;
        Ok(())
    }
}

fn not_one(reason: impl Into<String>) -> ArchiveError {
    ArchiveError::NotOne {
        kind: "zip",
        reason: reason.into(),
    }
}

/// Where the central directory starts and how long it is.
fn find_directory(file: &mut File) -> Result<(u64, u64), ArchiveError> {
    let length = file.metadata()?.len();
    let tail_length = length.min(22 + u64::from(u16::MAX));
    file.seek(SeekFrom::Start(length - tail_length))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let at = tail
        .windows(4)
        .rposition(|four| four == END.to_le_bytes())
        .filter(|at| at + 22 <= tail.len())
        .ok_or_else(|| not_one("it has no directory at its end"))?;
    let mut fields = &tail[at + 12..];
    let size = take32(&mut fields).unwrap_or(0);
    let start = take32(&mut fields).unwrap_or(0);
    if size != IN_EXTRA && start != IN_EXTRA {
        return Ok((u64::from(start), u64::from(size)));
    }
    let locator = at
        .checked_sub(20)
        .map(|before| &tail[before..at])
        .filter(|bytes| bytes.starts_with(&END_64_LOCATOR.to_le_bytes()))
        .ok_or_else(|| not_one("its 64-bit directory is missing"))?;
    let mut fields = &locator[8..];
    let end_64 = take64(&mut fields).unwrap_or(0);
    file.seek(SeekFrom::Start(end_64))?;
    let mut record = [0u8; 56];
    file.read_exact(&mut record)?;
    if !record.starts_with(&END_64.to_le_bytes()) {
        return Err(not_one("its 64-bit directory is damaged"));
    }
    let mut fields = &record[40..];
    let size = take64(&mut fields).unwrap_or(0);
    Ok((take64(&mut fields).unwrap_or(0), size))
}

fn read_central(bytes: &mut &[u8]) -> Result<ZipEntry, ArchiveError> {
    parse_central(bytes).unwrap_or_else(|| Err(not_one("its directory is damaged")))
}

/// `None` when the bytes end too early or are no entry.
fn parse_central(bytes: &mut &[u8]) -> Option<Result<ZipEntry, ArchiveError>> {
    if take32(bytes)? != CENTRAL {
        return None;
    }
    take32(bytes)?;
    let flags = take16(bytes)?;
    let method = take16(bytes)?;
    take32(bytes)?;
    let crc = take32(bytes)?;
    let packed = take32(bytes)?;
    let size = take32(bytes)?;
    let name_length = take16(bytes)?;
    let extra_length = take16(bytes)?;
    let comment_length = take16(bytes)?;
    take32(bytes)?;
    let attributes = take32(bytes)?;
    let offset = take32(bytes)?;
    let name = String::from_utf8_lossy(take(bytes, usize::from(name_length))?).into_owned();
    let mut extra = take(bytes, usize::from(extra_length))?;
    take(bytes, usize::from(comment_length))?;

    let mut wide: &[u8] = &[];
    while let (Some(id), Some(length)) = (take16(&mut extra), take16(&mut extra)) {
        let field = take(&mut extra, usize::from(length))?;
        if id == 1 {
            wide = field;
        }
    }
    let mut widen = |value: u32| match value {
        IN_EXTRA => take64(&mut wide),
        value => Some(u64::from(value)),
    };
    let (size, packed, offset) = (widen(size)?, widen(packed)?, widen(offset)?);
    let refuse = |reason| {
        Some(Err(ArchiveError::Unsafe {
            name: name.escape_debug().to_string(),
            reason,
        }))
    };
    let mode = attributes >> 16;
    if mode & 0o170_000 == 0o120_000 {
        return refuse("a link");
    }
    if flags & 1 != 0 {
        return refuse("which is encrypted");
    }
    let path = match names::safe(&name) {
        Ok(path) => path,
        Err(error) => return Some(Err(error)),
    };
    Some(Ok(ZipEntry {
        is_directory: name.ends_with('/') || path.as_os_str().is_empty(),
        mode: mode & 0o777,
        name,
        path,
        method,
        crc,
        packed,
        size,
        offset,
    }))
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(head)
}

fn take16(bytes: &mut &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(take(bytes, 2)?.try_into().ok()?))
}

fn take32(bytes: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?))
}

fn take64(bytes: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(bytes, 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn foreign_bytes_are_refused_and_never_crash(bytes in proptest::collection::vec(any::<u8>(), 0..200), tail in any::<bool>()) {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a.zip");
            let mut bytes = bytes;
            if tail {
                bytes.extend(END.to_le_bytes());
                bytes.extend([0; 8]);
                bytes.extend([7, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
            }
            fs::write(&path, &bytes).unwrap();
            if let Ok(reader) = ZipReader::open(&path) {
                for entry in &reader.entries {
                    let _ = reader.extract(entry, &directory.path().join("out"));
                }
            }
        }
    }
}

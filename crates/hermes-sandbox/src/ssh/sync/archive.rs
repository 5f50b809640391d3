//! A tar stream, as small as it can be: files only, so that no directory over there
//! changes its mode.

const BLOCK: usize = 512;
/// Longer names go into an entry of their own, as GNU tar does it.
const NAME: usize = 100;

/// Header of a file; its bytes follow, then [`padding`].
pub(super) fn header(name: &str, size: u64, mode: u32, modified_seconds: u64) -> Vec<u8> {
    let mut out = Vec::new();
    if name.len() > NAME {
        out.extend(block("././@LongLink", name.len() as u64 + 1, 0, 0, b'L'));
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    let end = (0..=name.len().min(NAME))
        .rev()
        .find(|at| name.is_char_boundary(*at))
        .unwrap_or(0);
    out.extend(block(&name[..end], size, mode, modified_seconds, b'0'));
    out
}

pub(super) fn padding(size: u64) -> usize {
    (size.next_multiple_of(BLOCK as u64) - size) as usize
}

/// The end of the stream.
pub(super) fn end() -> Vec<u8> {
    vec![0; 2 * BLOCK]
}

fn block(name: &str, size: u64, mode: u32, modified: u64, kind: u8) -> [u8; BLOCK] {
    let mut block = [0_u8; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}\0").as_bytes());
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, &number(size));
    put(136, &number(modified));
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar  \0");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Octal, or binary with the first bit set where that is too short.
fn number(value: u64) -> [u8; 12] {
    let mut field = [0_u8; 12];
    if value < 1 << 33 {
        field.copy_from_slice(format!("{value:011o}\0").as_bytes());
    } else {
        field[4..].copy_from_slice(&value.to_be_bytes());
        field[0] = 0x80;
    }
    field
}

//! Pictures that a person attaches.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_types::{Content, Part};

/// Larger files are no pictures that a provider takes.
const MAX_BYTES: u64 = 20 * 1024 * 1024;

/// The picture as part of a message.
pub fn picture(path: &Path) -> Result<Part, String> {
    let meta = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if meta.len() > MAX_BYTES {
        return Err(format!(
            "{} has {} bytes; {MAX_BYTES} is the limit for a picture",
            path.display(),
            meta.len()
        ));
    }
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let kind = kind_of(&bytes)
        .ok_or_else(|| format!("{} is no PNG, JPEG, GIF or WebP picture", path.display()))?;
    Ok(Part::Image {
        url: format!("data:image/{kind};base64,{}", STANDARD.encode(bytes)),
    })
}

/// Text with a picture behind it.
pub fn with_picture(text: &str, path: &Path) -> Result<Content, String> {
    let picture = picture(path)?;
    Ok(Content::Parts(vec![
        Part::Text {
            text: format!("{text}\n\n[Attached picture: {}]", path.display()),
        },
        picture,
    ]))
}

fn kind_of(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("webp"),
        _ => None,
    }
}

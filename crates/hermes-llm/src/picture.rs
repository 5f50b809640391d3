//! Pictures that a provider finds too large, made smaller.
//!
//! Promises: a picture that is small enough stays as it is, byte for byte; the same
//! picture always becomes the same bytes, so that caches of prefixes hold; what
//! cannot be read is left to whoever asked. GIF and WebP are not read: they cost
//! more room in the program than pictures of that size in those formats are worth.

use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hermes_types::{Content, Message, Part};
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, GenericImageView, ImageReader, Limits, Rgb, RgbImage};
use sha2::{Digest, Sha256};

use crate::wire::anthropic::data_url;

/// How large a picture may be: pixels per side, and characters of its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    side: u32,
    text: usize,
}

/// What is tried one after the other: what the strictest vendor takes alone, and
/// what it takes among many.
const STEPS: [Bounds; 2] = [
    Bounds {
        side: 8000,
        text: 4 << 20,
    },
    Bounds {
        side: 2000,
        text: 1 << 20,
    },
];
/// A picture that needs more than this to be unpacked is not.
const MOST_MEMORY: u64 = 512 << 20;
const QUALITY: u8 = 85;
/// How many pictures are remembered by what they became.
const REMEMBERED: usize = 16;

/// What one endpoint has turned out to take, and the pictures made for it.
#[derive(Debug, Default)]
pub(crate) struct Scaler {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many of the steps were taken.
    step: usize,
    made: Vec<([u8; 32], Option<Arc<str>>)>,
}

impl Scaler {
    /// The bounds that hold now.
    pub(crate) fn bounds(&self) -> Option<Bounds> {
        STEPS.get(self.lock().step.checked_sub(1)?).copied()
    }

    /// The endpoint refused a picture: narrower bounds from now on, if there are
    /// any and they change one of these messages.
    pub(crate) fn narrow(&self, messages: &[Arc<Message>]) -> bool {
        let from = self.lock().step;
        for (step, bounds) in STEPS.iter().enumerate().skip(from) {
            let changes = messages
                .iter()
                .any(|message| pictures(message).any(|url| could_shrink(url, *bounds)));
            if changes {
                self.lock().step = step + 1;
                return true;
            }
        }
        false
    }

    /// The messages with their pictures within bounds. Blocks while it computes.
    pub(crate) fn scaled(&self, messages: &[Arc<Message>], bounds: Bounds) -> Vec<Arc<Message>> {
        messages
            .iter()
            .map(|message| {
                let too_large = pictures(message).any(|url| could_shrink(url, bounds));
                match &message.content {
                    Content::Parts(parts) if too_large => {
                        let parts = parts.iter().map(|part| self.part(part, bounds)).collect();
                        Arc::new(Message {
                            content: Content::Parts(parts),
                            ..Message::clone(message)
                        })
                    }
                    _ => Arc::clone(message),
                }
            })
            .collect()
    }

    fn part(&self, part: &Part, bounds: Bounds) -> Part {
        let Part::Image { url } = part else {
            return part.clone();
        };
        let key = {
            let mut hash = Sha256::new();
            hash.update(bounds.side.to_be_bytes());
            hash.update(url.as_bytes());
            hash.finalize().into()
        };
        let known = self.lock().made.iter().find(|(k, _)| *k == key).cloned();
        let made = match known {
            Some((_, made)) => made,
            None => {
                let made: Option<Arc<str>> = shrink(url, bounds).map(Arc::from);
                let mut state = self.lock();
                if state.made.len() >= REMEMBERED {
                    state.made.remove(0);
                }
                state.made.push((key, made.clone()));
                made
            }
        };
        match made {
            Some(made) => Part::Image {
                url: made.to_string(),
            },
            None => part.clone(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pictures(message: &Message) -> impl Iterator<Item = &str> {
    let parts: &[Part] = match &message.content {
        Content::Parts(parts) => parts,
        Content::Text(_) => &[],
    };
    parts.iter().filter_map(|part| match part {
        Part::Image { url } => Some(url.as_str()),
        Part::Text { .. } => None,
    })
}

fn reader(bytes: &[u8]) -> Option<ImageReader<Cursor<&[u8]>>> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .ok()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    Some(reader)
}

fn bytes_of(url: &str) -> Option<Vec<u8>> {
    STANDARD.decode(data_url(url)?.1).ok()
}

/// Whether a picture is beyond the bounds and of a kind that can be read. Only its
/// head is looked at.
fn could_shrink(url: &str, bounds: Bounds) -> bool {
    let Some((_, data)) = data_url(url) else {
        return false;
    };
    // The head is enough for the size in pixels, whatever JPEG puts before it.
    let head = data.get(..data.len().min(1 << 20) & !3).unwrap_or(data);
    let Ok(head) = STANDARD.decode(head) else {
        return false;
    };
    let size = reader(&head).and_then(|reader| reader.into_dimensions().ok());
    size.is_some_and(|(width, height)| width.max(height) > bounds.side || url.len() > bounds.text)
}

/// The picture within the bounds; `None` when it cannot be read or got no smaller.
fn shrink(url: &str, bounds: Bounds) -> Option<String> {
    let picture = reader(&bytes_of(url)?)?.decode().ok()?;
    let (width, height) = picture.dimensions();
    let longest = width.max(height).max(1);
    let mut side = longest.min(bounds.side);
    // Each round takes a quarter off; a picture of one pixel fits any bounds.
    while side > 0 {
        let sized = if side == longest {
            on_white(&picture)
        } else {
            let scale = |length: u32| {
                let scaled = u64::from(length) * u64::from(side) / u64::from(longest);
                u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
            };
            on_white(&picture.thumbnail_exact(scale(width), scale(height)))
        };
        let mut out = Vec::new();
        JpegEncoder::new_with_quality(&mut out, QUALITY)
            .encode_image(&sized)
            .ok()?;
        let made = format!("data:image/jpeg;base64,{}", STANDARD.encode(out));
        if made.len() <= bounds.text {
            return Some(made);
        }
        side = side / 4 * 3;
    }
    None
}

/// JPEG knows no transparency; what shines through is white, as on a page.
fn on_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let mut page = RgbImage::from_pixel(picture.width(), picture.height(), Rgb([255; 3]));
    let layer = picture.to_rgba8();
    for (below, above) in page.pixels_mut().zip(layer.pixels()) {
        let [r, g, b, a] = above.0;
        let mix = |over: u8, under: u8| {
            let (over, under, a) = (u32::from(over), u32::from(under), u32::from(a));
            ((over * a + under * (255 - a)) / 255) as u8
        };
        below.0 = [mix(r, below.0[0]), mix(g, below.0[1]), mix(b, below.0[2])];
    }
    page
}

#[cfg(test)]
mod tests {
    use image::{ImageFormat, Rgba, RgbaImage};
    use proptest::prelude::*;

    use super::*;

    fn url_of(picture: &DynamicImage, format: ImageFormat) -> String {
        let mut out = Cursor::new(Vec::new());
        picture.write_to(&mut out, format).unwrap();
        let kind = format.extensions_str()[0];
        format!(
            "data:image/{kind};base64,{}",
            STANDARD.encode(out.into_inner())
        )
    }

    fn size(url: &str) -> (u32, u32) {
        reader(&bytes_of(url).unwrap())
            .unwrap()
            .into_dimensions()
            .unwrap()
    }

    /// Noise, which no format can pack.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 1_u32;
        RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [_, a, b, c] = state.to_be_bytes();
            Rgb([a, b, c])
        })
        .into()
    }

    #[test]
    fn pictures_get_within_bounds_and_keep_their_shape() {
        let bounds = Bounds {
            side: 100,
            text: 20_000,
        };
        for (picture, format, expected) in [
            (noise(400, 200), ImageFormat::Png, (100, 50)),
            (noise(50, 300), ImageFormat::Jpeg, (16, 100)),
            (noise(4000, 1), ImageFormat::Png, (100, 1)),
        ] {
            let url = url_of(&picture, format);
            assert!(could_shrink(&url, bounds));
            let made = shrink(&url, bounds).unwrap();
            assert_eq!(size(&made), expected);
            assert!(made.len() <= bounds.text, "{}", made.len());
            assert_eq!(shrink(&url, bounds), Some(made));
        }
        let small = url_of(&noise(60, 60), ImageFormat::Png);
        assert!(!could_shrink(&small, bounds));
        // Few pixels, many bytes.
        let tight = Bounds {
            text: 3_000,
            ..bounds
        };
        assert!(could_shrink(&small, tight));
        assert!(shrink(&small, tight).unwrap().len() <= 3_000);
    }

    #[test]
    fn what_shines_through_is_white_and_what_is_no_picture_stays() {
        let clear: DynamicImage = RgbaImage::from_pixel(200, 200, Rgba([0, 0, 0, 0])).into();
        let bounds = Bounds {
            side: 10,
            text: 1 << 20,
        };
        let made = shrink(&url_of(&clear, ImageFormat::Png), bounds).unwrap();
        let pixels = reader(&bytes_of(&made).unwrap()).unwrap().decode().unwrap();
        assert_eq!(pixels.to_rgb8().get_pixel(5, 5), &Rgb([255; 3]));
        for none in [
            "https://host/x.png",
            "data:image/png;base64,AAAA",
            "data:,",
            "",
        ] {
            assert!(!could_shrink(none, bounds), "{none}");
            assert_eq!(shrink(none, bounds), None, "{none}");
        }
    }

    #[test]
    fn bounds_narrow_only_where_that_changes_something() {
        let message =
            |url: String| Arc::new(Message::user(Content::Parts(vec![Part::Image { url }])));
        let scaler = Scaler::default();
        let wide = [message(url_of(&noise(2500, 2), ImageFormat::Png))];
        assert_eq!(scaler.bounds(), None);
        // The first step would not change it.
        assert!(scaler.narrow(&wide));
        let bounds = scaler.bounds().unwrap();
        assert_eq!(bounds, STEPS[1]);
        let scaled = scaler.scaled(&wide, bounds);
        assert_eq!(size(pictures(&scaled[0]).next().unwrap()), (2000, 1));
        assert!(!scaler.narrow(&wide));
        for _ in 0..40 {
            scaler.scaled(&wide, bounds);
        }
        assert_eq!(scaler.lock().made.len(), 1);
        let text = [Arc::new(Message::user("words"))];
        assert!(Arc::ptr_eq(&scaler.scaled(&text, bounds)[0], &text[0]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut png = vec![0x89, b'P', b'N', b'G', 13, 10, 26, 10];
            png.extend(&bytes);
            for bytes in [bytes, png] {
                let url = format!("data:image/png;base64,{}", STANDARD.encode(bytes));
                let bounds = Bounds { side: 10, text: 100 };
                could_shrink(&url, bounds);
                shrink(&url, bounds);
            }
        }
    }
}

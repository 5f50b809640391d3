//! `POST /models/M:streamGenerateContent`: Google's own format.

mod decode;
mod encode;

pub use decode::GeminiDecoder;
pub(crate) use encode::DEFAULT_OUTPUT;
pub use encode::encode;

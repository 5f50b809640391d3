//! `POST /models/M:streamGenerateContent`: Google's own format.

mod decode;
mod encode;

pub use decode::GeminiDecoder;
pub use encode::encode;

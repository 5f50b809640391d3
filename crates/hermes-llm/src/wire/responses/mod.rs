//! `POST /responses`: OpenAI's newer format, also spoken by xAI.

mod decode;
mod encode;

pub use decode::ResponsesDecoder;
pub use encode::encode;

/// Marks stored items with who minted them; never sent.
const ISSUER: &str = "_issuer";

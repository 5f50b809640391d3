//! `POST /chat/completions`: what most servers speak, each in its own accent.

mod decode;
mod encode;

pub use decode::ChatDecoder;
pub use encode::encode;

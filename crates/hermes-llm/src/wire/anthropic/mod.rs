//! `POST /v1/messages`: the format of Anthropic and of those who offer it.

mod claude;
mod decode;
mod encode;

pub use claude::{Claude, max_output};
pub use decode::AnthropicDecoder;
pub(crate) use encode::data_url;
pub use encode::encode;

mod classify;
mod decode;
mod encode;
